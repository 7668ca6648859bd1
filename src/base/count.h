/* SPDX-License-Identifier: MIT */
/* A counter that one thread at a time writes, and that any thread reads at any time. */
#ifndef BATON_SRC_COUNT_H
#define BATON_SRC_COUNT_H

#include <stdint.h>

#include "base/atomic.h"
#include "base/platform.h"

/* Adds `more`, which may be negative modulo 2^64. Called by the one thread that writes. */
BATON_INLINE void baton__count(uint64_t *counter, uint64_t more)
{
	/* Relaxed: the counter publishes no other data. A thread becomes the writer by taking a
	 * baton, a wheel or a worker's place, which orders the writers. Readers see a recent
	 * value. */
	store_relaxed(counter, load_relaxed(counter) + more);
}

#endif
