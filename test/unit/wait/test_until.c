/* SPDX-License-Identifier: MIT */
/*
 * All waits of the library beside all sorts of deadlines, before what is waited for is over, and
 * after: x_wait_until() with a deadline in the past looks once; x_wait() and BATON_FOREVER wait.
 */
#include "admission_support.h"
#include "pool_support.h"

#include <baton/fan_out.h>
#include <baton/group.h>
#include <baton/suspend.h>
#include <baton/trigger.h>

/* What is waited for. Each resource has an occupant, behind which the rest waits. */
enum { FUTURE, ANY, ALL, OR_CANCEL, FAN_OUT, SUSPENSION, QUIESCE, TIMER, AWAIT, RESOURCES };

static struct world {
	struct baton_resource resources[RESOURCES];
	struct occupant occupants[RESOURCES];
	struct step steps[RESOURCES];
	struct baton_future futures[RESOURCES];
	struct journal journals[RESOURCES]; /* each of one resource's tasks */
	struct baton_future promise;        /* fulfilled by nobody */
	struct baton_fan_out *fan_out;
	struct baton_suspension suspension;
	struct baton_group group;
	struct baton_timers *timers;
	struct bell bell;
	struct baton_pool *full, *ended;
	struct work waiting;
	struct plug full_plug, ended_plug;
} world;

/* ---- The waits. `for_ever`: the form without a deadline ---- */

#define FORMS(name, plain, until)                                                                  \
	static int name(uint64_t deadline_ns, bool for_ever)                                       \
	{                                                                                          \
		return for_ever ? (plain) : (until);                                               \
	}

#define FUTURES(which) ((struct baton_future *const[]){&world.futures[which]})

FORMS(future, baton_future_wait(&world.futures[FUTURE]),
      baton_future_wait_until(&world.futures[FUTURE], deadline_ns))
FORMS(all, baton_future_wait_all(FUTURES(ALL), 1),
      baton_future_wait_all_until(FUTURES(ALL), 1, deadline_ns))
FORMS(or_cancel, baton_future_wait_all_or_cancel(FUTURES(OR_CANCEL), 1),
      baton_future_wait_all_or_cancel_until(FUTURES(OR_CANCEL), 1, deadline_ns))
FORMS(group, baton_group_wait(&world.group), baton_group_wait_until(&world.group, deadline_ns))
FORMS(fan_out, baton_fan_out_wait(world.fan_out),
      baton_fan_out_wait_until(world.fan_out, deadline_ns))
FORMS(suspension, baton_suspension_wait(&world.suspension),
      baton_suspension_wait_until(&world.suspension, deadline_ns))
FORMS(timer, baton_timer_stop_wait(&world.bell.timer),
      baton_timer_stop_wait_until(&world.bell.timer, deadline_ns))
FORMS(await, baton_resource_await(&world.resources[AWAIT]),
      baton_resource_await_until(&world.resources[AWAIT], deadline_ns))
FORMS(pool, baton_pool_await(world.ended), baton_pool_await_until(world.ended, deadline_ns))
FORMS(admission, baton_admission_await(&hall.admission),
      baton_admission_await_until(&hall.admission, deadline_ns))

static int any(uint64_t deadline_ns, bool for_ever)
{
	struct baton_future *const futures[] = {&world.promise, &world.futures[ANY]};
	size_t index = 7;
	int error = for_ever ? baton_future_wait_any(futures, 2, &index)
	                     : baton_future_wait_any_until(futures, 2, deadline_ns, &index);

	MUST(index == (error ? 7 : 1));
	return error;
}

static int quiesce(uint64_t deadline_ns, bool for_ever)
{
	struct baton_resource *const resources[] = {&world.resources[QUIESCE]};
	struct baton_suspension suspension;
	int error = for_ever ? baton_quiesce(resources, 1, &suspension)
	                     : baton_quiesce_until(resources, 1, &suspension, deadline_ns);

	if (!error)
		MUST(baton_quiesce_end(&suspension, 1) == 0);
	return error;
}

/* An accepted job has run when this returns, so that there is room as before. */
static int room(uint64_t deadline_ns, bool for_ever)
{
	struct work work;
	int error;

	work_init(&work, work_run, world.full, NULL);
	error = for_ever ? baton_pool_submit_wait(world.full, &work.job)
	                 : baton_pool_submit_wait_until(world.full, &work.job, deadline_ns);
	if (!error)
		until_at_least(&work.ran, 1);
	return error;
}

