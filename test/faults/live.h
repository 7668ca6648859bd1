/* SPDX-License-Identifier: MIT */
/*
 * What the library has allocated and not freed.
 */
#ifndef BATON_TEST_FAULTS_LIVE_H
#define BATON_TEST_FAULTS_LIVE_H

#include <stdbool.h>
#include <stddef.h>

/* NULL is ignored; so is the removal of what is not there (libc has allocated it). */
void live_add(const void *block, size_t size);
void live_remove(const void *block);

/*
 * Nothing is under way, and `objects` exist that are the whole process's (the default pool, the
 * default wheel), with so many threads. Is there nothing but what lives as long as the process:
 * these, threads' records, of which only those threads' are in use, and the nodes in their caches?
 * What is too much goes to stderr if `loud`.
 */
bool live_is_clean(size_t objects, size_t threads, bool loud);

#endif
