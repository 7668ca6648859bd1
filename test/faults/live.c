/* SPDX-License-Identifier: MIT */
/*
 * The table of live blocks: open addressing under a spin lock. Addresses are kept inverted, since a
 * leak checker would else take this table for a user of the blocks. A block of the size of an epoch
 * record is one.
 */
#include "live.h"
#include "nodes_kept.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "thread/thread.h"

#include <ck_epoch.h>

#define SLOTS 4096U
#define FREED 1U

struct block {
	uintptr_t inverted; /* 0: never used; FREED: used, and free again */
	size_t size;
};

static struct block blocks[SLOTS];
static size_t used;
static atomic_flag busy = ATOMIC_FLAG_INIT;

static void lock(void)
{
	while (atomic_flag_test_and_set(&busy))
		continue;
}

static void unlock(void)
{
	atomic_flag_clear(&busy);
}

static size_t first_slot(uintptr_t inverted)
{
	return (size_t)((inverted >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 40) % SLOTS;
}

void live_add(const void *block, size_t size)
{
	uintptr_t inverted = ~(uintptr_t)block;
	size_t slot = first_slot(inverted);

	if (!block)
		return;
	lock();
	if (used == SLOTS)
		abort();
	while (blocks[slot].inverted > FREED)
		slot = (slot + 1) % SLOTS;
	blocks[slot] = (struct block){inverted, size};
	used++;
	unlock();
}

void live_remove(const void *block)
{
	uintptr_t inverted = ~(uintptr_t)block;
	size_t slot = first_slot(inverted);

	lock();
	for (size_t i = 0; i < SLOTS && blocks[slot].inverted; i++) {
		if (blocks[slot].inverted == inverted) {
			blocks[slot].inverted = FREED;
			used--;
			break;
		}
		slot = (slot + 1) % SLOTS;
	}
	unlock();
}

bool live_is_clean(size_t objects, size_t threads, bool loud)
{
	size_t records = 0;
	size_t rings = 0;  /* of traces; a record keeps its own */
	size_t epochs = 0; /* ck_epoch's records: threads' and limbos', never freed either */
	size_t in_use = 0;
	size_t cached = 0;
	size_t nodes = 0; /* from slabs, in use or cached */
	size_t others;

	lock();
	for (const struct baton__thread *record = baton__thread_first(); record;
	     record = record->next) {
		records++;
		rings += load_acquire(&record->ring) != NULL;
		in_use += load_acquire(&record->used);
		cached += nodes_kept(record);
		for (int i = 0; i < BATON__NODE_SIZES; i++)
			nodes += (size_t)(record->caches[i].slabs.taken -
			                  record->caches[i].slabs.filed);
		/* Its epoch record may have the same size as itself. */
		epochs -= sizeof(*record) == sizeof(ck_epoch_record_t);
	}
	for (size_t i = 0; i < SLOTS; i++)
		epochs += blocks[i].inverted > FREED && blocks[i].size == sizeof(ck_epoch_record_t);
	/* A node is a block, or a piece of a slab, which is none. */
	others = used + nodes - records - rings - epochs - cached - objects;
	for (size_t i = 0; loud && others && i < SLOTS; i++)
		if (blocks[i].inverted > FREED)
			(void)fprintf(stderr, "[----]   a block of %zu bytes\n", blocks[i].size);
	unlock();
	if (loud)
		(void)fprintf(stderr, "[----]   %zu blocks too many, %zu records too many in use\n",
		              others, in_use - threads);
	return others == 0 && in_use == threads;
}
