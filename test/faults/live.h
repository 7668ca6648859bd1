/* SPDX-License-Identifier: MIT */
/*
 * The blocks that the library has allocated and not freed.
 */
#ifndef BATON_TEST_FAULTS_LIVE_H
#define BATON_TEST_FAULTS_LIVE_H

#include <stdbool.h>
#include <stddef.h>

/* NULL is ignored, and so is the removal of an unknown block, which libc has allocated. */
void live_add(const void *block, size_t size);
void live_remove(const void *block);

/*
 * Called when nothing is under way. `objects`: the number of objects of the whole process (default
 * pool, default wheel); `threads`: of their threads. Is nothing else left but records of threads,
 * of which only those threads' are in use, and nodes in their caches? `loud`: prints what else is
 * left.
 */
bool live_is_clean(size_t objects, size_t threads, bool loud);

#endif
