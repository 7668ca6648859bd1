/* SPDX-License-Identifier: MIT */
/*
 * W27: parallel loops. Bodies of 1 us and of 100 us on average; even, or skewed: falling from twice
 * the average to nothing; or nine tenths of the work in the first tenth of the indices, or in the
 * last one. The caller is a thread of its own, and takes part; each contender uses as many threads
 * as there are CPUs, none of them pinned.
 */
#include "harness.h"
#include "machine.h"
#include "peers/parallel.h"
#include "baton_pool.h"
#include "team.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <baton.h>
#include <baton/parallel.h>

#define WORK_NS 20000000.0
#define LOOPS 5
#define REST_NS 2000000
#define STEPS 64 /* different bodies */

enum skew { EVEN, FALLING, HEAD, TAIL };

struct shape {
	const char *name;
	size_t count;
	enum skew skew;
};

static const struct shape shapes[] = {
	{"W27: 1 us, even", 20000, EVEN},
	{"W27: 1 us, falling", 20000, FALLING},
	{"W27: 1 us, 90 % in the first tenth", 20000, HEAD},
	{"W27: 1 us, 90 % in the last tenth", 20000, TAIL},
	{"W27: 100 us, even", 200, EVEN},
	{"W27: 100 us, falling", 200, FALLING},
	{"W27: 100 us, 90 % in the first tenth", 200, HEAD},
	{"W27: 100 us, 90 % in the last tenth", 200, TAIL},
};

struct loop {
	size_t count;
	struct machine_work bodies[STEPS]; /* of the i-th part of the range */
	uint64_t done;                     /* indices */
};

static struct loop loop;
static struct baton_pool *loop_pool;

static double weight(enum skew skew, double at)
{
	switch (skew) {
	case FALLING:
		return 2 * (1 - at);
	case HEAD:
		return at < 0.1 ? 9 : 1.0 / 9;
	case TAIL:
		return at < 0.9 ? 1.0 / 9 : 9;
	default:
		return 1;
	}
}

static void loop_of(const struct shape *shape)
{
	loop.count = shape->count;
	for (int i = 0; i < STEPS; i++)
		loop.bodies[i] = machine_work_of(WORK_NS / (double)shape->count *
		                                 weight(shape->skew, (i + 0.5) / STEPS));
}

static void work_on(size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++)
		machine_work(loop.bodies[i * STEPS / loop.count]);
	(void)__atomic_fetch_add(&loop.done, end - begin, __ATOMIC_RELAXED);
}

static void chunk_of_peer(void *argument, size_t begin, size_t end)
{
	(void)argument;
	work_on(begin, end);
}

static int chunk_of_baton(void *argument, size_t begin, size_t end)
{
	(void)argument;
	work_on(begin, end);
	return 0;
}

static void by_one_thread(void)
{
	work_on(0, loop.count);
}

static void by_tbb(void)
{
	peer_tbb_parallel_for(loop.count, chunk_of_peer, NULL);
}

static void by_baton(void)
{
	if (baton_parallel_for(loop_pool, loop.count, 0, chunk_of_baton, NULL))
		abort();
}

/* Of all threads. */
static double cpu_time_us(void)
{
	struct timespec used;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (double)used.tv_sec * 1e6 + (double)used.tv_nsec / 1e3;
}

static void run_loops(const void *setup, double *values)
{
	void (*const *way)(void) = setup;
	unsigned loops = bench_options.quick ? 1 : LOOPS;
	double cpu_us;
	uint64_t start;

	machine_sleep_ns(REST_NS); /* the other contenders' threads sleep by then */
	(*way)();                  /* and its own are awake, or as good as that */
	loop.done = 0;
	cpu_us = cpu_time_us();
	start = machine_now_ns();
	for (unsigned i = 0; i < loops; i++)
		(*way)();
	values[0] = (double)(machine_now_ns() - start) / 1e3 / loops;
	values[1] = (cpu_time_us() - cpu_us) / loops;
	if (loop.done != loops * loop.count) {
		fprintf(stderr, "bench: W27: %llu indices\n", (unsigned long long)loop.done);
		exit(1);
	}
}

static void (*const one_thread)(void) = by_one_thread;
static void (*const tbb)(void) = by_tbb;
static void (*const baton)(void) = by_baton;

void bench_w27_parallel(void)
{
	static const char *const metrics[] = {"us per loop", "CPU time, us", NULL};
	const struct bench_case cases[] = {
		{"one thread", run_loops, &one_thread},
		{"baton_parallel_for", run_loops, &baton},
		{"oneTBB parallel_for", run_loops, &tbb},
	};

	if (!bench_wanted("W27"))
		return;
	loop_pool = bench_pool_create(team_cpus(), false);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		const struct bench_group group = {
			.name = shapes[i].name,
			.metrics = metrics,
			.cases = cases,
			.case_count = peer_tbb_parallel_for ? 3 : 2,
			.baseline = peer_tbb_parallel_for ? 2 : 0,
		};

		loop_of(&shapes[i]);
		bench_group(&group);
	}
	if (baton_pool_destroy(loop_pool))
		abort();
}
