/* SPDX-License-Identifier: MIT */
/*
 * A chained hash map of entries that lie in their owners. It has no lock and no atomics: the map of
 * client ids belongs to one baton resource and is touched only under its baton. What is read
 * without a resource is elsewhere: topics in a baton_registry, filter levels in tree.h.
 */
#ifndef BROKER_MAP_H
#define BROKER_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map_entry {
	struct map_entry *next;
	uint64_t hash;
};

struct map {
	struct map_entry **buckets;
	size_t size; /* a power of two */
	size_t count;
};

/* Errors: -ENOMEM. deinit does not look at the entries that are left. */
int map_init(struct map *map);
void map_deinit(struct map *map);

uint64_t map_hash(const void *bytes, size_t size, uint64_t seed);

/* The first entry with this hash, and the next one with the same hash; NULL at the end. */
struct map_entry *map_find(const struct map *map, uint64_t hash);
struct map_entry *map_same(const struct map_entry *entry);

/* Every entry, in no order: the first for NULL; NULL at the end. */
struct map_entry *map_walk(const struct map *map, const struct map_entry *entry);

void map_insert(struct map *map, struct map_entry *entry, uint64_t hash);
void map_remove(struct map *map, struct map_entry *entry);

#endif
