/* SPDX-License-Identifier: MIT */
/*
 * As test_misuse.c: calls that are only for tasks, calls that come in pairs, arguments that do not
 * fit.
 */
#include "misuse.h"

#include <baton/bound.h>
#include <baton/detach.h>
#include <baton/epoch.h>
#include <baton/group.h>
#include <baton/hooks.h>
#include <baton/label.h>
#include <baton/lane.h>
#include <baton/registry.h>
#include <baton/stats.h>
#include <baton/timer.h>
#include <baton/timers.h>
#include <baton/manual.h>
#include <baton/loop.h>
#include <baton/undo.h>
#include <baton/window.h>

#include "../parts.h"

/* ---- Outside of a task, or in the wrong one ---- */

static void result_outside(void)
{
	baton_set_result(NULL);
}

static int result_of_a_finaliser(struct baton_task *task)
{
	baton_set_result(NULL);
	return 0;
}

static void result_without_a_baton(void)
{
	struct baton_task finaliser = BATON_TASK_INIT(result_of_a_finaliser, NULL);

	BATON_IGNORE(baton_resource_close_then(&topic, &finaliser));
}

static void poll_outside(void)
{
	(void)baton_cancel_requested();
}

static void held_elsewhere(void)
{
	baton_assert_held(&topic);
}

static void detach_outside(void)
{
	struct baton_detached token = BATON_DETACHED_INIT;

	BATON_IGNORE(baton_detach(&token, 0));
}

static void flush_outside(void)
{
	BATON_IGNORE(baton_batch_flush());
}

static int flush_of_a_finaliser(struct baton_task *task)
{
	BATON_IGNORE(baton_batch_flush());
	return 0;
}

static void flush_without_a_baton(void)
{
	struct baton_task finaliser = BATON_TASK_INIT(flush_of_a_finaliser, NULL);

	BATON_IGNORE(baton_resource_close_then(&topic, &finaliser));
}

static void log_outside(void)
{
	struct baton_undo_log log;

	baton_undo_log_begin(&log);
}

static struct baton_undo_log kept_log;

static int begins_log(struct baton_task *task)
{
	baton_undo_log_begin(&kept_log);
	return 0;
}

static void log_afterwards(void)
{
	in_a_task(begins_log);
	BATON_IGNORE(baton_undo_log_end(&kept_log, 0));
}

static int undoes_with_log(struct baton_undo *undo)
{
	baton_undo_log_push(&kept_log, undo, undoes_with_log);
	return 0;
}

static int rolls_back(struct baton_task *task)
{
	static struct baton_undo undo;

	baton_undo_log_begin(&kept_log);
	baton_undo_log_push(&kept_log, &undo, undoes_with_log);
	return baton_undo_log_end(&kept_log, -EIO);
}

static void log_within(void)
{
	in_a_task(rolls_back);
}

/* ---- Beginnings and ends that do not match ---- */

static void section_left_twice(void)
{
	MUST(baton_epoch_enter() == 0);
	baton_epoch_leave();
	baton_epoch_leave();
}

static void limbo_in_a_section(void)
{
	struct baton_limbo *limbo;

	MUST(baton_limbo_create(&limbo) == 0);
	MUST(baton_epoch_enter() == 0);
	baton_limbo_destroy(limbo);
}

static void group_left_twice(void)
{
	struct baton_group group = BATON_GROUP_INIT;

	baton_group_enter(&group);
	baton_group_leave(&group);
	baton_group_leave(&group);
}

static void group_of_too_many(void)
{
	struct baton_group group = BATON_GROUP_INIT;

	baton_group_enter_many(&group, BATON_GROUP_MAX);
	baton_group_enter(&group);
}

static void group_of_far_too_many(void)
{
	struct baton_group group = BATON_GROUP_INIT;

	baton_group_enter_many(&group, (size_t)UINT32_MAX + 1);
}

static void own_future_unref(void)
{
	struct baton_future future = BATON_FUTURE_INIT;

	baton_future_unref(&future);
}

static struct baton_window window = BATON_WINDOW_INIT(&topic, 0);

static void window_with_tasks(void)
{
	struct windowed windowed;

	windowed_init(&windowed, &window, idle_run, NULL);
	MUST(baton_submit(&topic, &windowed.task) == 0);
	baton_window_deinit(&window);
}

static void window_of_another(void)
{
	struct baton_resource other = BATON_RESOURCE_INIT(NAMED("topic/8"));
	struct windowed windowed;

	windowed_init(&windowed, &window, idle_run, NULL);
	BATON_IGNORE(baton_submit(&other, &windowed.task));
}

struct object {
	struct baton_registry_entry entry;
};

