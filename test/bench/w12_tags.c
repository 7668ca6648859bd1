/* SPDX-License-Identifier: MIT */
/*
 * W12: a client disconnects that has 100,000 tasks in the queue: how long is who says so kept, and
 * how long does the runner take to get them out of the way? By a tag; one by one, by their futures;
 * by the list under a mutex that one writes without baton.
 */
#include "harness.h"
#include "machine.h"

#include <baton/all.h>

#include <pthread.h>
#include <stdlib.h>

#include "../parts.h"

#define TASKS 100000
#define SAMPLE 100 /* of the futures: each cancel walks the runner's list */

enum kind { TAG, FUTURES, LIST };

struct item {
	struct stamped stamped;
	struct baton_future future;
	const void *client;
};

static struct item *items;
static uint64_t entered;
static uint64_t cancelled;

static int item_run(struct baton_task *task)
{
	entered++;
	return 0;
}

static void item_cancelled(struct baton_task *task)
{
	cancelled++;
}

static void run_baton(enum kind kind, double *values)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_tag tag = BATON_TAG_INIT;
	struct baton_resource resource;
	struct baton_manual *manual;
	uint64_t times[3];

	if (baton_manual_create(&manual))
		abort();
	config.capture_max = BATON_CAPTURE_NONE;
	config.cancelled = item_cancelled;
	config.executor = baton_manual_executor(manual);
	baton_resource_init(&resource, &config);
	for (unsigned i = 0; i < TASKS; i++) {
		baton_future_init(&items[i].future);
		stamped_init(&items[i].stamped, item_run,
		             kind == FUTURES ? &items[i].future : NULL);
		baton_stamp_set_tag(&items[i].stamped.stamp, &tag);
		if (baton_submit(&resource, &items[i].stamped.task))
			abort();
	}
	times[0] = machine_now_ns();
	if (kind == TAG)
		baton_tag_cancel(&tag);
	/* Oldest first, which is where an unlink looks first. */
	for (unsigned i = 0; kind == FUTURES && i < SAMPLE; i++)
		if (baton_future_cancel(&items[i].future))
			abort();
	times[1] = machine_now_ns();
	(void)baton_manual_run(manual, 0);
	times[2] = machine_now_ns();
	values[0] = (double)(times[1] - times[0]) / 1e3;
	if (kind == FUTURES)
		values[0] *= (double)TASKS / SAMPLE;
	values[1] = (double)(times[2] - times[1]) / 1e3;
	if (entered != (kind == FUTURES ? TASKS - SAMPLE : 0) || baton_resource_close(&resource))
		abort();
	baton_manual_destroy(manual);
}

/* The walk holds the mutex, and everybody who would submit or run meanwhile waits for it. */
static void run_list(double *values)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct baton_task *head = NULL;
	struct baton_task **link = &head;
	uint64_t start;

	for (unsigned i = 0; i < TASKS; i++) {
		(void)pthread_mutex_lock(&mutex);
		items[i].client = items;
		*link = &items[i].stamped.task;
		link = &(*link)->_next;
		*link = NULL;
		(void)pthread_mutex_unlock(&mutex);
	}
	start = machine_now_ns();
	(void)pthread_mutex_lock(&mutex);
	for (link = &head; *link;) {
		struct baton_task *task = *link;

		if (baton_container_of(task, struct item, stamped.task)->client == items) {
			*link = task->_next;
			item_cancelled(task);
		} else {
			link = &task->_next;
		}
	}
	(void)pthread_mutex_unlock(&mutex);
	values[0] = (double)(machine_now_ns() - start) / 1e3;
	values[1] = 0;
}

static void run(const void *setup, double *values)
{
	enum kind kind = *(const enum kind *)setup;

	items = calloc(TASKS, sizeof(*items));
	if (!items)
		abort();
	entered = 0;
	cancelled = 0;
	if (kind == LIST)
		run_list(values);
	else
		run_baton(kind, values);
	if (kind != FUTURES && cancelled != TASKS)
		abort();
	free(items);
}

void bench_w12_tags(void)
{
	static const char *const metrics[] = {"us, the caller", "us, the runner", NULL};
	static const enum kind kinds[] = {TAG, FUTURES, LIST};
	const struct bench_case cases[] = {
		{"baton_tag_cancel", run, &kinds[0]},
		{"baton_future_cancel, each", run, &kinds[1]},
		{"list under a mutex", run, &kinds[2]},
	};
	const struct bench_group group = {
		"W12: cancel 100,000 queued tasks",
		metrics,
		cases,
		3,
		0,
		"of the futures only 100 are cancelled, and the time taken times 1,000"};

	bench_group(&group);
}
