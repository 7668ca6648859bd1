/* SPDX-License-Identifier: MIT */
/*
 * What the API tests share: threads that may not fail, gates to meet at, a task that occupies a
 * resource, a journal of tasks and their threads, seeds and deadlines. Helpers for other threads
 * never assert: a MUST is for what cannot fail, and other results are recorded.
 */
#ifndef BATON_TEST_UNIT_SUPPORT_H
#define BATON_TEST_UNIT_SUPPORT_H

#include <criterion/criterion.h>

#include "../named.h"

#include <baton/executor.h>
#include <baton/future.h>
#include <baton/loop.h>
#include <baton/manual.h>
#include <baton/pool.h>
#include <baton/resource.h>
#include <baton/stats.h>
#include <baton/task.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "thread/thread.h"

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define BATON_TEST_TSAN 1
#else
#define BATON_TEST_TSAN 0
#endif
#if BATON_TEST_TSAN || defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define BATON_TEST_SANITIZED 1
#else
#define BATON_TEST_SANITIZED 0
#endif

/* How many times slower this build runs than a plain one: the loops are divided by it. */
#ifndef BATON_TEST_SCALE
#define BATON_TEST_SCALE (BATON_TEST_SANITIZED ? 10 : 1)
#endif

/* Ends the test if a call fails that cannot fail. On any thread. */
#define MUST(condition)                                                                            \
	((condition) ? (void)0                                                                     \
	             : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), abort()))

static inline int scaled(int count)
{
	count /= BATON_TEST_SCALE;
	return count > 0 ? count : 1;
}

/* Seeds and random numbers (xorshift64*, Vigna 2016). */
static inline uint64_t test_seed(void)
{
	const char *given = getenv("BATON_TEST_SEED");
	struct timespec now;
	uint64_t seed;

	clock_gettime(CLOCK_MONOTONIC, &now);
	seed = given ? strtoull(given, NULL, 0) : (uint64_t)now.tv_nsec * 2654435761U + 1;
	fprintf(stderr, "BATON_TEST_SEED=%llu\n", (unsigned long long)seed);
	return seed;
}

/* A generator for one of several threads. */
static inline uint64_t rng_fork(uint64_t seed, uint64_t stream)
{
	uint64_t state = (seed + stream * 0x9E3779B97F4A7C15U) * 0xBF58476D1CE4E5B9U;

	return state ? state : 1;
}

static inline uint32_t rng_below(uint64_t *state, uint32_t bound)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (uint32_t)((*state * 0x2545F4914F6CDD1DU) >> 32) % bound;
}

static inline uint64_t now_ns(void)
{
	struct timespec now;

	MUST(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* How many descriptors the process has. */
static inline int open_files(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static inline uint64_t deadline_in_ms(uint64_t timeout_ms)
{
	return now_ns() + timeout_ms * 1000000U;
}

/* Works for at least `duration_ns`. */
static inline void work_for_ns(uint64_t duration_ns)
{
	uint64_t end = now_ns() + duration_ns;

	while (now_ns() < end)
		continue;
}

static inline pthread_t thread_start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, run, arg) == 0);
	return thread;
}

static inline void *thread_join(pthread_t thread)
{
	void *value = NULL;

	MUST(pthread_join(thread, &value) == 0);
	return value;
}

/* 64 KiB, or what a thread must have here if that is more. A sanitizer's frames are several times
 * as large: the small stack is the plain build's claim. */
static inline size_t small_stack(void)
{
	const size_t small = BATON_TEST_SANITIZED ? 1024 * 1024 : 64 * 1024;
	const long least = sysconf(_SC_THREAD_STACK_MIN);

	return least > (long)small ? (size_t)least : small;
}

/* Runs the function on a thread with a stack of this size, and joins the thread. */
static inline void thread_run_on(size_t stack_size, void *(*run)(void *), void *arg)
{
	pthread_attr_t attributes;
	pthread_t thread;

	MUST(pthread_attr_init(&attributes) == 0);
	MUST(pthread_attr_setstacksize(&attributes, stack_size) == 0);
	MUST(pthread_create(&thread, &attributes, run, arg) == 0);
	thread_join(thread);
	MUST(pthread_attr_destroy(&attributes) == 0);
}

static inline void gate_init(sem_t *gate)
{
	MUST(sem_init(gate, 0, 0) == 0);
}

static inline void gate_open(sem_t *gate)
{
	MUST(sem_post(gate) == 0);
}

static inline void gate_pass(sem_t *gate)
{
	while (sem_wait(gate) != 0)
		MUST(errno == EINTR);
}

static inline void until_at_least(atomic_int *counter, int value)
{
	while (atomic_load(counter) < value)
		sched_yield();
}

static inline int thread_id(void)
{
	return (int)syscall(SYS_gettid);
}

/* 'S' when the thread sleeps, 'R' when it runs or could; 0 when it is gone. */
static inline char thread_state(int tid)
{
	char path[64];
	char line[256] = "";
	const char *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	end = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	return end ? end[2] : (char)0;
}

/* Returns when the thread was seen asleep many times in a row: it no longer spins. */
static inline void until_asleep(int tid)
{
	int seen = 0;

	while (seen < 50) {
		seen = thread_state(tid) == 'S' ? seen + 1 : 0;
		sched_yield();
	}
}

static inline struct baton_resource_stats resource_counts(const struct baton_resource_stats *stats)
{
	struct baton_resource_stats copy;

	baton_resource_stats_read(stats, &copy);
	return copy;
}

/* The journal: written by the tasks of one resource, read when these tasks are over. */
#define JOURNAL_MAX 1024

