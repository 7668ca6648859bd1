/* SPDX-License-Identifier: MIT */
/*
 * What the kernel and the C library do for the library: sleep and wake, time, threads, memory.
 * Neither sleep nor wake orders memory. A sleep may end for no reason.
 */
#include "engine.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

#define NS_PER_S UINT64_C(1000000000)
#define NEVER_S 100000000 /* three years: such a deadline does not pass */
#define ARENA_SIZE (1024UL * 1024UL)
#define ALIGNMENT 64UL
#define LIBRARYS UINT64_C(0x4C4942) /* in front of a block that is not the scenario's */

/* struct futex_waitv of <linux/futex.h> since 5.16. */
struct waitv {
	uint64_t value;
	uint64_t address;
	uint32_t flags;
	uint32_t reserved;
};

void (*sim_destructors[SIM_KEYS_MAX])(void *);

static uint64_t now;
static unsigned key_count;
static unsigned char *arena;
static uint8_t *valid_words; /* one per 8 bytes of the arena */
static size_t arena_used;
static unsigned failing;
static unsigned failing_thread;

void sim_kernel_begin(void)
{
	now = NS_PER_S;
	key_count = 0;
	if (!arena) {
		arena = aligned_alloc(4096,
		                      ARENA_SIZE); /* sim_mmap's padding is the same each time */
		valid_words = calloc(ARENA_SIZE / 8, 1);
	}
	memset(valid_words, 0, arena_used / 8);
	arena_used = 0;
	failing = 0;
	failing_thread = 0;
}

/* ---- Time ---- */

uint64_t sim_now(void)
{
	return now;
}

void sim_time_passes(uint64_t until)
{
	if (now < until)
		now = until;
}

uint64_t sim_in(uint64_t ns)
{
	return now + ns;
}

int sim_clock_gettime(clockid_t clock, struct timespec *time);
int sim_clock_gettime(clockid_t clock, struct timespec *time)
{
	now += 1000; /* a look at the clock takes its time: no loop looks for ever */
	*time = (struct timespec){(time_t)(now / NS_PER_S), (long)(now % NS_PER_S)};
	return 0;
}

/* ---- Sleep and wake ---- */

void sim_wake(unsigned number, bool timed_out)
{
	struct sim_thread *thread = &sim_threads[number];

	thread->state = SIM_READY;
	thread->timed_out = timed_out;
	thread->watched_count = 0;
	thread->deadline = 0;
}

/* All words that are watched have their values. 0: woken; -1: timed out, errno. */
static long fall_asleep(const struct timespec *deadline)
{
	struct sim_thread *me = sim_me();

	me->deadline = 0;
	if (deadline && deadline->tv_sec < NEVER_S) {
		me->deadline = (uint64_t)deadline->tv_sec * NS_PER_S + (uint64_t)deadline->tv_nsec;
		if (me->deadline <= now) {
			errno = ETIMEDOUT;
			return -1;
		}
	}
	if (sim_choose(2, 1)) {
		sim_trace("wakes for no reason");
		errno = EINTR;
		return -1;
	}
	sim_trace("sleeps");
	me->timed_out = false;
	me->in_haste = 0;
	me->state = SIM_ASLEEP;
	sim_schedule(true);
	sim_trace(me->timed_out ? "its deadline has passed" : "is woken");
	if (!me->timed_out)
		return 0;
	errno = ETIMEDOUT;
	return -1;
}

static bool changed(const uint32_t *word, uint32_t value)
{
	uint32_t found;
	bool valid = true;

	if (sim_arena_holds(word, sizeof(*word), &valid) && !valid)
		sim_fail("sleeps on memory that was given back: %p", (const void *)word);
	memcpy(&found, word, sizeof(found));
	return found != value;
}

static long sleep_on(const uint32_t *const *words, const uint32_t *values, size_t count,
                     const struct timespec *deadline)
{
	struct sim_thread *me = sim_me();

	sim_point();
	for (size_t i = 0; i < count; i++) {
		if (changed(words[i], values[i])) {
			errno = EAGAIN;
			return -1;
		}
		me->watched[i] = words[i];
	}
	me->watched_count = count;
	return fall_asleep(deadline);
}

static long wait_many(const struct waitv *waiters, unsigned count, const struct timespec *deadline)
{
	const uint32_t *words[130];
	uint32_t values[130];

	for (unsigned i = 0; i < count; i++) {
		words[i] = (const uint32_t *)(uintptr_t)waiters[i].address;
		values[i] = (uint32_t)waiters[i].value;
	}
	return sleep_on(words, values, count, deadline);
}

static bool watches(const struct sim_thread *thread, const uint32_t *word)
{
	if (thread->state != SIM_ASLEEP)
		return false;
	for (size_t i = 0; i < thread->watched_count; i++)
		if (thread->watched[i] == word)
			return true;
	return false;
}

/* Who of the sleepers wakes is a choice. */
static long wake(const uint32_t *word, unsigned count)
{
	long woken = 0;

	sim_point();
	while (count--) {
		unsigned sleepers[SIM_THREADS_MAX];
		unsigned found = 0;

		for (unsigned i = 0; i < sim_thread_count; i++)
			if (watches(&sim_threads[i], word))
				sleepers[found++] = i;
		if (!found)
			break;
		sim_wake(sleepers[count ? 0 : sim_choose(found, found)], false);
		woken++;
	}
	sim_trace("wakes %ld sleepers of %p", woken, (const void *)word);
	return woken;
}

