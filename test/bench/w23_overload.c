/* SPDX-License-Identifier: MIT */
/*
 * W23: throughput before and after a disturbance. This thread looks every few milliseconds how many
 * tasks have been submitted and have run; another one disturbs. All figures are of tasks that have
 * run, not of tasks that were submitted.
 */
#include "harness.h"
#include "team.h"
#include "w23.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define COUNTERS_MAX 4096
#define WINDOW_MS 300
#define AFTER_MS 1000
#define LOOK_NS UINT64_C(2000000)
#define LOOKS_MAX 65536
#define BACK 0.8

enum metric {
	RATIO,
	BEFORE,
	AFTER_0,
	AFTER_300,
	AFTER_600,
	AFTER_1000,
	BACK_MS,
	TOOK_MS,
	LEFT,
	MOST
};

const char *const w23_metrics[] = {
	"1000-1300 ms/before", "before, M/300 ms", "0-300 ms, M", "300-600 ms, M",
	"600-900 ms, M",       "1000-1300 ms, M",  "back, ms",    "disturbance, ms",
	"wait at end, k",      "most waiting, k",  NULL};

/* ---- Counting ---- */

static struct w23_counter counters[COUNTERS_MAX];
static unsigned counter_count;
static __thread struct w23_counter *mine;

struct w23_counter *w23_counter(void)
{
	if (!mine) {
		unsigned index = __atomic_fetch_add(&counter_count, 1, __ATOMIC_RELAXED);

		if (index >= COUNTERS_MAX - W23_PRODUCERS_MAX)
			abort();
		mine = &counters[W23_PRODUCERS_MAX + index];
		mine->random = 0x9e3779b97f4a7c15U * (index + W23_PRODUCERS_MAX + 1);
	}
	return mine;
}

struct look {
	double at_ms;
	double ran;
	double waiting;
};

/* The looks of one run. */
struct seen {
	struct look *looks;
	unsigned count;
	uint64_t base_ran, base_submitted, base_dropped;
	uint64_t start_ns;
	double most;
};

static void sum(uint64_t *ran, uint64_t *submitted, uint64_t *dropped)
{
	unsigned end = W23_PRODUCERS_MAX + __atomic_load_n(&counter_count, __ATOMIC_RELAXED);

	*ran = 0;
	*submitted = 0;
	*dropped = 0;
	/* First what has run: a task that comes in between makes no negative number. */
	for (unsigned i = 0; i < end; i++) {
		*ran += __atomic_load_n(&counters[i].ran, __ATOMIC_RELAXED);
		*dropped += __atomic_load_n(&counters[i].dropped, __ATOMIC_RELAXED);
	}
	for (unsigned i = 0; i < W23_PRODUCERS_MAX; i++)
		*submitted += __atomic_load_n(&counters[i].submitted, __ATOMIC_RELAXED);
}

static struct look look(struct seen *seen)
{
	struct look now;
	uint64_t ran;
	uint64_t submitted;
	uint64_t dropped;

	sum(&ran, &submitted, &dropped);
	now.at_ms = (double)(machine_now_ns() - seen->start_ns) / 1e6;
	now.ran = (double)(ran - seen->base_ran);
	now.waiting = (double)(submitted - seen->base_submitted) - now.ran -
	              (double)(dropped - seen->base_dropped);
	if (now.waiting > seen->most)
		seen->most = now.waiting;
	if (seen->count < LOOKS_MAX)
		seen->looks[seen->count++] = now;
	return now;
}

/* Looks until the run is so old. False: too many tasks wait. */
static bool watch(struct seen *seen, double until_ms, const bool *over)
{
	for (;;) {
		struct look now = look(seen);

		if (now.waiting > W23_WAITING_MAX)
			return false;
		if (over ? __atomic_load_n(over, __ATOMIC_ACQUIRE) : now.at_ms >= until_ms)
			return true;
		machine_sleep_ns(LOOK_NS);
	}
}

/* Tasks run until that moment, between two looks. */
static double ran_at(const struct seen *seen, double ms)
{
	for (unsigned i = 1; i < seen->count; i++) {
		const struct look *a = &seen->looks[i - 1];
		const struct look *b = &seen->looks[i];

		if (b->at_ms >= ms)
			return a->ran + (b->ran - a->ran) * (ms - a->at_ms) / (b->at_ms - a->at_ms);
	}
	return NAN;
}

static double ran_between(const struct seen *seen, double from_ms, double span_ms)
{
	return ran_at(seen, from_ms + span_ms) - ran_at(seen, from_ms);
}

/* ---- Producers, and the disturber ---- */

static void *produce(void *argument)
{
	struct w23_producer *producer = argument;
	struct w23_run *run = producer->run;
	struct w23_counter *counter = &counters[producer->index];
	unsigned turns = 0;

	team_pin(producer->index);
	mine = counter;
	counter->random = 0x9e3779b97f4a7c15U * (producer->index + 1);
	for (uint64_t sent = 0; !__atomic_load_n(&run->stop, __ATOMIC_RELAXED);) {
		if (run->what->ring &&
		    sent - __atomic_load_n(&producer->finished, __ATOMIC_ACQUIRE) >= W23_RING) {
			team_wait(&turns);
			continue;
		}
		turns = 0;
		sent++;
		/* Before the task runs, so that never more have run than were submitted. */
		__atomic_store_n(&counter->submitted, counter->submitted + 1, __ATOMIC_RELAXED);
		run->what->way->submit(producer,
		                       &run->targets[w23_below(&counter->random, W23_RESOURCES)]);
	}
	return NULL;
}

