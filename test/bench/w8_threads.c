/* SPDX-License-Identifier: MIT */
/*
 * W8: more and more threads at one hot resource, on as many CPUs as there are and beyond.
 * Throughput must not fall as threads are added, so each figure is also held against that of two.
 */
#include "w8.h"

#include "figures.h"
#include "hot.h"

#include <math.h>

static const double counts[] = {1, 2, 4, 8, 16, 32, 64};

#define COUNTS (sizeof(counts) / sizeof(counts[0]))

static const char *const metrics[] = {"M tasks/s", "CPU ns/task", "slowest/fastest", NULL};

static void report(double *values, const double *hot)
{
	values[0] = hot[HOT_RATE];
	values[1] = hot[HOT_CPU];
	values[2] = hot[HOT_FAIRNESS];
}

static void run_mutex(const void *setup, double threads, double *values)
{
	const struct hot_lock lock = {{(unsigned)threads, 1, 0, 0}, HOT_MUTEX};
	double hot[BENCH_METRICS_MAX];

	hot_lock_run(&lock, hot);
	report(values, hot);
}

static void run_future(const void *setup, double threads, double *values)
{
	const struct hot_async load = {(unsigned)threads, 1, 0, 0};
	double hot[BENCH_METRICS_MAX];

	hot_future_run(&load, hot);
	report(values, hot);
}

static void run_polling(const void *setup, double threads, double *values)
{
	const struct hot_async load = {(unsigned)threads, *(const unsigned *)setup, 0, 0};
	double hot[BENCH_METRICS_MAX];

	hot_polling_run(&load, hot);
	report(values, hot);
}

/* The lowest throughput of more than two threads, up to `most`, over that of two. */
static double lowest(const char *group, const char *contender, double most)
{
	const struct figure *two = figures_find(group, contender, metrics[0], 2);
	double least = NAN;

	for (size_t i = 0; i < COUNTS; i++) {
		const struct figure *figure = figures_find(group, contender, metrics[0], counts[i]);

		if (two && figure && counts[i] > 2 && counts[i] <= most)
			least = fmin(least, figure->summary.median / two->summary.median);
	}
	return least;
}

void bench_w8_threads(void)
{
	static const unsigned batches[] = {1, 16};
	static const struct bench_series series[] = {
		{"pthread_mutex", run_mutex, NULL},
		{"baton submit, waits on a future", run_future, NULL},
		{"baton submit, polls a counter", run_polling, &batches[0]},
		{"baton batch of 16, polls a counter", run_polling, &batches[1]},
	};
	static const struct bench_sweep sweep = {
		.name = "W8: threads at one hot resource",
		.axis = "threads",
		.xs = counts,
		.x_count = COUNTS,
		.metrics = metrics,
		.series = series,
		.series_count = 4,
		.note = "empty bodies, asynchronous, each thread with up to 256 tasks under way",
	};

	if (!bench_sweep(&sweep))
		return;
	printf("  lowest of more than 2 threads over 2 threads: all; while each has a CPU\n");
	for (size_t i = 0; i < sweep.series_count; i++) {
		const char *name = "W8: threads at one hot resource, scaling";
		const char *contender = series[i].contender;
		double all = lowest(sweep.name, contender, INFINITY);
		double own = lowest(sweep.name, contender, team_cpus());

		printf("    %-34s %5.2f", contender, all);
		printf(isnan(own) ? "     -\n" : " %5.2f\n", own);
		bench_keep(name, contender, "lowest, to 2 threads", NULL, NAN, &all, 1);
		bench_keep(name, contender, "lowest with a CPU each, to 2 threads", NULL, NAN, &own,
		           1);
	}
}
