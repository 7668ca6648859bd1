/* SPDX-License-Identifier: MIT */
/*
 * The topic table: name to topic, a baton_registry. A publisher finds its topic without a lock and
 * without a resource; connections keep what they have looked up. What makes topics, ends them, and
 * tells those that a SUBSCRIBE concerns of it (request.h), are tasks of the registry's resource: so
 * a pass over the topics stands between two topics' beginnings. A filter with wildcards
 * costs one pass over the topics; a message costs nothing here. A request of many such filters
 * takes several tasks, with new topics, and steps of other sessions' requests, in between.
 */
#ifndef BROKER_TABLE_H
#define BROKER_TABLE_H

#include <baton/registry.h>
#include <baton/resource.h>

#include "mqtt/names.h"
#include "session/clients.h"
#include "topic/matcher.h"

struct env;
struct request;
struct topic;
struct topic_use;

struct table {
	struct baton_registry *topics;
	struct baton_resource_stats stats;
	struct env *env;
	struct matcher matcher;
	struct unsubscriber unsubscriber; /* for the sessions */

	/* Under its baton. */
	uint64_t pass;             /* the last one, see topic.h */
	struct baton_limbo *limbo; /* of subscriptions, see matcher.h */

	/* Likewise; each session's in order. A task for the first one is under way. */
	struct request *requests;
	struct request **requests_end;
};

/* Errors: -ENOMEM. */
int table_init(struct table *table, struct env *env);

/* Ends topics with a retained message, and sessions that they know. Nothing else may run by now. */
void table_deinit(struct table *table);

/*
 * The topic of that name, and a use of it; topic_unuse() gives it back. A new one is made, for
 * which this waits its turn. NULL: no memory.
 */
struct topic_use *table_lookup(struct table *table, struct slice name);

/* The second hop of a request, see request.h. */
void table_apply(struct table *table, struct request *request);

#endif
