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
#include <time.h>
#include <unistd.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

#define SLICE_NS BATON_MILLISECOND

/* struct futex_waitv of <linux/futex.h> since 5.16. */
struct waiter {
	uint64_t value;
	uint64_t address;
	uint32_t flags;
	uint32_t reserved;
};

#define WAITER_32_PRIVATE (2U | 128U)

/* Of INT_MAX seconds at most: a kernel's time is signed. */
static struct timespec timespec_of(uint64_t time_ns)
{
	uint64_t seconds = time_ns / BATON_SECOND;

	if (seconds > INT_MAX)
		return (struct timespec){INT_MAX, 0};
	return (struct timespec){(time_t)seconds, (long)(time_ns % BATON_SECOND)};
}

static long wait_one(const uint32_t *word, uint32_t value, const struct timespec *deadline)
{
	/* WAIT_BITSET takes an absolute deadline; WAIT would take a duration. */
	return syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value, deadline,
	               NULL, FUTEX_BITSET_MATCH_ANY);
}

static int wait_slice(const uint32_t *word, uint32_t value, uint64_t deadline_ns)
{
	struct timespec slice = timespec_of(baton__now_ns() + SLICE_NS);

	(void)wait_one(word, value, &slice);
	return baton__is_past(deadline_ns) ? -ETIMEDOUT : 0;
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

int baton__futex_wait(const struct baton__futex_watch *watches, size_t count, uint64_t deadline_ns)
{
	const struct timespec time = timespec_of(deadline_ns);
	const struct timespec *deadline = deadline_ns == BATON_FOREVER ? NULL : &time;
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
	return wait_slice(watches[0].word, watches[0].value, deadline_ns);
}

void baton__futex_wake(const uint32_t *word, int count)
{
	/* EFAULT: the word's memory was unmapped meanwhile, so no thread sleeps there. */
	(void)syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, NULL, NULL, 0);
}

uint64_t baton__now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * BATON_SECOND + (uint64_t)now.tv_nsec;
}
