/* SPDX-License-Identifier: MIT */
/*
 * A pool without threads, and a clock of the test's own, for single steps of a worker. After this
 * header a test includes the files of the pool whose steps these are, worker.c and steal.c among
 * them.
 */
#ifndef BATON_TEST_UNIT_BARE_POOL_H
#define BATON_TEST_UNIT_BARE_POOL_H

#include "pool_support.h"

#include "base/futex.h"
#include "pool/pool.h"
#include "pool/worker.h"
#include "thread/thread.h"

static uint64_t clock_ns;
static uint64_t clock_step;
static int clock_reads;

static inline uint64_t clock_read(void)
{
	clock_reads++;
	return clock_ns += clock_step;
}

#define baton__now_ns clock_read

/* Defined by steal.c. */
static uint64_t next_random(struct baton__worker *worker);

enum { WORKERS = 4, JOBS = 1200, LOOK_READS = 5 };

static struct bare {
	struct baton_pool pool;
	struct baton__worker workers[WORKERS];
	struct baton__sleeper sleepers[WORKERS];
	struct baton__runqueue hots[WORKERS];
	struct baton_plain_job jobs[JOBS];
	int next;
} bare;

static inline void no_run(struct baton_plain_job *job)
{
}

/* Anew, with so many workers, the last of which sleeps. */
static inline struct baton__worker *begin(size_t workers)
{
	memset(&bare, 0, sizeof(bare));
	MUST(baton__thread_attach() == 0);
	MUST(baton__policy_fill(&bare.pool.policy, NULL) == 0);
	bare.pool.worker_count = workers;
	bare.pool.workers = bare.workers;
	baton__idle_init(&bare.pool.idle, bare.sleepers, workers);
	baton__injection_init(&bare.pool.injection);
	for (size_t i = 0; i < workers; i++)
		baton__worker_init(&bare.workers[i], &bare.pool, i, NULL);
	for (int i = 0; i < JOBS; i++)
		baton_plain_job_init(&bare.jobs[i], no_run, NULL);
	(void)baton__idle_enter(&bare.pool.idle, workers - 1, false, false);
	clock_ns = 1000000000;
	clock_step = 0;
	clock_reads = 0;
	baton__worker_become(&bare.workers[0]);
	return &bare.workers[0];
}

/* Did a step wake the sleeper since the last question? The sleeper sleeps again. */
static inline bool woke(void)
{
	if (baton__idle_asleep(&bare.pool.idle) == 1)
		return false;
	(void)baton__idle_enter(&bare.pool.idle, bare.pool.worker_count - 1, true, false);
	return true;
}

static inline struct baton_job *job(int number)
{
	return &bare.jobs[number].job;
}

/* The job's number; -1: no job. */
static inline int number(const struct baton_job *found)
{
	return found ? (int)((const struct baton_plain_job *)(const void *)found - bare.jobs) : -1;
}

/* The next jobs go last into the worker's queue. */
static inline void queue_up(struct baton__worker *worker, int count)
{
	for (int i = 0; i < count; i++)
		baton__worker_put_back(worker, job(bare.next++));
}

static inline void inject(int count)
{
	for (int i = 0; i < count; i++)
		MUST(baton__injection_push(&bare.pool.injection, job(bare.next++)) == 0);
}

static inline int queued(const struct baton__worker *worker)
{
	return (int)baton__order_length(&worker->order);
}

/* The worker's next random number leads to worker `index`. */
static inline void aim(struct baton__worker *worker, size_t index)
{
	for (uint64_t seed = 1;; seed++) {
		worker->random = seed;
		if (next_random(worker) % bare.pool.worker_count != index)
			continue;
		worker->random = seed;
		return;
	}
}

#endif
