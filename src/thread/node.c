/* SPDX-License-Identifier: MIT */
/*
 * The node caches. Source: the message-passing free lists of snmalloc and mimalloc: free from
 * elsewhere is one CAS per batch onto the owner's list, which the owner takes whole (no ABA).
 */
#include "thread/node.h"

#include "base/atomic.h"
#include "thread/thread.h"

#include <stdlib.h>

/* Nodes kept per thread, each in its own and in the returned list; nodes sent home at once. */
#ifndef BATON_NODE_CACHE_MAX /* tests make these small */
#define BATON_NODE_CACHE_MAX 1024U
#define BATON_NODE_PARCEL_MAX 32U
#endif

struct baton__node {
	struct baton__node *next;
	struct baton__thread *home;
	_Alignas(16) unsigned char body[BATON__NODE_BODY_SIZE];
};

_Static_assert(sizeof(struct baton__node) == 128, "two cache lines");

static struct baton__node *node_of(void *body)
{
	return (struct baton__node *)(void *)((char *)body - offsetof(struct baton__node, body));
}

static struct baton__node *take_returned(struct baton__thread *self)
{
	struct baton__node *node;

	if (!load_relaxed(&self->returned))
		return NULL;
	/* [M1] acquire: the nodes as their last users left them; pairs with [M1] in send_home */
	node = swap_acquire(&self->returned, NULL);
	/* About: a sender that has linked but not yet counted makes the next count too high. */
	self->node_count = load_relaxed(&self->returned_count);
	store_relaxed(&self->returned_count, 0);
	return node;
}

void *baton__node_alloc(void)
{
	struct baton__thread *self = baton__self;
	struct baton__node *node = self->nodes;

	if (BATON_UNLIKELY(!node))
		node = take_returned(self);
	if (BATON_UNLIKELY(!node)) {
		node = aligned_alloc(BATON_CACHE_LINE, sizeof(*node));
		if (!node)
			return NULL;
		node->home = self;
		return node->body;
	}
	self->nodes = node->next;
	if (self->node_count)
		self->node_count--;
	return node->body;
}

static void free_list(struct baton__node *node)
{
	while (node) {
		struct baton__node *next = node->next;

		free(node);
		node = next;
	}
}

static void send_home(struct baton__thread *home, struct baton__node *first,
                      struct baton__node *last, uint32_t count)
{
	/* The count may be too high; not if there is nothing. */
	if (load_relaxed(&home->returned_count) >= BATON_NODE_CACHE_MAX &&
	    load_relaxed(&home->returned)) {
		free_list(first);
		return;
	}
	last->next = load_relaxed(&home->returned);
	/* Ends: each failure is another thread's batch arriving, or the owner taking all.
	 * [M1] release: we are done with the nodes; pairs with [M1] in take_returned */
	while (!cas_release(&home->returned, &last->next, first))
		baton__pause();
	(void)add_relaxed(&home->returned_count, count);
}

void baton__node_flush(struct baton__thread *self)
{
	if (!self->parcel)
		return;
	send_home(self->parcel->home, self->parcel, self->parcel_last, self->parcel_count);
	self->parcel = NULL;
	self->parcel_count = 0;
}

static BATON_NOINLINE void free_elsewhere(struct baton__thread *self, struct baton__node *node)
{
	if (self->parcel &&
	    (self->parcel->home != node->home || self->parcel_count == BATON_NODE_PARCEL_MAX))
		baton__node_flush(self);
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

	/* A thread without a record has nowhere to collect. */
	if (BATON_UNLIKELY(self->depth >= BATON__DEPTH_NONE ||
	                   self->node_count >= BATON_NODE_CACHE_MAX)) {
		free(node);
		return;
	}
	if (BATON_UNLIKELY(node->home != self)) {
		free_elsewhere(self, node);
		return;
	}
	node->next = self->nodes;
	self->nodes = node;
	self->node_count++;
}
