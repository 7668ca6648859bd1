/* SPDX-License-Identifier: MIT */
/*
 * All kinds of entries that a queue can hold, for test_dropped.c: how an entry is submitted, and
 * which function is told when it is cancelled.
 */
#ifndef BATON_TEST_UNIT_ENTRIES_H
#define BATON_TEST_UNIT_ENTRIES_H

#include "support.h"
#include "stash.h"

#include <baton/call.h>
#include <baton/fan_out.h>
#include <baton/hooks.h>
#include <baton/label.h>
#include <baton/lane.h>
#include <baton/bound.h>
#include <baton/suspend.h>
#include <baton/tag.h>
#include <baton/timer.h>
#include <baton/timers.h>
#include <baton/trigger.h>
#include <baton/undo.h>
#include <baton/window.h>

#include "../parts.h"

/* The entry's outcome: it ran, or a callback or its future told of its cancel. */
static int ran, told;

struct scene {
	struct baton_resource resource;
	struct baton_resource_config config;
	struct baton_resource_stats stats;
	struct baton_bound_config bound_config;
	struct baton_bound bound;
	struct baton_lane lane;
	struct baton_lanes lanes;
	struct stash stash;
	struct baton_tag tag;
	struct baton_task occupant, filler, last;
	struct baton_future future;
	struct baton_future *async;
	struct baton_suspension suspension;
	struct baton_fan_out *fan_out;
	struct baton_timers *timers;
	struct baton_trigger trigger;
	struct baton_timer timer;
	struct baton_window window;
	union {
		struct baton_task task;
		struct stamped stamped;
		struct windowed windowed;
	};
	const struct kind *kind;
	const struct way *way;
	int error;
};

struct kind {
	const char *name;
	int (*submit)(struct scene *scene);
	/* Called when all is over: notes the outcome that the entry's future has. NULL: callbacks
	 * have told the outcome. */
	void (*look)(struct scene *scene);
	bool mark;    /* no task: nothing cancels it */
	bool stamped; /* with the scene's tag */
	/* submit returns 0 even if the resource refuses: a callback is told instead */
	bool keeps;
};

struct way {
	const char *name;
	/* Inside the task that occupies the resource: before and after the kind's submit. */
	void (*before)(struct scene *scene);
	void (*after)(struct scene *scene);
	uint32_t capture_max;
	enum { UNBOUNDED, NEWEST, OLDEST } bound;
	bool stamped; /* only for kinds with a label */
	bool refuses; /* the submit is refused, and returns an error unless the kind `keeps` */
};

/* ---- Kinds ---- */

static int count_run(struct baton_task *task)
{
	ran++;
	return 0;
}

static void count_cancelled(struct baton_task *task)
{
	told++;
}

static void *count_call(void *arg)
{
	ran++;
	return NULL;
}

static void count_post(void *arg)
{
	int *counter = arg;

	(*counter)++;
}

static int submit_task(struct scene *scene)
{
	baton_task_init(&scene->task, count_run, NULL);
	return baton_submit(&scene->resource, &scene->task);
}

static int submit_with_future(struct scene *scene)
{
	baton_task_init(&scene->task, count_run, &scene->future);
	return baton_submit(&scene->resource, &scene->task);
}

static void look_at_future(struct scene *scene)
{
	told += baton_future_state(&scene->future) != BATON_PENDING &&
	        baton_future_status(&scene->future) < 0;
}

static int submit_stamped(struct scene *scene)
{
	int error;

	stamped_init(&scene->stamped, count_run, NULL);
	baton_stamp_hold_tag(&scene->stamped.stamp, &scene->tag);
	error = baton_submit(&scene->resource, &scene->stamped.task);
	if (error) /* refused, it keeps its stamp */
		baton_stamp_set_tag(&scene->stamped.stamp, NULL);
	return error;
}

static int submit_windowed(struct scene *scene)
{
	baton_window_init(&scene->window, &scene->resource, 1);
	windowed_init(&scene->windowed, &scene->window, count_run, NULL);
	return baton_submit(&scene->resource, &scene->windowed.task);
}

static int submit_post(struct scene *scene)
{
	return baton_post_with(&scene->resource,
	                       &(struct baton_call_options){
				       .fn = count_call, .cancelled = count_post, .arg = &told});
}

static int submit_stamped_post(struct scene *scene)
{
	const struct baton_label label = {.tag = &scene->tag, .hold = true};
	const struct baton_call_options options = {
		.fn = count_call, .arg = &told, .cancelled = count_post, .label = &label};

	return baton_post_with(&scene->resource, &options);
}

/* No callback is told of a cancel: only the counters show it. */
static int submit_plain_post(struct scene *scene)
{
	return baton_post(&scene->resource, count_call, NULL);
}

