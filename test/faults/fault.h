/* SPDX-License-Identifier: MIT */
/*
 * Decides which of the library's calls to libc and the kernel fails, and how. The linker's --wrap
 * leads these calls to the wrap_*.c files, which ask here. Calls are numbered from 1 within a
 * cycle, over all threads.
 */
#ifndef BATON_TEST_FAULTS_FAULT_H
#define BATON_TEST_FAULTS_FAULT_H

#include <stdbool.h>
#include <stdint.h>

/* Where something can fail. */
enum fault_point {
	FAULT_AT_ALLOCATION,
	FAULT_AT_LARGE, /* an allocation of some size */
	FAULT_AT_THREAD,
	FAULT_AT_KEY,
	FAULT_AT_AFFINITY,
	FAULT_AT_DESCRIPTOR,
	FAULT_AT_WAIT, /* futex and futex_waitv */
	FAULT_AT_WAITV,
	FAULT_AT_WAKE,
	FAULT_AT_READ,
	FAULT_AT_WRITE,
	FAULT_AT_CLOCK,
	FAULT_AT_YIELD,
	FAULT_POINTS,
};

enum fault_kind {
	FAULT_ALLOCATION,
	FAULT_LARGE,
	FAULT_THREAD,
	FAULT_KEY,
	FAULT_AFFINITY,
	FAULT_DESCRIPTOR,
	FAULT_WAIT_EINTR,
	FAULT_WAIT_EAGAIN,
	FAULT_WAIT_NOTHING, /* returns 0 without a wake */
	FAULT_WAITV_ENOSYS, /* an older kernel */
	FAULT_WAITV_EPERM,  /* a seccomp filter */
	FAULT_WAKE,         /* wakes late, and returns an error */
	FAULT_READ_EINTR,
	FAULT_READ_EAGAIN,
	FAULT_WRITE_EINTR,
	FAULT_WRITE_EAGAIN, /* the eventfd's counter is full */
	FAULT_CLOCK_AHEAD,  /* jumps forward by an hour, for good */
	FAULT_CLOCK_BACK,   /* one reading from the past, which CLOCK_MONOTONIC never gives */
	FAULT_YIELD,        /* takes long */
	FAULT_KINDS,
};

struct fault_kind_info {
	const char *name;
	enum fault_point point;
	/* Each n up to this number is tried, then its double, and so on. UINT32_MAX: each n. */
	uint32_t each_up_to;
	bool lasting; /* also tried: all calls from the n-th on */
};

extern const struct fault_kind_info fault_kinds[FAULT_KINDS];

struct fault_plan {
	enum fault_kind kind;
	uint32_t nth;
	bool lasting;
};

/* Begins a cycle in which calls are counted, and fail according to the plan (NULL: none fails). */
void fault_arm(const struct fault_plan *plan);
void fault_disarm(void);

/* Ends the fault for the rest of the cycle. */
void fault_end(void);

/* From hold to release no call is counted or fails. For preparations. */
void fault_hold(void);
void fault_release(void);

/* Is there a plan in this cycle, so that calls may fail? */
bool fault_planned(void);

/* For the wrappers: counts a call at this point. True: the call fails, as fault_kind_now() says. */
bool fault_hit(enum fault_point point);
enum fault_kind fault_kind_now(void);
bool fault_lasting_now(void);

/* The number of calls in this cycle; the number of those that have failed. */
uint32_t fault_count(enum fault_point point);
uint32_t fault_injected(void);

/* The number of futex waits that the library has begun, for threads that want to meet a sleeper. */
uint32_t fault_waits(void);
void fault_waits_add(void);

/* The clock as the library sees it. */
uint64_t fault_clock_ns(void);

/* A pause that is no call of the library's. */
void fault_pause_us(long duration_us);

#endif
