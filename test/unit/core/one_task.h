/* SPDX-License-Identifier: MIT */
/* One task, of any sort that the library has: how it is submitted, and how it can end. */
#ifndef BATON_TEST_UNIT_ONE_TASK_H
#define BATON_TEST_UNIT_ONE_TASK_H

#include "support.h"

#include <baton/board.h>
#include <baton/bound.h>
#include <baton/call.h>
#include <baton/detach.h>
#include <baton/fan_out.h>
#include <baton/io.h>
#include <baton/label.h>
#include <baton/lane.h>
#include <baton/suspend.h>
#include <baton/tag.h>
#include <baton/task.h>
#include <baton/timer.h>
#include <baton/timers.h>
#include <baton/manual.h>
#include <baton/trigger.h>
#include <baton/window.h>

#include "../parts.h"

/* ---- Settings: what the resource has ---- */

enum setting { PLAIN, LANES, BOUND, BOTH, HOOKS, HELD, BOARD, SETTINGS };

/* ---- Ends ---- */

enum end {
	RUNS,          /* from the queue */
	RUNS_AT_ONCE,  /* by the submit, on an idle resource */
	FAILS,         /* from the queue: the function returns -EIO */
	FAILS_AT_ONCE, /* the same by the submit */
	DETACHES,      /* detached in its function, then completed */
	DETACHES_BADLY,
	BY_FUTURE, /* cancelled by its future */
	BY_TAG,
	BY_PENDING, /* baton_resource_cancel_pending */
	BY_STOP,    /* by its own call: stop, cancel, a deadline */
	DROPPED,    /* by the bound, at the submit */
	PUSHED_OUT, /* by the bound, for a newer task */
	AT_ONCE,    /* cancelled within the submit, on an idle resource */
	REFUSED,    /* by the closed resource: not accepted */
	ENDS,
};

#define CAN(end) (1U << (end))
#define CAN_RUN (CAN(RUNS) | CAN(BY_PENDING) | CAN(PUSHED_OUT) | CAN(REFUSED))
#define CAN_DROP (CAN_RUN | CAN(DROPPED))
#define CAN_FAIL (CAN(FAILS) | CAN(FAILS_AT_ONCE) | CAN(RUNS_AT_ONCE))
#define CAN_DETACH (CAN(DETACHES) | CAN(DETACHES_BADLY))

/* ---- One case ---- */

static struct {
	enum setting setting;
	enum end end;
	int entered; /* the function of the task */
	int status;  /* that it returns */
	bool detaches;
	struct baton_resource resource;
	struct baton_resource_config config;
	struct baton_resource_stats own_stats;
	struct baton_resource_stats *stats;
	struct baton_manual *manual;
	struct baton_board *board;
	struct baton_lanes lanes;
	struct baton_lane lane[2];
	struct baton_bound_config bound_config;
	struct baton_bound bound;
	struct baton_tag tag;
	struct baton_label label;
	struct baton_call_options call;
	/* The task, of any sort. */
	struct baton_task task;
	struct baton_future future;
	struct baton_future *made; /* by async */
	struct stamped stamped;
	struct typed {
		struct baton_task task;
		struct baton_future *future;
		struct baton_stamp stamp;
	} typed;
	struct baton_detached token;
	struct baton_window window;
	struct windowed windowed;
	struct baton_continuation continuation;
	struct baton_future promise;
	struct baton_fan_out *fan_out;
	struct baton_trigger trigger;
	struct baton_timers *timers;
	struct baton_timer timer;
	struct baton_io io;
	int ends[2]; /* of a pipe */
} one;

static int enter(void)
{
	one.entered++;
	if (one.detaches)
		MUST(baton_detach(&one.token, 0) == 0);
	return one.status;
}

static int run(struct baton_task *task)
{
	return enter();
}

static void *run_function(void *arg)
{
	(void)enter();
	return NULL;
}

static int run_windowed(struct baton_task *task)
{
	one.entered++;
	if (one.detaches)
		MUST(baton_detach(&one.windowed.part.token, 0) == 0);
	return one.status;
}

static int run_item(struct baton_resource *resource, void *arg, size_t index)
{
	return enter();
}

