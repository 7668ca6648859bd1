/* SPDX-License-Identifier: MIT */
/* A job that counts its runs and cancellations, for the scenarios of pools and executors. */
#include "job.h"

static void run(struct baton_plain_job *plain)
{
	struct job *job = baton_container_of(plain, struct job, plain);

	atomic_fetch_add(&job->runs, 1);
	gate_open(&job->over);
}

static void cancel(struct baton_plain_job *plain)
{
	struct job *job = baton_container_of(plain, struct job, plain);

	atomic_fetch_add(&job->cancelled, 1);
	gate_open(&job->over);
}

void job_init(struct job *job, struct baton_pool *pool)
{
	atomic_init(&job->runs, 0);
	atomic_init(&job->cancelled, 0);
	gate_init(&job->over);
	job->pool = pool;
	USE(baton_plain_job_init(&job->plain, run, cancel));
}

bool job_ran(const struct job *job)
{
	return atomic_load(&job->runs) == 1 && !atomic_load(&job->cancelled);
}

bool job_gone(const struct job *job)
{
	return atomic_load(&job->cancelled) == 1 && !atomic_load(&job->runs);
}

bool job_over(const struct job *job)
{
	return atomic_load(&job->cancelled) + atomic_load(&job->runs) == 1;
}

bool job_untouched(const struct job *job)
{
	return !atomic_load(&job->cancelled) && !atomic_load(&job->runs) && !job->plain.job._next &&
	       job->plain._run == run && job->plain._cancel == cancel;
}

static void stay(struct baton_plain_job *plain)
{
	struct plug *plug = baton_container_of(plain, struct plug, plain);

	gate_open(&plug->entered);
	gate_pass(&plug->leave);
}

void plug_in(struct plug *plug, struct baton_pool *pool)
{
	fault_hold();
	gate_init(&plug->entered);
	gate_init(&plug->leave);
	USE(baton_plain_job_init(&plug->plain, stay, NULL));
	EXPECT(TRY(baton_pool_submit(pool, &plug->plain)) == 0);
	gate_pass(&plug->entered);
	fault_release();
}
