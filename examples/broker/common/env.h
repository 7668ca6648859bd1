/* SPDX-License-Identifier: MIT */
/*
 * What all parts of the broker share: options, pools, timers and counters. Each part keeps a
 * pointer to the one `struct env`, which is complete before the first part is initialised.
 */
#ifndef BROKER_ENV_H
#define BROKER_ENV_H

#include <stdbool.h>

#include <baton/pool.h>
#include <baton/resource.h>
#include <baton/timer.h>

#include "common/options.h"
#include "common/stats.h"
#include "common/trim.h"

#define ENV_SLOW_WORKERS 2

struct env {
	struct broker_options options;
	struct baton_pool *pool;
	struct baton_pool *slow_pool; /* for tasks that may take long: passwords, the log, trim */
	struct baton_timers *timers;  /* of the sessions, and trim's */
	struct baton_resource_config config; /* of topics, sessions, table, tree and client ids */
	struct stats stats;
	struct trim trim;
	bool ending; /* atomic, a hint: passwords are checked no more */
	bool late;   /* atomic, a hint: all connections have closed or have been told to close */
};

/*
 * Gives a connection's or a session's resource its statistics, only with --stats: counting in
 * connections and sessions makes a delivery at QoS 0 a sixth more instructions.
 */
static inline void env_count(const struct env *env, struct baton_resource *resource,
                             struct baton_resource_stats *stats)
{
	if (env->options.stats)
		baton_resource_set_stats(resource, stats);
}

#endif
