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
#include <time.h>

/* A word to sleep on, and the value that the word must still have. */
struct baton__futex_watch {
	const uint32_t *word;
	uint32_t value;
};

#define BATON__FUTEX_WATCH_MAX 128

/*
 * Sleeps until one of the words is woken or no longer has its value, or until `deadline` (absolute,
 * CLOCK_MONOTONIC; NULL: none). May return early without a reason: the caller looks again. More
 * than one word needs futex_waitv (Linux 5.16). Without futex_waitv the call sleeps on the first
 * word, for a millisecond at most.
 *
 * Returns 0, or -ETIMEDOUT: the deadline has passed.
 */
int baton__futex_wait(const struct baton__futex_watch *watches, size_t count,
                      const struct timespec *deadline);

/* Wakes up to `count` sleepers of the word. Does not touch the word, whose memory may be gone. */
void baton__futex_wake(const uint32_t *word, int count);

/* Is the deadline NULL, or well formed? */
bool baton__deadline_valid(const struct timespec *deadline);

/* CLOCK_MONOTONIC's time now, and a valid deadline, in nanoseconds; at most UINT64_MAX. */
uint64_t baton__now_ns(void);
uint64_t baton__deadline_ns(const struct timespec *deadline);

/* The time as a timespec, of INT_MAX seconds at most. */
struct timespec baton__timespec(uint64_t time_ns);

/*
 * `time` plus `span`, in nanoseconds; UINT64_MAX, the end of time, if the sum does not fit. Every
 * span that a user has set is added to a time by this function.
 */
BATON_INLINE uint64_t baton__time_after(uint64_t time, uint64_t span)
{
	return span > UINT64_MAX - time ? UINT64_MAX : time + span;
}

#endif