static const struct row {
	const char *name;
	int (*wait)(uint64_t deadline_ns, bool for_ever);
} rows[] = {
	{"future_wait", future},
	{"future_wait_any", any},
	{"future_wait_all", all},
	{"future_wait_all_or_cancel", or_cancel},
	{"group_wait", group},
	{"fan_out_wait", fan_out},
	{"suspension_wait", suspension},
	{"quiesce", quiesce},
	{"timer_stop_wait", timer},
	{"pool_submit_wait", room},
	{"pool_await", pool},
	{"resource_await", await},
	{"admission_await", admission},
};

#define ROWS (sizeof(rows) / sizeof(*rows))

/* ---- The world ---- */

static int item(struct baton_resource *resource, void *arg, size_t index)
{
	return 0;
}

static void world_begin(void)
{
	const struct baton_pool_options bounded = {.workers = 1, .waiting_max = 1};
	const struct baton_fan_out_options options = {.fn = item};

	baton_promise_init(&world.promise);
	for (int i = 0; i < RESOURCES; i++) {
		baton_resource_init(&world.resources[i], NULL);
		occupy(&world.occupants[i], &world.resources[i]);
		step_init(&world.steps[i], &world.journals[i], i, &world.futures[i]);
		MUST(baton_submit(&world.resources[i], &world.steps[i].task) == 0);
	}
	MUST(baton_fan_out_submit(&(struct baton_resource *){&world.resources[FAN_OUT]}, 1,
	                          &options, &world.fan_out) == 0);
	MUST(baton_resource_suspend(&world.resources[SUSPENSION], &world.suspension) == 0);
	baton_group_init(&world.group);
	baton_group_enter(&world.group);
	world.timers = virtual_timers();
	bell_init(&world.bell, world.timers, &world.resources[TIMER]);
	MUST(baton_timer_arm_after(&world.bell.timer, TICK) == 0);
	MUST(baton_timers_advance(world.timers, TICK) == 1);
	MUST(baton_pool_create(&bounded, &world.full) == 0);
	plug_in(&world.full_plug, world.full);
	work_init(&world.waiting, work_run, world.full, NULL);
	MUST(baton_pool_submit(world.full, &world.waiting.job) == 0);
	world.ended = pool_of(1);
	plug_in(&world.ended_plug, world.ended);
	MUST(baton_pool_shutdown(world.ended) == 0);
	hall_begin();
	hall.jobs[0].stubborn = true;
	MUST(hall_arrive(0, 0) == 0);
	MUST(baton_admission_close(&hall.admission, BATON_ADMISSION_DROP) == 0);
}

static void world_over(void)
{
	for (int i = 0; i < RESOURCES; i++)
		release(&world.occupants[i]);
	baton_group_leave(&world.group);
	gate_open(&world.full_plug.leave);
	until_at_least(&world.waiting.ran, 1);
	gate_open(&world.ended_plug.leave);
	MUST(baton_detached_complete(&hall.jobs[0].token, 0, NULL) == 0);
	hall_drive();
}

static void world_end(void)
{
	MUST(baton_resource_resume(&world.suspension) == 0);
	baton_fan_out_unref(world.fan_out);
	for (int i = 0; i < RESOURCES; i++)
		resource_end(&world.resources[i]);
	MUST(baton_timers_destroy(world.timers) == 0);
	MUST(baton_pool_destroy(world.full) == 0);
	MUST(baton_pool_destroy(world.ended) == 0);
	hall_end();
}

/* ---- The tests ---- */

/* None of these calls waits. */
static void expect_all(uint64_t deadline_ns, int expected)
{
	for (size_t i = 0; i < ROWS; i++) {
		const uint64_t began_ns = baton_now();

		cr_assert_eq(rows[i].wait(deadline_ns, false), expected, "%s, %llu", rows[i].name,
		             (unsigned long long)deadline_ns);
		cr_assert_lt(baton_now() - began_ns, 60 * BATON_SECOND, "%s", rows[i].name);
	}
}

