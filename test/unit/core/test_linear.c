/* SPDX-License-Identifier: MIT */
/*
 * An operation that concerns one of many queued tasks costs the same whatever else is queued (L12).
 * Each test counts the tasks that its operations touch, with some tasks and with twice as many:
 * twice as many operations touch about twice as many tasks, and four times as many where each
 * operation walks over the other tasks.
 */
#include "stash.h"
#include "touched.h"

#include <baton/detach.h>
#include <baton/lane.h>
#include <baton/suspend.h>
#include <baton/window.h>

#include "../parts.h"

enum { SOME = 200 };

struct many;

struct piece {
	struct baton_task task;
	struct baton_future future;
	struct baton_detached token;
	struct windowed windowed;
	struct baton_future windowed_future;
	struct many *many;
	size_t index;
};

struct many {
	struct stash stash;
	struct baton_resource_config config;
	struct baton_resource resource;
	struct baton_lane lane;
	struct baton_lanes lanes;
	struct baton_window windows[2];
	size_t count;
	size_t ran;
	size_t next; /* the one that is to run next, or a later one */
	int errors;
};

static struct piece *at(size_t i)
{
	return touched_at(i);
}

static void ran(struct piece *piece)
{
	struct many *many = piece->many;
	size_t index = piece->index;

	many->errors += index < many->next;
	many->next = index + 1;
	many->ran++;
	touched_hide();
}

static int runs(struct baton_task *task)
{
	ran(baton_container_of(task, struct piece, task));
	return 0;
}

static int holds(struct baton_task *task)
{
	struct piece *piece = baton_container_of(task, struct piece, task);

	ran(piece);
	piece->many->errors += baton_detach(&piece->token, BATON_DETACH_EXCLUSIVE) != 0;
	return 0;
}

static int suspends(struct baton_task *task)
{
	struct piece *piece = baton_container_of(task, struct piece, task);
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	ran(piece);
	piece->many->errors += baton_resource_suspend(&piece->many->resource, &suspension) != 0;
	piece->many->errors += baton_resource_resume(&suspension) != 0;
	return 0;
}

static int is_told(struct baton_task *task)
{
	struct piece *piece = baton_container_of(task, struct piece, task);

	ran(piece);
	piece->many->errors += baton_resource_cancel_pending(&piece->many->resource) != 0;
	return 0;
}

static int never_runs(struct baton_task *task)
{
	return 1;
}

/* ---- The way of a test ---- */

/* In which order tasks are cancelled. */
static size_t forwards(size_t i, size_t count)
{
	return i;
}

static size_t backwards(size_t i, size_t count)
{
	return count - 1 - i;
}

static size_t scattered(size_t i, size_t count)
{
	return i * 7919 % count;
}

/* The resource is idle; or queued, and its job runs after each cancel, or after the last one. */
enum served { IDLE, AFTER_EACH, AFTER_ALL, WAYS };

struct how {
	baton_task_fn fn;
	size_t (*order)(size_t i, size_t count);
	enum served served;
	bool with_lane;
};

static struct many *many_of(const struct how *how, size_t count)
{
	struct many *many = calloc(1, sizeof(*many));

	MUST(many);
	stash_init(&many->stash);
	many->count = count;
	many->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	many->config.capture_max = UINT32_MAX;
	many->config.quantum = UINT32_MAX;
	many->config.executor = &many->stash.executor;
	baton_resource_init(&many->resource, &many->config);
	baton_lanes_init(&many->lanes, &many->lane, 1, NULL);
	if (how->with_lane)
		baton_resource_set_lanes(&many->resource, &many->lanes);
	for (size_t i = 0; i < 2; i++)
		baton_window_init(&many->windows[i], &many->resource, 0);
	touched_create(count, sizeof(struct piece));
	for (size_t i = 0; i < count; i++) {
		struct piece *piece = at(i);

		piece->many = many;
		piece->index = i;
		baton_detached_init(&piece->token);
		baton_future_init(&piece->future);
		baton_task_init(&piece->task, how->fn, &piece->future);
		baton_future_init(&piece->windowed_future);
		windowed_init(&piece->windowed, &many->windows[i % 2], never_runs,
		              &piece->windowed_future);
	}
	return many;
}

/* Leaves piece `i` at the queued resource; half of them without futures. */
static void leave(struct many *many, size_t i, bool with_future)
{
	touched_hide();
	if (!with_future)
		at(i)->task._future = NULL;
	MUST(baton_submit_later(&many->resource, &at(i)->task) == 0);
}

static void leave_all(struct many *many)
{
	for (size_t i = 0; i < many->count; i++)
		leave(many, i, i % 2);
}

/* A long inbox is handed off: often, so the stash begins anew. */
static void serve(struct many *many)
{
	touched_hide();
	stash_run(&many->stash);
	atomic_store(&many->stash.count, 0);
	many->stash.next = 0;
}

