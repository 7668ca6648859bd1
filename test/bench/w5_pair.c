/* SPDX-License-Identifier: MIT */
/*
 * W5: a pair of park and unpark: a thread submits a job and sleeps until it has run; the worker
 * sleeps between the jobs. All wait for a semaphore, which the job posts; baton's user may also
 * wait for a promise, which the job fulfils.
 */
#include "w5_pool.h"

#include "harness.h"
#include "machine.h"

#include <semaphore.h>
#include <stdlib.h>

#define PAIRS 500

struct pair_case {
	const struct w5_pool *pool;
	enum w5_place place;
	bool promise;
};

struct pair {
	struct w5_job job;
	sem_t run;
	struct baton_future done;
};

static void post_run(struct w5_job *job)
{
	struct pair *pair = baton_container_of(job, struct pair, job);

	(void)sem_post(&pair->run);
}

static void fulfil_run(struct w5_job *job)
{
	struct pair *pair = baton_container_of(job, struct pair, job);

	(void)baton_future_complete(&pair->done, 0, NULL);
}

static void once(const struct pair_case *mine, struct pair *pair)
{
	if (mine->promise)
		baton_promise_init(&pair->done);
	w5_submit(mine->pool, &pair->job);
	if (mine->promise) {
		if (baton_future_wait(&pair->done))
			abort();
		return;
	}
	while (sem_wait(&pair->run))
		;
}

static void run(const void *setup, double *values)
{
	const struct pair_case *mine = setup;
	unsigned pairs = bench_options.quick ? PAIRS / 4 : PAIRS;
	struct pair pair = {.job = {.run = mine->promise ? fulfil_run : post_run}};
	uint64_t start;

	(void)sem_init(&pair.run, 0, 0);
	w5_take_place(mine->place);
	start = machine_now_ns();
	for (unsigned i = 0; i < pairs; i++)
		once(mine, &pair);
	values[0] = (double)(machine_now_ns() - start) / 1e3 / pairs;
	w5_leave_place();
	(void)sem_destroy(&pair.run);
}

static void run_group(enum w5_place place)
{
	static const char *const metrics[] = {"us/round trip", NULL};
	struct w5_pool pools[W5_POOLS_MAX];
	struct pair_case pairs[W5_POOLS_MAX + 1];
	struct bench_case cases[W5_POOLS_MAX + 1];
	size_t pool_count = w5_pools(pools);
	size_t count = 0;
	struct bench_group group = {
		place == W5_SHARED
			? "W5: park and unpark, a thread and a worker on one CPU"
			: "W5: park and unpark, a thread and a worker on a CPU of their own each",
		metrics,
		cases,
		0,
		0,
		NULL,
	};

	if (!bench_wanted(group.name))
		return;
	for (size_t i = 0; i < pool_count; i++) {
		w5_start(&pools[i], place);
		pairs[count] = (struct pair_case){&pools[i], place, false};
		cases[count] = (struct bench_case){pools[i].name, run, &pairs[count]};
		count++;
		if (pools[i].kind != W5_BATON)
			continue;
		pairs[count] = (struct pair_case){&pools[i], place, true};
		cases[count] = (struct bench_case){"baton pool, promise", run, &pairs[count]};
		count++;
	}
	group.case_count = count;
	bench_group(&group);
	for (size_t i = 0; i < pool_count; i++)
		w5_stop(&pools[i]);
}

void w5_pairs(void)
{
	run_group(W5_APART);
	run_group(W5_SHARED);
}
