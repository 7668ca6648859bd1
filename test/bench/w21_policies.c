/* SPDX-License-Identifier: MIT */
/*
 * W21: the pool's policies. (i) One worker that is never without jobs of its own, and jobs from
 * outside at 1 kHz, whatever becomes of them (open loop). (ii) 64 jobs that come back 10 to 1,000
 * times, first in, first out, or evened out. (iii) As many jobs from outside as all workers take
 * that have jobs of their own, too.
 */
#include "baton_pool.h"
#include "harness.h"
#include "histogram.h"
#include "machine.h"
#include "team.h"

#include <math.h>
#include <stdlib.h>

#include <baton.h>

#define CHAINS 8 /* a worker's own jobs, each of which submits itself again */
#define PERIOD_NS 1000000
#define WINDOW_MS 150
#define LONG_NS 1e6    /* the long job of the mix, */
#define MIX 100        /* one of so many */
#define UNDER_WAY 1024 /* jobs from outside, (iii) */
#define COMERS 64
#define FEWEST 10.0
#define MOST 1000.0
#define CPUS_MAX 64

static const struct baton_pool_policy fixed = {.injection_min = 61, .injection_max = 61};
static const struct baton_pool_policy today = {.injection_ns = 10000};
static const struct baton_pool_policy slow_down = {.smoothing = 26};
static const struct baton_pool_policy source = {
	.injection_ns = 1000000,
	.injection_min = 8,
	.injection_max = 255,
	.smoothing = 26,
	.tick_budget = 256,
};
static const struct baton_pool_policy yields = {.order = BATON_POOL_YIELDS};

#define POLICIES 4
static const char *const names[POLICIES] = {
	"baton, 61 fixed",
	"baton, default: 10 us",
	"baton, 10 us, max-mean",
	"baton, the source: 1 ms, max-mean",
};
static const struct baton_pool_policy *const policies[POLICIES] = {
	&fixed,
	&today,
	&slow_down,
	&source,
};

/* ---- A worker's own jobs ---- */

struct own {
	struct baton_plain_job job;
	struct owns *owns;
} __attribute__((aligned(64)));

struct owns {
	struct baton_pool *pool;
	struct machine_work work, long_work;
	bool mixed;
	bool stop;
	uint64_t runs; /* one worker's; of several a sum that may miss some */
	uint32_t over;
	unsigned count;
	struct own own[CPUS_MAX];
};

static void own_run(struct baton_plain_job *job)
{
	struct owns *owns = baton_container_of(job, struct own, job)->owns;
	uint64_t runs = __atomic_load_n(&owns->runs, __ATOMIC_RELAXED) + 1;

	__atomic_store_n(&owns->runs, runs, __ATOMIC_RELAXED);
	machine_work(owns->mixed && runs % MIX == 0 ? owns->long_work : owns->work);
	if (__atomic_load_n(&owns->stop, __ATOMIC_RELAXED))
		(void)__atomic_add_fetch(&owns->over, 1, __ATOMIC_RELEASE);
	else if (baton_pool_submit(owns->pool, job))
		abort();
}

static void owns_start(struct owns *owns, struct baton_pool *pool, double job_ns, unsigned count)
{
	*owns = (struct owns){.pool = pool, .count = count};
	owns->mixed = isnan(job_ns);
	owns->work = machine_work_of(owns->mixed ? 1000 : job_ns);
	owns->long_work = machine_work_of(LONG_NS);
	for (unsigned i = 0; i < count; i++) {
		owns->own[i].owns = owns;
		baton_plain_job_init(&owns->own[i].job, own_run, NULL);
		if (baton_pool_submit(pool, &owns->own[i].job))
			abort();
	}
}

static void owns_stop(struct owns *owns)
{
	__atomic_store_n(&owns->stop, true, __ATOMIC_RELAXED);
	while (__atomic_load_n(&owns->over, __ATOMIC_ACQUIRE) < owns->count)
		machine_sleep_ns(100000);
}

/* ---- (i) A saturated worker ---- */

struct probe {
	struct baton_plain_job job;
	uint64_t sent, started;
};

static void probe_run(struct baton_plain_job *job)
{
	struct probe *probe = baton_container_of(job, struct probe, job);

	__atomic_store_n(&probe->started, machine_ticks(), __ATOMIC_RELEASE);
}

