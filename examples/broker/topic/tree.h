/* SPDX-License-Identifier: MIT */
/*
 * The levels of topic filters, as a tree: each node is a level below its parent, and has the
 * subscriptions whose filter ends there. All nodes are in one hash set (Concurrency Kit's ck_hs)
 * whose key is (parent, level), so a node has no list of children. A node knows enough about its
 * children (tree_below) that a reader looks for no child that does not exist.
 *
 * One thread at a time changes the tree, under the matcher's baton. Any thread reads it meanwhile,
 * in an epoch section (baton/epoch.h): a node is complete before it is in the set, and is freed
 * when no section is left that may have found it. A node's key names its parent by the parent's
 * address. A parent is removed later than its children, and its memory is used again only after all
 * sections that have seen it: so no reader takes a new node for the parent of an old node's child.
 */
#ifndef BROKER_TREE_H
#define BROKER_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ck_hs.h>

#include <baton/epoch.h>

#include "mqtt/names.h"

struct subscription;

/* Each word is atomic: changed by one thread at a time, read by any. */
struct tree_below {
	struct tree_node *one;  /* the child `+`, or NULL */
	struct tree_node *rest; /* the child `#`, or NULL */
	size_t others;          /* the number of further children */
};

struct tree_node {
	uint64_t hash; /* never 0; published last, read first */
	const struct tree_node *parent;
	struct slice level;
	struct subscription *subscriptions; /* atomic, see matcher.h */
	struct tree_node *above;            /* the parent, for changes of the tree */
	struct tree_below below;
	struct baton_retired retired;
	char text[];
};

struct tree {
	struct ck_hs nodes;
	struct tree_below first; /* level */
	struct baton_limbo *limbo;
	size_t removed; /* since the set was rebuilt */
	size_t count;
	size_t count_max;
};

/* Errors: -ENOMEM. deinit: no node is left. */
int tree_init(struct tree *tree);
void tree_deinit(struct tree *tree);

/* The node of a level below `parent` (NULL: the first level); NULL: there is none. */
struct tree_node *tree_find(const struct tree *tree, const struct tree_node *parent,
                            struct slice level);

/* Finds the node of a whole filter. If there is no such node: makes it if `add`, else NULL. */
struct tree_node *tree_of_filter(struct tree *tree, struct slice filter, bool add);

/*
 * The children of the node (NULL: the first level). Any thread, in an epoch section. A child that
 * is added meanwhile may be missed; a child whose adding happened before this call is found.
 */
const struct tree_below *tree_below(const struct tree *tree, const struct tree_node *parent);
struct tree_node *tree_one(const struct tree_below *below);
struct tree_node *tree_rest(const struct tree_below *below);
bool tree_others(const struct tree_below *below);

/* Takes out the node and the nodes above it, up to one with subscriptions or children. */
void tree_prune(struct tree *tree, struct tree_node *node);

#endif
