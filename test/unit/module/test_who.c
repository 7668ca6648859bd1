/* SPDX-License-Identifier: MIT */
/* Who has suspended a resource is told: on a board, and to a debugger. */
#include "support.h"

#include "core/turn.h"
#include "inspect/stuck.h"

#include <baton/call.h>
#include <baton/detach.h>
#include <baton/lane.h>
#include <baton/suspend.h>

static struct baton_board *board;
static struct baton_resource topic, other;
static struct baton_suspension suspensions[2];
static struct baton_lane lane_array[2];
static struct baton_lanes lanes;

static void begin(void)
{
	cr_assert_eq(baton_board_create(NULL, &board), 0);
	baton_resource_init(&topic, NULL);
	baton_lanes_init(&lanes, lane_array, 2, NULL);
	baton_resource_set_lanes(&topic, &lanes);
	cr_assert_eq(baton_board_join(board, &topic, "topic", NULL), 0);
	baton_resource_init(&other, NULL);
	cr_assert_eq(baton_board_join(board, &other, "other", NULL), 0);
}

static void over(struct baton_resource *resource)
{
	cr_assert_eq(baton_resource_close(resource), 0);
	cr_assert_eq(baton_resource_await(resource), 0);
	baton_board_leave(board, resource);
}

static void end(void)
{
	over(&topic);
	over(&other);
	baton_board_destroy(board);
}

static void *nothing(void *arg)
{
	return arg;
}

/* A task in the lower lane waits; in this process a board says why and because of whom. */
static void expect(enum baton__cause cause, int thread, baton_call_fn function,
                   const struct baton_resource *resource)
{
	static const struct baton_label low = {.lane = 1};
	const struct baton_call_options options = {.fn = nothing, .label = &low};
	const struct baton__board_line *line = baton__line_at(board->file, &topic);
	struct baton__who who;

	cr_assert_eq(baton_post_with(&topic, &options), 0);
	baton_board_refresh(board);
	cr_assert_eq(line->cause, cause, "%u", line->cause);
	who = baton__cause_who(line, cause);
	cr_assert_eq(who.thread, thread, "%u", who.thread);
	cr_assert_eq(who.function, (uintptr_t)function);
	cr_assert_eq(who.resource, resource);
}

/* Says so to a debugger, too (who.guest in module/who.c). */
static void expect_told(const struct baton_resource *resource, int thread, bool detached)
{
	cr_assert_eq((uintptr_t)resource->_job._next,
	             (uintptr_t)thread << 3 | (detached ? 2 : 0) | 1);
}

static void *suspend_it(void *arg)
{
	MUST(baton_resource_suspend(arg, &suspensions[0]) == 0);
	return NULL;
}

static void *suspend_lower(void *arg)
{
	MUST(baton_resource_suspend_lower(arg, &suspensions[0]) == 0);
	return NULL;
}

static void *withdraw(void *arg)
{
	MUST(baton_resource_suspend(arg, &suspensions[1]) == 0);
	MUST(baton_resource_resume(&suspensions[1]) == 0);
	return NULL;
}

static void resume(void)
{
	cr_assert_eq(baton_resource_resume(&suspensions[0]), 0);
	cr_assert_eq(baton_resource_await(&topic), 0);
}

Test(who, an_idle_resource_is_suspended_in_no_task_and_in_one, .timeout = 5)
{
	begin();
	(void)suspend_it(&topic);
	expect(BATON__CAUSE_SUSPENDED, gettid(), NULL, NULL);
	expect_told(&topic, gettid(), false);
	resume();
	cr_assert_eq(baton_call(&other, suspend_it, &topic, NULL), 0);
	expect(BATON__CAUSE_SUSPENDED, gettid(), suspend_it, &other);
	expect_told(&topic, gettid(), false);
	resume();
	end();
}

static struct {
	atomic_bool runs, go;
} runner;

static void *run_until_told(void *arg)
{
	atomic_store(&runner.runs, true);
	while (!atomic_load(&runner.go))
		sched_yield();
	return arg;
}

static void *call_until_told(void *arg)
{
	MUST(baton_call(arg, run_until_told, NULL, NULL) == 0);
	return NULL;
}

