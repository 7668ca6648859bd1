/* SPDX-License-Identifier: MIT */
/*
 * W5: what an idle pool burns: CPU time of all threads but the one that measures, and how often any
 * of them was woken. Each pool is alone, has run a job for each worker, and has had time to settle.
 */
#include "w5_pool.h"

#include "harness.h"
#include "machine.h"
#include "team.h"

#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define SETTLE_NS 50000000
#define WINDOW_MS 200

static unsigned jobs_run;

static void job_run(struct w5_job *job)
{
	(void)__atomic_add_fetch(&jobs_run, 1, __ATOMIC_RELAXED);
}

struct used {
	double cpu_ns;
	double switches;
};

static double clock_ns(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static struct used used_by_others(void)
{
	struct rusage all;
	struct rusage mine;
	/* The time between the two calls counts, but at both ends of the window. */
	double own_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	double all_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	(void)getrusage(RUSAGE_THREAD, &mine);
	(void)getrusage(RUSAGE_SELF, &all);
	return (struct used){all_ns - own_ns, (double)(all.ru_nvcsw - mine.ru_nvcsw)};
}

static void run(const void *setup, double *values)
{
	const struct w5_pool *pool = setup;
	unsigned workers = w5_workers(W5_FREE);
	struct w5_job *jobs = calloc(workers, sizeof(*jobs));
	double per_second = 1e3 / bench_sample_ms(WINDOW_MS);
	struct used before;
	struct used after;

	if (!jobs)
		abort();
	w5_start(pool, W5_FREE);
	__atomic_store_n(&jobs_run, 0, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < workers; i++) {
		jobs[i].run = job_run;
		w5_submit(pool, &jobs[i]);
	}
	do
		machine_sleep_ns(SETTLE_NS);
	while (__atomic_load_n(&jobs_run, __ATOMIC_RELAXED) < workers);
	before = used_by_others();
	machine_sleep_ns(bench_sample_ms(WINDOW_MS) * UINT64_C(1000000));
	after = used_by_others();
	w5_stop(pool);
	values[0] = fmax(after.cpu_ns - before.cpu_ns, 0) / 1e3 * per_second;
	values[1] = (after.switches - before.switches) * per_second;
	free(jobs);
}

void w5_idle(void)
{
	static const char *const metrics[] = {"CPU, us/s", "wakes/s", NULL};
	struct w5_pool pools[W5_POOLS_MAX];
	struct bench_case cases[W5_POOLS_MAX];
	size_t count = w5_pools(pools);
	const struct bench_group group = {
		"W5: what an idle pool burns",
		metrics,
		cases,
		count,
		0,
		"the ratio of nothing to nothing is no number",
	};

	for (size_t i = 0; i < count; i++)
		cases[i] = (struct bench_case){pools[i].name, run, &pools[i]};
	bench_group(&group);
}
