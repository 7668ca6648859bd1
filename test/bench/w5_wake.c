/* SPDX-License-Identifier: MIT */
/*
 * W5: from a submit to an idle pool, all of whose workers sleep, to the start of the job; and the
 * CPU time that an idle pool burns. Nothing is pinned. The submitter keeps its CPU busy until the
 * job has started, as a thread would that goes on with its own work.
 */
#include "harness.h"
#include "machine.h"
#include "queue_pool.h"
#include "team.h"

#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include <baton.h>

#define PROBES 150

struct probe {
	struct baton_plain_job plain;
	struct queue_job queued;
	uint64_t started;
};

static struct baton_pool *pool;
static struct queue_pool *queue;

static void nap(long ns)
{
	struct timespec span = {ns / 1000000000, ns % 1000000000};

	while (nanosleep(&span, &span))
		;
}

static void plain_run(struct baton_plain_job *plain)
{
	struct probe *probe = baton_container_of(plain, struct probe, plain);

	__atomic_store_n(&probe->started, machine_ticks(), __ATOMIC_RELEASE);
}

static void queued_run(struct queue_job *queued)
{
	struct probe *probe = baton_container_of(queued, struct probe, queued);

	__atomic_store_n(&probe->started, machine_ticks(), __ATOMIC_RELEASE);
}

static void run_wake(const void *setup, double *values)
{
	int probes = bench_options.quick ? PROBES / 3 : PROBES;
	struct histogram *latency = calloc(1, sizeof(*latency));
	struct histogram *submit = calloc(1, sizeof(*submit));
	double per_us = machine_ticks_per_ns() * 1e3;

	if (!latency || !submit)
		abort();
	for (int i = 0; i < probes; i++) {
		struct probe probe = {.started = 0, .queued = {NULL, queued_run}};
		uint64_t start;
		uint64_t returned;
		uint64_t started;

		baton_plain_job_init(&probe.plain, plain_run, NULL);
		nap(500000); /* workers have looked around and sleep */
		start = machine_ticks();
		if (setup)
			(void)baton_pool_submit(pool, &probe.plain);
		else
			queue_pool_submit(queue, &probe.queued);
		returned = machine_ticks();
		while (!(started = __atomic_load_n(&probe.started, __ATOMIC_ACQUIRE)))
			;
		histogram_add(latency, started > start ? started - start : 0);
		histogram_add(submit, returned - start);
	}
	values[0] = (double)histogram_quantile(latency, 0.50) / per_us;
	values[1] = (double)histogram_quantile(latency, 0.99) / per_us;
	values[2] = (double)histogram_quantile(submit, 0.50) / per_us;
	free(latency);
	free(submit);
}

static double cpu_us(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void idle_pool(void)
{
	struct baton_pool_stats before;
	struct baton_pool_stats after;
	double start;

	nap(20000000);
	baton_pool_stats(pool, &before);
	start = cpu_us();
	nap(1000000000);
	bench_figure("W5: idle pool, CPU burnt in a second", "us", cpu_us() - start);
	baton_pool_stats(pool, &after);
	bench_figure("W5: idle pool, wakes in a second", "wakes",
	             (double)(after.woken - before.woken));
}

void bench_w5_wake(void)
{
	static const char *const metrics[] = {"p50, us", "p99, us", "the submit itself, us", NULL};
	static const struct bench_case cases[] = {
		{"mutex, condition, list", run_wake, NULL},
		{"baton pool", run_wake, &pool},
	};
	static const struct bench_group group = {
		"W5: idle pool, from submit to start", metrics, cases, 2, 0, NULL,
	};

	if (!bench_wanted("W5: idle pool, from submit to start, CPU burnt, wakes"))
		return;
	if (baton_pool_create(NULL, &pool))
		abort();
	queue = queue_pool_create(team_cpus(), false);
	bench_group(&group);
	idle_pool();
	queue_pool_destroy(queue);
	(void)baton_pool_destroy(pool);
}
