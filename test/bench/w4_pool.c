/* SPDX-License-Identifier: MIT */
/*
 * W4: the pools with plain jobs. From outside: one thread submits them all. Recursive: a tree of
 * jobs. fib: the same with results that come together. Steal: one worker makes jobs, and all of
 * them are run by the others. With one worker, with two, and with one for each CPU; all pinned, and
 * the pools that are not measured asleep.
 */
#include "w4_pool.h"

#include "harness.h"
#include "machine.h"
#include "peers/peer.h"
#include "pool_name.h"
#include "team.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ck_pr.h>

#define POOLS_MAX 8
#define AWAIT_NAP_NS 100000
/* What a worker's own queue holds, in every pool that has one. */
#define SPREAD_JOBS 200
#define OUTSIDE_PORTION ((size_t)1 << 14)
#define OUTSIDE_NS UINT64_C(1000000000)

__thread struct w4_tally *w4_mine;

static struct w4_tally *tallies;
static sem_t fib_over;
static uint64_t fib_result;

struct w4_tally *w4_new_tally(void)
{
	struct w4_tally *tally = aligned_alloc(64, sizeof(*tally));

	if (!tally)
		abort();
	*tally = (struct w4_tally){.next = __atomic_load_n(&tallies, __ATOMIC_RELAXED)};
	while (!__atomic_compare_exchange_n(&tallies, &tally->next, tally, false, __ATOMIC_RELEASE,
	                                    __ATOMIC_RELAXED))
		;
	w4_mine = tally;
	return tally;
}

uint64_t w4_total(void)
{
	uint64_t sum = 0;

	for (struct w4_tally *t = __atomic_load_n(&tallies, __ATOMIC_ACQUIRE); t; t = t->next)
		sum += __atomic_load_n(&t->count, __ATOMIC_RELAXED);
	return sum;
}

void w4_await_total(uint64_t expected)
{
	/* The workers have the CPUs for themselves. */
	while (w4_total() < expected)
		machine_sleep_ns(AWAIT_NAP_NS);
}

void w4_pause_until_total(uint64_t expected)
{
	unsigned turns = 0;

	while (w4_total() < expected)
		team_wait(&turns);
}

void w4_fib_begin(void)
{
	(void)sem_init(&fib_over, 0, 0);
}

void w4_fib_over(uint64_t result)
{
	fib_result = result;
	(void)sem_post(&fib_over);
}

uint64_t w4_fib_await(void)
{
	while (sem_wait(&fib_over))
		;
	return fib_result;
}

/* ---- The runs ---- */

static void must_be(uint64_t value, uint64_t expected, const char *name)
{
	if (value == expected)
		return;
	fprintf(stderr, "bench: W4: %s: %llu instead of %llu\n", name, (unsigned long long)value,
	        (unsigned long long)expected);
	exit(1);
}

static size_t jobs_count(void)
{
	return (size_t)1 << (bench_options.quick ? 16 : 20);
}

static struct w4_job *new_jobs(size_t count)
{
	struct w4_job *jobs = aligned_alloc(64, count * sizeof(*jobs));

	if (!jobs)
		abort();
	memset(jobs, 0, count * sizeof(*jobs)); /* the pages are there */
	return jobs;
}

/* In portions, and no more of them after a second: one peer may take fifteen. */
static void run_outside(const void *setup, double *values)
{
	const struct w4_pool *pool = setup;
	size_t most = jobs_count();
	struct w4_job *jobs = new_jobs(most);
	uint64_t before = w4_total();
	uint64_t start = machine_now_ns();
	uint64_t submitted = start;
	size_t count = 0;

	while (count < most && submitted - start < OUTSIDE_NS) {
		pool->outside(pool, jobs + count, OUTSIDE_PORTION);
		count += OUTSIDE_PORTION;
		submitted = machine_now_ns();
	}
	w4_await_total(before + count);
	values[0] = (double)(machine_now_ns() - start) / (double)count;
	values[1] = (double)(submitted - start) / (double)count;
	must_be(w4_total() - before, count, pool->name);
	free(jobs);
}

static double time_tree(const struct w4_pool *pool,
                        void (*tree)(const struct w4_pool *pool, unsigned depth))
{
	unsigned depth = bench_options.quick ? 17 : 20;
	uint64_t count = (UINT64_C(1) << depth) - 1;
	uint64_t before = w4_total();
	uint64_t start = machine_now_ns();
	uint64_t took;

	tree(pool, depth);
	took = machine_now_ns() - start;
	must_be(w4_total() - before, count, pool->name);
	return (double)took / (double)count;
}

static void run_tree(const void *setup, double *values)
{
	const struct w4_pool *pool = setup;

	values[0] = time_tree(pool, pool->tree);
	if (pool->tree_of_malloc)
		values[1] = time_tree(pool, pool->tree_of_malloc);
}

