/* SPDX-License-Identifier: MIT */
/*
 * The end of a pool, on threads that have not used baton before.
 */
#include "job.h"

#define JOBS 3

static void *shut_down(void *arg)
{
	struct baton_pool *pool = arg;
	struct job job;

	INSIST(baton_pool_shutdown(pool), true);
	EXPECT(TRY(baton_pool_shutdown(pool)) == -EALREADY);
	job_init(&job, pool);
	EXPECT(TRY(baton_pool_submit(pool, &job.plain)) == -ESHUTDOWN);
	EXPECT(job_untouched(&job));
	return NULL;
}

static void *await_end(void *arg)
{
	INSIST(baton_pool_await((struct baton_pool *)arg), true);
	return NULL;
}

static void *await_in_vain(void *arg)
{
	EXPECT(TRY(baton_pool_await_until((struct baton_pool *)arg, in_ms(SHORT_MS))) ==
	       -ETIMEDOUT);
	return NULL;
}

static void *destroy(void *arg)
{
	EXPECT(TRY(baton_pool_destroy((struct baton_pool *)arg)) == 0);
	return NULL;
}

/* What was accepted is run. */
SCENARIO(pool, shutdown)
{
	struct baton_pool *pool = pool_get();
	struct plug plugs[POOL_WORKERS];
	struct job jobs[JOBS];
	uint32_t waits;
	pthread_t waiter;

	for (int i = 0; i < POOL_WORKERS; i++)
		plug_in(&plugs[i], pool);
	for (int i = 0; i < JOBS; i++) {
		job_init(&jobs[i], pool);
		INSIST(baton_pool_submit(pool, &jobs[i].plain), job_untouched(&jobs[i]));
	}
	elsewhere(shut_down, pool);
	elsewhere(await_in_vain, pool);
	waits = fault_waits();
	waiter = thread_start(await_end, pool);
	until_waiting(waits);
	for (int i = 0; i < POOL_WORKERS; i++)
		gate_open(&plugs[i].leave);
	thread_join(waiter);
	for (int i = 0; i < JOBS; i++)
		EXPECT(job_ran(&jobs[i]));
	elsewhere(destroy, pool);
}

/* destroy alone does all that. */
SCENARIO(pool, destroy)
{
	struct baton_pool *pool = pool_get();
	struct plug plug;
	struct job jobs[JOBS];

	plug_in(&plug, pool);
	for (int i = 0; i < JOBS; i++) {
		job_init(&jobs[i], pool);
		INSIST(baton_pool_submit(pool, &jobs[i].plain), job_untouched(&jobs[i]));
	}
	gate_open(&plug.leave);
	elsewhere(destroy, pool);
	for (int i = 0; i < JOBS; i++)
		EXPECT(job_ran(&jobs[i]));
}

static void *shut_down_now(void *arg)
{
	struct baton_pool *pool = arg;
	struct baton_job *list = (struct baton_job *)arg; /* a value that is none of its */
	struct baton_job *next;
	size_t count = 0;

	INSIST(baton_pool_shutdown_now(pool, &list), (void *)list == arg);
	/* Some are run, some cancelled. */
	for (struct baton_job *job = list; job; job = next) {
		next = USE(baton_job_next(job));
		if (count++ % 2)
			USE(baton_job_run(job));
		else
			USE(baton_job_cancel(job));
	}
	EXPECT(TRY(baton_pool_shutdown_now(pool, &list)) == -EALREADY);
	return NULL;
}

/* What no worker had taken is in the list: plain jobs and a resource. */
SCENARIO(pool, shutdown_now)
{
	struct baton_pool *pool = pool_get();
	const struct baton_resource_config config = {
		.capture_max = BATON_CAPTURE_NONE,
		.quantum = 1,
		.executor = USE(baton_pool_executor(pool)),
		.cancelled = probe_cancelled,
	};
	struct baton_resource resource = BATON_RESOURCE_INIT(&config);
	struct plug plugs[POOL_WORKERS];
	struct job jobs[JOBS];
	struct probe probes[2];

	for (int i = 0; i < POOL_WORKERS; i++)
		plug_in(&plugs[i], pool);
	probe_init(&probes[0]);
	probe_init_plain(&probes[1]);
	for (int i = 0; i < 2; i++)
		INSIST(baton_submit(&resource, &probes[i].task), probe_untouched(&probes[i]));
	for (int i = 0; i < JOBS; i++) {
		job_init(&jobs[i], pool);
		INSIST(baton_pool_submit(pool, &jobs[i].plain), job_untouched(&jobs[i]));
	}
	elsewhere(shut_down_now, pool);
	for (int i = 0; i < JOBS; i++)
		EXPECT(job_over(&jobs[i]));
	for (int i = 0; i < 2; i++)
		EXPECT(probe_gone(&probes[i])); /* the first in the list, hence cancelled */
	for (int i = 0; i < POOL_WORKERS; i++)
		gate_open(&plugs[i].leave);
	elsewhere(destroy, pool);
	resource_end(&resource);
}

struct handed {
	struct baton_job *job;
	bool run;
};

static void *end_job(void *arg)
{
	struct handed *handed = arg;

	if (handed->run)
		USE(baton_job_run(handed->job));
	else
		USE(baton_job_cancel(handed->job));
	return NULL;
}

/* A plain job needs nothing of the thread that runs or cancels it. */
SCENARIO(pool, jobs_on_other_threads)
{
	struct job jobs[2];

	for (int i = 0; i < 2; i++) {
		struct handed handed = {&jobs[i].plain.job, i == 0};

		job_init(&jobs[i], NULL);
		elsewhere(end_job, &handed);
	}
	EXPECT(job_ran(&jobs[0]));
	EXPECT(job_gone(&jobs[1]));
}
