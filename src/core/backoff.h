/* SPDX-License-Identifier: MIT */
/*
 * The wait after a push whose CAS has failed.
 *
 * The word's cache line goes from CPU to CPU with each push by another thread, which takes 50 to
 * 250 ns; a thread that has the line to itself pushes many tasks in that time. So threads that all
 * push to one resource should each wait for some microseconds. For a thread that has other
 * resources to submit to, such a wait costs more than it gains. So a thread waits long only where
 * its last eight failures were all at this resource (streak.h).
 *
 * Source: exponential back-off: T. Anderson, "The Performance of Spin Lock Alternatives for
 * Shared-Memory Multiprocessors", 1990.
 */
#ifndef BATON_SRC_BACKOFF_H
#define BATON_SRC_BACKOFF_H

#include <stdint.h>

#include <baton/resource.h>

/* Turns of an empty loop. From about 20 ns to 1 us; after the maximum the minimum again. Where the
 * resource is hot: about 2.5 us at first, then 5 us. */
#ifndef BATON_BACKOFF_MIN /* tests make these small */
#define BATON_BACKOFF_MIN 64U
#define BATON_BACKOFF_MAX 4096U
#define BATON_BACKOFF_HOT_MIN 8192U
#define BATON_BACKOFF_HOT_MAX 16384U
#endif

/* Waits. `*turns`: 0 before the first wait of a submit. The thread has a record. */
void baton__back_off(const struct baton_resource *resource, uint32_t *turns);

#endif
