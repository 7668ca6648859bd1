/* SPDX-License-Identifier: MIT */
/*
 * The set of a registry's entries, by name: a ck_hs. Any thread searches the set in an epoch
 * section; one thread at a time changes it.
 *
 * The `_hash` of an entry in the set is not 0. The hash is written after all other members, by a
 * release, before the entry enters the set ([nameset.entry]). A reader reads the hash first: if it
 * finds 0, the other members are not visible to it yet. ck_hs stores the entry by assembly: a fence
 * in add orders that store for the CPU, but the checkers see no order other than that of the hash.
 */
#ifndef BATON_SRC_NAMESET_H
#define BATON_SRC_NAMESET_H

#include <baton/registry.h>

#include <ck_hs.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct baton__nameset {
	size_t count; /* any thread reads it */
	size_t count_max;
	size_t tombstones;
	uint64_t seed;
	struct baton_limbo *limbo; /* of the maps and the entries */
	struct ck_hs entries;
};

/* Errors: -ENOMEM, -ECHILD. */
int baton__nameset_init(struct baton__nameset *set, uint64_t seed);
/* Waits until the sections of other threads end. */
void baton__nameset_deinit(struct baton__nameset *set);

/* Fills a key for find and add: name and hash. False: the name is too long. */
bool baton__nameset_key(const struct baton__nameset *set, struct baton_registry_entry *key,
                        const void *name, size_t length);

/* Called in a section, or by the thread that changes the set. NULL: no entry has that name. */
struct baton_registry_entry *baton__nameset_find(struct baton__nameset *set,
                                                 const struct baton_registry_entry *key);

/* The next of the entries that were in the set when the iterator began. Called in a section. NULL:
 * there are no more. */
struct baton_registry_entry *baton__nameset_next(struct baton__nameset *set,
                                                 ck_hs_iterator_t *iterator);

/*
 * add: adds an entry, whose name no other entry has, and sets its hash, which is the key's. From
 * then on threads find the entry. False: no memory. One thread at a time calls add and remove.
 */
bool baton__nameset_add(struct baton__nameset *set, struct baton_registry_entry *entry,
                        const struct baton_registry_entry *key);
void baton__nameset_remove(struct baton__nameset *set, struct baton_registry_entry *entry);

/* Called after changes: rebuilds the set if it has many tombstones, and frees memory that no thread
 * reads any more. */
void baton__nameset_tidy(struct baton__nameset *set);

#endif
