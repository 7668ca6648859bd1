/* SPDX-License-Identifier: MIT */
/*
 * The node caches. A thread that frees nodes of another thread pushes them in batches, one CAS
 * each, onto the list `returned` of the cache that the nodes are from. The owner takes that list
 * whole (no ABA). Nodes that the cache cannot hold go to its slabs (slab.h).
 *
 * Source: the message-passing free lists of snmalloc and mimalloc.
 */
#include "thread/node.h"

#include "base/atomic.h"
#include "thread/thread.h"

#include <stdlib.h>

/* The most nodes in each of a cache's two lists, `nodes` and `returned`, and in a parcel. */
#ifndef BATON_NODE_CACHE_MAX /* tests make these small */
#define BATON_NODE_CACHE_MAX 1024U
#define BATON_NODE_PARCEL_MAX 32U
#endif

#ifndef BATON_NODE_FREED /* the explorer writes the body, as its next user will */
#define BATON_NODE_FREED(body, size) ((void)0)
#endif

struct baton__node {
	struct baton__node *next;
	struct baton__node_cache *home;
	_Alignas(16) unsigned char body[];
};

_Static_assert(sizeof(struct baton__node) == BATON__NODE_HEADER_SIZE, "what slabs reckon with");

/* ---- Where nodes come from, and go to ---- */

#if BATON_NODE_SLABS

/* Returns a list of `*count` nodes. NULL: no memory. */
static struct baton__node *obtain(struct baton__node_cache *cache, uint32_t *count)
{
	return (struct baton__node *)(void *)baton__slabs_take(&cache->slabs, count);
}

static void hand_back(struct baton__node_cache *home, struct baton__node *first,
                      struct baton__node *last)
{
	baton__slabs_give(&home->slabs, (struct baton__piece *)(void *)first,
	                  (struct baton__piece *)(void *)last);
}

#else /* each node from malloc, so that a memory checker sees the use of a freed node */

static struct baton__node *obtain(struct baton__node_cache *cache, uint32_t *count)
{
	struct baton__node *node = aligned_alloc(BATON_CACHE_LINE, cache->slabs.piece_size);

	*count = 1;
	if (node)
		node->next = NULL;
	return node;
}

static void hand_back(struct baton__node_cache *home, struct baton__node *first,
                      struct baton__node *last)
{
	(void)home;
	last->next = NULL;
	while (first) {
		struct baton__node *next = first->next;

		free(first);
		first = next;
	}
}

#endif

/* ---- The caches ---- */

/* As unsigned numbers: a cache of another record may have a lower address. */
BATON_INLINE bool is_own(const struct baton__thread *self, const struct baton__node_cache *cache)
{
	return (uintptr_t)cache - (uintptr_t)self->caches < sizeof(self->caches);
}

static struct baton__node *node_of(void *body)
{
	return (struct baton__node *)(void *)((char *)body - offsetof(struct baton__node, body));
}

static struct baton__node *take_returned(struct baton__node_cache *cache, uint32_t *count)
{
	struct baton__node *node;

	if (!load_relaxed(&cache->returned))
		return NULL;
	/* [node.return] acquire: the nodes as their last users left them; pairs with [node.return]
	 * in send_home */
	node = swap_acquire(&cache->returned, NULL);
	/* Not exact: a sender may have linked its nodes, and will count them after this. Then the
	 * next count is too high. */
	*count = load_relaxed(&cache->returned_count);
	store_relaxed(&cache->returned_count, 0);
	return node;
}

/* Bounded by CACHE_MAX, and by the parcels that were under way when the list became full. */
static void hand_back_list(struct baton__node_cache *cache, struct baton__node *first)
{
	struct baton__node *last = first;

	if (!first)
		return;
	while (last->next)
		last = last->next;
	hand_back(cache, first, last);
}

/* Empties the list `returned` of a cache. `self`: the cache is the calling thread's: empties the
 * list `nodes`, too. */
static void empty(struct baton__node_cache *cache, bool self)
{
	uint32_t count;

	hand_back_list(cache, take_returned(cache, &count));
	if (!self)
		return;
	hand_back_list(cache, cache->nodes);
	cache->nodes = NULL;
	cache->count = BATON_NODE_CACHE_MAX; /* until it is refilled */
}

