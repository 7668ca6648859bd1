/* SPDX-License-Identifier: MIT */
/*
 * What a submitter pays: on an idle resource, the run included; on a busy one, which here is one
 * that this very thread holds.
 */
#include "counters.h"

#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include <baton/all.h>

#define TASKS 960 /* a multiple of the batch; fits the caches of nodes */
#define BATCH 16

static const struct baton_resource_config patient = {
	.capture_max = 4 * TASKS,
	.quantum = BATON_QUANTUM,
};

static struct baton_resource resource = BATON_RESOURCE_INIT(&patient);
static struct baton_task tasks[TASKS];
static struct baton_future futures[TASKS];
static struct baton_future *handles[TASKS];

static int nothing_task(struct baton_task *task)
{
	return 0;
}

static void *nothing(void *arg)
{
	return arg;
}

/* One round of TASKS, in one of the ways to submit. */
static void submit_plain(void)
{
	for (int i = 0; i < TASKS; i++) {
		baton_task_init(&tasks[i], nothing_task, NULL);
		BATON_IGNORE(baton_submit(&resource, &tasks[i]));
	}
}

static void submit_future(void)
{
	for (int i = 0; i < TASKS; i++) {
		baton_future_init(&futures[i]);
		baton_task_init(&tasks[i], nothing_task, &futures[i]);
		BATON_IGNORE(baton_submit(&resource, &tasks[i]));
	}
}

static void submit_batch(void)
{
	struct baton_task *pointers[BATCH];

	for (int i = 0; i < TASKS; i += BATCH) {
		for (int j = 0; j < BATCH; j++) {
			pointers[j] = &tasks[i + j];
			baton_task_init(pointers[j], nothing_task, NULL);
		}
		BATON_IGNORE(baton_submit_batch(&resource, pointers, BATCH));
	}
}

static void call(void)
{
	void *value;

	for (int i = 0; i < TASKS; i++)
		BATON_IGNORE(baton_call(&resource, nothing, NULL, &value));
}

static void hold(void)
{
	struct baton_hold hold = BATON_HOLD_INIT;

	for (int i = 0; i < TASKS; i++)
		if (!baton_hold(&resource, &hold))
			BATON_IGNORE(baton_release(&hold));
}

static struct baton_readers readers = BATON_READERS_INIT(&resource);

static void hold_shared(void)
{
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;

	for (int i = 0; i < TASKS; i++)
		if (!baton_hold_shared(&readers, &hold))
			BATON_IGNORE(baton_release_shared(&hold));
}

/* Leads, until it is told to go on. */
static void *lead(void *arg)
{
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;
	sem_t *gates = arg;

	if (!baton_hold_shared(&readers, &hold)) {
		(void)sem_post(&gates[0]);
		(void)sem_wait(&gates[1]);
		BATON_IGNORE(baton_release_shared(&hold));
	}
	return NULL;
}

static void post(void)
{
	for (int i = 0; i < TASKS; i++)
		BATON_IGNORE(baton_post(&resource, nothing, NULL));
}

static void async(void)
{
	for (int i = 0; i < TASKS; i++)
		if (baton_async(&resource, nothing, NULL, &handles[i]))
			handles[i] = NULL;
}

static void drop(void)
{
	for (int i = 0; i < TASKS; i++) {
		if (handles[i])
			baton_future_unref(handles[i]);
		handles[i] = NULL;
	}
}

static void async_and_drop(void)
{
	async();
	drop();
}

struct busy {
	struct baton_task task;
	void (*way)(void);
	struct counts cost;
};

static int busy_run(struct baton_task *task)
{
	struct busy *busy = baton_container_of(task, struct busy, task);
	struct bench_counts before = counts_now();

	busy->way();
	busy->cost = counts_since(&before, TASKS);
	return 0;
}

static void row_idle(const char *path, struct counts limit, void (*way)(void))
{
	struct bench_counts before;

	way(); /* fills the caches */
	before = counts_now();
	way();
	counts_row(path, limit, counts_since(&before, TASKS));
}

static void row_busy(const char *path, struct counts limit, void (*way)(void))
{
	struct busy busy = {.task = BATON_TASK_INIT(busy_run, NULL), .way = way};

	for (int i = 0; i < 2; i++) {
		BATON_IGNORE(baton_submit(&resource, &busy.task));
		drop();
	}
	counts_row(path, limit, busy.cost);
}

/* The same resource with all that an extension has: one atomic more where it is busy. */
static void rows_extended(void)
{
	static const struct baton_bound_config limits = {.tasks_max = 2 * TASKS};
	static struct baton_bound bound = BATON_BOUND_INIT(&limits);
	static struct baton_lane array[4];
	static const struct baton_lanes_config aging = {.aging_turns = 8};
	static struct baton_lanes lanes = BATON_LANES_INIT(array, 4, &aging);

	baton_resource_set_lanes(&resource, &lanes);
	baton_resource_set_bound(&resource, &bound);
	row_idle("submit, idle, lanes and a bound", (struct counts){2, 0, 0}, submit_plain);
	row_busy("submit, busy, lanes and a bound", (struct counts){2, 0, 0}, submit_plain);
	row_busy("batch of 16, busy, lanes and a bound", (struct counts){2.0 / BATCH, 0, 0},
	         submit_batch);
}

/* Beside a shared hold of another thread. */
static void row_joined(void)
{
	sem_t gates[2];
	pthread_t thread;

	(void)sem_init(&gates[0], 0, 0);
	(void)sem_init(&gates[1], 0, 0);
	if (pthread_create(&thread, NULL, lead, gates))
		abort();
	(void)sem_wait(&gates[0]);
	row_idle("shared hold and release, beside another", (struct counts){2, 0, 0}, hold_shared);
	(void)sem_post(&gates[1]);
	(void)pthread_join(thread, NULL);
}

/* And the same with counters. */
static void rows_counted(void)
{
	static struct baton_resource_stats stats;

	baton_resource_init(&resource, &patient);
	baton_resource_set_stats(&resource, &stats);
	row_idle("submit, idle, statistics", (struct counts){2, 0, 0}, submit_plain);
	row_idle("hold and release, idle, statistics", (struct counts){2, 0, 0}, hold);
	row_busy("submit, busy, statistics", (struct counts){2, 0, 0}, submit_plain);
}

void counts_submitter(void)
{
	row_idle("submit, idle, no future", (struct counts){2, 0, 0}, submit_plain);
	row_idle("call, idle", (struct counts){2, 0, 0}, call);
	row_idle("hold and release, idle", (struct counts){2, 0, 0}, hold);
	row_idle("shared hold and release, idle", (struct counts){3, 0, 0}, hold_shared);
	row_joined();
	row_idle("submit, idle, caller's future", (struct counts){3, 0, 0}, submit_future);
	row_idle("batch of 16, idle, no futures", (struct counts){2.0 / BATCH, 0, 0}, submit_batch);
	row_idle("post, idle", (struct counts){2, 0, 0}, post);
	row_idle("async and unref, idle", (struct counts){2, 0, 0}, async_and_drop);
	row_busy("submit, busy, no future", (struct counts){1, 0, 0}, submit_plain);
	row_busy("submit, busy, caller's future", (struct counts){1, 0, 0}, submit_future);
	row_busy("batch of 16, busy", (struct counts){1.0 / BATCH, 0, 0}, submit_batch);
	row_busy("post, busy", (struct counts){1, 0, 0}, post);
	row_busy("async, busy", (struct counts){1, 0, 0}, async);
	rows_counted();
	baton_resource_init(&resource, &patient);
	rows_extended();
}