/*
 * Beside 64 producers an ordinary thread would need a second for a pause of 20 ms, in which a
 * contender whose producers do not block goes on queueing. A refusal changes nothing.
 */
static void prefer_this_thread(bool prefer)
{
	(void)setpriority(PRIO_PROCESS, 0, prefer ? -20 : 0);
}

struct disturber {
	struct w23_run *run;
	bool over;
};

static void *disturb(void *argument)
{
	struct disturber *disturber = argument;
	struct w23_run *run = disturber->run;
	const struct w23_way *way = run->what->way;

	prefer_this_thread(true);
	switch (run->what->disturbance) {
	case W23_PAUSE:
		way->pause(run);
		break;
	case W23_BURSTS:
		for (unsigned i = 0; i < W23_RESOURCES * W23_BURST; i++)
			way->work(&run->targets[i / W23_BURST], &run->burst);
		break;
	case W23_SLOW_TASKS:
		for (unsigned i = 0; i < W23_SLOW; i++)
			way->work(&run->targets[i * (W23_RESOURCES / W23_SLOW)], &run->slow);
		break;
	}
	__atomic_store_n(&disturber->over, true, __ATOMIC_RELEASE);
	return NULL;
}

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void start(struct w23_run *run)
{
	run->targets = aligned_alloc(64, run->target_count * sizeof(*run->targets));
	must(run->targets != NULL);
	memset(run->targets, 0, run->target_count * sizeof(*run->targets));
	for (unsigned i = 0; i < run->target_count; i++)
		run->targets[i].run = run;
	run->what->way->begin(run);
	for (unsigned i = 0; i < run->what->producers; i++) {
		run->producers[i].run = run;
		run->producers[i].index = i;
		must(pthread_create(&run->producers[i].thread, NULL, produce, &run->producers[i]) ==
		     0);
	}
}

/* Stops the producers, waits for their tasks, and checks that each has run once. */
static void finish(struct w23_run *run, struct seen *seen)
{
	const unsigned stages = run->what->stages ? 2 : 1;
	unsigned turns = 0;
	uint64_t states = 0;

	__atomic_store_n(&run->stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < run->what->producers; i++)
		must(pthread_join(run->producers[i].thread, NULL) == 0);
	while (look(seen).waiting > 0)
		team_wait(&turns);
	run->what->way->end(run);
	for (unsigned i = 0; i < run->target_count; i++)
		states += run->targets[i].state;
	must((double)states == stages * look(seen).ran);
	free(run->targets);
}

/* ---- The figures ---- */

static void figures_after(const struct seen *seen, double from, double window, double after,
                          double *values)
{
	/* Back when a third of a window is at BACK of the throughput before. */
	const double span = window / 3;

	values[AFTER_0] = ran_between(seen, from, window) / 1e6;
	values[AFTER_300] = ran_between(seen, from + window, window) / 1e6;
	values[AFTER_600] = ran_between(seen, from + 2 * window, window) / 1e6;
	values[AFTER_1000] = ran_between(seen, from + after, window) / 1e6;
	values[RATIO] = values[AFTER_1000] / values[BEFORE];
	for (unsigned i = 0; i < seen->count; i++) {
		double at = seen->looks[i].at_ms;

		if (at >= from &&
		    ran_between(seen, at, span) / 1e6 >= BACK * values[BEFORE] * span / window) {
			values[BACK_MS] = at - from;
			break;
		}
	}
}

/* False: it grows without end. */
static bool measure(struct w23_run *run, struct seen *seen, double *values)
{
	const double window = bench_sample_ms(WINDOW_MS);
	const double after = bench_sample_ms(AFTER_MS);
	const double begin = window / 2;
	struct disturber disturber = {.run = run};
	pthread_t thread;
	double from;
	bool ok;

	if (!watch(seen, begin + window, NULL)) {
		/* The tasks run until the end, as if the run had kept its speed for the whole
		 * window. */
		double end = seen->looks[seen->count - 1].at_ms;

		values[BEFORE] = ran_between(seen, 0, end) * window / end / 1e6;
		return false;
	}
	values[BEFORE] = ran_between(seen, begin, window) / 1e6;
	must(pthread_create(&thread, NULL, disturb, &disturber) == 0);
	ok = watch(seen, 0, &disturber.over);
	from = seen->looks[seen->count - 1].at_ms;
	values[TOOK_MS] = from - begin - window;
	ok = ok && watch(seen, from + after + window, NULL);
	values[LEFT] = seen->looks[seen->count - 1].waiting / 1e3;
	__atomic_store_n(&run->stop, true, __ATOMIC_RELAXED);
	must(pthread_join(thread, NULL) == 0);
	if (ok)
		figures_after(seen, from, window, after, values);
	return ok;
}

void w23_run_case(const void *setup, double *values)
{
	static struct w23_run run;
	struct w23_case *what = *(struct w23_case *const *)setup;
	struct seen seen = {.looks = malloc(LOOKS_MAX * sizeof(struct look))};

	must(seen.looks != NULL);
	run = (struct w23_run){.what = what,
	                       .target_count = W23_RESOURCES * (what->stages ? 2 : 1)};
	run.burst = machine_work_of(W23_BURST_NS);
	run.slow = machine_work_of((double)W23_PAUSE_NS);
	for (unsigned m = 0; m < BENCH_METRICS_MAX; m++)
		values[m] = NAN;
	sum(&seen.base_ran, &seen.base_submitted, &seen.base_dropped);
	seen.start_ns = machine_now_ns();
	start(&run);
	prefer_this_thread(true);
	what->grew += !measure(&run, &seen, values);
	prefer_this_thread(false);
	values[MOST] = seen.most / 1e3;
	finish(&run, &seen);
	free(seen.looks);
}
