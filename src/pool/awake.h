/* SPDX-License-Identifier: MIT */
/*
 * How long a worker has been awake: in one word, so that a reader gets the time of one moment, and
 * a later reader never gets less.
 *
 * While the worker sleeps (the highest bit is set) the word is the sum of its times awake. While it
 * is awake the word is the time at which it woke, minus that sum: the clock minus the word is the
 * sum now. 0: the worker has not begun. The worker alone writes the word, at moments for which it
 * has read the clock anyway.
 */
#ifndef BATON_SRC_AWAKE_H
#define BATON_SRC_AWAKE_H

#include "base/atomic.h"
#include "base/platform.h"

#include <stdbool.h>
#include <stdint.h>

#define BATON__ASLEEP (UINT64_C(1) << 63)

BATON_INLINE uint64_t baton__awake_read(const uint64_t *word, uint64_t now_ns)
{
	uint64_t value = load_relaxed(word); /* a counter orders nothing */

	if (!value || value & BATON__ASLEEP)
		return value & ~BATON__ASLEEP;
	return now_ns > value ? now_ns - value : 0;
}

/* begin: awake from now on; no effect on a worker that is awake. end: the worker goes to sleep. */
BATON_INLINE void baton__awake_begin(uint64_t *word, uint64_t now_ns)
{
	uint64_t value = load_relaxed(word);

	if (!value || value & BATON__ASLEEP)
		store_relaxed(word, now_ns - (value & ~BATON__ASLEEP));
}

BATON_INLINE void baton__awake_end(uint64_t *word, uint64_t now_ns)
{
	store_relaxed(word, baton__awake_read(word, now_ns) | BATON__ASLEEP);
}

#endif