static void many_end(struct many *many)
{
	serve(many);
	cr_assert_eq(many->errors, 0);
	resource_end(&many->resource);
	for (size_t i = 0; i < 2; i++)
		baton_window_deinit(&many->windows[i]);
	free(many);
}

typedef void operations_fn(struct many *many, const struct how *how);

/* How many tasks do the operations touch? `ran`: how many tasks run. */
static size_t touches(operations_fn *operations, const struct how *how, size_t count, size_t *ran)
{
	struct many *many = many_of(how, count);
	size_t total;

	touched_begin();
	operations(many, how);
	serve(many);
	*ran = many->ran;
	total = touched_end();
	many_end(many);
	touched_destroy();
	return total;
}

/* Returns how many of SOME tasks have run. */
static size_t are_linear(operations_fn *operations, const struct how *how)
{
	size_t ran;
	size_t ran_twice;
	size_t some = touches(operations, how, SOME, &ran);
	size_t twice = touches(operations, how, (size_t)2 * SOME, &ran_twice);

	cr_assert_geq(some, SOME, "the count counts nothing");
	cr_assert_leq(twice, 2 * some + some / 2, "%zu, and with twice as many %zu", some, twice);
	return ran;
}

/* ---- Holds ---- */

static void complete(struct many *many, size_t i)
{
	touched_hide();
	cr_assert_eq(many->ran, i + 1);
	cr_assert_eq(baton_detached_complete(&at(i)->token, 0, NULL), 0);
	serve(many);
}

static void hold(struct many *many, const struct how *how)
{
	leave_all(many);
	stash_run(&many->stash);
	for (size_t i = 0; i < many->count; i++)
		complete(many, i);
}

Test(linear, holds, .timeout = 20)
{
	for (int lanes = 0; lanes < 2; lanes++)
		cr_assert_eq(are_linear(hold, &(struct how){.fn = holds, .with_lane = lanes}),
		             SOME);
}

/* The same, while other tasks come: a hold looks not only at tasks that were there before. */
static void hold_while_others_come(struct many *many, const struct how *how)
{
	for (size_t i = 0; i < many->count / 2; i++)
		leave(many, i, i % 2);
	stash_run(&many->stash);
	for (size_t i = 0; i < many->count; i++) {
		if (i < many->count / 2)
			leave(many, many->count / 2 + i, i % 2);
		complete(many, i);
	}
}

Test(linear, holds_while_others_come, .timeout = 20)
{
	for (int lanes = 0; lanes < 2; lanes++)
		cr_assert_eq(are_linear(hold_while_others_come,
		                        &(struct how){.fn = holds, .with_lane = lanes}),
		             SOME);
}

/* ---- Suspensions ---- */

static void run_all(struct many *many, const struct how *how)
{
	leave_all(many);
	serve(many);
}

Test(linear, suspensions_inside, .timeout = 20)
{
	for (int lanes = 0; lanes < 2; lanes++)
		cr_assert_eq(are_linear(run_all, &(struct how){.fn = suspends, .with_lane = lanes}),
		             SOME);
}

static void suspend_from_outside(struct many *many, const struct how *how)
{
	struct baton_suspension now = BATON_SUSPENSION_INIT;
	struct baton_suspension next = BATON_SUSPENSION_INIT;

	leave_all(many);
	cr_assert_eq(baton_resource_suspend(&many->resource, &now), 0);
	stash_run(&many->stash);
	for (size_t i = 0; i < many->count; i++) {
		touched_hide();
		cr_assert(baton_suspension_is_effective(&now));
		cr_assert_eq(many->ran, 0);
		cr_assert_eq(baton_resource_suspend(&many->resource, &next), 0);
		cr_assert_eq(baton_resource_resume(&now), 0);
		serve(many);
		now = next;
		next = (struct baton_suspension)BATON_SUSPENSION_INIT;
	}
	cr_assert_eq(baton_resource_resume(&now), 0);
}

Test(linear, suspensions_from_outside, .timeout = 20)
{
	for (int lanes = 0; lanes < 2; lanes++)
		cr_assert_eq(are_linear(suspend_from_outside,
		                        &(struct how){.fn = runs, .with_lane = lanes}),
		             SOME);
}

/* ---- Cancels ---- */

static size_t (*const orders[])(size_t i, size_t count) = {forwards, backwards, scattered};

/* Of the tasks, a third has no future. */
static void cancel(struct many *many, const struct how *how)
{
	/* Each cancel takes out a task that is in the list by then, or in the inbox. */
	for (size_t i = 0; i < many->count; i++) {
		leave(many, i, i % 3);
		if (i == many->count / 2)
			cr_assert_eq(baton_future_cancel(&at(1)->future), 0);
	}
	for (size_t i = 0; i < many->count; i++) {
		size_t which = how->order(i, many->count);

		if (which % 3 == 0 || which == 1)
			continue;
		touched_hide();
		cr_assert_eq(baton_future_cancel(&at(which)->future), 0);
		cr_assert_eq(baton_future_state(&at(which)->future), BATON_CANCELLED, "at once");
	}
}

