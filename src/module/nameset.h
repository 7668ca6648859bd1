/* SPDX-License-Identifier: MIT */
/*
 * The set of a registry's entries, by name: a ck_hs that anybody probes in an epoch
 * section, and that one thread at a time changes.
 *
 * An entry's `_hash` is written by a release, last of all, before the entry enters the set, and
 * looked at first; it is never 0 ([Y1]). The set's own stores are Concurrency Kit's assembly, which
 * orders them for the CPU, but which no tool sees.
 */
#ifndef BATON_SRC_NAMESET_H
#define BATON_SRC_NAMESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/registry.h>

#include <ck_hs.h>

struct baton__nameset {
	size_t count; /* read by anybody */
	size_t count_max;
	size_t tombstones;
	uint64_t seed;
	struct baton_limbo *limbo; /* also for the entries */
	struct ck_hs entries;
};

/* Errors: -ENOMEM, -ECHILD. */
int baton__nameset_init(struct baton__nameset *set, uint64_t seed);
/* Waits for sections. */
void baton__nameset_deinit(struct baton__nameset *set);

/* Makes `key` one that can be looked for, by its name alone. False: the name is too long. */
bool baton__nameset_key(const struct baton__nameset *set, struct baton_registry_entry *key,
                        const void *name, size_t length);

/* Any thread in a section, or the one that changes the set. NULL: there is none of that name. */
struct baton_registry_entry *baton__nameset_find(struct baton__nameset *set,
                                                 const struct baton_registry_entry *key);

/* The next one of those that were there at the beginning: in a section. NULL: no more. */
struct baton_registry_entry *baton__nameset_next(struct baton__nameset *set,
                                                 ck_hs_iterator_t *iterator);

/*
 * One thread at a time. Adds an entry, complete but for its hash, which is the key's: from here on
 * it is found. There is no other of its name. False: no memory.
 */
bool baton__nameset_add(struct baton__nameset *set, struct baton_registry_entry *entry,
                        const struct baton_registry_entry *key);
void baton__nameset_remove(struct baton__nameset *set, struct baton_registry_entry *entry);

/* After changes: rebuilds the set if it is time to, and frees what nobody reads any more. */
void baton__nameset_tidy(struct baton__nameset *set);

#endif
