/* SPDX-License-Identifier: MIT */
/*
 * An operation that concerns one of many queued tasks costs the same whatever else is queued (L12):
 * 100,000 of each operation take milliseconds here, and minutes where each walks over all other
 * tasks. No clock is read: the time-outs tell.
 */
#include "stash.h"

#include <baton/detach.h>
#include <baton/lane.h>
#include <baton/suspend.h>
#include <baton/window.h>

enum { MANY = 100000 };

struct many;

struct piece {
	struct baton_task task;
	struct baton_future future;
	struct baton_detached token;
	struct many *many;
};

struct many {
	struct stash stash;
	struct baton_resource_config config;
	struct baton_resource resource;
	struct baton_lane lane;
	struct baton_lanes lanes;
	struct piece *pieces;
	size_t count;
	size_t ran;
	size_t next; /* the one that is to run next, or a later one */
	int errors;
};

static void ran(struct piece *piece)
{
	struct many *many = piece->many;
	size_t index = (size_t)(piece - many->pieces);

	many->errors += index < many->next;
	many->next = index + 1;
	many->ran++;
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
	piece->many->errors += baton_detach(&piece->token, BATON_DETACH_HOLD) != 0;
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

static struct many *many_of(baton_task_fn fn)
{
	struct many *many = calloc(1, sizeof(*many));

	MUST(many);
	stash_init(&many->stash);
	many->count = (size_t)scaled(MANY);
	many->pieces = calloc(many->count, sizeof(*many->pieces));
	MUST(many->pieces);
	many->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	many->config.capture_limit = UINT32_MAX;
	many->config.quantum = UINT32_MAX;
	many->config.executor = &many->stash.executor;
	baton_resource_init(&many->resource, NULL, NULL, &many->config);
	for (size_t i = 0; i < many->count; i++) {
		struct piece *piece = &many->pieces[i];

		piece->many = many;
		baton_detached_init(&piece->token);
		baton_future_init(&piece->future);
		baton_task_init(&piece->task, fn, &piece->future);
	}
	return many;
}

/* The same; the resource has one lane. */
static struct many *many_in_a_lane(baton_task_fn fn)
{
	struct many *many = many_of(fn);

	baton_lanes_init(&many->lanes, &many->lane, 1, NULL);
	baton_resource_set_lanes(&many->resource, &many->lanes);
	return many;
}

/* Leaves piece `i` at the queued resource; half of them without futures. */
static void leave(struct many *many, size_t i, bool with_future)
{
	if (!with_future)
		many->pieces[i].task._future = NULL;
	MUST(baton_submit_later(&many->resource, &many->pieces[i].task) == 0);
}

/* A long inbox is handed off: often, so the stash begins anew. */
static void serve(struct many *many)
{
	stash_run(&many->stash);
	atomic_store(&many->stash.count, 0);
	many->stash.next = 0;
}

static void many_end(struct many *many, size_t expected)
{
	stash_run(&many->stash);
	cr_assert_eq(many->ran, expected, "%zu", many->ran);
	cr_assert_eq(many->errors, 0);
	resource_end(&many->resource);
	free(many->pieces);
	free(many);
}

Test(linear, holds, .timeout = 20)
{
	struct many *many = many_of(holds);

	for (size_t i = 0; i < many->count; i++)
		leave(many, i, i % 2);
	stash_run(&many->stash);
	for (size_t i = 0; i < many->count; i++) {
		cr_assert_eq(many->ran, i + 1);
		cr_assert_eq(baton_detached_complete(&many->pieces[i].token, 0, NULL), 0);
		serve(many);
	}
	many_end(many, many->count);
}

/* The same, while other tasks come: a hold looks not only at tasks that were there before. */
Test(linear, holds_while_others_come, .timeout = 20)
{
	struct many *many = many_of(holds);

	for (size_t i = 0; i < many->count / 2; i++)
		leave(many, i, i % 2);
	stash_run(&many->stash);
	for (size_t i = 0; i < many->count; i++) {
		if (i < many->count / 2)
			leave(many, many->count / 2 + i, i % 2);
		cr_assert_eq(many->ran, i + 1);
		cr_assert_eq(baton_detached_complete(&many->pieces[i].token, 0, NULL), 0);
		serve(many);
	}
	many_end(many, many->count / 2 * 2);
}

Test(linear, suspensions_inside, .timeout = 20)
{
	struct many *many = many_of(suspends);

	for (size_t i = 0; i < many->count; i++)
		leave(many, i, i % 2);
	many_end(many, many->count);
}

Test(linear, suspensions_from_outside, .timeout = 20)
{
	struct many *many = many_of(runs);
	struct baton_suspension now = BATON_SUSPENSION_INIT;
	struct baton_suspension next = BATON_SUSPENSION_INIT;

	for (size_t i = 0; i < many->count; i++)
		leave(many, i, i % 2);
	cr_assert_eq(baton_resource_suspend(&many->resource, &now), 0);
	stash_run(&many->stash);
	for (size_t i = 0; i < many->count; i++) {
		cr_assert(baton_suspension_is_effective(&now));
		cr_assert_eq(many->ran, 0);
		cr_assert_eq(baton_resource_suspend(&many->resource, &next), 0);
		cr_assert_eq(baton_resource_resume(&now), 0);
		serve(many);
		now = next;
		next = (struct baton_suspension)BATON_SUSPENSION_INIT;
	}
	cr_assert_eq(baton_resource_resume(&now), 0);
	many_end(many, many->count);
}

/* In which order they are cancelled, half of them in vain: their tasks are to run. */
static size_t forwards(size_t i, size_t count)
{
	(void)count;
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

Test(linear, cancels, .timeout = 20)
{
	static size_t (*const orders[])(size_t i, size_t count) = {forwards, backwards, scattered};

	for (size_t order = 0; order < 6; order++) {
		struct many *many = order < 3 ? many_of(runs) : many_in_a_lane(runs);

		/* Each cancel takes out a task that is in the list by then, or in the inbox. */
		for (size_t i = 0; i < many->count; i++) {
			leave(many, i, i % 3);
			if (i == many->count / 2)
				cr_assert_eq(baton_future_cancel(&many->pieces[1].future), 0);
		}
		for (size_t i = 0; i < many->count; i++) {
			size_t which = orders[order % 3](i, many->count);
			struct piece *piece = &many->pieces[which];

			if (which % 3 == 0 || which == 1)
				continue;
			cr_assert_eq(baton_future_cancel(&piece->future), 0);
			cr_assert_eq(baton_future_state(&piece->future), BATON_CANCELLED,
			             "at once");
		}
		many_end(many, (many->count + 2) / 3);
	}
}

Test(linear, cancels_of_the_newest, .timeout = 20)
{
	struct many *many = many_of(runs);

	for (size_t i = 0; i < many->count; i++)
		leave(many, i, false);
	for (size_t i = 0; i < many->count; i++) {
		struct baton_future future = BATON_FUTURE_INIT;
		struct baton_task task = BATON_TASK_INIT(runs, &future);

		cr_assert_eq(baton_submit_later(&many->resource, &task), 0);
		cr_assert_eq(baton_future_cancel(&future), 0);
		cr_assert_eq(baton_future_state(&future), BATON_CANCELLED);
	}
	many_end(many, many->count);
}

/* ---- Windows ---- */

struct windowed {
	struct baton_windowed windowed;
	struct baton_future future;
};

static int never_runs(struct baton_task *task)
{
	(void)task;
	return 1;
}

/* Half of the tasks wait in one window, half in the other. */
static struct windowed *windowed_of(struct many *many, struct baton_window *windows)
{
	struct windowed *all = calloc(many->count, sizeof(*all));

	MUST(all);
	for (size_t i = 0; i < 2; i++)
		baton_window_init(&windows[i], &many->resource, 0);
	for (size_t i = 0; i < many->count; i++) {
		baton_future_init(&all[i].future);
		baton_windowed_init(&all[i].windowed, &windows[i % 2], never_runs, &all[i].future);
		MUST(baton_submit(&many->resource, &all[i].windowed.task) == 0);
	}
	return all;
}

/* The resource is idle; or queued, and its job runs after each cancel, or after the last one. */
enum served { IDLE, AFTER_EACH, AFTER_ALL, WAYS };

static void cancel_windowed(enum served served, size_t (*order)(size_t i, size_t count))
{
	struct many *many = many_of(runs);
	struct baton_window windows[2];
	struct windowed *all = windowed_of(many, windows);

	for (size_t i = 0; i < many->count; i++) {
		struct windowed *one = &all[order(i, many->count)];

		if (served != IDLE)
			leave(many, i, i % 2);
		cr_assert_eq(baton_windowed_cancel(&one->windowed), 0);
		if (served == AFTER_EACH)
			serve(many);
		if (served == AFTER_ALL)
			continue;
		cr_assert_eq(baton_future_state(&one->future), BATON_CANCELLED, "at once");
		cr_assert_eq(baton_window_waiting(&windows[0]) + baton_window_waiting(&windows[1]),
		             many->count - 1 - i);
	}
	serve(many);
	for (size_t i = 0; i < many->count; i++)
		cr_assert_eq(baton_future_state(&all[i].future), BATON_CANCELLED);
	many_end(many, served == IDLE ? 0 : many->count);
	baton_window_deinit(&windows[0]);
	baton_window_deinit(&windows[1]);
	free(all);
}

Test(linear, windowed_cancels, .timeout = 20)
{
	static size_t (*const orders[])(size_t i, size_t count) = {forwards, backwards, scattered};

	for (size_t order = 0; order < 3; order++)
		for (int served = 0; served < WAYS; served++)
			cancel_windowed((enum served)served, orders[order]);
}

/* A window has let its tasks go, and they wait for the runner of the queued resource. */
static void cancel_admitted(struct many *many, size_t (*order)(size_t i, size_t count))
{
	struct baton_window windows[2];
	struct windowed *all = windowed_of(many, windows);
	size_t in_vain = 0;

	many->config.quantum = 2;
	leave(many, 0, false);
	cr_assert_eq(baton_window_set_limit(&windows[0], (uint32_t)many->count), 0);
	while (baton_window_waiting(&windows[0]))
		cr_assert(stash_run_one(&many->stash));
	for (size_t i = 0; i < many->count; i++) {
		size_t which = order(i, many->count);

		if (which % 2)
			continue;
		in_vain += baton_future_cancel(&all[which].future) != 0;
		cr_assert(baton_future_is_complete(&all[which].future), "at once");
	}
	cr_assert_leq(in_vain, 4U, "a few have run: %zu", in_vain);
	cr_assert_eq(baton_window_cancel(&windows[1]), 0);
	many_end(many, 1);
	baton_window_deinit(&windows[0]);
	baton_window_deinit(&windows[1]);
	free(all);
}

Test(linear, cancels_of_admitted, .timeout = 20)
{
	static size_t (*const orders[])(size_t i, size_t count) = {forwards, backwards, scattered};

	for (size_t order = 0; order < 3; order++) {
		cancel_admitted(many_of(runs), orders[order]);
		cancel_admitted(many_in_a_lane(runs), orders[order]);
	}
}

/* ---- */

/* Each of all that the next one is told of has gone, when it is told. */
Test(linear, cancel_pending_inside, .timeout = 20)
{
	struct many *many = many_of(is_told);

	for (size_t i = 0; i < many->count; i++)
		leave(many, i, i % 2);
	stash_run(&many->stash);
	cr_assert_eq(many->ran, 1);
	for (size_t i = 1; i < many->count; i++)
		if (many->pieces[i].task._future)
			cr_assert_eq(baton_future_state(&many->pieces[i].future), BATON_CANCELLED);
	many_end(many, 1);
}
