/* SPDX-License-Identifier: MIT */
/*
 * How many free nodes a thread keeps: in its caches, on their way home, and in its parcel. To be
 * asked while no thread allocates or frees.
 */
#ifndef BATON_TEST_NODES_KEPT_H
#define BATON_TEST_NODES_KEPT_H

#include <stddef.h>

#include "thread/thread.h"

#ifndef NODES_KEPT_UNSEEN /* an attribute: not to be instrumented */
#define NODES_KEPT_UNSEEN
#endif
#ifndef NODES_KEPT_LOAD /* the explorer runs one thread at a time, and has no builtin loads */
#define NODES_KEPT_LOAD(word) __atomic_load_n((word), __ATOMIC_ACQUIRE)
#endif

/* A node begins with the next one's address. */
NODES_KEPT_UNSEEN static size_t nodes_of(const struct baton__node *node)
{
	size_t count = 0;

	for (; node; node = *(const struct baton__node *const *)(const void *)node)
		count++;
	return count;
}

NODES_KEPT_UNSEEN static size_t nodes_of_bundles(const struct baton__bundle *bundle)
{
	size_t count = 0;

	for (; bundle; bundle = bundle->next) {
		count++;
		for (int i = 0; i < BATON__BUNDLE_OTHERS && bundle->others[i]; i++)
			count++;
	}
	return count;
}

NODES_KEPT_UNSEEN static size_t nodes_kept(const struct baton__thread *record)
{
	size_t count = nodes_of_bundles(record->parcel.first);

	for (int i = 0; i < BATON__NODE_SIZES; i++) {
		const struct baton__node_cache *cache = &record->caches[i];

		count += nodes_of(cache->nodes) + cache->window.count +
		         nodes_of_bundles(NODES_KEPT_LOAD(&cache->returned));
	}
	return count;
}

#endif
