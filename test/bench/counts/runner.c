/* SPDX-License-Identifier: MIT */
/*
 * What a runner pays for each further task that it finds: the difference between draining many and
 * few, so that taking the inbox and releasing the resource do not count.
 */
#include "counters.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include <baton.h>
#include <baton/stats.h>

#include "future/future.h" /* the bit by which one sees that somebody sleeps */

#define FEW 200
#define MANY 800

static const struct baton_resource_config patient = {
	.capture_max = 4 * MANY,
	.quantum = BATON_QUANTUM,
};

static struct baton_resource resource = BATON_RESOURCE_INIT(&patient);
static struct baton_task tasks[MANY];
static struct baton_future futures[MANY];
static struct baton_future *handles[MANY];

struct load {
	struct baton_task task;
	void (*fill)(int count);
	int count;
	struct bench_counts drain; /* when the runner begins with what fill() has left */
};

static int nothing_task(struct baton_task *task)
{
	return 0;
}

static void *nothing(void *arg)
{
	return arg;
}

static int load_run(struct baton_task *task)
{
	struct load *load = baton_container_of(task, struct load, task);

	load->fill(load->count);
	load->drain = counts_now();
	return 0;
}

static void fill_plain(int count)
{
	for (int i = 0; i < count; i++) {
		baton_task_init(&tasks[i], nothing_task, NULL);
		BATON_IGNORE(baton_submit(&resource, &tasks[i]));
	}
}

static void fill_futures(int count)
{
	for (int i = 0; i < count; i++) {
		baton_future_init(&futures[i]);
		baton_task_init(&tasks[i], nothing_task, &futures[i]);
		BATON_IGNORE(baton_submit(&resource, &tasks[i]));
	}
}

static void fill_posts(int count)
{
	for (int i = 0; i < count; i++)
		BATON_IGNORE(baton_post(&resource, nothing, NULL));
}

static void fill_asyncs(int count)
{
	for (int i = 0; i < count; i++)
		if (baton_async(&resource, nothing, NULL, &handles[i]))
			handles[i] = NULL;
}

static void fill_dropped_asyncs(int count)
{
	fill_asyncs(count);
	for (int i = 0; i < count; i++)
		if (handles[i])
			baton_future_unref(handles[i]);
}

static struct counts drain_cost(void (*fill)(int count), int count)
{
	struct load load = {.task = BATON_TASK_INIT(load_run, NULL), .fill = fill, .count = count};
	struct counts cost;

	BATON_IGNORE(baton_submit(&resource, &load.task));
	cost = counts_since(&load.drain, 1);
	for (int i = 0; fill == fill_asyncs && i < count; i++)
		if (handles[i])
			baton_future_unref(handles[i]);
	return cost;
}

static void row(const char *path, struct counts limit, void (*fill)(int count))
{
	struct counts few;
	struct counts many;

	(void)drain_cost(fill, MANY);
	few = drain_cost(fill, FEW);
	many = drain_cost(fill, MANY);
	counts_row(path, limit, counts_slope(many, few, MANY - FEW));
}

static void *sleeper_main(void *future)
{
	if (baton_future_wait(future))
		abort();
	return NULL;
}

/* A task that leaves one behind, for whose future somebody sleeps by the time it is run. */
static void fill_awaited(int count)
{
	struct timespec moment = {0, 2000000};
	static pthread_t sleeper;

	fill_futures(1);
	if (pthread_create(&sleeper, NULL, sleeper_main, &futures[0]))
		return;
	(void)pthread_detach(sleeper);
	while (!(load_acquire(&futures[0]._state) & BATON__FUTURE_SLEEPERS))
		(void)nanosleep(&moment, NULL);
	(void)nanosleep(&moment, NULL);
}

void counts_runner(void)
{
	static struct baton_resource_stats stats;

	row("runner, further task, no future", (struct counts){0, 0, 0}, fill_plain);
	row("runner, further task, caller's future", (struct counts){2, 0, 0}, fill_futures);
	row("runner, further post", (struct counts){0, 0, 0}, fill_posts);
	row("runner, further async, its future held", (struct counts){2, 0, 0}, fill_asyncs);
	row("runner, further async, its future dropped", (struct counts){0, 0, 0},
	    fill_dropped_asyncs);
	baton_resource_init(&resource, &patient);
	baton_resource_set_stats(&resource, &stats);
	row("runner, further task, statistics", (struct counts){0, 0, 0}, fill_plain);
	baton_resource_init(&resource, &patient);
	counts_row("runner, one task for whose future somebody sleeps", (struct counts){NAN, 0, 1},
	           drain_cost(fill_awaited, 1));
}