Test(linear, cancels, .timeout = 20)
{
	for (size_t order = 0; order < 6; order++)
		cr_assert_eq(are_linear(cancel, &(struct how){.fn = runs,
		                                              .order = orders[order % 3],
		                                              .with_lane = order < 3}),
		             (SOME + 2) / 3);
}

static void cancel_newest(struct many *many, const struct how *how)
{
	for (size_t i = 0; i < many->count; i++)
		leave(many, i, false);
	for (size_t i = 0; i < many->count; i++) {
		struct baton_future future = BATON_FUTURE_INIT;
		struct baton_task task = BATON_TASK_INIT(runs, &future);

		touched_hide();
		cr_assert_eq(baton_submit_later(&many->resource, &task), 0);
		cr_assert_eq(baton_future_cancel(&future), 0);
		cr_assert_eq(baton_future_state(&future), BATON_CANCELLED);
	}
}

Test(linear, cancels_of_the_newest, .timeout = 20)
{
	for (int lanes = 0; lanes < 2; lanes++)
		cr_assert_eq(
			are_linear(cancel_newest, &(struct how){.fn = runs, .with_lane = lanes}),
			SOME);
}

/* Each of all that the next one is told of has gone, when it is told. */
static void tell(struct many *many, const struct how *how)
{
	run_all(many, how);
	cr_assert_eq(many->ran, 1);
	for (size_t i = 1; i < many->count; i++)
		if (at(i)->task._future)
			cr_assert_eq(baton_future_state(&at(i)->future), BATON_CANCELLED);
}

Test(linear, cancel_pending_inside, .timeout = 20)
{
	for (int lanes = 0; lanes < 2; lanes++)
		cr_assert_eq(are_linear(tell, &(struct how){.fn = is_told, .with_lane = lanes}), 1);
}

/* ---- Windows ---- */

/* Half of the tasks wait in one window, half in the other. */
static void submit_windowed(struct many *many)
{
	for (size_t i = 0; i < many->count; i++) {
		touched_hide();
		MUST(baton_submit(&many->resource, &at(i)->windowed.task) == 0);
	}
}

static void cancel_windowed(struct many *many, const struct how *how)
{
	submit_windowed(many);
	for (size_t i = 0; i < many->count; i++) {
		struct piece *piece = at(how->order(i, many->count));

		if (how->served != IDLE)
			leave(many, i, i % 2);
		touched_hide();
		cr_assert_eq(baton_window_cancel_task(&piece->windowed.task), 0);
		if (how->served == AFTER_EACH)
			serve(many);
		if (how->served == AFTER_ALL)
			continue;
		cr_assert_eq(baton_future_state(&piece->windowed_future), BATON_CANCELLED,
		             "at once");
		cr_assert_eq(baton_window_waiting(&many->windows[0]) +
		                     baton_window_waiting(&many->windows[1]),
		             many->count - 1 - i);
	}
	serve(many);
	for (size_t i = 0; i < many->count; i++)
		cr_assert_eq(baton_future_state(&at(i)->windowed_future), BATON_CANCELLED);
}

Test(linear, windowed_cancels, .timeout = 20)
{
	for (size_t order = 0; order < 6; order++)
		for (int served = 0; served < WAYS; served++)
			cr_assert_eq(are_linear(cancel_windowed,
			                        &(struct how){.fn = runs,
			                                      .order = orders[order % 3],
			                                      .served = (enum served)served,
			                                      .with_lane = order < 3}),
			             served == IDLE ? 0 : SOME);
}

/* A window has let its tasks go, and they wait for the runner of the queued resource. */
static void cancel_admitted(struct many *many, const struct how *how)
{
	size_t in_vain = 0;

	submit_windowed(many);
	many->config.quantum = 2;
	leave(many, 0, false);
	cr_assert_eq(baton_window_set_limit(&many->windows[0], (uint32_t)many->count), 0);
	while (baton_window_waiting(&many->windows[0])) {
		touched_hide();
		cr_assert(stash_run_one(&many->stash));
	}
	for (size_t i = 0; i < many->count; i++) {
		size_t which = how->order(i, many->count);

		if (which % 2)
			continue;
		touched_hide();
		in_vain += baton_future_cancel(&at(which)->windowed_future) != 0;
		cr_assert(baton_future_is_complete(&at(which)->windowed_future), "at once");
	}
	cr_assert_leq(in_vain, 4U, "a few have run: %zu", in_vain);
	cr_assert_eq(baton_window_cancel(&many->windows[1]), 0);
}

Test(linear, cancels_of_admitted, .timeout = 20)
{
	for (size_t order = 0; order < 6; order++)
		cr_assert_eq(are_linear(cancel_admitted, &(struct how){.fn = runs,
		                                                       .order = orders[order % 3],
		                                                       .with_lane = order < 3}),
		             1);
}