/*
 * Gives nodes back to the slabs. After a burst each node in a cache may lie in a slab of its own,
 * and keeps that slab mapped. So a cache whose slabs are sparse is emptied, and stays empty until
 * few slabs are left, or until their pieces are in use.
 */
static void give_back(struct baton__thread *self, struct baton__node_cache *home,
                      struct baton__node *first, struct baton__node *last)
{
	uint32_t sparse;

	hand_back(home, first, last);
	sparse = baton__slabs_sparse(&home->slabs);
	/* A hint: the next thread that gives nodes back corrects a wrong value. */
	if (load_relaxed(&home->sparse) != sparse)
		store_relaxed(&home->sparse, sparse);
	if (sparse)
		empty(home, is_own(self, home));
}

static BATON_NOINLINE bool refill(struct baton__node_cache *cache)
{
	uint32_t count = 0;

	cache->nodes = take_returned(cache, &count);
	if (!cache->nodes) {
		cache->nodes = obtain(cache, &count);
		if (!cache->nodes)
			return false;
		/* Only the node of a list of one may be new; nodes of a longer list have this home
		 * already. */
		cache->nodes->home = cache;
	}
	cache->count = count;
	return true;
}

void *baton__node_alloc(size_t size)
{
	struct baton__node_cache *cache = &baton__self->caches[size > BATON__NODE_SMALL_SIZE];
	struct baton__node *node;

	if (BATON_UNLIKELY(!cache->nodes) && !refill(cache))
		return NULL;
	node = cache->nodes;
	cache->nodes = node->next;
	if (cache->count)
		cache->count--;
	return node->body;
}

static void send_home(struct baton__thread *self, struct baton__node_cache *home,
                      struct baton__node *first, struct baton__node *last, uint32_t count)
{
	/* The count may be too high, so look at the list, too: an empty list is not full. */
	if (load_relaxed(&home->sparse) ||
	    (load_relaxed(&home->returned_count) >= BATON_NODE_CACHE_MAX &&
	     load_relaxed(&home->returned))) {
		give_back(self, home, first, last);
		return;
	}
	last->next = load_relaxed(&home->returned);
	/* Ends: each failure is another thread that has pushed a batch, or has taken all.
	 * [node.return] release: our use of the nodes; pairs with [node.return] in
	 * take_returned */
	while (!cas_release(&home->returned, &last->next, first))
		baton__pause();
	(void)add_relaxed(&home->returned_count, count);
}

static void send_parcel(struct baton__thread *self)
{
	struct baton__node *first = self->parcel;

	self->parcel = NULL;
	send_home(self, first->home, first, self->parcel_last, self->parcel_count);
	self->parcel_count = 0;
}

void baton__node_flush(struct baton__thread *self)
{
	if (self->parcel)
		send_parcel(self);
	for (int i = 0; i < BATON__NODE_SIZES; i++)
		if (baton__slabs_sparse(&self->caches[i].slabs))
			empty(&self->caches[i], true);
}

void baton__node_forked(struct baton__thread *self)
{
	for (int i = 0; i < BATON__NODE_SIZES; i++)
		baton__slabs_forked(&self->caches[i].slabs);
}

/* Frees a node of another thread, or a node for which the thread's own cache has no room. */
static BATON_NOINLINE void free_elsewhere(struct baton__thread *self, struct baton__node *node)
{
	/* A thread without a record cannot collect a parcel. */
	if (!baton__has_record(self)) {
		send_home(self, node->home, node, node, 1);
		return;
	}
	if (self->parcel &&
	    (self->parcel->home != node->home || self->parcel_count == BATON_NODE_PARCEL_MAX))
		send_parcel(self);
	node->next = self->parcel;
	if (!self->parcel)
		self->parcel_last = node;
	self->parcel = node;
	self->parcel_count++;
}

void baton__node_free(void *body)
{
	struct baton__thread *self = baton__self;
	struct baton__node *node = node_of(body);
	struct baton__node_cache *home = node->home;

	BATON_NODE_FREED(body, home->slabs.piece_size - BATON__NODE_HEADER_SIZE);
	if (BATON_UNLIKELY(!is_own(self, home) || home->count >= BATON_NODE_CACHE_MAX)) {
		free_elsewhere(self, node);
		return;
	}
	node->next = home->nodes;
	home->nodes = node;
	home->count++;
}