long sim_syscall(long number, ...);
long sim_syscall(long number, ...)
{
	va_list list;
	long result;

	va_start(list, number);
	if (number == SYS_futex) {
		const uint32_t *word = va_arg(list, const uint32_t *);
		int operation = va_arg(list, int) & FUTEX_CMD_MASK;
		uint32_t value = va_arg(list, uint32_t);
		const struct timespec *deadline = va_arg(list, const struct timespec *);

		if (operation == FUTEX_WAKE)
			result = wake(word, value);
		else
			result = sleep_on(&word, &value, 1, deadline);
	} else if (number == SYS_futex_waitv) {
		const struct waitv *waiters = va_arg(list, const struct waitv *);
		unsigned count = va_arg(list, unsigned);

		(void)va_arg(list, unsigned);
		result = wait_many(waiters, count, va_arg(list, const struct timespec *));
	} else {
		sim_fail("explorer: system call %ld", number);
	}
	va_end(list);
	return result;
}

/* Descriptors are the kernel's own. A thread that waits for one lets the others go first. */
int sim_sched_yield(void);
int sim_poll(struct pollfd *entries, nfds_t count, int timeout_ms);
int sim_poll(struct pollfd *entries, nfds_t count, int timeout_ms)
{
	int ready = poll(entries, count, 0);

	while (!ready && timeout_ms < 0) {
		(void)sim_sched_yield();
		ready = poll(entries, count, 0);
	}
	return ready;
}

/* ---- Threads ---- */

int sim_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                       void *(*function)(void *), void *argument);
int sim_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                       void *(*function)(void *), void *argument)
{
	if (failing_thread && --failing_thread == 0)
		return EAGAIN;
	*thread = sim_thread_add(function, argument);
	return 0;
}

int sim_pthread_join(pthread_t thread, void **result);
int sim_pthread_join(pthread_t thread, void **result)
{
	sim_join((unsigned)thread);
	return 0;
}

int sim_pthread_key_create(pthread_key_t *key, void (*destructor)(void *));
int sim_pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
	if (key_count == SIM_KEYS_MAX)
		return EAGAIN;
	sim_destructors[key_count] = destructor;
	*key = key_count++;
	return 0;
}

int sim_pthread_key_delete(pthread_key_t key);
int sim_pthread_key_delete(pthread_key_t key)
{
	sim_destructors[key] = NULL;
	return 0;
}

int sim_pthread_setspecific(pthread_key_t key, const void *value);
int sim_pthread_setspecific(pthread_key_t key, const void *value)
{
	sim_me()->keys[key] = (void *)(uintptr_t)value;
	return 0;
}

/* ---- Memory: an arena, no byte of which is used twice in an execution ---- */

bool sim_arena_holds(const void *address, size_t size, bool *valid)
{
	uintptr_t offset = (uintptr_t)address - (uintptr_t)arena;

	if (offset >= ARENA_SIZE)
		return false;
	for (size_t at = offset / 8; at <= (offset + size - 1) / 8; at++)
		if (!valid_words[at])
			*valid = false;
	return true;
}

void sim_fail_thread(unsigned n)
{
	failing_thread = n;
}

void sim_fail_allocation(unsigned n)
{
	failing = n;
}

static void *take(size_t size)
{
	/* The size in front, and a gap behind, which nobody may touch. */
	size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	unsigned char *block = arena + arena_used + ALIGNMENT;

	if (arena_used + rounded + 2 * ALIGNMENT > ARENA_SIZE)
		sim_fail("explorer: more than %lu bytes", ARENA_SIZE);
	memcpy(block - sizeof(size), &size, sizeof(size));
	memset(block - 2 * sizeof(size), 0, sizeof(size));
	memset(valid_words + (size_t)(block - arena) / 8, 1, (size + 7) / 8);
	arena_used += rounded + ALIGNMENT;
	return block;
}

void *sim_aligned_alloc(size_t alignment, size_t size);
void *sim_aligned_alloc(size_t alignment, size_t size)
{
	void *block;

	(void)alignment; /* ALIGNMENT is a cache line */
	if (failing && --failing == 0) {
		errno = ENOMEM;
		return NULL;
	}
	block = take(size);
	memcpy(block - 2 * sizeof(size), &(uint64_t){LIBRARYS}, sizeof(uint64_t));
	memset(block, 0xA5, size);
	return block;
}

void *sim_calloc(size_t count, size_t size);
void *sim_calloc(size_t count, size_t size)
{
	void *block = sim_aligned_alloc(ALIGNMENT, count * size);

	return block ? memset(block, 0, count * size) : NULL;
}

void *sim_alloc(size_t size)
{
	return memset(take(size), 0, size);
}

void sim_each_block(void (*look)(const void *block, size_t size))
{
	size_t at = 0;

	while (at < arena_used) {
		const unsigned char *block = arena + at + ALIGNMENT;
		uint64_t owner;
		size_t size;

		memcpy(&size, block - sizeof(size), sizeof(size));
		memcpy(&owner, block - 2 * sizeof(size), sizeof(owner));
		if (owner == LIBRARYS && valid_words[(size_t)(block - arena) / 8])
			look(block, size);
		at += (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
	}
}

static size_t blocks;

static void count_block(const void *block, size_t size)
{
	blocks++;
}

size_t sim_allocated(void)
{
	blocks = 0;
	sim_each_block(count_block);
	return blocks;
}

void sim_free(void *memory);
void sim_free(void *memory)
{
	unsigned char *block = memory;
	bool valid = true;
	size_t size;

	if (!block)
		return;
	if (!sim_arena_holds(block, 1, &valid)) {
		free(block);
		return;
	}
	if (!valid)
		sim_fail("freed twice, or not a block: %p", memory);
	memcpy(&size, block - sizeof(size), sizeof(size));
	/* As a write: whoever has touched it must have done so before. */
	sim_accessed(block, size, SIM_WRITE, __builtin_return_address(0));
	memset(valid_words + (size_t)(block - arena) / 8, 0, (size + 7) / 8);
	memset(block, 0xDD, size);
}
