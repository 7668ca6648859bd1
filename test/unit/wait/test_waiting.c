/* SPDX-License-Identifier: MIT */
/*
 * How many tasks wait, and since when: wherever they are (inbox, list, lanes, window), behind a
 * task that does not return.
 */
#include "fixture.h"
#include "support.h"

#include <baton/bound.h>
#include <baton/label.h>
#include <baton/lane.h>
#include <baton/window.h>

#include "../parts.h"

static void *nothing_call(void *arg)
{
	return arg;
}

static int nothing(struct baton_task *task)
{
	return 0;
}

Test(waiting, posts_behind_a_hung_task_are_counted_and_timed, .timeout = 10)
{
	const uint64_t posts = (uint64_t)scaled(100000);
	struct baton_resource_stats stats = {0}, copy;
	struct baton_resource resource;
	struct occupant occupant;
	uint64_t before, after;

	baton_resource_init(&resource, NULL);
	baton_resource_set_stats(&resource, &stats);
	occupy(&occupant, &resource);
	copy = resource_counts(&stats);
	cr_assert_eq(copy.submitted, 1);
	cr_assert_eq(copy.outstanding, 1);
	cr_assert_eq(copy.waiting, 0);
	cr_assert_eq(copy.oldest_ns, 0);
	before = now_ns();
	cr_assert_eq(baton_post(&resource, nothing_call, NULL), 0);
	after = now_ns();
	for (uint64_t i = 1; i < posts; i++)
		cr_assert_eq(baton_post(&resource, nothing_call, NULL), 0);
	copy = resource_counts(&stats);
	cr_assert_eq(copy.submitted, posts + 1);
	cr_assert_eq(copy.outstanding, posts + 1);
	cr_assert_eq(copy.waiting, posts);
	cr_assert_geq(copy.oldest_ns, before);
	cr_assert_leq(copy.oldest_ns, after + 1);
	release(&occupant);
	cr_assert_eq(baton_resource_await(&resource), 0);
	copy = resource_counts(&stats);
	cr_assert_eq(copy.executed, posts + 1);
	cr_assert_eq(copy.outstanding, 0);
	cr_assert_eq(copy.waiting, 0);
	cr_assert_eq(copy.oldest_ns, 0);
	resource_end(&resource);
}

Test(waiting, behind_a_hung_call_too, .timeout = 10)
{
	struct baton_resource_stats stats = {0}, copy;
	struct baton_resource resource;
	struct occupant occupant;

	baton_resource_init(&resource, NULL);
	baton_resource_set_stats(&resource, &stats);
	occupy(&occupant, &resource);
	release(&occupant);
	cr_assert_eq(baton_post(&resource, nothing_call, NULL), 0);
	copy = resource_counts(&stats);
	cr_assert_eq(copy.submitted, 2);
	cr_assert_eq(copy.executed, 2);
	cr_assert_eq(copy.captures, 2);
	cr_assert_eq(copy.waiting, 0);
	resource_end(&resource);
}

/* ---- What a task of the resource sees, while it runs ---- */

struct watch {
	struct baton_task task;
	struct baton_resource_stats *stats;
	struct baton_resource_stats seen;
};

static int watch_run(struct baton_task *task)
{
	struct watch *watch = baton_container_of(task, struct watch, task);

	baton_resource_stats_read(watch->stats, &watch->seen);
	return 0;
}

Test(waiting, each_task_sees_those_behind_it_and_a_time_that_does_not_go_back, .timeout = 10)
{
	enum { TASKS = 30 };
	struct watch watches[TASKS];
	uint64_t pushed_ns[TASKS + 1];

	fix.counted = true;
	fixture_stash();
	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < TASKS; i++) {
		watches[i] = (struct watch){.task = BATON_TASK_INIT(watch_run, NULL),
		                            .stats = &fix.stats};
		pushed_ns[i] = now_ns();
		cr_assert_eq(baton_submit(&fix.resource, &watches[i].task), 0);
	}
	pushed_ns[TASKS] = now_ns();
	release(&fix.occupant);
	stash_run(&fix.stash);
	for (int i = 0; i < TASKS; i++) {
		const struct baton_resource_stats *seen = &watches[i].seen;

		cr_assert_eq(seen->waiting, TASKS - 1 - i);
		cr_assert_eq(seen->outstanding, TASKS - i);
		/* Never later than the true time. */
		cr_assert_eq(seen->oldest_ns == 0, i == TASKS - 1);
		if (i < TASKS - 1) {
			cr_assert_geq(seen->oldest_ns, pushed_ns[0]);
			cr_assert_leq(seen->oldest_ns, pushed_ns[i + 2] + 1);
		}
	}
	fixture_end();
}