static void look_at_counters(struct scene *scene)
{
	struct baton_bound_stats counts;

	told += (int)scene->stats.cancelled;
	if (scene->way->bound == NEWEST) {
		baton_bound_stats_read(&scene->bound, &counts);
		told += (int)counts.dropped;
	}
}

static int submit_async(struct scene *scene)
{
	return baton_async(&scene->resource, count_call, NULL, &scene->async);
}

static void look_at_async(struct scene *scene)
{
	if (!scene->async)
		return;
	told += baton_future_state(scene->async) != BATON_PENDING &&
	        baton_future_status(scene->async) < 0;
	baton_future_unref(scene->async);
}

static int count_trigger(struct baton_trigger *trigger, uint64_t fires)
{
	ran += (int)fires;
	return 0;
}

static void count_fires(struct baton_trigger *trigger, int error, uint64_t fires)
{
	told += (int)fires;
}

static int submit_trigger(struct scene *scene)
{
	baton_trigger_init(&scene->trigger, &scene->resource, count_trigger);
	baton_trigger_set_dropped(&scene->trigger, count_fires);
	return baton_trigger_fire(&scene->trigger);
}

static int count_timer(struct baton_timer *timer)
{
	ran++;
	return 0;
}

static void count_dropped(struct baton_timer *timer, int error)
{
	MUST(error < 0);
	told++;
}

static int submit_timer(struct scene *scene)
{
	struct baton_timers_options config = BATON_TIMERS_OPTIONS_INIT;
	int error;

	config.source = BATON_TIMERS_VIRTUAL;
	config.dropped = count_dropped;
	MUST(baton_timers_create(&config, &scene->timers) == 0);
	baton_timer_init(&scene->timer, scene->timers, &scene->resource, count_timer);
	error = baton_timer_arm_after(&scene->timer, BATON_SECOND);
	BATON_IGNORE(baton_timers_advance(scene->timers, 2 * BATON_SECOND));
	return error;
}

static void end_timers(struct scene *scene)
{
	MUST(baton_timers_destroy(scene->timers) == 0);
}

static int count_item(struct baton_resource *resource, void *arg, size_t index)
{
	ran++;
	return 0;
}

static int submit_fan_out(struct scene *scene)
{
	const struct baton_fan_out_options options = {.fn = count_item, .arg = NULL};
	struct baton_resource *const resources[] = {&scene->resource};

	return baton_fan_out_submit(resources, 1, &options, &scene->fan_out);
}

static void look_at_fan_out(struct scene *scene)
{
	told += baton_future_state(baton_fan_out_future(scene->fan_out)) != BATON_PENDING &&
	        baton_fan_out_status(scene->fan_out, NULL) < 0;
	baton_fan_out_unref(scene->fan_out);
}

/* A continuation of a future that is complete. */
static int submit_continuation(struct scene *scene)
{
	static struct baton_continuation continuation;
	struct baton_future promise = BATON_PROMISE_INIT;

	baton_task_init(&scene->task, count_run, NULL);
	baton_continuation_task(&continuation, &scene->resource, &scene->task);
	baton_future_then(&promise, &continuation);
	return baton_future_complete(&promise, 0, NULL);
}

static int submit_suspension(struct scene *scene)
{
	return baton_resource_suspend(&scene->resource, &scene->suspension);
}

static void look_at_suspension(struct scene *scene)
{
	ran += baton_suspension_is_effective(&scene->suspension);
	if (ran)
		MUST(baton_resource_resume(&scene->suspension) == 0);
}

static int submit_finaliser(struct scene *scene)
{
	baton_task_init(&scene->last, count_run, NULL);
	return baton_resource_close_then(&scene->resource, &scene->last);
}

static const struct kind kinds[] = {
	{.name = "task", .submit = submit_task},
	{.name = "task with a future", .submit = submit_with_future, .look = look_at_future},
	{.name = "stamped task", .submit = submit_stamped, .stamped = true},
	{.name = "task of a window", .submit = submit_windowed},
	{.name = "post", .submit = submit_post},
	{.name = "stamped post", .submit = submit_stamped_post, .stamped = true},
	{.name = "post without more", .submit = submit_plain_post, .look = look_at_counters},
	{.name = "async", .submit = submit_async, .look = look_at_async},
	{.name = "trigger", .submit = submit_trigger},
	{.name = "timer", .submit = submit_timer, .look = end_timers},
	{.name = "fan-out", .submit = submit_fan_out, .look = look_at_fan_out, .keeps = true},
	{.name = "continuation", .submit = submit_continuation, .keeps = true},
	{.name = "suspension",
         .submit = submit_suspension,
         .look = look_at_suspension,
         .mark = true},
	{.name = "finaliser", .submit = submit_finaliser, .mark = true},
};

#endif
