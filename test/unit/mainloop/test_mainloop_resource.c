/* SPDX-License-Identifier: MIT */
/* A main loop's resource is the user's, too: on a board, bounded, its pending tasks cancelled. */
#include "mainloop_support.h"

#include <baton/board.h>
#include <baton/bound.h>
#include <baton/lane.h>
#include <baton/suspend.h>

#define START(lettered) cr_assert_eq(baton_source_start(&(lettered).source), 0)

static struct lettered a = LETTERED(idle, a);
static struct lettered b = LETTERED(idle, b);

static int cancel_all(struct lettered *lettered)
{
	(void)lettered;
	return baton_resource_cancel_pending(baton_mainloop_resource(&loop));
}

static void *nothing(void *arg)
{
	return arg;
}

static void drop_oldest(void)
{
	static struct baton_bound_config config = BATON_BOUND_CONFIG_INIT;
	static struct baton_bound bound;
	static struct baton_lanes lanes;
	static struct baton_lane lane;

	config.policy = BATON_BOUND_DROP_OLDEST;
	config.tasks_max = 1;
	baton_lanes_init(&lanes, &lane, 1, NULL);
	baton_resource_set_lanes(baton_mainloop_resource(&loop), &lanes);
	baton_bound_init(&bound, &config);
	baton_resource_set_bound(baton_mainloop_resource(&loop), &bound);
}

static struct baton_resource_stats *stats;

static int runs_the_loop(struct lettered *lettered)
{
	cr_assert_eq(load_relaxed(&stats->_function), (uintptr_t)lettered_run);
	return lettered == &a ? baton_mainloop_run(&loop, 10) != 1 : 0;
}

static void *drains(void *arg)
{
	cr_assert_eq(baton_mainloop_drain_until(&loop, BATON_NEVER), 1);
	cr_assert_eq(load_relaxed(&stats->_function), (uintptr_t)drains);
	return arg;
}

Test(mainloop_resource, a_board_shows_the_function_of_the_source, .timeout = 10)
{
	struct baton_resource *resource;
	struct baton_board *board;

	cr_assert_eq(baton_board_create(NULL, &board), 0);
	virtual_loop(0);
	resource = baton_mainloop_resource(&loop);
	cr_assert_eq(baton_board_join(board, resource, NULL, &stats), 0);
	a.act = b.act = runs_the_loop;
	START(a);
	START(b);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	START(b);
	cr_assert_eq(baton_call(resource, drains, NULL, NULL), 0);
	cr_assert_eq(load_relaxed(&stats->_function), 0);
	cr_assert_str_eq(log_take(), "abb");
	cr_assert_eq(baton_resource_close(resource), 0);
	cr_assert_eq(baton_resource_await(resource), 0);
	baton_board_leave(board, resource);
	loop_end(0);
	baton_board_destroy(board);
}

/* The task that runs the sources is queued, and cancelled, or dropped for another one. */
static void suspended_run(bool drops)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	cr_assert_eq(baton_resource_suspend(baton_mainloop_resource(&loop), &suspension), 0);
	START(a);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	cr_assert(!loop_readable(0));
	cr_assert_eq(baton_mainloop_next(&loop), BATON_NEVER, "the host sleeps until the resume");
	if (drops)
		cr_assert_eq(baton_post(baton_mainloop_resource(&loop), nothing, NULL), 0);
	else
		cr_assert_eq(cancel_all(&a), 0);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	while (baton_source_is_active(&a.source)) {
		cr_assert(loop_readable(0));
		cr_assert_geq(baton_mainloop_run(&loop, 10), 0);
	}
}

/* A wait of the owner's drives the executor, and there is no round that would queue the turn
 * again: the host comes, since it has been called for the job, and submits the turn. */
Test(mainloop_resource, a_turn_that_is_cancelled_in_a_wait_is_submitted_again, .timeout = 10)
{
	struct baton_resource *resource;
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	virtual_loop(0);
	resource = baton_mainloop_resource(&loop);
	cr_assert_eq(baton_resource_suspend(resource, &suspension), 0);
	START(a);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	cr_assert_eq(cancel_all(&a), 0);
	cr_assert_eq(baton_resource_resume_later(&suspension), 0);
	cr_assert_eq(baton_resource_await(resource), 0);
	cr_assert_str_eq(log_take(), "");
	cr_assert(loop_readable(0));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	cr_assert_str_eq(log_take(), "a");
	loop_end(0);
}

Test(mainloop_resource, what_is_cancelled_or_dropped_there_stops_no_source, .timeout = 10)
{
	virtual_loop(0);
	drop_oldest();
	a.act = cancel_all;
	START(a);
	START(b);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 2);
	a.act = NULL;
	suspended_run(false);
	suspended_run(true);
	cr_assert_str_eq(log_take(), "abaa");
	loop_end(0);
}
