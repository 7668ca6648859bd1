/* SPDX-License-Identifier: MIT */
/*
 * W5: from a submit to a busy pool to the start of the job. Each worker has always a job of 5 us to
 * run: it computes, and submits itself again, as its last act. Then a job comes from outside.
 */
#include "w5_pool.h"

#include "harness.h"
#include "histogram.h"
#include "machine.h"
#include "team.h"

#include <stdlib.h>

#define WORK_NS 5000
#define GAP_NS 100000
#define PROBES 400

struct busy_case {
	const struct w5_pool *pool;
};

/* What keeps one worker busy. */
struct chain {
	struct w5_job job;
	const struct w5_pool *pool;
	struct machine_work work;
	bool stop;
	bool over;
} __attribute__((aligned(64)));

static void chain_run(struct w5_job *job)
{
	struct chain *chain = baton_container_of(job, struct chain, job);

	machine_work(chain->work);
	if (__atomic_load_n(&chain->stop, __ATOMIC_RELAXED))
		__atomic_store_n(&chain->over, true, __ATOMIC_RELEASE);
	else
		w5_submit(chain->pool, &chain->job);
}

static void probe_once(const struct w5_pool *pool, struct histogram *latency)
{
	struct w5_probe probe = W5_PROBE_INIT;
	uint64_t start = machine_ticks();
	uint64_t started;
	unsigned turns = 0;

	w5_submit(pool, &probe.job);
	/* Ended by the job. */
	while (!(started = __atomic_load_n(&probe.started, __ATOMIC_ACQUIRE)))
		team_wait(&turns);
	histogram_add(latency, started > start ? started - start : 0);
}

static void run(const void *setup, double *values)
{
	const struct w5_pool *pool = ((const struct busy_case *)setup)->pool;
	unsigned workers = w5_workers(W5_APART);
	struct chain *chains = aligned_alloc(64, workers * sizeof(*chains));
	struct histogram *latency = calloc(1, sizeof(*latency));
	unsigned probes = bench_options.quick ? PROBES / 4 : PROBES;
	double per_us = machine_ticks_per_ns() * 1e3;

	if (!chains || !latency)
		abort();
	w5_take_place(W5_APART);
	for (unsigned i = 0; i < workers; i++) {
		chains[i] = (struct chain){.job = {.run = chain_run}, .pool = pool};
		chains[i].work = machine_work_of(WORK_NS);
		w5_submit(pool, &chains[i].job);
	}
	for (unsigned i = 0; i < probes; i++) {
		machine_sleep_ns(GAP_NS);
		probe_once(pool, latency);
	}
	for (unsigned i = 0; i < workers; i++)
		__atomic_store_n(&chains[i].stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < workers; i++)
		while (!__atomic_load_n(&chains[i].over, __ATOMIC_ACQUIRE))
			machine_sleep_ns(GAP_NS);
	w5_leave_place();
	values[0] = (double)histogram_quantile(latency, 0.50) / per_us;
	values[1] = (double)histogram_quantile(latency, 0.99) / per_us;
	values[2] = (double)latency->most / per_us;
	free(latency);
	free(chains);
}

void w5_busy(void)
{
	static const char *const metrics[] = {"p50, us", "p99, us", "max, us", NULL};
	struct w5_pool pools[W5_POOLS_MAX];
	struct busy_case busy[W5_POOLS_MAX];
	struct bench_case cases[W5_POOLS_MAX];
	size_t count = w5_pools(pools);
	const struct bench_group group = {
		"W5: busy pool, submit to start, every worker in jobs of 5 us",
		metrics,
		cases,
		count,
		0,
		NULL,
	};

	if (!bench_wanted(group.name))
		return;
	for (size_t i = 0; i < count; i++) {
		busy[i].pool = &pools[i];
		cases[i] = (struct bench_case){pools[i].name, run, &busy[i]};
		w5_start(&pools[i], W5_APART);
	}
	bench_group(&group);
	for (size_t i = 0; i < count; i++)
		w5_stop(&pools[i]);
}
