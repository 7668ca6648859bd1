/* SPDX-License-Identifier: MIT */
/*
 * The subscription tree: which filters there are, level by level (tree.h), and whose. Its changes
 * are tasks of one resource; any thread reads it without that resource. A topic reads the tree for
 * the first message after a change, and keeps what it has found (topic.h).
 *
 * What a reader may rely on. Nodes and subscriptions are there as long as its epoch section lasts:
 * a subscription that was taken out goes to the table's limbo (subscription_retire), and holds its
 * session until the limbo frees it. The list of a node's subscriptions is linked by release stores,
 * front first, and unlinked likewise, so that a reader always comes to its end.
 *
 * A subscription counts for a topic when the topic has been told of it (`pass`, see topic.h).
 * `generation` changes whenever subscriptions have been taken out.
 */
#ifndef BROKER_MATCHER_H
#define BROKER_MATCHER_H

#include <stddef.h>
#include <stdint.h>

#include <baton/resource.h>

#include "topic/audience.h"
#include "mqtt/names.h"
#include "topic/tree.h"

struct env;
struct request;
struct session;

struct subscription {
	struct subscription *node_next; /* atomic */
	struct subscription *session_next;
	struct subscription **node_link;    /* what points to it, for who changes the tree */
	struct subscription **session_link; /* likewise */
	struct tree_node *node;
	struct session *session; /* counted */
	size_t memory;           /* what it counts against --max-filter-bytes */
	uint64_t pass;           /* atomic: the table's that told topics of it; 0: none yet */
	struct baton_retired retired;
	uint8_t qos; /* atomic: of its last SUBSCRIBE */
};

/* A subscription that is in the tree no more. Under the table's baton, whose limbo it is. */
void subscription_retire(struct baton_limbo *limbo, struct subscription *subscription);

struct matcher {
	struct baton_resource resource;
	struct baton_resource_stats stats;
	struct env *env;
	struct tree tree;
	uint64_t generation; /* atomic */
};

/* Errors: -ENOMEM. deinit: every session must have ended. */
int matcher_init(struct matcher *matcher, struct env *env);
void matcher_deinit(struct matcher *matcher);

/* The first hop of a request, see request.h. */
void matcher_apply(struct matcher *matcher, struct request *request);

/* Changes when subscriptions have been taken out. Any thread. */
uint64_t matcher_generation(const struct matcher *matcher);

/*
 * Adds to an empty audience the sessions with a subscription that matches the topic and that is of
 * one of the passes up to `told`, each with a reference, and seals the audience. `work`: how many
 * nodes and subscriptions were looked at. Any thread; never waits. Errors: -ENOMEM; then the
 * audience is empty.
 */
int matcher_ask(const struct matcher *matcher, struct slice topic, uint64_t told,
                struct audience *audience, size_t *work);

#endif