Test(waiting, a_time_is_that_of_the_queue_as_it_is_and_not_of_one_long_gone, .timeout = 10)
{
	struct baton_resource_stats stats = {0}, copy;
	struct baton_resource resource;
	struct baton_task task;
	struct occupant occupant;
	uint64_t before;

	baton_resource_init(&resource, NULL);
	baton_resource_set_stats(&resource, &stats);
	for (int round = 0; round < 3; round++) {
		occupy(&occupant, &resource);
		before = now_ns();
		baton_task_init(&task, nothing, NULL);
		cr_assert_eq(baton_submit(&resource, &task), 0);
		copy = resource_counts(&stats);
		cr_assert_eq(copy.waiting, 1);
		cr_assert_geq(copy.oldest_ns, before);
		release(&occupant);
	}
	resource_end(&resource);
}

/* ---- Where tasks wait, and what becomes of them ---- */

struct scene {
	struct baton_resource resource;
	struct baton_resource_config config;
	struct baton_resource_stats stats;
	struct baton_lane array[2];
	struct baton_lanes lanes;
	struct baton_bound_config bound_config;
	struct baton_bound bound;
	struct stash stash;
	struct occupant occupant;
	struct baton_task tasks[4];
	struct stamped stamped[2];
};

static void in_the_inbox(struct scene *scene)
{
	occupy(&scene->occupant, &scene->resource);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(baton_submit(&scene->resource, &scene->tasks[i]), 0);
}

static void in_a_batch(struct scene *scene)
{
	struct baton_task *const all[] = {&scene->tasks[0], &scene->tasks[1], &scene->tasks[2],
	                                  &scene->tasks[3]};

	occupy(&scene->occupant, &scene->resource);
	cr_assert_eq(baton_submit_batch(&scene->resource, all, 4), 0);
}

static void in_the_executor(struct scene *scene)
{
	for (int i = 0; i < 4; i++)
		cr_assert_eq(baton_submit_later(&scene->resource, &scene->tasks[i]), 0);
}

static void in_lanes(struct scene *scene)
{
	baton_lanes_init(&scene->lanes, scene->array, 2, NULL);
	baton_resource_set_lanes(&scene->resource, &scene->lanes);
	occupy(&scene->occupant, &scene->resource);
	for (int i = 0; i < 2; i++) {
		baton_stamp_set_lane(&scene->stamped[i].stamp, 1);
		cr_assert_eq(baton_submit(&scene->resource, &scene->stamped[i].task), 0);
		cr_assert_eq(baton_submit(&scene->resource, &scene->tasks[i]), 0);
	}
}

static void in_a_bound(struct scene *scene)
{
	scene->bound_config = (struct baton_bound_config)BATON_BOUND_CONFIG_INIT;
	scene->bound_config.tasks_max = 4;
	baton_bound_init(&scene->bound, &scene->bound_config);
	baton_resource_set_bound(&scene->resource, &scene->bound);
	in_the_inbox(scene);
	/* A task that is refused does not wait. */
	cr_assert_eq(baton_submit(&scene->resource, &scene->stamped[0].task), -EAGAIN);
}

static void on_a_closed_resource(struct scene *scene)
{
	in_the_inbox(scene);
	cr_assert_eq(baton_resource_close(&scene->resource), 0);
	cr_assert_eq(baton_submit(&scene->resource, &scene->stamped[0].task), -EPIPE);
}

static void run(struct scene *scene)
{
}

static void cancel(struct scene *scene)
{
	cr_assert_eq(baton_resource_cancel_pending(&scene->resource), 0);
}

static void wait_and_go(void (*place)(struct scene *), void (*end)(struct scene *))
{
	struct scene scene = {.occupant.result = 1};
	struct baton_resource_stats copy;
	uint64_t before = now_ns();

	stash_init(&scene.stash);
	scene.config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	scene.config.executor = &scene.stash.executor;
	baton_resource_init(&scene.resource, &scene.config);
	baton_resource_set_stats(&scene.resource, &scene.stats);
	for (int i = 0; i < 4; i++)
		baton_task_init(&scene.tasks[i], nothing, NULL);
	for (int i = 0; i < 2; i++)
		stamped_init(&scene.stamped[i], nothing, NULL);
	place(&scene);
	copy = resource_counts(&scene.stats);
	cr_assert_eq(copy.waiting, 4);
	cr_assert_geq(copy.oldest_ns, before);
	cr_assert_leq(copy.oldest_ns, now_ns() + 1);
	end(&scene);
	if (place != in_the_executor)
		release(&scene.occupant);
	stash_run(&scene.stash);
	copy = resource_counts(&scene.stats);
	cr_assert_eq(copy.waiting, 0);
	cr_assert_eq(copy.oldest_ns, 0);
	cr_assert_eq(copy.outstanding, 0);
	cr_assert_eq(copy.cancelled, end == cancel ? 4 : 0);
	resource_end(&scene.resource);
}

