/* SPDX-License-Identifier: MIT */
/*
 * The only door to the kernel's sleep and wake. Two calls, both replaceable by a
 * controlled scheduler.
 *
 * Ordering: neither call orders memory; the words themselves carry it.
 */
#ifndef BATON_SRC_FUTEX_H
#define BATON_SRC_FUTEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/platform.h"

/* One word to sleep on, and the value that it must still have. */
struct baton__futex_watch {
	const uint32_t *word;
	uint32_t value;
};

#define BATON__FUTEX_WATCH_MAX 128

/*
 * Sleeps until one of the words is woken or no longer has its value, or until `deadline`
 * (absolute, CLOCK_MONOTONIC, NULL: none). May return early for no reason: the caller looks again.
 * With more than one word this needs futex_waitv (Linux 5.16); on older kernels it sleeps on the
 * first word in slices of a millisecond instead.
 *
 * Returns 0, or -ETIMEDOUT when the deadline has passed.
 */
int baton__futex_wait(const struct baton__futex_watch *watches, size_t count,
                      const struct timespec *deadline);

/* Wakes up to `count` sleepers of the word, whose memory may be gone: it is not touched. */
void baton__futex_wake(const uint32_t *word, int count);

/* NULL, or a deadline that is well formed. */
bool baton__deadline_valid(const struct timespec *deadline);

/* CLOCK_MONOTONIC, now, and a valid deadline, in nanoseconds; at most UINT64_MAX. */
uint64_t baton__now_ns(void);
uint64_t baton__deadline_ns(const struct timespec *deadline);

/* The other way round; a time beyond the kernel's range becomes its latest time. */
struct timespec baton__timespec(uint64_t time_ns);

/*
 * `time` plus `span`, in nanoseconds; UINT64_MAX where the sum does not fit: the end of time. Every
 * span that a user has set is added to a time here.
 */
BATON_INLINE uint64_t baton__time_after(uint64_t time, uint64_t span)
{
	return span > UINT64_MAX - time ? UINT64_MAX : time + span;
}

#endif
