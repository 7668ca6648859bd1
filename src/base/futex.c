/* SPDX-License-Identifier: MIT */
/*
 * futex(2) and futex_waitv(2), and times. SYS_futex_waitv is defined here for older kernel headers.
 */
#include "base/futex.h"

#include "base/atomic.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

#define SLICE_NS 1000000L
#define NS_PER_S 1000000000L

/* struct futex_waitv of <linux/futex.h> since 5.16. */
struct waiter {
	uint64_t value;
	uint64_t address;
	uint32_t flags;
	uint32_t reserved;
};

#define WAITER_32_PRIVATE (2U | 128U)

static long wait_one(const uint32_t *word, uint32_t value, const struct timespec *deadline)
{
	/* WAIT_BITSET takes an absolute deadline; WAIT would take a duration. */
	return syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value, deadline,
	               NULL, FUTEX_BITSET_MATCH_ANY);
}

static bool is_past(const struct timespec *deadline)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > deadline->tv_sec ||
	       (now.tv_sec == deadline->tv_sec && now.tv_nsec >= deadline->tv_nsec);
}

static int wait_slice(const uint32_t *word, uint32_t value, const struct timespec *deadline)
{
	struct timespec slice;

	(void)clock_gettime(CLOCK_MONOTONIC, &slice);
	slice.tv_nsec += SLICE_NS;
	if (slice.tv_nsec >= NS_PER_S) {
		slice.tv_nsec -= NS_PER_S;
		slice.tv_sec++;
	}
	(void)wait_one(word, value, &slice);
	return deadline && is_past(deadline) ? -ETIMEDOUT : 0;
}

static long wait_many(const struct baton__futex_watch *watches, size_t count,
                      const struct timespec *deadline)
{
	struct waiter waiters[BATON__FUTEX_WATCH_MAX];

	for (size_t i = 0; i < count; i++)
		waiters[i] = (struct waiter){watches[i].value, (uintptr_t)watches[i].word,
		                             WAITER_32_PRIVATE, 0};
	return syscall(SYS_futex_waitv, waiters, (unsigned)count, 0, deadline, CLOCK_MONOTONIC);
}

int baton__futex_wait(const struct baton__futex_watch *watches, size_t count,
                      const struct timespec *deadline)
{
	long result;

	if (count == 1)
		result = wait_one(watches[0].word, watches[0].value, deadline);
	else
		result = wait_many(watches, count, deadline);
	if (result >= 0)
		return 0;
	if (errno == ETIMEDOUT)
		return -ETIMEDOUT;
	if (errno == EAGAIN || errno == EINTR)
		return 0;
	/* ENOSYS, or EPERM from a seccomp filter. */
	return wait_slice(watches[0].word, watches[0].value, deadline);
}

void baton__futex_wake(const uint32_t *word, int count)
{
	/* EFAULT: the word's memory was unmapped meanwhile, so no thread sleeps there. */
	(void)syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, NULL, NULL, 0);
}

bool baton__deadline_valid(const struct timespec *deadline)
{
	return !deadline ||
	       (deadline->tv_sec >= 0 && deadline->tv_nsec >= 0 && deadline->tv_nsec < NS_PER_S);
}

uint64_t baton__now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * (uint64_t)NS_PER_S + (uint64_t)now.tv_nsec;
}

struct timespec baton__timespec(uint64_t time_ns)
{
	uint64_t seconds = time_ns / (uint64_t)NS_PER_S;

	if (seconds > INT_MAX)
		return (struct timespec){INT_MAX, 0};
	return (struct timespec){(time_t)seconds, (long)(time_ns % (uint64_t)NS_PER_S)};
}

uint64_t baton__deadline_ns(const struct timespec *deadline)
{
	uint64_t seconds = (uint64_t)deadline->tv_sec;

	if (seconds >= UINT64_MAX / (uint64_t)NS_PER_S)
		return UINT64_MAX;
	return seconds * (uint64_t)NS_PER_S + (uint64_t)deadline->tv_nsec;
}
