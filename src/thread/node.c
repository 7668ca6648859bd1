/* SPDX-License-Identifier: MIT */
/*
 * The node caches. A thread that frees nodes of another thread collects them in a parcel, and
 * pushes the parcel by one CAS onto the list `returned` of the cache that the nodes are from. The
 * owner takes that list whole (no ABA). Nodes that the cache cannot hold go to its slabs (slab.h).
 *
 * The lines of a node that comes home are in the cache of the CPU that has freed the node; those of
 * a node with a task, in the cache of the submitter's CPU. To wait for such lines one after the
 * other costs more than all else. So a parcel consists of bundles: nodes whose bodies have the
 * addresses of six other nodes. The owner reads one line in place of seven. The owner also uses the
 * nodes of one slab at a time in the order of their addresses (the window): so the runner can fetch
 * them ahead.
 *
 * Source: the message-passing free lists of snmalloc and mimalloc; Bonwick's magazines.
 */
#include "thread/node.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "thread/thread.h"

#include <baton/thread.h>

#include <errno.h>
#include <stdlib.h>

/* The most nodes in each of a cache's two lists, `nodes` and `returned`, and in a parcel (five full
 * bundles). */
#ifndef BATON_NODE_CACHE_MAX /* tests make these small */
#define BATON_NODE_CACHE_MAX 1024U
#define BATON_NODE_PARCEL_MAX 35U
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
_Static_assert((BATON__NODE_HEADER_SIZE + BATON__NODE_SMALL_SIZE) % BATON_CACHE_LINE == 0 &&
                       (BATON__NODE_HEADER_SIZE + BATON__NODE_BODY_SIZE) % BATON_CACHE_LINE == 0,
               "each node has a bit of the window for itself");
_Static_assert(offsetof(struct baton__bundle, home) == offsetof(struct baton__node, home) &&
                       sizeof(struct baton__bundle) <=
                               BATON__NODE_HEADER_SIZE + BATON__NODE_SMALL_SIZE,
               "a bundle lies in a node");

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

/* Subtracts unsigned numbers: a cache of another record may have a lower address. */
BATON_INLINE bool is_own(const struct baton__thread *self, const struct baton__node_cache *cache)
{
	return (uintptr_t)cache - (uintptr_t)self->caches < sizeof(self->caches);
}

static struct baton__node *node_of(void *body)
{
	return (struct baton__node *)(void *)((char *)body - offsetof(struct baton__node, body));
}

static void push_node(struct baton__node_cache *cache, struct baton__node *node)
{
	node->next = cache->nodes;
	cache->nodes = node;
	cache->count++;
}

/* Adds a free node. False: the window is of another slab. */
static bool add_to_window(struct baton__window *window, struct baton__node *node)
{
	uintptr_t offset = (uintptr_t)node - window->slab;

	if (offset >= BATON_SLAB_SIZE)
		return false;
	offset /= BATON_CACHE_LINE;
	window->bits[offset / 64] |= (uint64_t)1 << offset % 64;
	window->count++;
	return true;
}

/* Takes the free node with the next address; after the last node, the first. One is there. */
static struct baton__node *take_of_window(struct baton__window *window)
{
	uintptr_t offset;

	/* Ends: a bit is set. */
	while (!window->now) {
		window->word = (window->word + 1) % BATON__WINDOW_WORDS;
		window->now = window->bits[window->word];
		window->bits[window->word] = 0;
	}
	offset = window->word * 64 + (uintptr_t)__builtin_ctzll(window->now);
	window->now &= window->now - 1;
	window->count--;
	return (struct baton__node *)(window->slab + offset * BATON_CACHE_LINE);
}

static struct baton__bundle *take_returned(struct baton__node_cache *cache)
{
	struct baton__bundle *bundle;

	if (!load_relaxed(&cache->returned))
		return NULL;
	/* [node.return] acquire: the nodes as their last users left them; pairs with [node.return]
	 * in send_home */
	bundle = swap_acquire(&cache->returned, NULL);
	/* Not exact: a sender may have linked its nodes, and will count them after this. Then the
	 * next count is too high. */
	store_relaxed(&cache->returned_count, 0);
	return bundle;
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

/* Bounded as hand_back_list. */
static void hand_back_bundles(struct baton__node_cache *cache, struct baton__bundle *bundle)
{
	struct baton__node *first = NULL;

	while (bundle) {
		struct baton__bundle *next = bundle->next;
		struct baton__node *node = (struct baton__node *)(void *)bundle;

		for (int i = 0; i < BATON__BUNDLE_OTHERS && bundle->others[i]; i++) {
			bundle->others[i]->next = first;
			first = bundle->others[i];
		}
		node->next = first;
		first = node;
		bundle = next;
	}
	hand_back_list(cache, first);
}

/* Empties the list `returned` of a cache. `self`: the cache is the calling thread's, and all its
 * lists are emptied. */
static void empty(struct baton__node_cache *cache, bool self)
{
	hand_back_bundles(cache, take_returned(cache));
	if (!self)
		return;
	while (cache->window.count)
		push_node(cache, take_of_window(&cache->window));
	hand_back_list(cache, cache->nodes);
	cache->nodes = NULL;
	cache->count = BATON_NODE_CACHE_MAX; /* until it is refilled */
}

/*
 * Gives nodes back to the slabs. After a burst each node in a cache may lie in a slab of its own,
 * and keeps that slab mapped. So a cache whose slabs are sparse is emptied, and stays empty until
 * few slabs are left, or until their pieces are in use.
 */
static void give_back_sparse(struct baton__thread *self, struct baton__node_cache *home,
                             struct baton__bundle *bundles)
{
	uint32_t sparse;

