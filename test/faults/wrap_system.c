/* SPDX-License-Identifier: MIT */
/*
 * Futexes, descriptors, the clock. What is injected is what the kernel may do: a wait that ends
 * early, a wake that comes late, a call that does not exist; never a wake that wakes nobody.
 */
#include "fault.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

#define NS_PER_S 1000000000
#define JUMP_NS ((int64_t)3600 * NS_PER_S)
#define BACK_NS ((int64_t)NS_PER_S)
#define INTERRUPTED_AFTER_US 20
#define LATE_WAKE_US 500
/* Which argument it is, of both system calls. */
#define DEADLINE 3

long __real_syscall(long number, ...);
int __real_eventfd(unsigned value, int flags);
int __real_epoll_create1(int flags);
int __real_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);
ssize_t __real_read(int fd, void *buffer, size_t size);
ssize_t __real_write(int fd, const void *buffer, size_t size);
int __real_clock_gettime(clockid_t clock, struct timespec *now);

long __wrap_syscall(long number, ...);
int __wrap_eventfd(unsigned value, int flags);
int __wrap_epoll_create1(int flags);
int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);
ssize_t __wrap_read(int fd, void *buffer, size_t size);
ssize_t __wrap_write(int fd, const void *buffer, size_t size);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

/* The library's clock is so far ahead of the kernel's. */
static _Atomic(int64_t) ahead_ns;

static int64_t to_ns(const struct timespec *time)
{
	return (int64_t)time->tv_sec * NS_PER_S + time->tv_nsec;
}

static struct timespec to_timespec(int64_t time_ns)
{
	if (time_ns < 0)
		time_ns = 0;
	return (struct timespec){time_ns / NS_PER_S, time_ns % NS_PER_S};
}

static int64_t kernel_clock_ns(void)
{
	struct timespec now;

	(void)__real_clock_gettime(CLOCK_MONOTONIC, &now);
	return to_ns(&now);
}

uint64_t fault_clock_ns(void)
{
	return (uint64_t)(kernel_clock_ns() + atomic_load(&ahead_ns));
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	int64_t glitch_ns = 0;
	int result = __real_clock_gettime(clock, now);

	if (fault_hit(FAULT_AT_CLOCK)) {
		if (fault_kind_now() == FAULT_CLOCK_AHEAD)
			atomic_fetch_add(&ahead_ns, JUMP_NS);
		else
			glitch_ns = -BACK_NS;
	}
	*now = to_timespec(to_ns(now) + atomic_load(&ahead_ns) + glitch_ns);
	return result;
}

static int error_of_wait(void)
{
	switch (fault_kind_now()) {
	case FAULT_WAIT_EINTR:
		return EINTR;
	case FAULT_WAIT_EAGAIN:
		return EAGAIN;
	case FAULT_WAITV_ENOSYS:
		return ENOSYS;
	case FAULT_WAITV_EPERM:
		return EPERM;
	default:
		return 0;
	}
}

/* A wait that fails; a deadline that has passed comes first, as it does in the kernel. */
static long failed_wait(const struct timespec *deadline)
{
	int error = error_of_wait();

	if (error != ENOSYS && error != EPERM && fault_lasting_now()) {
		fault_pause_us(INTERRUPTED_AFTER_US);
		if (deadline && kernel_clock_ns() >= to_ns(deadline))
			error = ETIMEDOUT;
	}
	errno = error;
	return error ? -1 : 0;
}

static bool wait_fails(bool vectored)
{
	bool fails = fault_hit(FAULT_AT_WAIT);

	return (vectored && fault_hit(FAULT_AT_WAITV)) || fails;
}

static long wake(const long *arguments)
{
	bool late = fault_hit(FAULT_AT_WAKE);
	long result;

	if (late)
		fault_pause_us(LATE_WAKE_US);
	result = __real_syscall(SYS_futex, arguments[0], arguments[1], arguments[2], arguments[3],
	                        arguments[4], arguments[5]);
	if (late) {
		errno = EFAULT;
		result = -1;
	}
	return result;
}

/* Six arguments, as libc's own takes from the registers, given or not. */
long __wrap_syscall(long number, ...)
{
	struct timespec deadline;
	struct timespec *given;
	long arguments[6];
	va_list list;
	bool vectored = number == SYS_futex_waitv;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_futex && (arguments[1] & FUTEX_CMD_MASK) == FUTEX_WAKE)
		return wake(arguments);
	if (number != SYS_futex && !vectored)
		return __real_syscall(number, arguments[0], arguments[1], arguments[2],
		                      arguments[3], arguments[4], arguments[5]);
	fault_waits_add();
	given = (struct timespec *)arguments[DEADLINE];
	if (given) {
		/* The kernel's clock has not jumped. */
		deadline = to_timespec(to_ns(given) - atomic_load(&ahead_ns));
		given = &deadline;
		arguments[DEADLINE] = (long)given;
	}
	if (wait_fails(vectored))
		return failed_wait(given);
	return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
	                      arguments[4], arguments[5]);
}

int __wrap_eventfd(unsigned value, int flags)
{
	if (fault_hit(FAULT_AT_DESCRIPTOR)) {
		errno = EMFILE;
		return -1;
	}
	return __real_eventfd(value, flags);
}

int __wrap_epoll_create1(int flags)
{
	if (fault_hit(FAULT_AT_DESCRIPTOR)) {
		errno = EMFILE;
		return -1;
	}
	return __real_epoll_create1(flags);
}

int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
	/* The kernel has no room for another entry; the other operations do not fail. */
	if (operation == EPOLL_CTL_ADD && fault_hit(FAULT_AT_DESCRIPTOR)) {
		errno = ENOSPC;
		return -1;
	}
	return __real_epoll_ctl(epoll, operation, fd, event);
}

ssize_t __wrap_read(int fd, void *buffer, size_t size)
{
	if (fault_hit(FAULT_AT_READ)) {
		errno = fault_kind_now() == FAULT_READ_EINTR ? EINTR : EAGAIN;
		return -1;
	}
	return __real_read(fd, buffer, size);
}

ssize_t __wrap_write(int fd, const void *buffer, size_t size)
{
	const uint64_t most = UINT64_MAX - 1;

	if (!fault_hit(FAULT_AT_WRITE))
		return __real_write(fd, buffer, size);
	if (fault_kind_now() == FAULT_WRITE_EINTR) {
		errno = EINTR;
		return -1;
	}
	/* Full, so it is readable: fails itself if it is not empty. */
	(void)!__real_write(fd, &most, sizeof(most));
	errno = EAGAIN;
	return -1;
}
