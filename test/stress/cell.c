/* SPDX-License-Identifier: MIT */
/* Cells: a cache in each thread, a depot for what one thread takes and another gives back. */
#include "cell.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "actor.h"
#include "report.h"
#include "sabotage.h"

#define PATTERN 0xDB
#define MOVED (CELL_CACHE_MAX / 2)

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
void __asan_poison_memory_region(void const volatile *address, size_t size);
void __asan_unpoison_memory_region(void const volatile *address, size_t size);
#define HIDE(cell) __asan_poison_memory_region((cell), CELL_SIZE)
#define SHOW(cell) __asan_unpoison_memory_region((cell), CELL_SIZE)
#else
#define HIDE(cell) ((void)(cell))
#define SHOW(cell) ((void)(cell))
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void **depot;
static size_t depot_count;
static size_t depot_room;

static void check(const unsigned char *cell)
{
	for (size_t i = 0; i < CELL_SIZE; i++)
		if (cell[i] != PATTERN)
			report(NULL, NULL,
			       "memory that was given back has been written to: byte %zu of %p", i,
			       (const void *)cell);
}

static void refill(struct cell_cache *cache)
{
	pthread_mutex_lock(&lock);
	while (depot_count > 0 && cache->count < MOVED)
		cache->cells[cache->count++] = depot[--depot_count];
	pthread_mutex_unlock(&lock);
	while (cache->count < 4) {
		unsigned char *cell = malloc(CELL_SIZE);

		MUST(cell);
		memset(cell, PATTERN, CELL_SIZE);
		HIDE(cell);
		cache->cells[cache->count++] = cell;
	}
}

static void drop_some(struct cell_cache *cache)
{
	pthread_mutex_lock(&lock);
	if (depot_room < depot_count + MOVED) {
		depot_room = depot_room * 2 + 1024;
		depot = realloc(depot, depot_room * sizeof(*depot));
		MUST(depot);
	}
	/* The oldest: the newest are to be reused at once. */
	memcpy(depot + depot_count, cache->cells, MOVED * sizeof(*depot));
	depot_count += MOVED;
	pthread_mutex_unlock(&lock);
	cache->count -= MOVED;
	memmove(cache->cells, cache->cells + MOVED, cache->count * sizeof(*depot));
}

void *cell_take(void)
{
	struct cell_cache *cache = &actor_self()->cells;
	void *cell;

	if (cache->count == 0)
		refill(cache);
	cell = cache->cells[--cache->count];
	SHOW(cell);
	check(cell);
	cache->taken++;
	return cell;
}

void cell_give(void *cell)
{
	struct cell_cache *cache = &actor_self()->cells;

	if (sabotage_now(BREAK_LEAK))
		return;
	memset(cell, PATTERN, CELL_SIZE);
	if (sabotage_now(BREAK_POISON))
		((unsigned char *)cell)[20] = 0;
	HIDE(cell);
	if (cache->count == CELL_CACHE_MAX)
		drop_some(cache);
	cache->cells[cache->count++] = cell;
	cache->taken--;
}

static void check_list(void *const *cells, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		SHOW(cells[i]);
		check(cells[i]);
		HIDE(cells[i]);
	}
}

void cell_check_all(void)
{
	int64_t taken = 0;

	for (uint32_t i = 0; i < actor_count(); i++) {
		const struct cell_cache *cache = &actor_at(i)->cells;

		check_list(cache->cells, cache->count);
		taken += cache->taken;
	}
	pthread_mutex_lock(&lock);
	check_list(depot, depot_count);
	pthread_mutex_unlock(&lock);
	if (taken != 0)
		report(NULL, NULL, "%lld cells were not given back", (long long)taken);
}
