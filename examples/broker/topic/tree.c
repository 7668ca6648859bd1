/* SPDX-License-Identifier: MIT */
/* The tree of filter levels; see tree.h. */
#include "topic/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <baton/resource.h>

#include "common/atomic.h"
#include "common/hash.h"
#include "common/must.h"

#define TREE_SIZE_FIRST 64

/* ---- Memory for ck_hs: a map that it replaces goes to the limbo, since others may read it ---- */

union tree_header {
	struct baton_retired retired;
	_Alignas(16) char size[16];
};

/* The tree that this thread changes now: ck_hs does not say whose memory it gives back. */
static _Thread_local struct tree *tree_changing;

static void *tree_malloc(size_t size)
{
	union tree_header *header = calloc(1, sizeof(*header) + size);

	return header == NULL ? NULL : header + 1;
}

static void tree_reclaim_map(struct baton_retired *retired)
{
	free(baton_container_of(retired, union tree_header, retired));
}

static void tree_free(void *memory, size_t size, bool others_read)
{
	union tree_header *header = (union tree_header *)memory - 1;

	(void)size;
	if (others_read)
		baton_limbo_retire(tree_changing->limbo, &header->retired, tree_reclaim_map);
	else
		free(header);
}

static struct ck_malloc tree_memory = {.malloc = tree_malloc, .free = tree_free};

/* ---- Keys ---- */

static unsigned long tree_hash(const void *object, unsigned long seed)
{
	const struct tree_node *node = object;

	(void)seed;
	return node->hash;
}

/* `first` is in the set; `second` is a key, a node with hash, parent and level alone. */
static bool tree_same(const void *first, const void *second)
{
	const struct tree_node *node = first, *key = second;

	/* Acquire: the node; pairs with the release in tree_add(). */
	return load_acquire(&node->hash) == key->hash && node->parent == key->parent &&
	       names_equal(node->level, key->level);
}

static uint64_t tree_key_hash(const struct tree_node *parent, struct slice level)
{
	const uint64_t hash = hash_bytes(level.bytes, level.size, (uintptr_t)parent);

	return hash == 0 ? 1 : hash;
}

struct tree_node *tree_find(const struct tree *tree, const struct tree_node *parent,
                            struct slice level)
{
	const struct tree_node key = {
		.hash = tree_key_hash(parent, level), .parent = parent, .level = level};

	/* Not const for ck_hs, though it changes nothing. */
	return ck_hs_get((struct ck_hs *)&tree->nodes, key.hash, &key);
}

const struct tree_below *tree_below(const struct tree *tree, const struct tree_node *parent)
{
	return parent == NULL ? &tree->first : &parent->below;
}

struct tree_node *tree_one(const struct tree_below *below)
{
	return load_acquire(&below->one); /* the node, see tree_hang() */
}

struct tree_node *tree_rest(const struct tree_below *below)
{
	return load_acquire(&below->rest); /* the node, too */
}

bool tree_others(const struct tree_below *below)
{
	return load_relaxed(&below->others) > 0; /* they are in the set */
}

/* ---- Changes ---- */

/* The children of the node's parent, for changes of the tree. */
static struct tree_below *tree_beside(struct tree *tree, const struct tree_node *node)
{
	return node->above == NULL ? &tree->first : &node->above->below;
}

/* Tells readers of a parent's new child; `child` is NULL: the child has gone. */
static void tree_hang(struct tree_below *below, struct slice level, struct tree_node *child)
{
	/* Release: the node; pairs with tree_one() and tree_rest(). */
	if (names_equal(level, (struct slice){"+", 1}))
		store_release(&below->one, child);
	else if (names_equal(level, (struct slice){"#", 1}))
		store_release(&below->rest, child);
	else
		store_relaxed(&below->others, below->others + (child != NULL ? 1 : (size_t)-1));
}

static bool tree_childless(const struct tree_node *node)
{
	return node->below.one == NULL && node->below.rest == NULL && node->below.others == 0;
}

static struct tree_node *tree_add(struct tree *tree, struct tree_node *parent, struct slice level)
{
	struct tree_node *node = must_alloc(sizeof(*node) + level.size);
	const uint64_t hash = tree_key_hash(parent, level);

	memcpy(node->text, level.bytes, level.size);
	node->level = (struct slice){node->text, level.size};
	node->parent = parent;
	node->above = parent;
	/* Release: the node; pairs with tree_same(). */
	store_release(&node->hash, hash);
	/* The stores above come before the node is in the set, on processors other than x86,
	 * too. */
	ck_pr_fence_store();
	tree_changing = tree;
	must(ck_hs_put(&tree->nodes, hash, node) ? 0 : -ENOMEM, "add a filter");
	tree_hang(tree_beside(tree, node), level, node);
	if (++tree->count > tree->count_max)
		tree->count_max = tree->count;
	return node;
}

static void tree_reclaim(struct baton_retired *retired)
{
	free(baton_container_of(retired, struct tree_node, retired));
}

void tree_prune(struct tree *tree, struct tree_node *node)
{
	tree_changing = tree;
	while (node != NULL && tree_childless(node) && node->subscriptions == NULL) {
		struct tree_node *above = node->above;

		tree_hang(tree_beside(tree, node), node->level, NULL);
		(void)ck_hs_remove(&tree->nodes, node->hash, node);
		baton_limbo_retire(tree->limbo, &node->retired, tree_reclaim);
		tree->count--;
		tree->removed++;
		node = above;
	}
	/* Tombstones lengthen the search for a level that is not there. The set does not shrink, so
	 * the cost of a copy depends on the most that it has ever held. */
	if (tree->removed > TREE_SIZE_FIRST + tree->count_max / 2 && ck_hs_rebuild(&tree->nodes))
		tree->removed = 0;
	baton_limbo_poll(tree->limbo);
}

struct tree_node *tree_of_filter(struct tree *tree, struct slice filter, bool add)
{
	struct tree_node *node = NULL;
	struct slice level;

	while (names_next_level(&filter, &level)) {
		struct tree_node *parent = node;

		node = tree_find(tree, parent, level);
		if (node == NULL && !add)
			return NULL;
		if (node == NULL)
			node = tree_add(tree, parent, level);
	}
	return node;
}

int tree_init(struct tree *tree)
{
	int status = baton_limbo_create(&tree->limbo);

	if (status != 0)
		return status;
	return ck_hs_init(&tree->nodes, CK_HS_MODE_SPMC | CK_HS_MODE_OBJECT, tree_hash, tree_same,
	                  &tree_memory, TREE_SIZE_FIRST, 0)
	               ? 0
	               : -ENOMEM;
}

void tree_deinit(struct tree *tree)
{
	baton_limbo_destroy(tree->limbo);
	ck_hs_destroy(&tree->nodes);
}
