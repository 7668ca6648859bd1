/* SPDX-License-Identifier: MIT */
/*
 * The subscription tree: which filters there are, level by level (tree.h), and whose. Its changes
 * are tasks of one resource; it is read without it. A message does not come by here: a topic asks
 * once, when it is made (matcher_ask), and is told of later changes (request.h).
 *
 * What a reader may rely on. Nodes are there as long as its epoch section lasts. The list of a
 * node's subscriptions is linked by release stores, front first, and unlinked likewise, so that a
 * reader always comes to its end. A subscription that was taken out is destroyed by its request
 * under the topic table's baton (request_destroy); a topic is made under the same one. So whatever
 * matcher_ask() finds is there until it returns, its session, which it counts, included: no need to
 * count sessions from 0 up, nor to keep them for readers.
 */
#ifndef BROKER_MATCHER_H
#define BROKER_MATCHER_H

#include <stddef.h>
#include <stdint.h>

#include <baton/resource.h>

#include "names.h"
#include "tree.h"

struct broker;
struct request;
struct session;
struct topic;

struct subscription {
	struct subscription *node_next; /* atomic */
	struct subscription *session_next;
	struct subscription **node_link;    /* what points to it, for who changes the tree */
	struct subscription **session_link; /* likewise */
	struct tree_node *node;
	struct session *session; /* counted */
	uint64_t id;             /* never used again */
	uint64_t grant;          /* atomic: version and QoS, see there */
	struct slice filter;
	char text[];
};

/* Each SUBSCRIBE has a version, counted upwards; a later one of a filter replaces the QoS. */
#define SUBSCRIPTION_GRANT(version, qos) ((version) << 2 | (qos))
#define SUBSCRIPTION_VERSION(grant) ((grant) >> 2)
#define SUBSCRIPTION_QOS(grant) ((uint8_t)((grant)&3))

/* Of a subscription that is in the tree no more. Under the table's baton. */
void subscription_destroy(struct subscription *subscription);

struct matcher {
	struct baton_resource resource;
	struct baton_resource_stats stats;
	struct broker *broker;
	struct tree tree;
	uint64_t id;
	uint64_t version;
};

/* Errors: -ENOMEM. deinit: every session must have ended. */
int matcher_init(struct matcher *matcher, struct broker *broker);
void matcher_deinit(struct matcher *matcher);

/* The first hop of a request, see request.h. */
void matcher_apply(struct matcher *matcher, struct request *request);

/* Tells a new topic its subscribers (topic_learn). Under the table's baton. Never waits. */
void matcher_ask(struct matcher *matcher, struct topic *topic);

#endif