static int run_first_item(struct baton_resource *resource, void *arg, size_t index)
{
	if (index)
		return enter();
	baton_tag_cancel(&one.tag);
	return 0;
}

static int run_trigger(struct baton_trigger *trigger, uint64_t fires)
{
	(void)enter();
	return 0;
}

static int run_timer(struct baton_timer *timer)
{
	return enter();
}

static int run_io(struct baton_io *io)
{
	return enter();
}

/* ---- Sorts. Each submits one task; each returns what the submit does ---- */

static int put_task(void)
{
	baton_task_init(&one.task, run, NULL);
	return baton_submit(&one.resource, &one.task);
}

static int put_with_future(void)
{
	baton_task_init(&one.task, run, &one.future);
	return baton_submit(&one.resource, &one.task);
}

static int put_later(void)
{
	baton_task_init(&one.task, run, NULL);
	return baton_submit_later(&one.resource, &one.task);
}

static int put_batch(void)
{
	struct baton_task *const tasks[1] = {&one.task};

	baton_task_init(&one.task, run, &one.future);
	return baton_submit_batch(&one.resource, tasks, 1);
}

static int put_stamped(void)
{
	stamped_init(&one.stamped, run, &one.future);
	baton_stamp_set(&one.stamped.stamp, &one.label);
	return baton_submit(&one.resource, &one.stamped.task);
}

static int put_typed(void)
{
	static const struct baton_task_type type = {
		.run = run,
		.future = BATON_TASK_PLACE(struct typed, task, future),
		.stamp = BATON_TASK_PLACE(struct typed, task, stamp),
	};

	baton_task_init_of(&one.typed.task, &type);
	one.typed.future = &one.future;
	baton_stamp_set(&one.typed.stamp, &one.label);
	return baton_submit(&one.resource, &one.typed.task);
}

static int put_post(void)
{
	return baton_post(&one.resource, run_function, NULL);
}

static int put_post_with(void)
{
	return baton_post_with(&one.resource, &one.call);
}

static int put_async(void)
{
	return baton_async(&one.resource, run_function, NULL, &one.made);
}

static int put_async_with(void)
{
	return baton_async_with(&one.resource, &one.call, &one.made);
}

static int put_call(void)
{
	return baton_call_with(&one.resource, &one.call, NULL);
}

/* Withdrawn at its deadline. */
static int put_late_call(void)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	MUST(baton_resource_suspend(&one.resource, &suspension) == 0);
	one.call.timeout_ns = BATON_MILLISECOND;
	cr_assert_eq(baton_call_with(&one.resource, &one.call, NULL), -ETIMEDOUT);
	return baton_resource_resume(&suspension);
}

static int put_try_call(void)
{
	return baton_try_call(&one.resource, run_function, NULL, NULL);
}

static int put_items(uint32_t flags, const struct baton_label *label)
{
	struct baton_resource *resources[1] = {&one.resource};
	const struct baton_fan_out_options options = {
		.fn = run_item, .flags = flags, .label = label};

	MUST(baton_fan_out_submit(resources, 1, &options, &one.fan_out) == 0);
	return one.end == REFUSED ? baton_fan_out_item_status(one.fan_out, 0) : 0;
}

static int put_item(void)
{
	return put_items(0, NULL);
}

static int put_item_later(void)
{
	return put_items(BATON_FAN_OUT_LATER, NULL);
}

static int put_stamped_item(void)
{
	return put_items(0, &one.label);
}

/* An item of another resource, whose function cancels the tag of both, comes first. */
static int put_item_behind(void)
{
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct baton_resource *resources[2] = {&other, &one.resource};
	const struct baton_fan_out_options options = {.fn = run_first_item, .label = &one.label};

	MUST(baton_fan_out_submit(resources, 2, &options, &one.fan_out) == 0);
	resource_end(&other);
	return 0;
}

static int put_trigger(void)
{
	baton_trigger_init(&one.trigger, &one.resource, run_trigger);
	baton_stamp_set(&one.trigger.stamp, &one.label);
	return baton_trigger_fire(&one.trigger);
}