	hand_back_bundles(home, bundles);
	sparse = baton__slabs_sparse(&home->slabs);
	/* A hint: the next thread that gives nodes back corrects a wrong value. */
	if (load_relaxed(&home->sparse) != sparse)
		store_relaxed(&home->sparse, sparse);
	if (sparse)
		empty(home, is_own(self, home));
}

static void sort_in_returned(struct baton__node_cache *cache, struct baton__node *node)
{
	/* A memory checker does not see addresses in a bitmap: without slabs, use the list. */
	if (!BATON_NODE_SLABS || !add_to_window(&cache->window, node))
		push_node(cache, node);
}

/* Takes in the nodes that have been returned, if any. The empty window moves to the slab of the
 * first of these nodes. */
static void take_in(struct baton__node_cache *cache)
{
	struct baton__bundle *bundle = take_returned(cache);

	cache->window.slab = (uintptr_t)bundle & ~(uintptr_t)(BATON_SLAB_SIZE - 1);
	/* Bounded as hand_back_list. */
	while (bundle) {
		struct baton__bundle *next = bundle->next;

		if (next)
			__builtin_prefetch(next, 1);
		for (int i = 0; i < BATON__BUNDLE_OTHERS && bundle->others[i]; i++)
			sort_in_returned(cache, bundle->others[i]);
		sort_in_returned(cache, (struct baton__node *)(void *)bundle);
		bundle = next;
	}
}

/* Takes the first node of the list `nodes`, if there is one. */
BATON_INLINE struct baton__node *pop(struct baton__node_cache *cache)
{
	struct baton__node *node = cache->nodes;

	if (BATON_UNLIKELY(!node))
		return NULL;
	cache->nodes = node->next;
	if (cache->count)
		cache->count--;
	return node;
}

/* Fills the empty list `nodes` from the slabs. False: no memory. */
static bool refill_cache(struct baton__node_cache *cache)
{
	cache->nodes = obtain(cache, &cache->count);
	if (!cache->nodes)
		return false;
	/* A list of one node may be a new node. The nodes of a longer list have this home
	 * already. */
	cache->nodes->home = cache;
	return true;
}

/* Takes a node where the list `nodes` is empty. NULL: no memory. */
static BATON_NOINLINE struct baton__node *take_other(struct baton__node_cache *cache)
{
	cache->count = 0;
	if (!cache->window.count)
		take_in(cache);
	if (cache->window.count)
		return take_of_window(&cache->window);
	if (!cache->nodes && !refill_cache(cache))
		return NULL;
	return pop(cache);
}

void *baton__node_alloc(size_t size)
{
	struct baton__node_cache *cache = &baton__self->caches[size > BATON__NODE_SMALL_SIZE];
	struct baton__node *node = pop(cache);

	if (BATON_UNLIKELY(!node))
		node = take_other(cache);
	return node ? node->body : NULL;
}

static void send_home(struct baton__thread *self, struct baton__bundle *first,
                      struct baton__bundle *last, uint32_t count)
{
	struct baton__node_cache *home = first->home;

	/* The count may be too high. So look at the list, too: an empty list is not full. */
	if (load_relaxed(&home->sparse) ||
	    (load_relaxed(&home->returned_count) >= BATON_NODE_CACHE_MAX &&
	     load_relaxed(&home->returned))) {
		give_back_sparse(self, home, first);
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

/* A bundle that has no other nodes yet. */
static struct baton__bundle *bundle_of(struct baton__node *node)
{
	struct baton__bundle *bundle = (struct baton__bundle *)(void *)node;

	bundle->next = NULL;
	bundle->others[0] = NULL;
	return bundle;
}

static void send_parcel(struct baton__thread *self)
{
	struct baton__parcel parcel = self->parcel;

	self->parcel = (struct baton__parcel){0};
	if (parcel.first)
		send_home(self, parcel.first, parcel.last, parcel.count);
}

static void add_to_parcel(struct baton__parcel *parcel, struct baton__node *node)
{
	struct baton__bundle *last = parcel->last;

	parcel->count++;
	if (last && parcel->others < BATON__BUNDLE_OTHERS) {
		last->others[parcel->others++] = node;
		if (parcel->others < BATON__BUNDLE_OTHERS)
			last->others[parcel->others] = NULL;
		return;
	}
	parcel->last = bundle_of(node);
	parcel->others = 0;
	if (last)
		last->next = parcel->last;
	else
		parcel->first = parcel->last;
}

void baton__node_flush(struct baton__thread *self)
{
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
	struct baton__parcel *parcel = &self->parcel;

	/* A thread without a record cannot collect a parcel. */
	if (!baton__has_record(self)) {
		send_home(self, bundle_of(node), (struct baton__bundle *)(void *)node, 1);
		return;
	}
	if (parcel->first &&
	    (parcel->first->home != node->home || parcel->count == BATON_NODE_PARCEL_MAX))
		send_parcel(self);
	add_to_parcel(parcel, node);
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

_Static_assert(BATON_NODE_MAX == BATON__NODE_BODY_SIZE, "what thread.h promises");

BATON_EXPORT int baton_node_alloc(size_t size, void **node)
{
	void *body;
	int error;

	BATON__NEED(node, "there is no place for the node");
	BATON_REQUIRE(size <= BATON_NODE_MAX,
	              "a node has at most BATON_NODE_MAX bytes: allocate what is larger");
	error = baton__thread_attach();
	if (error)
		return error;
	body = baton__node_alloc(size);
	if (!body)
		return -ENOMEM;
	*node = body;
	return 0;
}

BATON_EXPORT void baton_node_free(void *node)
{
	BATON__NEED(node, "the node is NULL");
	baton__node_free(node);
}
