/* SPDX-License-Identifier: MIT */
/*
 * The subscription tree with its subscriptions: which filters there are, level by level (tree.h),
 * and whose. Changes of the tree are tasks of one resource. Any thread reads the tree without that
 * resource: a topic does so for the first message after a change, and keeps the result (topic.h).
 *
 * What a reader may rely on. Nodes and subscriptions live as long as the reader's epoch section: a
 * subscription that was taken out goes to the table's limbo (subscription_retire), and holds its
 * session until the limbo frees it. The list of a node's subscriptions is linked by release stores,
 * at its front, and unlinked likewise, so that a reader always comes to its end.
 *
 * A subscription counts for a topic when the topic was told of it (`pass`, see topic.h).
 * `generation` changes whenever subscriptions were taken out, or the access rules have changed.
 *
 * Shared subscriptions (session/group.h). That of a client is in the tree at its whole filter,
 * "$share/GROUP/FILTER", and counts for no topic: its `pass` stays 0. All of one node are the
 * members of one group. The group has a subscription of its own, at FILTER, which counts. That one
 * is made with the first member and taken out with the last one.
 */
#ifndef BROKER_MATCHER_H
#define BROKER_MATCHER_H

#include <stddef.h>
#include <stdint.h>

#include <baton/resource.h>
#include <baton/stats.h>

#include "topic/audience.h"
#include "mqtt/names.h"
#include "session/group.h"
#include "topic/tree.h"

struct env;
struct request;
struct session;

struct subscription {
	struct subscription *node_next; /* atomic */
	struct subscription *session_next;
	struct subscription **node_link;    /* the pointer to it, for changes of the tree */
	struct subscription **session_link; /* the same in the session's list */
	struct tree_node *node;
	struct session *session; /* counted */
	struct member *member;   /* of a group; NULL: no shared subscription */
	size_t memory;           /* its share of --max-filter-bytes */
	uint64_t pass;           /* atomic: the table's first pass for it; 0: none yet */
	struct baton_retired retired;
	union subscription_options options; /* atomic, by its word: of its last SUBSCRIBE */
};

/* A group with its subscription, which live and are freed together. */
struct share {
	struct group group; /* first: frees the struct, with its session */
	struct subscription subscription;
};

/* Frees a subscription that was taken out, later. Under the table's baton, for its limbo. */
void subscription_retire(struct baton_limbo *limbo, struct subscription *subscription);

struct matcher {
	struct baton_resource resource;
	struct baton_resource_stats own_stats;
	struct baton_resource_stats *stats; /* these, or those on the board */
	struct env *env;
	struct tree tree;
	uint64_t generation; /* atomic */
};

/* Errors: -ENOMEM. deinit: every session must have ended. */
int matcher_init(struct matcher *matcher, struct env *env);
void matcher_deinit(struct matcher *matcher);

/* The first hop of a request, see request.h. */
void matcher_apply(struct matcher *matcher, struct request *request);

/* See table_restore() and table_restore_group(). */
void matcher_restore(struct matcher *matcher, struct session *session, struct slice filter,
                     union subscription_options options);
struct session *matcher_restore_group(struct matcher *matcher, struct slice name);

/* There are new access rules: has each topic find its audience anew. Waits for the tree. */
void matcher_renew(struct matcher *matcher);

/* The generation, which changes when a topic's audience may have got smaller. Any thread. */
uint64_t matcher_generation(const struct matcher *matcher);

/*
 * Adds to an empty audience each session with a subscription that matches the topic and whose pass
 * is at most `told`, if its client may read the topic. Takes a reference on the session, and seals
 * the audience. `work`: the number of nodes, subscriptions and rights looked at. Any thread; never
 * waits. Errors: -ENOMEM; then the audience is empty.
 */
int matcher_ask(const struct matcher *matcher, struct slice topic, uint64_t told,
                struct audience *audience, size_t *work);

#endif