static void run_saturated(const void *setup, double job_ns, double *values)
{
	struct baton_pool *pool = bench_pool_create_with(1, setup);
	unsigned count = bench_sample_ms(WINDOW_MS);
	struct probe *probes = calloc(count, sizeof(*probes));
	struct histogram *latency = calloc(1, sizeof(*latency));
	double per_us = machine_ticks_per_ns() * 1e3;
	static struct owns owns;
	uint64_t start, began, runs;

	if (!probes || !latency)
		abort();
	team_pin(team_cpus() - 1);
	owns_start(&owns, pool, job_ns, CHAINS);
	machine_sleep_ns(20 * PERIOD_NS);
	runs = __atomic_load_n(&owns.runs, __ATOMIC_RELAXED);
	start = began = machine_now_ns();
	for (unsigned i = 0; i < count; i++) {
		uint64_t now;

		while ((now = machine_now_ns()) < start)
			machine_sleep_ns(start - now);
		start += PERIOD_NS;
		baton_plain_job_init(&probes[i].job, probe_run, NULL);
		probes[i].sent = machine_ticks();
		if (baton_pool_submit(pool, &probes[i].job))
			abort();
	}
	values[3] = (double)(__atomic_load_n(&owns.runs, __ATOMIC_RELAXED) - runs) /
	            ((double)(machine_now_ns() - began) / 1e6);
	for (unsigned i = 0; i < count; i++) {
		uint64_t started;

		while (!(started = __atomic_load_n(&probes[i].started, __ATOMIC_ACQUIRE)))
			machine_sleep_ns(PERIOD_NS);
		histogram_add(latency, started > probes[i].sent ? started - probes[i].sent : 0);
	}
	owns_stop(&owns);
	team_unpin();
	if (baton_pool_destroy(pool))
		abort();
	values[0] = (double)histogram_quantile(latency, 0.50) / per_us;
	values[1] = (double)histogram_quantile(latency, 0.99) / per_us;
	values[2] = (double)latency->most / per_us;
	free(latency);
	free(probes);
}

static void run_length(const void *setup, double x, double *values)
{
	run_saturated(setup, x * 1e3, values);
}

static void run_mix(const void *setup, double *values)
{
	run_saturated(setup, NAN, values);
}

static void saturated(void)
{
	static const char *const metrics[] = {"p50, us", "p99, us", "max, us", "own jobs/ms", NULL};
	static const double lengths[] = {0.1, 1, 10, 100, 1000};
	struct bench_series series[POLICIES];
	struct bench_case cases[POLICIES];
	const struct bench_sweep sweep = {
		.name = "W21: a saturated worker, jobs from outside",
		.axis = "own job, us",
		.xs = lengths,
		.x_count = 5,
		.metrics = metrics,
		.series = series,
		.series_count = POLICIES,
		.note = "from the submit to the start; 1 kHz, open loop",
	};
	const struct bench_group mix = {
		"W21: a saturated worker, 99 jobs of 1 us and one of 1 ms",
		metrics,
		cases,
		POLICIES,
		0,
		sweep.note,
	};

	for (size_t i = 0; i < POLICIES; i++) {
		series[i] = (struct bench_series){names[i], run_length, policies[i]};
		cases[i] = (struct bench_case){names[i], run_mix, policies[i]};
	}
	(void)bench_sweep(&sweep);
	if (bench_wanted(mix.name))
		bench_group(&mix);
}

/* ---- (ii) Jobs that come back ---- */

struct comer {
	struct baton_plain_job job;
	struct baton_pool *pool;
	struct machine_work work;
	unsigned left, times;
	uint64_t ended; /* 0: it comes back */
} __attribute__((aligned(64)));

static void comer_run(struct baton_plain_job *job)
{
	struct comer *comer = baton_container_of(job, struct comer, job);

	machine_work(comer->work);
	if (--comer->left == 0)
		__atomic_store_n(&comer->ended, machine_now_ns(), __ATOMIC_RELEASE);
	else if (baton_pool_submit(comer->pool, job))
		abort();
}

