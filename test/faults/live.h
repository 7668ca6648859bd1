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
 * Nothing is under way, and `workers` threads of the default pool exist (0: there is none). Is
 * there nothing but what lives as long as the process: the default pool, threads' records, of which
 * only those workers' are in use, and the nodes in their caches? What is too much goes to stderr if
 * `loud`.
 */
bool live_is_clean(size_t workers, bool loud);

#endif