Test(until, a_wait_with_a_deadline_in_the_past_looks_once, .timeout = 20)
{
	world_begin();
	expect_all(0, -ETIMEDOUT);
	expect_all(baton_now() - 1, -ETIMEDOUT);
	expect_all(baton_after(0), -ETIMEDOUT);
	world_over();
	for (size_t i = 0; i < ROWS; i++)
		(void)rows[i].wait(BATON_FOREVER, false); /* the last threads leave */
	expect_all(0, 0);
	expect_all(baton_now() - 1, 0);
	expect_all(BATON_FOREVER, 0);
	for (size_t i = 0; i < ROWS; i++) {
		cr_assert_eq(rows[i].wait(baton_after(0), false), 0, "%s", rows[i].name);
		cr_assert_eq(rows[i].wait(baton_after(60 * BATON_SECOND), false), 0, "%s",
		             rows[i].name);
		cr_assert_eq(rows[i].wait(0, true), 0, "%s", rows[i].name);
	}
	world_end();
}

/* ---- A look from within ---- */

static struct baton_resource own;

static int nothing(struct baton_task *task)
{
	return 0;
}

static int nothing_fired(struct baton_trigger *trigger, uint64_t fires)
{
	return 0;
}

/* In a task of `own`: nothing of this can end before the task has returned. */
static void *look_at_own(void *arg)
{
	static struct baton_future future = BATON_FUTURE_INIT;
	static struct baton_task task = BATON_TASK_INIT(nothing, &future);
	static struct baton_trigger trigger = BATON_TRIGGER_INIT(&own, nothing_fired);
	struct baton_future *const futures[] = {&future};
	struct baton_resource *const resources[] = {&own};
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	struct baton_suspension quiesced[1];
	size_t index;

	cr_assert_eq(baton_submit(&own, &task), 0);
	cr_assert_eq(baton_trigger_fire(&trigger), 0);
	cr_assert_eq(baton_resource_suspend(&own, &suspension), 0);
	{
		const int looks[] = {
			baton_future_wait_until(&future, 0),
			baton_future_wait_any_until(futures, 1, 0, &index),
			baton_future_wait_all_until(futures, 1, 0),
			baton_suspension_wait_until(&suspension, 0),
			baton_resource_await_until(&own, 0),
			baton_quiesce_until(resources, 1, quiesced, 0),
			baton_trigger_stop_wait_until(&trigger, 0),
		};

		for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++)
			cr_expect(looks[i] == -ETIMEDOUT || looks[i] == -EDEADLK, "look %zu: %d", i,
			          looks[i]);
	}
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	return arg;
}

Test(until, a_look_in_a_task_at_what_waits_for_the_task_ends, .timeout = 10)
{
	cr_assert_eq(baton_call(&own, look_at_own, NULL, NULL), 0);
	resource_end(&own);
}

Test(until, a_wait_lasts_until_its_deadline, .timeout = 20)
{
	world_begin();
	for (size_t i = 0; i < ROWS; i++) {
		const uint64_t deadline = baton_after(2 * BATON_MILLISECOND);

		cr_assert_eq(rows[i].wait(deadline, false), -ETIMEDOUT, "%s", rows[i].name);
		cr_assert_geq(baton_now(), deadline, "%s", rows[i].name);
	}
	world_over();
	world_end();
}

/* ---- For ever ---- */

struct waiter {
	const struct row *row;
	bool for_ever;
	int result;
	atomic_int tid;
	pthread_t thread;
};

static void *waiter_main(void *arg)
{
	struct waiter *waiter = arg;

	atomic_store(&waiter->tid, thread_id());
	waiter->result = waiter->row->wait(BATON_FOREVER, waiter->for_ever);
	return NULL;
}

Test(until, a_wait_for_ever_ends_by_what_it_waits_for, .timeout = 20)
{
	struct waiter waiters[2 * ROWS];

	world_begin();
	for (size_t i = 0; i < 2 * ROWS; i++) {
		waiters[i] = (struct waiter){.row = &rows[i / 2], .for_ever = i % 2, .result = 1};
		waiters[i].thread = thread_start(waiter_main, &waiters[i]);
	}
	for (size_t i = 0; i < 2 * ROWS; i++) {
		until_at_least(&waiters[i].tid, 1);
		until_asleep(atomic_load(&waiters[i].tid));
	}
	world_over();
	for (size_t i = 0; i < 2 * ROWS; i++) {
		thread_join(waiters[i].thread);
		cr_assert_eq(waiters[i].result, 0, "%s: %d", waiters[i].row->name,
		             waiters[i].result);
	}
	world_end();
}