static void run_back(const void *setup, double *values)
{
	struct baton_pool *pool = bench_pool_create_with(2, setup);
	static struct comer comers[COMERS];
	double rates = 0, squares = 0, mean = 0, last = 0;
	uint64_t start;

	for (unsigned i = 0; i < COMERS; i++) {
		double times =
			FEWEST * pow(MOST / FEWEST, (double)(i * 29 % COMERS) / (COMERS - 1));

		comers[i] = (struct comer){.pool = pool, .times = (unsigned)(times + 0.5)};
		comers[i].left = comers[i].times;
		comers[i].work = machine_work_of(2000);
		baton_plain_job_init(&comers[i].job, comer_run, NULL);
	}
	start = machine_now_ns();
	for (unsigned i = 0; i < COMERS; i++)
		if (baton_pool_submit(pool, &comers[i].job))
			abort();
	for (unsigned i = 0; i < COMERS; i++) {
		uint64_t ended;
		double took, rate;

		while (!(ended = __atomic_load_n(&comers[i].ended, __ATOMIC_ACQUIRE)))
			machine_sleep_ns(PERIOD_NS);
		took = (double)(ended - start) / 1e6;
		rate = comers[i].times / took;
		rates += rate;
		squares += rate * rate;
		mean += took / COMERS;
		if (took > last)
			last = took;
	}
	if (baton_pool_destroy(pool))
		abort();
	values[0] = rates * rates / (COMERS * squares);
	values[1] = mean;
	values[2] = last;
}

static void back(void)
{
	static const char *const metrics[] = {"Jain's index", "mean completion, ms",
	                                      "p99 completion, ms", NULL};
	const struct bench_case cases[] = {
		{"baton, FIFO (default)", run_back, &today},
		{"baton, YIELDS", run_back, &yields},
	};
	const struct bench_group group = {
		"W21: 64 jobs that come back 10 to 1,000 times, 2 workers",
		metrics,
		cases,
		2,
		0,
		"Jain's index of the jobs' turns per ms until they end: 1 is equal; of 64 jobs the "
		"99th percentile is the last one",
	};

	if (bench_wanted(group.name))
		bench_group(&group);
}

/* ---- (iii) Throughput from outside ---- */

struct counted {
	struct baton_plain_job job;
	uint64_t over; /* 1: it has run */
} __attribute__((aligned(64)));

static void counted_run(struct baton_plain_job *job)
{
	struct counted *counted = baton_container_of(job, struct counted, job);

	__atomic_store_n(&counted->over, 1, __ATOMIC_RELEASE);
}

static void run_flood(const void *setup, double *values)
{
	unsigned workers = team_cpus() > 1 ? team_cpus() - 1 : 1;
	struct baton_pool *pool = bench_pool_create_with(workers, setup);
	static struct counted counted[UNDER_WAY];
	static struct owns owns;
	uint64_t start, runs, now, end;
	uint64_t sent = 0;
	unsigned turns = 0;

	team_pin(team_cpus() - 1);
	for (unsigned i = 0; i < UNDER_WAY; i++)
		counted[i].over = 1;
	owns_start(&owns, pool, 1000, CHAINS);
	machine_sleep_ns(20 * PERIOD_NS);
	runs = __atomic_load_n(&owns.runs, __ATOMIC_RELAXED);
	start = machine_now_ns();
	end = start + (uint64_t)bench_sample_ms(WINDOW_MS) * 1000000U;
	while ((now = machine_now_ns()) < end) {
		struct counted *next = &counted[sent % UNDER_WAY];

		if (!__atomic_load_n(&next->over, __ATOMIC_ACQUIRE)) {
			team_wait(&turns);
			continue;
		}
		next->over = 0;
		baton_plain_job_init(&next->job, counted_run, NULL);
		if (baton_pool_submit(pool, &next->job))
			abort();
		sent++;
	}
	values[0] = (double)sent / ((double)(now - start) / 1e6);
	values[1] = (double)(__atomic_load_n(&owns.runs, __ATOMIC_RELAXED) - runs) /
	            ((double)(now - start) / 1e6);
	for (unsigned i = 0; i < UNDER_WAY; i++)
		while (!__atomic_load_n(&counted[i].over, __ATOMIC_ACQUIRE))
			machine_sleep_ns(PERIOD_NS);
	owns_stop(&owns);
	team_unpin();
	if (baton_pool_destroy(pool))
		abort();
}

static void flood(void)
{
	static const char *const metrics[] = {"jobs from outside/ms", "own jobs/ms", NULL};
	struct bench_case cases[POLICIES];
	const struct bench_group group = {
		"W21: as many jobs from outside as saturated workers take",
		metrics,
		cases,
		POLICIES,
		0,
		"own jobs of 1 us; at most 1,024 jobs from outside under way",
	};

	for (size_t i = 0; i < POLICIES; i++)
		cases[i] = (struct bench_case){names[i], run_flood, policies[i]};
	if (bench_wanted(group.name))
		bench_group(&group);
}

void bench_w21_policies(void)
{
	saturated();
	back();
	flood();
}
