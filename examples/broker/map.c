/* SPDX-License-Identifier: MIT */
/*
 * The hash map of map.h: doubles when it is full; where memory for that lacks, chains get longer.
 */
#include "map.h"

#include <errno.h>
#include <stdlib.h>

#define MAP_SIZE_FIRST 64

int map_init(struct map *map)
{
	map->buckets = calloc(MAP_SIZE_FIRST, sizeof(struct map_entry *));
	if (map->buckets == NULL)
		return -ENOMEM;
	map->size = MAP_SIZE_FIRST;
	map->count = 0;
	return 0;
}

void map_deinit(struct map *map)
{
	free(map->buckets);
	map->buckets = NULL;
	map->size = 0;
}

/* FNV-1a, and a last mix, since the buckets are chosen by the low bits. */
uint64_t map_hash(const void *bytes, size_t size, uint64_t seed)
{
	const unsigned char *byte = bytes;
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ (seed * UINT64_C(0x9e3779b97f4a7c15));

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
	return hash ^ (hash >> 29);
}

static struct map_entry **map_bucket(const struct map *map, uint64_t hash)
{
	return &map->buckets[hash & (map->size - 1)];
}

struct map_entry *map_find(const struct map *map, uint64_t hash)
{
	struct map_entry *entry = *map_bucket(map, hash);

	while (entry != NULL && entry->hash != hash)
		entry = entry->next;
	return entry;
}

struct map_entry *map_same(const struct map_entry *entry)
{
	const uint64_t hash = entry->hash;
	struct map_entry *next = entry->next;

	while (next != NULL && next->hash != hash)
		next = next->next;
	return next;
}

struct map_entry *map_walk(const struct map *map, const struct map_entry *entry)
{
	size_t bucket = 0;

	if (entry != NULL) {
		if (entry->next != NULL)
			return entry->next;
		bucket = (size_t)(entry->hash & (map->size - 1)) + 1;
	}
	for (; bucket < map->size; bucket++)
		if (map->buckets[bucket] != NULL)
			return map->buckets[bucket];
	return NULL;
}

static void map_grow(struct map *map)
{
	struct map grown = {.size = map->size * 2};
	struct map_entry *next;

	grown.buckets = calloc(grown.size, sizeof(struct map_entry *));
	if (grown.buckets == NULL)
		return;
	for (size_t i = 0; i < map->size; i++) {
		for (struct map_entry *entry = map->buckets[i]; entry != NULL; entry = next) {
			struct map_entry **bucket = map_bucket(&grown, entry->hash);

			next = entry->next;
			entry->next = *bucket;
			*bucket = entry;
		}
	}
	free(map->buckets);
	map->buckets = grown.buckets;
	map->size = grown.size;
}

void map_insert(struct map *map, struct map_entry *entry, uint64_t hash)
{
	struct map_entry **bucket;

	if (map->count >= map->size)
		map_grow(map);
	bucket = map_bucket(map, hash);
	entry->hash = hash;
	entry->next = *bucket;
	*bucket = entry;
	map->count++;
}

void map_remove(struct map *map, struct map_entry *entry)
{
	struct map_entry **link = map_bucket(map, entry->hash);

	while (*link != entry)
		link = &(*link)->next;
	*link = entry->next;
	map->count--;
}
