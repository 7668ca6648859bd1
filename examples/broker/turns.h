/* SPDX-License-Identifier: MIT */
/*
 * Items that wait, in turns, for something scarce. Each address has a queue of its own, first in,
 * first out, and the addresses are served one item each, in a ring. The number of waiting items is
 * bounded. When there are too many, the newest item of the address with the most items has to go;
 * of several such addresses, it is the one that has just added an item. So an address that adds
 * many items delays and displaces its own items.
 *
 * Each operation costs O(1), however many items wait. There are no locks: a resource owns the
 * turns. Pure.
 */
#ifndef BROKER_TURNS_H
#define BROKER_TURNS_H

#include <stddef.h>
#include <stdint.h>

struct turns_address;

/* Embedded in each thing that waits. */
struct turns_item {
	struct turns_item *next; /* in the queue of its address, oldest first */
	struct turns_item *previous;
	struct turns_address *address; /* NULL: does not wait */
};

struct turns {
	size_t count;                 /* items */
	size_t most;                  /* items that may wait */
	size_t longest;               /* items of the address that has the most */
	struct turns_address *next;   /* in the ring of addresses, the next to be served; or NULL */
	struct turns_address **ranks; /* [n]: the addresses with n items */
	struct turns_address **buckets; /* of the hash table of addresses */
	size_t buckets_count;           /* a power of two */
	struct turns_address *pool;     /* the memory of all addresses */
	struct turns_address *unused;   /* of the pool */
};

/* `most` is at least 1. -ENOMEM: nothing is left. */
int turns_init(struct turns *turns, size_t most);

/* Nothing waits. */
void turns_deinit(struct turns *turns);

/* Adds an item. Returns NULL, or the item that has to go, which does not wait any more. */
struct turns_item *turns_add(struct turns *turns, uint64_t address, struct turns_item *item);

/* Takes the oldest item of the address whose turn it is. NULL: nothing waits. */
struct turns_item *turns_take(struct turns *turns);

/* Takes this item, which waits. */
void turns_remove(struct turns *turns, struct turns_item *item);

#endif