struct journal {
	size_t count;
	int number[JOURNAL_MAX];
	pthread_t thread[JOURNAL_MAX];
};

static inline void journal_add(struct journal *journal, int number)
{
	MUST(journal->count < JOURNAL_MAX);
	journal->number[journal->count] = number;
	journal->thread[journal->count] = pthread_self();
	journal->count++;
}

/* Did entry `index` run on the calling thread? */
static inline bool journal_here(const struct journal *journal, size_t index)
{
	return pthread_equal(journal->thread[index], pthread_self()) != 0;
}

/* Is it exactly first, first + 1, ... for `count` entries? */
static inline bool journal_counts_up(const struct journal *journal, int first, size_t count)
{
	if (journal->count != count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (journal->number[i] != first + (int)i)
			return false;
	return true;
}

struct step {
	struct baton_task task;
	struct journal *journal;
	int number;
};

static inline int step_run(struct baton_task *task)
{
	struct step *step = baton_container_of(task, struct step, task);

	journal_add(step->journal, step->number);
	return 0;
}

static inline void step_init(struct step *step, struct journal *journal, int number,
                             struct baton_future *future)
{
	baton_task_init(&step->task, step_run, future);
	step->journal = journal;
	step->number = number;
}

/* `count` steps, numbered from `first`, without futures. */
static inline void steps_init(struct step *steps, size_t count, struct journal *journal, int first)
{
	for (size_t i = 0; i < count; i++)
		step_init(&steps[i], journal, first + (int)i, NULL);
}

/* A thread that captures a resource and stays in its first task until it is released. */
struct occupant {
	struct baton_task task;
	struct baton_resource *resource;
	sem_t entered;
	sem_t leave;
	pthread_t thread;
	int tid;
	int result; /* of its submit */
};

static inline int occupant_run(struct baton_task *task)
{
	struct occupant *occupant = baton_container_of(task, struct occupant, task);

	occupant->tid = thread_id();
	gate_open(&occupant->entered);
	gate_pass(&occupant->leave);
	return 0;
}

/* The thread's first submit, which may take another way than later submits. */
static inline void *occupant_fresh_main(void *arg)
{
	struct occupant *occupant = arg;

	occupant->result = baton_submit(occupant->resource, &occupant->task);
	return NULL;
}

static inline void *occupant_main(void *arg)
{
	struct baton_resource own = BATON_RESOURCE_INIT(NULL);
	struct journal journal = {0};
	struct step step;

	step_init(&step, &journal, 0, NULL);
	MUST(baton_submit(&own, &step.task) == 0);
	return occupant_fresh_main(arg);
}

static inline void occupant_init(struct occupant *occupant, struct baton_resource *resource)
{
	baton_task_init(&occupant->task, occupant_run, NULL);
	occupant->resource = resource;
	gate_init(&occupant->entered);
	gate_init(&occupant->leave);
	occupant->result = -1;
}

/* Returns when the resource is busy. */
static inline void occupy(struct occupant *occupant, struct baton_resource *resource)
{
	occupant_init(occupant, resource);
	occupant->thread = thread_start(occupant_main, occupant);
	gate_pass(&occupant->entered);
}

/* Returns when the occupant's submit has returned. */
static inline void release(struct occupant *occupant)
{
	gate_open(&occupant->leave);
	thread_join(occupant->thread);
}

/* As occupy, but the occupant is a worker of the resource's executor. To end: open the gate, then
 * await the resource. */
static inline void occupy_later(struct occupant *occupant, struct baton_resource *resource)
{
	occupant_init(occupant, resource);
	MUST(baton_submit_later(resource, &occupant->task) == 0);
	gate_pass(&occupant->entered);
}

/* A thread that is in no task holds nothing, owes nothing, and has put nothing off. */
static inline void expect_thread_is_free(void)
{
	const struct baton__thread *self = baton__self;

	if (self->top)
		return; /* inside a task; or without a record */
	cr_assert(!self->deferred && !self->deferred_running);
	cr_assert(!self->late_tasks && !self->late_continuations && !self->late_queued);
	cr_assert(!self->debt_queued && !self->debt_paying);
	for (size_t i = 0; i < BATON__DEBTS_MAX; i++)
		cr_assert_null(self->debts[i]);
	cr_assert(!self->leaving && !self->visits && !self->timed && !self->helping);
	cr_assert_null(self->called);
	cr_assert(!self->blocking && !self->asleep && !self->inside && !self->obstacle);
	cr_assert(!self->in_time && self->calling_max == BATON_CALLING_MAX);
}

/* Ends a test's resource. When this returns, no thread runs the resource any more. */
static inline void resource_end(struct baton_resource *resource)
{
	int closed = baton_resource_close(resource);

	cr_assert(closed == 0 || closed == -EALREADY);
	cr_assert_eq(baton_resource_await(resource), 0);
	cr_assert_null(resource->_list);
	expect_thread_is_free();
	baton_resource_deinit(resource);
}

static inline struct baton_pool *pool_of(size_t workers)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	struct baton_pool *pool = NULL;

	/* No spares: the number of threads does not change when workers wait. test_spares.c tests
	 * spares. */
	options.workers = workers;
	options.spares_max = BATON_POOL_NO_SPARES;
	MUST(baton_pool_create(&options, &pool) == 0);
	return pool;
}

static inline struct baton_pool_stats pool_stats(const struct baton_pool *pool)
{
	struct baton_pool_stats stats;

	baton_pool_stats_read(pool, &stats);
	return stats;
}

#endif
