/* SPDX-License-Identifier: MIT */
/*
 * The subscription tree: which filters there are, level by level, and whose. It is one resource. A
 * message does not come by here: a topic asks once, when it is new (matcher_ask), and is told of
 * later changes (request.h).
 *
 * All nodes lie in one hash map whose key is (parent, level), so a node has no list of children.
 */
#ifndef BROKER_MATCHER_H
#define BROKER_MATCHER_H

#include <stddef.h>
#include <stdint.h>

#include <baton/resource.h>

#include "map.h"
#include "names.h"

struct broker;
struct matcher_node;
struct request;
struct session;
struct topic;

struct subscription {
	struct subscription *node_next;
	struct subscription *session_next;
	struct matcher_node *node;
	struct session *session; /* counted */
	uint64_t id;             /* never used again */
	uint8_t qos;
	struct slice filter;
	char text[];
};

/* Of a subscription that is in the tree no more. */
void subscription_destroy(struct subscription *subscription);

struct matcher {
	struct baton_resource resource;
	struct baton_resource_stats stats;
	struct broker *broker;
	struct map nodes;
	uint64_t id;
};

/* Errors: -ENOMEM. deinit: every session must have ended. */
int matcher_init(struct matcher *matcher, struct broker *broker);
void matcher_deinit(struct matcher *matcher);

/* The first hop of a request, see request.h. */
void matcher_apply(struct matcher *matcher, struct request *request);

/* Sends a new topic its subscribers, then TOPIC_READY. The table calls this, under its baton. */
void matcher_ask(struct matcher *matcher, struct topic *topic);

#endif
