/* SPDX-License-Identifier: MIT */
/*
 * W8: what concerns one of many queued tasks: each of them holds its resource until it is told,
 * suspends it, is cancelled by its future, in a window or not, or is awaited in vain. The cost must
 * depend only on the number of tasks concerned.
 */
#include "w8.h"

#include "team.h"
#include "watch.h"

#include <baton/all.h>

#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "../parts.h"

struct piece {
	union {
		struct baton_task task;
		struct windowed windowed;
	};
	struct baton_future future;
	struct baton_detached token;
};

struct scene {
	struct baton_manual *manual;
	struct baton_resource_config config;
	struct baton_resource resource;
	struct baton_window window; /* full */
	struct baton_lane lane;
	struct baton_lanes lanes;
	struct piece *pieces;
	size_t size; /* of `pieces` */
	size_t count;
	size_t ran;
};

static struct scene scene;

static int runs(struct baton_task *task)
{
	scene.ran++;
	return 0;
}

static int holds(struct baton_task *task)
{
	scene.ran++;
	return baton_detach(&baton_container_of(task, struct piece, task)->token,
	                    BATON_DETACH_EXCLUSIVE);
}

static int suspends(struct baton_task *task)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	scene.ran++;
	return baton_resource_suspend(&scene.resource, &suspension) ||
	       baton_resource_resume(&suspension);
}

static void drive_holds(void)
{
	(void)baton_manual_run(scene.manual, 0);
	/* A long inbox is handed off. */
	for (size_t i = 0; i < scene.count; i++) {
		BATON_IGNORE(baton_detached_complete(&scene.pieces[i].token, 0, NULL));
		(void)baton_manual_run(scene.manual, 0);
	}
}

static void drive_suspends(void)
{
	(void)baton_manual_run(scene.manual, 0);
}

static void drive_cancels(void)
{
	/* The newest first: the last that a walk would find. */
	for (size_t i = scene.count; i > 0; i--)
		(void)baton_future_cancel(&scene.pieces[i - 1].future);
	scene.ran += scene.count;
}

/* Suspended, so that the marks of the awaits stay behind the tasks. */
static void drive_awaits(void)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	if (baton_resource_suspend(&scene.resource, &suspension))
		abort();
	(void)baton_manual_run(scene.manual, 0);
	/* The await leaves its mark before the deadline passes. */
	for (size_t i = 0; i < scene.count; i++)
		if (!baton_resource_await_until(&scene.resource,
		                                baton_after(2 * BATON_MICROSECOND)))
			abort();
	BATON_IGNORE(baton_resource_resume(&suspension));
}

/* All tasks wait in the window, and the resource is idle. */
static void drive_windowed_cancels(void)
{
	(void)baton_manual_run(scene.manual, 0);
	for (size_t i = scene.count; i > 0; i--)
		(void)baton_window_cancel_task(&scene.pieces[i - 1].windowed.task);
	scene.ran += scene.count;
}

/* The same, each cancel while the resource is queued; its job runs after each. */
static void drive_windowed_cancels_queued(void)
{
	struct baton_task other;

	(void)baton_manual_run(scene.manual, 0);
	for (size_t i = 0; i < scene.count; i++) {
		baton_task_init(&other, runs, NULL);
		BATON_IGNORE(baton_submit_later(&scene.resource, &other));
		(void)baton_window_cancel_task(&scene.pieces[i].windowed.task);
		(void)baton_manual_run(scene.manual, 0);
	}
}

struct way {
	bool windowed;
	bool lane; /* the resource has one */
	baton_task_fn fn;
	void (*drive)(void);
};

static void run_way(const void *setup, double x, double *values)
{
	static struct watch watch;
	const struct way *way = setup;
	uint64_t began;

	scene.count = (size_t)x;
	scene.ran = 0;
	baton_resource_init(&scene.resource, &scene.config);
	baton_window_init(&scene.window, &scene.resource, 0);
	baton_lanes_init(&scene.lanes, &scene.lane, 1, NULL);
	if (way->lane)
		baton_resource_set_lanes(&scene.resource, &scene.lanes);
	for (size_t i = 0; i < scene.count; i++) {
		struct piece *piece = &scene.pieces[i];

		baton_detached_init(&piece->token);
		baton_future_init(&piece->future);
		if (way->windowed)
			windowed_init(&piece->windowed, &scene.window, way->fn, &piece->future);
		else
			baton_task_init(&piece->task, way->fn, &piece->future);
	}
	began = machine_ticks();
	for (size_t i = 0; i < scene.count; i++)
		BATON_IGNORE(baton_submit_later(&scene.resource, &scene.pieces[i].task));
	if (way->drive)
		way->drive();
	(void)baton_manual_run(scene.manual, 0);
	watch_add(&watch, began);
	if (scene.ran != scene.count) {
		fprintf(stderr, "W8: %zu tasks of %zu\n", scene.ran, scene.count);
		abort();
	}
	values[0] = watch_end(&watch, 1) / x;
}

void w8_concerned(unsigned last)
{
	static const char *const metrics[] = {"ns/task", NULL};
	static const struct way ways[] = {
		{.fn = runs},
		{.fn = holds, .drive = drive_holds},
		{.fn = suspends, .drive = drive_suspends},
		{.fn = runs, .drive = drive_cancels},
		{.fn = runs, .drive = drive_cancels, .lane = true},
		{.fn = runs, .drive = drive_windowed_cancels, .windowed = true},
		{.fn = runs, .drive = drive_windowed_cancels_queued, .windowed = true},
		{.fn = runs, .drive = drive_awaits},
	};
	static const struct bench_series series[] = {
		{"queued and run", run_way, &ways[0]},
		{"each holds, and is completed", run_way, &ways[1]},
		{"each suspends and resumes", run_way, &ways[2]},
		{"each cancelled, newest first", run_way, &ways[3]},
		{"each cancelled in a lane", run_way, &ways[4]},
		{"each cancelled in a window, resource idle", run_way, &ways[5]},
		{"each cancelled in a window, resource queued", run_way, &ways[6]},
		{"and as many awaits time out", run_way, &ways[7]},
	};
	double sizes[8];
	struct bench_sweep sweep = {
		.name = "W8: each of many queued tasks is concerned",
		.axis = "tasks",
		.xs = sizes,
		.x_count = w8_powers(sizes, 3, last),
		.metrics = metrics,
		.series = series,
		.series_count = 8,
		.note = "by one thread",
	};

	if (!bench_wanted(sweep.name))
		return;
	scene.size = (size_t)sizes[sweep.x_count - 1] * sizeof(*scene.pieces);
	scene.pieces =
		mmap(NULL, scene.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (scene.pieces == MAP_FAILED || baton_manual_create(&scene.manual)) {
		printf("\n%s: left out, no memory for it\n", sweep.name);
		return;
	}
	scene.config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	scene.config.capture_max = UINT32_MAX;
	scene.config.quantum = UINT32_MAX;
	scene.config.executor = baton_manual_executor(scene.manual);
	team_pin(0);
	if (bench_sweep(&sweep))
		w8_exponents(&sweep, "time");
	team_unpin();
	baton_manual_destroy(scene.manual);
	(void)munmap(scene.pieces, scene.size);
}