Test(waiting, tasks_are_counted_wherever_they_wait_and_however_they_leave, .timeout = 10)
{
	static void (*const places[])(struct scene *) = {
		in_the_inbox, in_a_batch, in_the_executor,
		in_lanes,     in_a_bound, on_a_closed_resource,
	};

	for (size_t place = 0; place < sizeof(places) / sizeof(places[0]); place++) {
		wait_and_go(places[place], run);
		wait_and_go(places[place], cancel);
	}
}

Test(waiting, the_time_is_not_late_when_a_newer_task_is_cancelled, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task newest = BATON_TASK_INIT(nothing, &future);
	struct baton_task oldest = BATON_TASK_INIT(nothing, NULL);
	struct baton_task tasks[2] = {BATON_TASK_INIT(nothing, NULL),
	                              BATON_TASK_INIT(nothing, NULL)};
	struct baton_resource_stats copy;
	uint64_t before, after;

	fix.counted = true;
	fix.config.quantum = 1;
	fixture_stash();
	before = now_ns();
	cr_assert_eq(baton_submit_later(&fix.resource, &oldest), 0);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(baton_submit_later(&fix.resource, &tasks[i]), 0);
	after = now_ns();
	cr_assert(stash_run_one(&fix.stash));
	cr_assert_eq(baton_submit_later(&fix.resource, &newest), 0);
	cr_assert_eq(baton_future_cancel(&future), 0);
	copy = resource_counts(&fix.stats);
	cr_assert_eq(copy.waiting, 2);
	cr_assert_geq(copy.oldest_ns, before);
	cr_assert_leq(copy.oldest_ns, after + 1);
	stash_run(&fix.stash);
	cr_assert_eq(resource_counts(&fix.stats).oldest_ns, 0);
	fixture_end();
}

Test(waiting, the_time_is_that_of_the_oldest_when_that_is_cancelled, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task oldest = BATON_TASK_INIT(nothing, &future);
	struct baton_task tasks[2] = {BATON_TASK_INIT(nothing, NULL),
	                              BATON_TASK_INIT(nothing, NULL)};
	struct baton_resource_stats copy;
	uint64_t before;

	fix.counted = true;
	fixture_stash();
	before = now_ns();
	cr_assert_eq(baton_submit_later(&fix.resource, &oldest), 0);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(baton_submit_later(&fix.resource, &tasks[i]), 0);
	cr_assert_eq(baton_future_cancel(&future), 0);
	copy = resource_counts(&fix.stats);
	cr_assert_eq(copy.waiting, 2);
	cr_assert_geq(copy.oldest_ns, before, "no task is marked, but two wait");
	cr_assert_leq(copy.oldest_ns, now_ns());
	stash_run(&fix.stash);
	cr_assert_eq(resource_counts(&fix.stats).oldest_ns, 0);
	fixture_end();
}

Test(waiting, a_submit_that_its_executor_refuses_does_not_wait, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource_stats stats = {0}, copy;
	struct baton_task task = BATON_TASK_INIT(nothing, NULL);
	struct baton_resource resource;
	struct stash stash;
	uint64_t before;

	stash_init(&stash);
	atomic_store(&stash.answer, -ESHUTDOWN);
	config.executor = &stash.executor;
	baton_resource_init(&resource, &config);
	baton_resource_set_stats(&resource, &stats);
	cr_assert_eq(baton_submit_later(&resource, &task), -ESHUTDOWN);
	copy = resource_counts(&stats);
	cr_assert_eq(copy.submitted, 0);
	cr_assert_eq(copy.waiting, 0);
	cr_assert_eq(copy.oldest_ns, 0);
	/* Nor does it leave its time behind. */
	atomic_store(&stash.answer, 0);
	before = now_ns();
	cr_assert_eq(baton_submit_later(&resource, &task), 0);
	copy = resource_counts(&stats);
	cr_assert_eq(copy.waiting, 1);
	cr_assert_geq(copy.oldest_ns, before);
	stash_run(&stash);
	resource_end(&resource);
}

Test(waiting, in_a_window_too, .timeout = 10)
{
	struct baton_resource_stats stats = {0}, copy;
	struct windowed windowed[3];
	struct baton_resource resource;
	struct baton_window window;

	baton_resource_init(&resource, NULL);
	baton_resource_set_stats(&resource, &stats);
	baton_window_init(&window, &resource, 0);
	for (int i = 0; i < 3; i++) {
		windowed_init(&windowed[i], &window, nothing, NULL);
		cr_assert_eq(baton_submit(&resource, &windowed[i].task), 0);
	}
	copy = resource_counts(&stats);
	cr_assert_eq(copy.waiting, 3);
	cr_assert_neq(copy.oldest_ns, 0);
	cr_assert_eq(baton_window_set_limit(&window, 1), 0);
	cr_assert_eq(baton_resource_await(&resource), 0);
	copy = resource_counts(&stats);
	cr_assert_eq(copy.executed, 3);
	cr_assert_eq(copy.waiting, 0);
	cr_assert_eq(copy.oldest_ns, 0);
	baton_window_deinit(&window);
	resource_end(&resource);
}
