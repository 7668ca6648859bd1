/* SPDX-License-Identifier: MIT */
/* The set of nameset.h: its memory, its hash, when it is rebuilt. */
#include "module/nameset.h"

#include "base/atomic.h"
#include "base/platform.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* tidy rebuilds a set with more tombstones than this number plus half of its largest count. */
#ifndef BATON_NAMESET_TOMBSTONES /* tests make these small */
#define BATON_NAMESET_TOMBSTONES 64U
#define BATON_NAMESET_FIRST 64U
#endif

/* Lies before each of ck_hs's maps. `size` keeps the alignment of the map. */
union map_header {
	struct baton_retired retired;
	_Alignas(16) char size[16];
};

static void *map_malloc(size_t size)
{
	union map_header *header = calloc(1, sizeof(*header) + size);

	return header ? header + 1 : NULL;
}

static void map_reclaim(struct baton_retired *retired)
{
	free(baton_container_of(retired, union map_header, retired));
}

/*
 * The set that this thread changes. ck_hs replaces a map while other threads read it, and does not
 * tell map_free which set the map belongs to.
 */
static __thread struct baton__nameset *changing;

static void map_free(void *map, size_t size, bool others_read)
{
	union map_header *header = (union map_header *)map - 1;

	(void)size;
	if (others_read)
		baton_limbo_retire(changing->limbo, &header->retired, map_reclaim);
	else
		free(header);
}

static struct ck_malloc map_memory = {.malloc = map_malloc, .free = map_free};

/* The hash of an entry in the set, or of a key: an entry with a name and a hash alone. */
static unsigned long entry_hash(const void *object, unsigned long seed)
{
	const struct baton_registry_entry *entry = object;

	(void)seed;
	return load_relaxed(&entry->_hash); /* relaxed: same_name and next acquire it */
}

/* `first` is in the set. `second` is the key, which no other thread changes. */
static bool same_name(const void *first, const void *second)
{
	const struct baton_registry_entry *entry = first, *key = second;

	/* [nameset.entry] acquire: the name; pairs with [nameset.entry] in add */
	return load_acquire(&entry->_hash) == load_relaxed(&key->_hash) &&
	       entry->_length == key->_length &&
	       memcmp(entry->_name, key->_name, entry->_length) == 0;
}

__extension__ typedef unsigned __int128 product_type;

static uint64_t mix(uint64_t a, uint64_t b)
{
	product_type product = (product_type)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Never 0. Source: multiply and fold, as in wyhash. */
static uint64_t hash_bytes(const void *bytes, size_t length, uint64_t seed)
{
	const unsigned char *at = bytes;
	uint64_t hash =
		mix(seed ^ UINT64_C(0x9e3779b97f4a7c15), length ^ UINT64_C(0xe7037ed1a0b428db));
	uint64_t word = 0;

	for (; length >= sizeof(word); at += sizeof(word), length -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = mix(hash ^ word, UINT64_C(0xa0761d6478bd642f));
	}
	word = 0;
	if (length > 0)
		memcpy(&word, at, length);
	hash = mix(hash ^ word, UINT64_C(0x8ebc6af09c88c6e3));
	return hash ? hash : 1;
}

bool baton__nameset_key(const struct baton__nameset *set, struct baton_registry_entry *key,
                        const void *name, size_t length)
{
	if (length > UINT32_MAX)
		return false;
	key->_name = length ? name : "";
	key->_length = (uint32_t)length;
	/* Relaxed: no other thread sees the key. */
	store_relaxed(&key->_hash, hash_bytes(key->_name, length, set->seed));
	return true;
}

struct baton_registry_entry *baton__nameset_find(struct baton__nameset *set,
                                                 const struct baton_registry_entry *key)
{
	return ck_hs_get(&set->entries, entry_hash(key, 0), key);
}

struct baton_registry_entry *baton__nameset_next(struct baton__nameset *set,
                                                 ck_hs_iterator_t *iterator)
{
	void *object;

	/* Ends: the iterator stays in the map in which it began. */
	while (ck_hs_next_spmc(&set->entries, iterator, &object)) {
		struct baton_registry_entry *entry = object;

		/* [nameset.entry] acquire: the entry; pairs with [nameset.entry] in add. 0: its
		 * fields are not visible yet. */
		if (load_acquire(&entry->_hash))
			return entry;
	}
	return NULL;
}

bool baton__nameset_add(struct baton__nameset *set, struct baton_registry_entry *entry,
                        const struct baton_registry_entry *key)
{
	uint64_t hash = entry_hash(key, 0);

	changing = set;
	/* [nameset.entry] release: the entry and the object around it; pairs with
	 * [nameset.entry] in same_name and next */
	store_release(&entry->_hash, hash);
	/* ck_hs_put has no such fence: except on x86, a thread that finds the entry could read
	 * fields as they were before. */
	ck_pr_fence_store();
	if (!ck_hs_put(&set->entries, hash, entry))
		return false;
	store_relaxed(&set->count, set->count + 1); /* atomic: any thread reads it */
	if (set->count > set->count_max)
		set->count_max = set->count;
	return true;
}

void baton__nameset_remove(struct baton__nameset *set, struct baton_registry_entry *entry)
{
	void *removed = ck_hs_remove(&set->entries, entry_hash(entry, 0), entry);

	BATON_ASSERT(removed == entry);
	store_relaxed(&set->count, set->count - 1); /* atomic: any thread reads it */
	set->tombstones++;
}

void baton__nameset_tidy(struct baton__nameset *set)
{
	changing = set;
	/* The threshold keeps look-ups of missing names short, and costs each removal, on average,
	 * the copying of a few slots. Without memory the rebuild is left to a later call. */
	if (set->tombstones > BATON_NAMESET_TOMBSTONES + set->count_max / 2 &&
	    ck_hs_rebuild(&set->entries))
		set->tombstones = 0;
	(void)baton_limbo_poll(set->limbo);
}

int baton__nameset_init(struct baton__nameset *set, uint64_t seed)
{
	int error = baton_limbo_create(&set->limbo);

	if (error)
		return error;
	set->seed = seed;
	if (ck_hs_init(&set->entries, CK_HS_MODE_SPMC | CK_HS_MODE_OBJECT, entry_hash, same_name,
	               &map_memory, BATON_NAMESET_FIRST, 0))
		return 0;
	baton_limbo_destroy(set->limbo);
	return -ENOMEM;
}

void baton__nameset_deinit(struct baton__nameset *set)
{
	baton_limbo_destroy(set->limbo);
	ck_hs_destroy(&set->entries);
}
