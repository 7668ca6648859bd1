/* SPDX-License-Identifier: MIT */
/*
 * The topic table: name to topic, a baton_registry. A publisher finds its topic without a lock and
 * without a resource; connections keep the topics that they have looked up. Making a topic, ending
 * it, and telling topics of a SUBSCRIBE (request.h) are tasks of the registry's resource: so no
 * topic is made or ended during a pass over the topics. A filter with wildcards costs one pass over
 * the topics; a message costs nothing here. A request with many such filters takes several tasks;
 * new topics, and steps of other sessions' requests, run in between.
 *
 * Requests in turns. `requests` is a queue beside the resource's own, for two rules that the
 * resource's order alone cannot give: a request that has looked at TABLE_LOOKS_MAX topics goes
 * behind all other sessions' requests, but stays before the later ones of its own session. One task
 * is under way while the queue is not empty: it runs steps of the first request until the looks
 * are spent, puts that request and its session's later ones last, and submits itself again, behind
 * the topics that wait to be made.
 */
#ifndef BROKER_TABLE_H
#define BROKER_TABLE_H

#include <baton/registry.h>
#include <baton/resource.h>
#include <baton/stats.h>

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
	uint64_t pass;             /* the number of the last pass, see topic.h */
	struct baton_limbo *limbo; /* of subscriptions, see matcher.h */

	/* Under its baton, too: each session's requests in order. A task for the first one is
	 * under way. */
	struct request *requests;
	struct request **requests_end;
};

/* Errors: -ENOMEM. */
int table_init(struct table *table, struct env *env);

/* Ends topics that have a retained message, and sessions that they know. Nothing else runs. */
void table_deinit(struct table *table);

/* Gives a use of the topic of that name, which topic_unuse() gives back. Errors: -ENOENT, -ENOMEM.
 */
int table_find(struct table *table, struct slice name, struct topic_use **use);

/*
 * Asks for the topic of that name, and never waits. A topic that does not exist is made. When the
 * request's future is complete, table_found() gives a use of the topic. The name lives until then.
 * Errors: -ENOMEM; -ECANCELED: the request was cancelled.
 */
void table_ask(struct table *table, struct slice name, struct baton_registry_request *request);
int table_found(const struct baton_registry_request *request, struct topic_use **use);

/* At the start of the broker, before there are topics: a subscription of an earlier run. */
void table_restore(struct table *table, struct session *session, struct slice filter,
                   union subscription_options options);

/*
 * The same: a group of an earlier run, of that name ("$share/GROUP/FILTER"), whose members follow.
 * NULL: no such name is allowed.
 */
struct session *table_restore_group(struct table *table, struct slice name);

/* The second hop of a request, see request.h. */
void table_apply(struct table *table, struct request *request);

#endif