/* Another thread runs a task of the topic, and meets the mark. */
static void suspend_beside_a_task(baton_call_fn suspend)
{
	pthread_t thread;

	runner.runs = runner.go = false;
	thread = thread_start(call_until_told, &topic);
	while (!atomic_load(&runner.runs))
		sched_yield();
	cr_assert_eq(baton_call(&other, suspend, &topic, NULL), 0);
	atomic_store(&runner.go, true);
	thread_join(thread);
	cr_assert_eq(baton_suspension_wait(&suspensions[0]), 0);
}

Test(who, not_the_runner_that_meets_the_mark, .timeout = 5)
{
	begin();
	suspend_beside_a_task(suspend_it);
	expect(BATON__CAUSE_SUSPENDED, gettid(), suspend_it, &other);
	expect_told(&topic, gettid(), false);
	resume();
	suspend_beside_a_task(suspend_lower);
	expect(BATON__CAUSE_LANES, gettid(), suspend_lower, &other);
	resume();
	end();
}

Test(who, of_the_lower_lanes_one_of_several_is_not_known, .timeout = 5)
{
	begin();
	cr_assert_eq(baton_resource_suspend_lower(&topic, &suspensions[1]), 0);
	expect(BATON__CAUSE_LANES, gettid(), NULL, NULL);
	cr_assert_eq(baton_call(&other, suspend_lower, &topic, NULL), 0);
	expect(BATON__CAUSE_LANES, gettid(), suspend_lower, &other);
	cr_assert_eq(baton_resource_resume(&suspensions[0]), 0);
	expect(BATON__CAUSE_LANES, 0, NULL, NULL);
	cr_assert_eq(baton_resource_resume(&suspensions[1]), 0);
	end();
}

static struct baton_detached token = BATON_DETACHED_INIT;

static void *detach(void *arg)
{
	MUST(baton_detach(&token, BATON_DETACH_EXCLUSIVE) == 0);
	return arg;
}

Test(who, a_detached_task_holds_and_is_not_taken_for_a_suspension, .timeout = 5)
{
	begin();
	cr_assert_eq(baton_post(&topic, detach, NULL), 0);
	expect(BATON__CAUSE_DETACHED, gettid(), detach, &topic);
	expect_told(&topic, gettid(), true);
	cr_assert_eq(baton_detached_complete(&token, 0, NULL), 0);
	cr_assert_eq(baton_resource_await(&topic), 0);
	(void)suspend_it(&topic);
	expect(BATON__CAUSE_SUSPENDED, gettid(), NULL, NULL);
	expect_told(&topic, gettid(), false);
	resume();
	end();
}

Test(who, a_suspension_that_is_withdrawn_is_not_told, .timeout = 5)
{
	begin();
	cr_assert_eq(baton_call(&topic, withdraw, &topic, NULL), 0);
	(void)suspend_it(&topic);
	expect(BATON__CAUSE_SUSPENDED, gettid(), NULL, NULL);
	resume();
	end();
}

/* The job of a borrowed resource lies in its executor's queue, and `_next` is the executor's. */
Test(who, a_queue_keeps_its_links, .timeout = 5)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resources[3];
	struct baton_manual *manual;

	cr_assert_eq(baton_manual_create(&manual), 0);
	config.executor = baton_manual_executor(manual);
	config.capture_max = BATON_CAPTURE_NONE;
	for (int i = 0; i < 3; i++)
		baton_resource_init(&resources[i], &config);
	cr_assert_eq(baton_post(&resources[0], nothing, NULL), 0);
	cr_assert_eq(baton_post(&resources[1], nothing, NULL), 0);
	cr_assert_eq(baton_post(&resources[2], nothing, NULL), 0);
	(void)suspend_it(&resources[1]);
	cr_assert_eq(baton_suspension_wait(&suspensions[0]), 0);
	cr_assert(baton__turn_seems_shelved(&resources[1]));
	cr_assert_not(baton__turn_seems_held(&resources[1]), "the waiter has helped");
	cr_assert_eq((uintptr_t)resources[1]._job._next & 1, 0);
	cr_assert_eq(baton_manual_run(manual, 0), 3);
	cr_assert_eq(baton_resource_resume(&suspensions[0]), 0);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(baton_resource_close(&resources[i]), 0);
		cr_assert_eq(baton_resource_await(&resources[i]), 0);
	}
	baton_manual_destroy(manual);
}