static void registry_in_use(void)
{
	const struct baton_registry_options options = {.object_size = sizeof(struct object)};
	struct baton_registry_entry *entry;
	struct baton_registry *registry;

	MUST(baton_registry_create(&options, &registry) == 0);
	MUST(baton_registry_acquire(registry, "a", 1, &entry) >= 0);
	BATON_IGNORE(baton_registry_destroy(registry));
}

static void registered_closed(void)
{
	const struct baton_registry_options options = {.object_size = sizeof(struct object)};
	struct baton_task finaliser = BATON_TASK_INIT(idle_run, NULL);
	struct baton_registry_entry *entry;
	struct baton_registry *registry;

	MUST(baton_registry_create(&options, &registry) == 0);
	MUST(baton_registry_acquire(registry, "a", 1, &entry) >= 0);
	MUST(baton_resource_close_then(&entry->resource, &finaliser) == 0);
	(void)baton_registry_unref(entry);
}

static int ring(struct baton_timer *timer)
{
	return 0;
}

static void timer_stopped_twice(void)
{
	struct baton_timer timer;
	struct baton_future gone[2] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT};
	struct baton_timers *timers;
	const struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE};
	struct baton_resource resource = BATON_RESOURCE_INIT(&config);
	struct occupant occupant;

	occupy_later(&occupant, &resource);
	MUST(baton_timers_create(&(struct baton_timers_options){.source = BATON_TIMERS_VIRTUAL},
	                         &timers) == 0);
	baton_timer_init(&timer, timers, &resource, ring);
	MUST(baton_timer_arm_after(&timer, 1) == 0);
	MUST(baton_timers_advance(timers, BATON_SECOND) >= 0);
	baton_promise_init(&gone[0]);
	baton_promise_init(&gone[1]);
	(void)baton_timer_stop_then(&timer, baton_stopped_complete, &gone[0]);
	(void)baton_timer_stop_then(&timer, baton_stopped_complete, &gone[1]);
}

/* ---- What does not fit ---- */

static void finaliser_with_future(void)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task finaliser = BATON_TASK_INIT(idle_run, &future);

	BATON_IGNORE(baton_resource_close_then(&topic, &finaliser));
}

static void too_many_lanes(void)
{
	struct baton_lane array[1];
	struct baton_lanes lanes;

	baton_lanes_init(&lanes, array, BATON_LANES_MAX + 1, NULL);
}

static void no_such_lane(void)
{
	struct stamped stamped;

	stamped_init(&stamped, idle_run, NULL);
	baton_stamp_set_lane(&stamped.stamp, BATON_LANES_MAX);
}

static void strange_bound(void)
{
	const struct baton_bound_config config = {.tasks_high = 1, .tasks_low = 2};
	struct baton_bound bound;

	baton_bound_init(&bound, &config);
}

static struct baton_lane array[2];
static struct baton_lanes lanes[2] = {BATON_LANES_INIT(&array[0], 1, NULL),
                                      BATON_LANES_INIT(&array[1], 1, NULL)};
static struct baton_bound bounds[2];

static void bound_set(struct baton_bound *bound, const struct baton_bound_config *config)
{
	baton_bound_init(bound, config);
	baton_resource_set_bound(&topic, bound);
}

static void bounded_twice(void)
{
	const struct baton_bound_config config = {.tasks_max = 1};

	bound_set(&bounds[0], &config);
	baton_resource_set_lanes(&topic, &lanes[0]);
	bound_set(&bounds[1], &config);
}

static void laned_twice(void)
{
	baton_resource_set_lanes(&topic, &lanes[0]);
	baton_resource_set_lanes(&topic, &lanes[1]);
}

static void lanes_not_initialised(void)
{
	static struct baton_lanes zeroed;

	baton_resource_set_lanes(&topic, &zeroed);
}

static void bounded_without_lanes(int (*submit)(struct baton_resource *, struct baton_task *))
{
	const struct baton_bound_config config = {.policy = BATON_BOUND_DROP_OLDEST};
	struct baton_task task = BATON_TASK_INIT(idle_run, NULL);

	bound_set(&bounds[0], &config);
	(void)submit(&topic, &task);
}

static void dropping_without_lanes(void)
{
	bounded_without_lanes(baton_submit);
}

/* The first submit of a thread takes a longer way than the next. */
static void dropping_without_lanes_again(void)
{
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct baton_task task = BATON_TASK_INIT(idle_run, NULL);

	MUST(baton_submit(&other, &task) == 0);
	bounded_without_lanes(baton_submit);
}

static void *nothing(void *arg)
{
	return arg;
}

static int call_instead(struct baton_resource *resource, struct baton_task *task)
{
	return baton_call(resource, nothing, NULL, NULL);
}

static void call_without_lanes(void)
{
	bounded_without_lanes(call_instead);
}

static int submit_two(struct baton_resource *resource, struct baton_task *task)
{
	struct baton_task other = BATON_TASK_INIT(idle_run, NULL);

	return baton_submit_batch(resource, (struct baton_task *[]){task, &other}, 2);
}