static int put_timer_every(uint64_t period)
{
	const struct baton_timers_options options = {.source = BATON_TIMERS_VIRTUAL};
	int error;

	MUST(baton_timers_create(&options, &one.timers) == 0);
	baton_timer_init(&one.timer, one.timers, &one.resource, run_timer);
	baton_stamp_set(&one.timer.stamp, &one.label);
	error = period ? baton_timer_arm_every(&one.timer, 1, period, BATON_TIMER_SKIP)
	               : baton_timer_arm_after(&one.timer, 1);
	if (!error)
		MUST(baton_timers_advance(one.timers, 1) == 1);
	return error;
}

static int put_timer(void)
{
	return put_timer_every(0);
}

static int put_repeated_timer(void)
{
	return put_timer_every(1000);
}

static void until_submitted(const struct baton_resource_stats *stats)
{
	while (resource_counts(stats).submitted == 0)
		sched_yield();
}

static int run_nothing(struct baton_io *io)
{
	return 0;
}

/*
 * Returns when the run waits in the queue. The thread that watches counts a task before it pushes
 * the task, and then looks for another event: when that is counted, the task has been pushed.
 */
static int put_io(void)
{
	struct baton_resource_stats stats = {0};
	struct baton_resource resource;
	struct baton_io io;
	int ends[2];

	MUST(pipe(one.ends) == 0 && write(one.ends[1], "x", 1) == 1);
	MUST(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
	baton_io_init(&one.io, &one.resource, run_io);
	baton_stamp_set(&one.io.stamp, &one.label);
	MUST(baton_io_start(&one.io, one.ends[0], BATON_IO_READ) == 0);
	until_submitted(one.stats);
	baton_resource_init(&resource, NULL);
	baton_resource_set_stats(&resource, &stats);
	baton_io_init(&io, &resource, run_nothing);
	MUST(baton_io_start(&io, ends[0], BATON_IO_READ) == 0);
	until_submitted(&stats);
	BATON_IGNORE(baton_io_stop(&io).met);
	resource_end(&resource);
	MUST(close(ends[0]) == 0 && close(ends[1]) == 0);
	return 0;
}

static int put_windowed(void)
{
	baton_window_init(&one.window, &one.resource, 1);
	windowed_init(&one.windowed, &one.window, run_windowed, &one.future);
	baton_stamp_set(&one.windowed.stamp, &one.label);
	return baton_submit(&one.resource, &one.windowed.task);
}

/* The window has no room: the task, whose turn comes, waits in the window. */
static int put_in_window(void)
{
	int error;

	baton_window_init(&one.window, &one.resource, 0);
	windowed_init(&one.windowed, &one.window, run_windowed, &one.future);
	error = baton_submit(&one.resource, &one.windowed.task);
	(void)baton_manual_run(one.manual, 0);
	if (!error && (one.end == RUNS || one.end == FAILS))
		error = baton_window_set_limit(&one.window, 1);
	return error;
}

static int put_continuation(void)
{
	baton_task_init(&one.task, run, &one.future);
	baton_promise_init(&one.promise);
	baton_continuation_task(&one.continuation, &one.resource, &one.task);
	baton_future_then(&one.promise, &one.continuation);
	MUST(baton_future_complete(&one.promise, 0, NULL) == 0);
	/* No call returns an error: the future is cancelled. */
	return baton_future_state(&one.future) == BATON_CANCELLED ? -EPIPE : 0;
}

/* ---- Stops ---- */

static void stop_nothing(void)
{
}

static void stop_item(void)
{
	cr_assert_eq(baton_fan_out_cancel(one.fan_out), 0);
}

static void stop_trigger(void)
{
	cr_assert_eq(baton_trigger_stop(&one.trigger).met, BATON_STOP_QUEUED);
}

static void stop_timer(void)
{
	cr_assert_eq(baton_timer_stop(&one.timer).met, BATON_STOP_QUEUED);
}

static void stop_io(void)
{
	cr_assert_eq(baton_io_stop(&one.io).met, BATON_STOP_QUEUED);
}

static void stop_windowed(void)
{
	cr_assert_eq(baton_window_cancel_task(&one.windowed.task), 0);
}

static void stop_window(void)
{
	cr_assert_eq(baton_window_cancel(&one.window), 0);
}

static const struct sort {
	const char *name;
	int (*put)(void);
	void (*stop)(void);
	struct baton_future *future; /* NULL: none, or that which async makes */
	uint32_t can;
} sorts[] = {
	{"submit", put_task, NULL, NULL, CAN_DROP | CAN_FAIL | CAN_DETACH},
	{"submit, future", put_with_future, NULL, &one.future,
         CAN_DROP | CAN_FAIL | CAN_DETACH | CAN(BY_FUTURE)},
	{"submit_later", put_later, NULL, NULL, CAN_DROP | CAN(FAILS)},
	{"submit_batch", put_batch, NULL, &one.future, CAN_DROP | CAN_FAIL | CAN(BY_FUTURE)},
	{"stamped", put_stamped, NULL, &one.future,
         CAN_DROP | CAN_FAIL | CAN_DETACH | CAN(BY_FUTURE) | CAN(BY_TAG)},
	{"typed", put_typed, NULL, &one.future,
         CAN_DROP | CAN_FAIL | CAN_DETACH | CAN(BY_FUTURE) | CAN(BY_TAG)},
	{"post", put_post, NULL, NULL, CAN_DROP | CAN(RUNS_AT_ONCE)},
	{"post_with", put_post_with, NULL, NULL, CAN_DROP | CAN(RUNS_AT_ONCE) | CAN(BY_TAG)},
	{"async", put_async, NULL, NULL, CAN_DROP | CAN(RUNS_AT_ONCE) | CAN(BY_FUTURE)},
	{"async_with", put_async_with, NULL, NULL,
         CAN_DROP | CAN(RUNS_AT_ONCE) | CAN(BY_FUTURE) | CAN(BY_TAG)},
	{"call", put_call, NULL, NULL, CAN(RUNS) | CAN(RUNS_AT_ONCE) | CAN(REFUSED)},
	{"late call", put_late_call, stop_nothing, NULL, CAN(BY_STOP)},
	{"try_call", put_try_call, NULL, NULL, CAN(RUNS_AT_ONCE) | CAN(REFUSED)},
	{"item", put_item, stop_item, NULL, CAN_RUN | CAN_FAIL | CAN(BY_STOP)},
	{"item, later", put_item_later, stop_item, NULL, CAN_RUN | CAN(FAILS) | CAN(BY_STOP)},
	{"item, label", put_stamped_item, stop_item, NULL,
         CAN_RUN | CAN_FAIL | CAN(BY_STOP) | CAN(BY_TAG)},
	{"item behind", put_item_behind, NULL, NULL, CAN(AT_ONCE)},
	{"trigger", put_trigger, stop_trigger, NULL,
         CAN_RUN | CAN(RUNS_AT_ONCE) | CAN(BY_STOP) | CAN(BY_TAG)},
	{"timer", put_timer, stop_timer, NULL,
         CAN_RUN | CAN(RUNS_AT_ONCE) | CAN(BY_STOP) | CAN(BY_TAG)},
	{"repeated timer", put_repeated_timer, stop_timer, NULL,
         CAN(RUNS) | CAN(BY_PENDING) | CAN(BY_STOP) | CAN(BY_TAG)},
	{"io", put_io, stop_io, NULL,
         CAN(RUNS) | CAN(BY_PENDING) | CAN(PUSHED_OUT) | CAN(BY_STOP) | CAN(BY_TAG)},
	{"windowed", put_windowed, stop_windowed, &one.future,
         CAN_DROP | CAN_FAIL | CAN_DETACH | CAN(BY_FUTURE) | CAN(BY_TAG) | CAN(BY_STOP)},
	{"in a window", put_in_window, stop_window, &one.future,
         CAN(RUNS) | CAN(FAILS) | CAN(BY_STOP)},
	{"in a window, alone", put_in_window, stop_windowed, &one.future, CAN(BY_STOP)},
	{"continuation", put_continuation, NULL, &one.future,
         CAN_RUN | CAN_FAIL | CAN_DETACH | CAN(BY_FUTURE)},
};

#endif
