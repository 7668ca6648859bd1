/* SPDX-License-Identifier: MIT */
/*
 * W7: how long a task is, from nothing to 100 us: where does baton stop paying? One hot resource,
 * asynchronously, each submitter with up to 256 tasks under way; what a task computes it computes
 * as the holder of the resource, so 1/body is the most that anybody can reach.
 */
#include "harness.h"

#include "figures.h"
#include "hot.h"
#include "peers/peer.h"

#include <math.h>
#include <string.h>

#define PAYS 1.05 /* the mutex's time over baton's: below, it is not worth it */

static const double lengths[] = {0, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000};

#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

static const char *const metrics[] = {"ns/task", "CPU ns/task", "slowest/fastest", NULL};

static const char *const contenders[] = {"baton submit, waits on a future",
                                         "baton submit, polls a counter"};

struct setup {
	unsigned threads;
	const struct peer *peer;
};

static void report(double *values, const double *hot)
{
	values[0] = 1e3 / hot[HOT_RATE];
	values[1] = hot[HOT_CPU];
	values[2] = hot[HOT_FAIRNESS];
}

static void run_mutex(const void *setup, double body_ns, double *values)
{
	const struct setup *mine = setup;
	const struct hot_lock lock = {{mine->threads, 1, (unsigned)body_ns, 0}, HOT_MUTEX};
	double hot[BENCH_METRICS_MAX];

	hot_lock_run(&lock, hot);
	report(values, hot);
}

static void run_polling(const void *setup, double body_ns, double *values)
{
	const struct setup *mine = setup;
	const struct hot_async load = {mine->threads, 1, (unsigned)body_ns, 0};
	double hot[BENCH_METRICS_MAX];

	hot_polling_run(&load, hot);
	report(values, hot);
}

static void run_future(const void *setup, double body_ns, double *values)
{
	const struct setup *mine = setup;
	const struct hot_async load = {mine->threads, 1, (unsigned)body_ns, 0};
	double hot[BENCH_METRICS_MAX];

	hot_future_run(&load, hot);
	report(values, hot);
}

static void run_peer(const void *setup, double body_ns, double *values)
{
	const struct setup *mine = setup;
	const struct hot_peer peer = {{mine->threads, 1, (unsigned)body_ns, 0}, mine->peer};
	double hot[BENCH_METRICS_MAX];

	hot_peer_run(&peer, hot);
	report(values, hot);
}

/* The mutex's time over baton's with bodies of this length. */
static double gain(const char *group, const char *contender, size_t index)
{
	const struct figure *mutex =
		figures_find(group, "pthread_mutex", metrics[0], lengths[index]);
	const struct figure *baton = figures_find(group, contender, metrics[0], lengths[index]);

	return mutex && baton ? bench_ratio(mutex->samples, baton->samples) : NAN;
}

/* The length at which the gain passes `level`, between the index-th one and the next. */
static double passes_at(const char *group, const char *contender, size_t index, double level)
{
	double here = gain(group, contender, index);
	double longer = gain(group, contender, index + 1);
	double part = (here - level) / (here - longer);

	if (lengths[index] == 0)
		return part * lengths[index + 1];
	return lengths[index] * pow(lengths[index + 1] / lengths[index], part);
}

/* All ranges of lengths in which the gain is at least `level`: there may be several, or none. */
static void say(const char *group, const char *contender, const char *what, double level)
{
	double from = lengths[0];
	unsigned ranges = 0;

	printf("  %s is %s the mutex", contender, what);
	for (size_t i = 0; i < LENGTHS; i++) {
		bool pays = gain(group, contender, i) >= level;
		bool goes_on = i + 1 < LENGTHS && gain(group, contender, i + 1) >= level;

		if (!pays && goes_on)
			from = passes_at(group, contender, i, level);
		if (pays && !goes_on)
			printf("%s with bodies of %.0f to %.0f ns", ranges++ ? " and" : "", from,
			       i + 1 < LENGTHS ? passes_at(group, contender, i, level)
			                       : lengths[i]);
	}
	printf("%s\n", ranges ? "" : " at no length");
}

/* Keeps each length at which the two are equal, the shortest first. */
static void keep_crossings(const char *group, const char *contender)
{
	unsigned count = 0;
	char name[128];
	char metric[32];

	(void)snprintf(name, sizeof(name), "%s, crossing", group);
	for (size_t i = 0; i + 1 < LENGTHS; i++) {
		double at;

		if ((gain(group, contender, i) >= 1) == (gain(group, contender, i + 1) >= 1))
			continue;
		at = passes_at(group, contender, i, 1);
		(void)snprintf(metric, sizeof(metric), "number %u, ns", ++count);
		bench_keep(name, contender, metric, NULL, NAN, &at, 1);
	}
}

static void run_sweep(unsigned threads)
{
	struct setup setups[2] = {{threads, NULL}, {threads, NULL}};
	struct bench_series series[4] = {
		{"pthread_mutex", run_mutex, &setups[0]},
		{contenders[0], run_future, &setups[0]},
		{contenders[1], run_polling, &setups[0]},
	};
	char name[96];
	struct bench_sweep sweep = {
		.name = name,
		.axis = "body, ns",
		.xs = lengths,
		.x_count = LENGTHS,
		.metrics = metrics,
		.series = series,
		.series_count = 3,
		.note = "wall-clock time per task of all threads together; 1/body is the ceiling",
	};

	for (size_t i = 0; peers[i]; i++) {
		if (!peers[i]->present || !strstr(peers[i]->name, "strand"))
			continue;
		setups[1].peer = peers[i];
		series[sweep.series_count++] =
			(struct bench_series){peers[i]->name, run_peer, &setups[1]};
		break;
	}
	(void)snprintf(name, sizeof(name), "W7: task length, %u threads", threads);
	if (!bench_sweep(&sweep))
		return;
	for (size_t i = 0; i < 2; i++) {
		say(name, contenders[i], "at least 5 % faster than", PAYS);
		say(name, contenders[i], "no slower than", 1);
		keep_crossings(name, contenders[i]);
	}
}

void bench_w7_length(void)
{
	run_sweep(2);
	run_sweep(8);
}
