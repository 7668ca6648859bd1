/* SPDX-License-Identifier: MIT */
/* What the registry's waiting and asynchronous acquires share; see registry.c. */
#ifndef BATON_SRC_REGISTRY_H
#define BATON_SRC_REGISTRY_H

#include <baton/registry.h>

#include "module/nameset.h"

/* A search by name. Lies on the stack of the thread that asks. */
struct baton__search {
	struct baton_registry *registry;
	struct baton_registry_entry key; /* name and hash only */
	struct baton_registry_entry *entry;
	struct baton__search *outer; /* the search in whose `init` this one was asked */
	int error;
};

/* Looks the name up, and makes `*request` a search for it. 0: `entry` has a new reference. -ENOENT:
 * there is no such object. Any thread. */
int baton__registry_find(struct baton__search *request, struct baton_registry *registry,
                         const void *name, size_t length);

/* Finds or makes the object of the search `argument`, whose `entry` and `error` are the outcome.
 * Returns NULL. Called by the holder of the registry's baton. */
void *baton__registry_get_or_make(void *argument);

#endif
