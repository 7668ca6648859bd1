/* SPDX-License-Identifier: MIT */
/* Turns by address; see turns.h. An address is known as long as something of it waits. */
#include "turns.h"

#include <errno.h>
#include <stdlib.h>

#include "common/hash.h"

struct turns_address {
	uint64_t name;
	size_t count; /* of its items */
	struct turns_item *first;
	struct turns_item *last;
	struct turns_address *next; /* in the ring */
	struct turns_address *previous;
	struct turns_address *rank_next; /* of those with as many items */
	struct turns_address *rank_previous;
	struct turns_address *bucket_next; /* or of those that are unused */
};

int turns_init(struct turns *turns, size_t most)
{
	const size_t all = most + 1; /* until turns_add() has chosen the item that has to go */

	*turns = (struct turns){.most = most, .buckets_count = 1};
	while (turns->buckets_count < all)
		turns->buckets_count *= 2;
	turns->ranks = calloc(all + 1, sizeof(struct turns_address *));
	turns->buckets = calloc(turns->buckets_count, sizeof(struct turns_address *));
	turns->pool = calloc(all, sizeof(*turns->pool));
	if (turns->ranks == NULL || turns->buckets == NULL || turns->pool == NULL) {
		turns_deinit(turns);
		return -ENOMEM;
	}
	for (size_t i = all; i-- > 0; turns->unused = &turns->pool[i])
		turns->pool[i].bucket_next = turns->unused;
	return 0;
}

void turns_deinit(struct turns *turns)
{
	free(turns->ranks);
	free(turns->buckets);
	free(turns->pool);
	*turns = (struct turns){0};
}

static struct turns_address **bucket_of(const struct turns *turns, uint64_t name)
{
	const uint64_t hash = hash_bytes(&name, sizeof(name), 0);

	return &turns->buckets[hash & (turns->buckets_count - 1)];
}

static void rank_leave(struct turns *turns, struct turns_address *address)
{
	if (address->rank_previous != NULL)
		address->rank_previous->rank_next = address->rank_next;
	else
		turns->ranks[address->count] = address->rank_next;
	if (address->rank_next != NULL)
		address->rank_next->rank_previous = address->rank_previous;
}

/* At the front of its rank: the address that has grown last. */
static void rank_enter(struct turns *turns, struct turns_address *address)
{
	struct turns_address **rank = &turns->ranks[address->count];

	address->rank_previous = NULL;
	address->rank_next = *rank;
	if (*rank != NULL)
		(*rank)->rank_previous = address;
	*rank = address;
}

/* The address has `count` items now: one more, or one less. */
static void address_count(struct turns *turns, struct turns_address *address, size_t count)
{
	rank_leave(turns, address);
	address->count = count;
	rank_enter(turns, address);
	if (count > turns->longest)
		turns->longest = count;
	else if (turns->ranks[turns->longest] == NULL)
		turns->longest--; /* this address had as many, and has one less */
}

/* The last in the ring. */
static void ring_enter(struct turns *turns, struct turns_address *address)
{
	if (turns->next == NULL) {
		address->next = address;
		address->previous = address;
		turns->next = address;
		return;
	}
	address->next = turns->next;
	address->previous = turns->next->previous;
	address->next->previous = address;
	address->previous->next = address;
}

static void ring_leave(struct turns *turns, struct turns_address *address)
{
	address->previous->next = address->next;
	address->next->previous = address->previous;
	if (turns->next == address)
		turns->next = address->next != address ? address->next : NULL;
}

static struct turns_address *address_enter(struct turns *turns, uint64_t name)
{
	struct turns_address **bucket = bucket_of(turns, name);
	struct turns_address *address = *bucket;

	while (address != NULL && address->name != name)
		address = address->bucket_next;
	if (address != NULL)
		return address;
	address = turns->unused;
	turns->unused = address->bucket_next;
	*address = (struct turns_address){.name = name, .bucket_next = *bucket};
	*bucket = address;
	rank_enter(turns, address);
	ring_enter(turns, address);
	return address;
}

static void address_leave(struct turns *turns, struct turns_address *address)
{
	struct turns_address **at = bucket_of(turns, address->name);

	while (*at != address)
		at = &(*at)->bucket_next;
	*at = address->bucket_next;
	rank_leave(turns, address);
	ring_leave(turns, address);
	address->bucket_next = turns->unused;
	turns->unused = address;
}

void turns_remove(struct turns *turns, struct turns_item *item)
{
	struct turns_address *address = item->address;

	if (item->previous != NULL)
		item->previous->next = item->next;
	else
		address->first = item->next;
	if (item->next != NULL)
		item->next->previous = item->previous;
	else
		address->last = item->previous;
	item->address = NULL;
	turns->count--;
	address_count(turns, address, address->count - 1);
	if (address->count == 0)
		address_leave(turns, address);
}

struct turns_item *turns_add(struct turns *turns, uint64_t name, struct turns_item *item)
{
	struct turns_address *address = address_enter(turns, name);
	struct turns_item *newest;

	item->address = address;
	item->next = NULL;
	item->previous = address->last;
	if (address->last != NULL)
		address->last->next = item;
	else
		address->first = item;
	address->last = item;
	turns->count++;
	address_count(turns, address, address->count + 1);
	if (turns->count <= turns->most)
		return NULL;
	newest = turns->ranks[turns->longest]->last;
	turns_remove(turns, newest);
	return newest;
}

struct turns_item *turns_take(struct turns *turns)
{
	struct turns_item *item;

	if (turns->next == NULL)
		return NULL;
	item = turns->next->first;
	turns->next = turns->next->next;
	turns_remove(turns, item);
	return item;
}
