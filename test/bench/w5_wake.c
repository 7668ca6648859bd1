/* SPDX-License-Identifier: MIT */
/*
 * W5: from a submit to a pool, all of whose workers sleep, to the start of the job. The submitter
 * keeps its CPU busy until the job has started, as a thread does that goes on with its own work: a
 * worker that is woken on the same CPU has to be let in by the system. How long the pool has slept
 * matters, since a CPU that has been idle for long takes longer to come back.
 */
#include "w5_pool.h"

#include "harness.h"
#include "histogram.h"
#include "machine.h"
#include "team.h"

#include <stdlib.h>

struct wake_case {
	const struct w5_pool *pool;
	enum w5_place place;
	uint64_t gap_ns;
	unsigned probes;
};

/* One submit; what it took to return, and until the job started. */
static void probe_once(const struct w5_pool *pool, struct histogram *submit,
                       struct histogram *latency)
{
	struct w5_probe probe = W5_PROBE_INIT;
	uint64_t start = machine_ticks();
	uint64_t returned;
	uint64_t started;

	w5_submit(pool, &probe.job);
	returned = machine_ticks();
	/* Ended by the job. */
	while (!(started = __atomic_load_n(&probe.started, __ATOMIC_ACQUIRE)))
		;
	histogram_add(latency, started > start ? started - start : 0);
	histogram_add(submit, returned - start);
}

static void run(const void *setup, double *values)
{
	const struct wake_case *mine = setup;
	struct histogram *latency = calloc(2, sizeof(*latency));
	struct histogram *submit = latency + 1;
	double per_us = machine_ticks_per_ns() * 1e3;

	if (!latency)
		abort();
	w5_take_place(mine->place);
	for (unsigned i = 0; i < mine->probes; i++) {
		machine_sleep_ns(mine->gap_ns);
		probe_once(mine->pool, submit, latency);
	}
	w5_leave_place();
	values[0] = (double)histogram_quantile(latency, 0.50) / per_us;
	values[1] = (double)histogram_quantile(latency, 0.99) / per_us;
	values[2] = (double)latency->most / per_us;
	values[3] = (double)histogram_quantile(submit, 0.50) / per_us;
	free(latency);
}

static void run_group(enum w5_place place, uint64_t gap_us)
{
	static const char *const metrics[] = {"p50, us", "p99, us", "max, us",
	                                      "the submit itself, us", NULL};
	static const char *const places[] = {
		"the submitter's CPU its own",
		"a CPU shared with the submitter",
		"nothing pinned",
	};
	struct w5_pool pools[W5_POOLS_MAX];
	struct wake_case wakes[W5_POOLS_MAX];
	struct bench_case cases[W5_POOLS_MAX];
	size_t count = w5_pools(pools);
	unsigned probes = gap_us > 1000 ? 40 : 400;
	char name[128];
	const struct bench_group group = {
		name,  metrics,
		cases, count,
		0,     place == W5_FREE ? "oneTBB's workers are pinned all the same" : NULL,
	};

	(void)snprintf(name, sizeof(name), "W5: idle pool, submit to start, %s, %s apart",
	               places[place], gap_us > 1000 ? "10 ms" : "200 us");
	if (!bench_wanted(name))
		return;
	for (size_t i = 0; i < count; i++) {
		wakes[i] = (struct wake_case){&pools[i], place, gap_us * 1000,
		                              bench_options.quick ? probes / 4 : probes};
		cases[i] = (struct bench_case){pools[i].name, run, &wakes[i]};
		w5_start(&pools[i], place);
	}
	bench_group(&group);
	for (size_t i = 0; i < count; i++)
		w5_stop(&pools[i]);
}

void bench_w5_wake(void)
{
	run_group(W5_APART, 200);
	run_group(W5_APART, 10000);
	run_group(W5_SHARED, 200);
	run_group(W5_FREE, 200);
	run_group(W5_FREE, 10000);
	w5_busy();
	w5_pairs();
	w5_idle();
}
