/* SPDX-License-Identifier: MIT */
/* What the pool's tests share: jobs that count, and one that occupies its worker. */
#ifndef BATON_TEST_UNIT_POOL_SUPPORT_H
#define BATON_TEST_UNIT_POOL_SUPPORT_H

#include "support.h"

struct work {
	struct baton_plain_job job;
	atomic_int *done;
	atomic_int ran;
	atomic_int cancelled;
	struct baton_pool *pool;
	struct work *others[3];
	sem_t *entered;
	sem_t *leave;
	int number;
	int result;
	pthread_t thread;
	char name[32];
};

static inline struct work *work_of(struct baton_plain_job *job)
{
	return baton_container_of(job, struct work, job);
}

static inline void work_finish(struct work *work)
{
	atomic_int *done = work->done; /* the last touch gives the work back */

	atomic_fetch_add(&work->ran, 1);
	if (done)
		atomic_fetch_add(done, 1);
}

static inline void work_run(struct baton_plain_job *job)
{
	work_finish(work_of(job));
}

static inline void work_cancel(struct baton_plain_job *job)
{
	atomic_fetch_add(&work_of(job)->cancelled, 1);
}

/* A job that occupies its worker. */
static inline void work_stay(struct baton_plain_job *job)
{
	struct work *work = work_of(job);

	gate_open(work->entered);
	gate_pass(work->leave);
	work_finish(work);
}

static inline void work_init(struct work *work, baton_job_fn run, struct baton_pool *pool,
                             atomic_int *done)
{
	memset(work, 0, sizeof(*work));
	baton_plain_job_init(&work->job, run, work_cancel);
	work->pool = pool;
	work->done = done;
}

static inline struct work *works_create(size_t count, struct baton_pool *pool, atomic_int *done)
{
	struct work *works = calloc(count, sizeof(*works));

	MUST(works);
	for (size_t i = 0; i < count; i++)
		work_init(&works[i], work_run, pool, done);
	return works;
}

/* A job that stays until it is let go, on a worker of the pool. */
struct plug {
	struct work work;
	sem_t entered;
	sem_t leave;
};

static inline void plug_in(struct plug *plug, struct baton_pool *pool)
{
	work_init(&plug->work, work_stay, pool, NULL);
	gate_init(&plug->entered);
	gate_init(&plug->leave);
	plug->work.entered = &plug->entered;
	plug->work.leave = &plug->leave;
	cr_assert_eq(baton_pool_submit(pool, &plug->work.job), 0);
	gate_pass(&plug->entered);
}

static inline void until_all_asleep(struct baton_pool *pool)
{
	struct baton_pool_stats stats;

	do {
		sched_yield();
		baton_pool_stats_read(pool, &stats);
	} while (stats.parked - stats.woken != baton_pool_workers(pool));
}

#endif
