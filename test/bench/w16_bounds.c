/* SPDX-License-Identifier: MIT */
/*
 * W16: what a bound costs: pushes to a busy resource, and the runner's way through what was pushed;
 * by one thread, and by two that push at once. And without baton: a list under a mutex that counts.
 */
#include "harness.h"
#include "machine.h"
#include "team.h"

#include <baton/all.h>

#include <pthread.h>
#include <stdlib.h>

#include "../parts.h"

#define TASKS 20000

enum kind { PLAIN, STATS, LANES, BOUND, BOUND_BYTES, BOTH, LIST };

static struct stamped *tasks;
static uint64_t ran;

static int task_run(struct baton_task *task)
{
	ran++;
	return 0;
}

struct target {
	enum kind kind;
	struct baton_resource resource;
	struct baton_manual *manual;
	pthread_mutex_t mutex;
	struct baton_task *head;
	struct baton_task **end;
	size_t count;
};

static struct target target;

static void push(struct stamped *stamped)
{
	if (target.kind != LIST) {
		if (baton_submit(&target.resource, &stamped->task))
			abort();
		return;
	}
	(void)pthread_mutex_lock(&target.mutex);
	if (target.count >= 3 * TASKS)
		abort();
	target.count++;
	stamped->task._next = NULL;
	*target.end = &stamped->task;
	target.end = &stamped->task._next;
	(void)pthread_mutex_unlock(&target.mutex);
}

static bool pop_and_run(void)
{
	struct baton_task *task;

	(void)pthread_mutex_lock(&target.mutex);
	task = target.head;
	if (task) {
		target.head = task->_next;
		target.count--;
		if (!target.head)
			target.end = &target.head;
	}
	(void)pthread_mutex_unlock(&target.mutex);
	return task && task_run(task) == 0;
}

static void *push_main(void *first)
{
	struct stamped *mine = first;

	for (unsigned i = 0; i < TASKS; i++)
		push(&mine[i]);
	return NULL;
}

/* Nanoseconds per push, of each of `threads` threads. */
static double push_all(unsigned threads)
{
	pthread_t other;
	uint64_t start;

	/* The first one makes it busy. */
	push(&tasks[2 * TASKS]);
	start = machine_now_ns();
	if (threads == 2 && pthread_create(&other, NULL, push_main, tasks + TASKS))
		abort();
	(void)push_main(tasks);
	if (threads == 2)
		(void)pthread_join(other, NULL);
	return (double)(machine_now_ns() - start) / TASKS;
}

static double run_all(unsigned threads)
{
	uint64_t start = machine_now_ns();

	ran = 0;
	if (target.kind == LIST)
		while (pop_and_run())
			;
	else
		(void)baton_manual_run(target.manual, 0);
	if (ran != threads * TASKS + 1)
		abort();
	return (double)(machine_now_ns() - start) / (threads * TASKS);
}

static void run(const void *setup, double *values)
{
	const enum kind kind = *(const enum kind *)setup;
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_bound_config limits = BATON_BOUND_CONFIG_INIT;
	struct baton_resource_stats stats = {0};
	struct baton_lane array[4];
	struct baton_lanes lanes;
	struct baton_bound bound;

	tasks = calloc(2 * TASKS + 1, sizeof(*tasks));
	target = (struct target){.kind = kind};
	target.end = &target.head;
	if (!tasks || baton_manual_create(&target.manual))
		abort();
	for (unsigned i = 0; i <= 2 * TASKS; i++) {
		stamped_init(&tasks[i], task_run, NULL);
		baton_stamp_set_lane(&tasks[i].stamp, i % 4);
		baton_stamp_set_bytes(&tasks[i].stamp, 100);
	}
	(void)pthread_mutex_init(&target.mutex, NULL);
	config.capture_max = BATON_CAPTURE_NONE;
	config.executor = baton_manual_executor(target.manual);
	limits.tasks_max = 3 * TASKS;
	limits.bytes_max = kind == BOUND_BYTES ? 300 * TASKS : 0;
	baton_resource_init(&target.resource, &config);
	if (kind == STATS)
		baton_resource_set_stats(&target.resource, &stats);
	baton_lanes_init(&lanes, array, 4, NULL);
	baton_bound_init(&bound, &limits);
	if (kind == LANES || kind == BOTH)
		baton_resource_set_lanes(&target.resource, &lanes);
	if (kind == BOUND || kind == BOUND_BYTES || kind == BOTH)
		baton_resource_set_bound(&target.resource, &bound);
	for (unsigned threads = 1; threads <= 2; threads++) {
		values[2 * threads - 2] = push_all(threads);
		values[2 * threads - 1] = run_all(threads);
	}
	if (baton_resource_close(&target.resource))
		abort();
	baton_manual_destroy(target.manual);
	(void)pthread_mutex_destroy(&target.mutex);
	free(tasks);
}

void bench_w16_bounds(void)
{
	static const char *const metrics[] = {"ns/push", "ns/run", "ns/push, 2 threads",
	                                      "ns/run after that", NULL};
	static const enum kind kinds[] = {PLAIN, STATS, LANES, BOUND, BOUND_BYTES, BOTH, LIST};
	const struct bench_case cases[] = {
		{"baton", run, &kinds[0]},
		{"  with statistics", run, &kinds[1]},
		{"  with 4 lanes", run, &kinds[2]},
		{"  with a bound in tasks", run, &kinds[3]},
		{"  with a bound in tasks and bytes", run, &kinds[4]},
		{"  with 4 lanes and a bound", run, &kinds[5]},
		{"bounded list under a mutex", run, &kinds[6]},
	};
	const struct bench_group group = {
		"W16: a bound, a busy resource", metrics, cases, 7, 0, NULL};

	bench_group(&group);
}
