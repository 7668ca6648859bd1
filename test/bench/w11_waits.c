/* SPDX-License-Identifier: MIT */
/*
 * W11: a pool whose jobs block. Each of some jobs sleeps for a while, as in a read() from a disk,
 * then computes; all are submitted at once. A pool without spares waits for them one after another
 * on each worker. And what the bracket costs a job that does not block after all.
 */
#include "harness.h"
#include "machine.h"
#include "w5_pool.h"

#include <baton/all.h>

#include <stdlib.h>

#define JOBS 64
#define SLEEP_NS 200000
#define WORK_NS 5000
#define BRACKETS 20000

struct waits_case {
	const struct w5_pool *pool; /* NULL: baton's with the bracket */
	uint64_t brackets;          /* of the cost, 0: the other table */
};

struct sleeper {
	struct w5_job job;
	struct baton_plain_job plain;
	struct machine_work work;
	uint32_t *left;
} __attribute__((aligned(64)));

static void work(struct sleeper *sleeper)
{
	machine_work(sleeper->work);
	(void)__atomic_sub_fetch(sleeper->left, 1, __ATOMIC_RELEASE);
}

static void sleep_and_work(struct w5_job *job)
{
	machine_sleep_ns(SLEEP_NS);
	work(baton_container_of(job, struct sleeper, job));
}

static void bracket_and_work(struct baton_plain_job *plain)
{
	baton_blocking_begin();
	machine_sleep_ns(SLEEP_NS);
	baton_blocking_end();
	work(baton_container_of(plain, struct sleeper, plain));
}

static struct baton_pool *bracketed;

static void run_sleepers(const void *setup, double *values)
{
	const struct w5_pool *pool = ((const struct waits_case *)setup)->pool;
	struct sleeper *sleepers = aligned_alloc(64, JOBS * sizeof(*sleepers));
	uint32_t left = JOBS;
	uint64_t start = machine_ticks();

	if (!sleepers)
		abort();
	for (unsigned i = 0; i < JOBS; i++) {
		sleepers[i] = (struct sleeper){.job = {.run = sleep_and_work}, .left = &left};
		sleepers[i].work = machine_work_of(WORK_NS);
		baton_plain_job_init(&sleepers[i].plain, bracket_and_work, NULL);
		if (pool)
			w5_submit(pool, &sleepers[i].job);
		else if (baton_pool_submit(bracketed, &sleepers[i].plain))
			abort();
	}
	while (__atomic_load_n(&left, __ATOMIC_ACQUIRE))
		machine_sleep_ns(20000);
	values[0] = JOBS / ((double)(machine_ticks() - start) / machine_ticks_per_ns() / 1e9);
	free(sleepers);
}

/* ---- What the bracket costs ---- */

struct brackets {
	struct baton_plain_job plain;
	double ns;
	uint32_t over;
};

static void open_and_close(struct baton_plain_job *plain)
{
	struct brackets *brackets = baton_container_of(plain, struct brackets, plain);
	uint64_t start = machine_ticks();

	for (unsigned i = 0; i < BRACKETS; i++) {
		baton_blocking_begin();
		baton_blocking_end();
	}
	brackets->ns = (double)(machine_ticks() - start) / machine_ticks_per_ns() / BRACKETS;
	__atomic_store_n(&brackets->over, 1, __ATOMIC_RELEASE);
}

static void run_outside(const void *setup, double *values)
{
	struct brackets brackets = {.over = 0};

	open_and_close(&brackets.plain);
	values[0] = brackets.ns;
}

static void run_inside(const void *setup, double *values)
{
	struct brackets brackets = {.over = 0};

	baton_plain_job_init(&brackets.plain, open_and_close, NULL);
	if (baton_pool_submit(bracketed, &brackets.plain))
		abort();
	while (!__atomic_load_n(&brackets.over, __ATOMIC_ACQUIRE))
		machine_sleep_ns(20000);
	values[0] = brackets.ns;
}

static void sleepers_table(void)
{
	static const char *const metrics[] = {"jobs/s", NULL};
	static const struct waits_case with = {.pool = NULL};
	struct w5_pool pools[W5_POOLS_MAX];
	struct waits_case waits[W5_POOLS_MAX];
	struct bench_case cases[W5_POOLS_MAX + 1];
	size_t count = w5_pools(pools);
	const struct bench_group group = {
		"W11: waits in tasks, 64 jobs that sleep 200 us and work 5 us",
		metrics,
		cases,
		count + 1,
		0,
		"the bracket lets spares come: up to 64 more threads",
	};

	if (!bench_wanted(group.name))
		return;
	for (size_t i = 0; i < count; i++) {
		waits[i].pool = &pools[i];
		cases[i] = (struct bench_case){pools[i].name, run_sleepers, &waits[i]};
		w5_start(&pools[i], W5_FREE);
	}
	cases[count] = (struct bench_case){"baton pool, bracket", run_sleepers, &with};
	bench_group(&group);
	for (size_t i = 0; i < count; i++)
		w5_stop(&pools[i]);
}

static void brackets_table(void)
{
	static const char *const metrics[] = {"ns per pair", NULL};
	static const struct bench_case cases[] = {
		{"outside a pool", run_outside, NULL},
		{"inside a job, nothing else to do", run_inside, NULL},
	};
	const struct bench_group group = {
		"W11: waits in tasks, blocking_begin and blocking_end", metrics, cases, 2, 0, NULL,
	};

	bench_group(&group);
}

void bench_w11_waits(void)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;

	if (!bench_wanted("W11: waits in tasks"))
		return;
	options.workers = w5_workers(W5_FREE);
	if (baton_pool_create(&options, &bracketed))
		abort();
	sleepers_table();
	brackets_table();
	BATON_IGNORE(baton_pool_destroy(bracketed));
}