static void batch_without_lanes(void)
{
	bounded_without_lanes(submit_two);
}

static struct baton_resource_stats counts[2];

static void counted_twice(void)
{
	baton_resource_set_stats(&topic, &counts[0]);
	baton_resource_set_stats(&topic, &counts[1]);
}

static int counts_itself(struct baton_task *task)
{
	baton_resource_set_stats(&topic, &counts[0]);
	return 0;
}

static void counted_in_use(void)
{
	struct baton_task task = BATON_TASK_INIT(counts_itself, NULL);

	BATON_IGNORE(baton_submit(&topic, &task));
}

static int bounds_itself(struct baton_task *task)
{
	const struct baton_bound_config config = {.tasks_max = 1};

	bound_set(&bounds[0], &config);
	return 0;
}

static void bounded_in_use(void)
{
	in_a_task(bounds_itself);
}

static void *runs_others(void *manual)
{
	(void)baton_manual_run(manual, 1);
	return NULL;
}

static void anothers_executor(void)
{
	struct baton_manual *manual;

	MUST(baton_manual_create(&manual) == 0);
	thread_join(thread_start(runs_others, manual));
}

static void anothers_loop(void)
{
	struct baton_loop *loop;

	MUST(baton_loop_create(&loop) == 0);
	baton_loop_gather(loop);
}

#define NO_TASK "this thread runs no task"
#define ANOTHERS "another thread owns this executor"

static const struct mistake mistakes[] = {
	{result_outside, "baton_set_result: " NO_TASK},
	{result_without_a_baton, "baton_set_result: " NO_TASK},
	{poll_outside, "baton_cancel_requested: " NO_TASK},
	{held_elsewhere, "baton_assert_held: \"topic/7\" is not held by this thread"},
	{detach_outside, "baton_detach: " NO_TASK},
	{flush_outside, "baton_batch_flush: " NO_TASK},
	{flush_without_a_baton, "baton_batch_flush: " NO_TASK},
	{log_outside, "baton_undo_log_begin: " NO_TASK},
	{log_afterwards, "baton_undo_log_end: \"topic/7\" is not held by this thread"},
	{log_within, "baton_undo_log_push: \"topic/7\" is being undone"},
	{section_left_twice, "baton_epoch_leave: this thread is in no section"},
	{limbo_in_a_section, "baton_limbo_destroy: this thread is in a section"},
	{group_left_twice, "baton_group_leave: the group has no member"},
	{group_of_too_many, "baton_group_enter_many: more members than a group may have"},
	{group_of_far_too_many, "baton_group_enter_many: more members than a group may have"},
	{own_future_unref, "baton_future_unref: the future is your own memory"},
	{window_with_tasks, "baton_window_deinit: \"topic/7\" has tasks that wait in the window"},
	{window_of_another, "baton_submit: \"topic/8\" was given a task of another resource's"},
	{registry_in_use, "baton_registry_destroy: somebody holds a reference"},
	{registered_closed, "baton_resource_close_then: \"(no name)\" is a registry's object"},
	{timer_stopped_twice, "baton_timer_stop_then: stop_then was called for this timer already"},
	{finaliser_with_future,
         "baton_resource_close_then: \"topic/7\" was given a finaliser with"},
	{too_many_lanes, "baton_lanes_init: a resource has 1 to 32 lanes"},
	{no_such_lane, "baton_stamp_set_lane: there are lanes 0 to 31"},
	{strange_bound, "baton_bound_init: the config contradicts itself"},
	{counted_twice, "baton_resource_set_stats: \"topic/7\" has statistics already"},
	{counted_in_use, "baton_resource_set_stats: \"topic/7\" is in use"},
	{bounded_twice, "baton_resource_set_bound: \"topic/7\" has a bound already"},
	{laned_twice, "baton_resource_set_lanes: \"topic/7\" has lanes already"},
	{lanes_not_initialised,
         "baton_resource_set_lanes: \"topic/7\" was given lanes that are not initialised"},
	{dropping_without_lanes, "baton_submit: \"topic/7\" has a bound that drops queued tasks"},
	{dropping_without_lanes_again,
         "baton_submit: \"topic/7\" has a bound that drops queued tasks"},
	{call_without_lanes, "baton_submit: \"topic/7\" has a bound that drops queued tasks"},
	{batch_without_lanes, "baton_submit: \"topic/7\" has a bound that drops queued tasks"},
	{bounded_in_use, "baton_resource_set_bound: \"topic/7\" is in use"},
	{anothers_executor, "baton_manual_run: " ANOTHERS},
	{anothers_loop, "baton_loop_gather: " ANOTHERS},
};

Test(misuse_modules, is_said_in_the_callers_words, .timeout = 60)
{
	mistakes_are_said(mistakes, sizeof(mistakes) / sizeof(*mistakes));
}
