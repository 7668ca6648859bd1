/* SPDX-License-Identifier: MIT */
/*
 * The only door to the kernel's sleep and wake: two calls, which a controlled scheduler can
 * replace.
 *
 * Ordering: neither call orders memory. The atomic accesses to the words order it.
 */
#ifndef BATON_SRC_FUTEX_H
#define BATON_SRC_FUTEX_H

#include "base/platform.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/time.h>

/* A word to sleep on, and the value that the word must still have. */
struct baton__futex_watch {
	const uint32_t *word;
	uint32_t value;
};

#define BATON__FUTEX_WATCH_MAX 128

/*
 * Sleeps until one of the words is woken or no longer has its value, or until `deadline_ns`
 * (BATON_FOREVER: no deadline). May return early without a reason: the caller looks again. More
 * than one word needs futex_waitv (Linux 5.16). Without futex_waitv the call sleeps on the first
 * word, for a millisecond at most.
 *
 * Returns 0, or -ETIMEDOUT: the deadline has passed.
 */
int baton__futex_wait(const struct baton__futex_watch *watches, size_t count, uint64_t deadline_ns);

/* Wakes up to `count` sleepers of the word. Does not touch the word, whose memory may be gone. */
void baton__futex_wake(const uint32_t *word, int count);

/* CLOCK_MONOTONIC's time now, in nanoseconds: baton_now() for the library itself. */
uint64_t baton__now_ns(void);

/* Has the deadline passed? The clock is not read for BATON_FOREVER. */
BATON_INLINE bool baton__is_past(uint64_t deadline_ns)
{
	return deadline_ns != BATON_FOREVER && baton__now_ns() >= deadline_ns;
}

/*
 * `time` plus `span`, in nanoseconds; BATON_FOREVER, the end of time, if the sum does not fit.
 * Every span that a user has set is added to a time by this function.
 */
BATON_INLINE uint64_t baton__time_after(uint64_t time, uint64_t span)
{
	return span > UINT64_MAX - time ? BATON_FOREVER : time + span;
}

#endif
