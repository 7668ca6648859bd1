/* SPDX-License-Identifier: MIT */
/*
 * What all parts of the broker share: options, pools, timers and counters. Each part keeps a
 * pointer to the one `struct env`, which is complete before the first part is initialised.
 */
#ifndef BROKER_ENV_H
#define BROKER_ENV_H

#include <stdbool.h>

#include <baton/board.h>
#include <baton/pool.h>
#include <baton/resource.h>
#include <baton/timers.h>
#include <baton/watchdog.h>

#include "common/atomic.h"
#include "common/options.h"
#include "common/rights.h"
#include "common/stats.h"
#include "common/trim.h"
#include "mqtt/names.h"

#define ENV_SLOW_WORKERS 2

/* The kinds of resources whose tasks run on `pool`. Their configs differ in the name. */
enum env_kind {
	ENV_TOPIC,
	ENV_TOPICS,
	ENV_TREE,
	ENV_SESSION,
	ENV_CLIENT_IDS,
	ENV_LOGINS,
	ENV_PASSWORDS,
	ENV_KINDS
};

struct store;

struct env {
	struct broker_options options;
	struct baton_pool *pool;
	struct baton_pool *slow_pool; /* for tasks that may take long: passwords, the log, trim */
	struct baton_timers *timers;  /* of the sessions, and trim's */
	struct baton_resource_config configs[ENV_KINDS];
	struct stats stats;
	struct rights rights;
	struct trim trim;
	struct store *store;       /* NULL: none */
	struct baton_board *board; /* NULL: none */
	struct baton_watchdog *watchdog;
	bool ending; /* atomic, a hint: passwords are checked no more */
	bool late;   /* atomic, a hint: all connections have closed or have been told to close */
};

/* A limit as it is now: a reload may have changed it. Relaxed: a limit orders nothing. */
#define limit_of(env, member) load_relaxed(&(env)->options.limits.member)

/* Sets `configs` up, once `pool` is there. */
void env_configs_init(struct env *env);

/*
 * Gives a resource its statistics, and returns them: on the board, if there is one with room; else
 * `own`. The board shows "KIND NAME".
 *
 * env_count: the same for a connection or a session, only with --stats or --board: counting in
 * connections and sessions makes a delivery at QoS 0 a sixth more instructions.
 */
struct baton_resource_stats *env_show(const struct env *env, struct baton_resource *resource,
                                      struct slice name, struct baton_resource_stats *own);
struct baton_resource_stats *env_count(const struct env *env, struct baton_resource *resource,
                                       struct slice name, struct baton_resource_stats *own);

/* Shows, if there is a board, a resource that is not counted without one. `name`: NULL: its own. */
void env_reveal(const struct env *env, struct baton_resource *resource, const char *name);

/* Takes a resource that has ended from the board. */
void env_hide(const struct env *env, struct baton_resource *resource);

/*
 * The board. Pools are on it. start: 0, or a negative errno. stop: the pools are about to end.
 * free: all resources have left; the log is the last.
 */
int env_board_start(struct env *env);
void env_board_stop(struct env *env);
void env_board_free(struct env *env);

#endif