/* fib(n), and how many calls that takes. */
static uint64_t fib_of(unsigned n, uint64_t *calls)
{
	uint64_t last = 1;
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t next = last + sum;

		last = sum;
		sum = next;
	}
	*calls = 2 * (sum + last) - 1;
	return sum;
}

static void run_fib(const void *setup, double *values)
{
	const struct w4_pool *pool = setup;
	unsigned n = bench_options.quick ? 21 : 27;
	uint64_t calls;
	uint64_t expected = fib_of(n, &calls);
	uint64_t start = machine_now_ns();
	unsigned long result = pool->fib(pool, n);

	values[0] = (double)(machine_now_ns() - start) / (double)calls;
	must_be(result, expected, pool->name);
}

static void run_spread(const void *setup, double *values)
{
	const struct w4_pool *pool = setup;
	unsigned rounds = bench_options.quick ? 100 : 1000;
	double count = (double)rounds * SPREAD_JOBS;
	struct w4_job *jobs = new_jobs(SPREAD_JOBS);
	uint64_t stolen = pool->stolen ? pool->stolen(pool) : 0;
	uint64_t before = w4_total();
	uint64_t start = machine_now_ns();

	pool->spread(pool, rounds, jobs, SPREAD_JOBS);
	values[0] = (double)(machine_now_ns() - start) / count;
	if (pool->stolen)
		values[1] = (double)(pool->stolen(pool) - stolen) / count;
	must_be(w4_total() - before, rounds * (uint64_t)SPREAD_JOBS + 1, pool->name);
	free(jobs);
}

/* ---- The tables ---- */

struct table {
	const char *title;
	const char *const *metrics;
	void (*run)(const void *setup, double *values);
	unsigned workers_least;
	const char *note;
};

static const char *const outside_metrics[] = {"ns/job", "of it submitting", NULL};
static const char *const tree_metrics[] = {"ns/job", "malloc for each", NULL};
static const char *const fib_metrics[] = {"ns/call", NULL};
static const char *const spread_metrics[] = {"ns/job", "stolen, of 1", NULL};

static const struct table tables[] = {
	{"2^20 jobs from outside (quick: 2^16)", outside_metrics, run_outside, 1,
         "or as many as can be submitted in a second"},
	{"recursive fan-out, 2^20 jobs (quick: 2^17)", tree_metrics, run_tree, 1,
         "oneTBB: task_group; the others: each job submits two jobs, whose memory is recycled"},
	{"fib(27), each second call a job (quick: 21)", fib_metrics, run_fib, 1,
         "oneTBB: task_group; the others: the frame counts its results down"},
	{"200 jobs of one worker, which stays in its own, run by the others", spread_metrics,
         run_spread, 2, "oneTBB by enqueue, its shared queue; Asio and GLib have no other"},
};

#define TABLES (sizeof(tables) / sizeof(tables[0]))

static void name_table(char *name, size_t size, const struct table *table, unsigned workers)
{
	(void)snprintf(name, size, "W4: %u worker%s, %s", workers, workers == 1 ? "" : "s",
	               table->title);
}

static bool wanted(unsigned workers)
{
	char name[128];

	for (size_t i = 0; i < TABLES; i++) {
		name_table(name, sizeof(name), &tables[i], workers);
		if (workers >= tables[i].workers_least && bench_wanted(name))
			return true;
	}
	return false;
}

static void run_tables(const struct w4_pool *pools, size_t count, unsigned workers)
{
	struct bench_case cases[POOLS_MAX];
	char name[128];

	if (!wanted(workers))
		return;
	for (size_t i = 0; i < count; i++)
		pools[i].start(&pools[i], workers);
	for (size_t t = 0; t < TABLES; t++) {
		const struct bench_group group = {
			name, tables[t].metrics, cases, count, 0, tables[t].note,
		};

		if (workers < tables[t].workers_least)
			continue;
		name_table(name, sizeof(name), &tables[t], workers);
		for (size_t i = 0; i < count; i++)
			cases[i] = (struct bench_case){pools[i].name, tables[t].run, &pools[i]};
		bench_group(&group);
	}
	for (size_t i = 0; i < count; i++)
		pools[i].stop(&pools[i]);
}

void bench_w4_pool(void)
{
	struct w4_pool pools[POOLS_MAX] = {w4_queue, w4_baton};
	char names[POOLS_MAX][POOL_NAME_MAX];
	size_t count = 2;

	for (size_t i = 0; peers[i] && count < POOLS_MAX; i++) {
		if (!peers[i]->present || !peers[i]->job_submit)
			continue;
		pools[count] = w4_peer;
		pool_name(names[count], sizeof(names[count]), peers[i]);
		pools[count].name = names[count];
		pools[count++].peer = peers[i];
	}
	run_tables(pools, count, 1);
	if (team_cpus() > 1)
		run_tables(pools, count, 2);
	if (team_cpus() > 2)
		run_tables(pools, count, team_cpus());
}
