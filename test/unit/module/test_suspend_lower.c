/* SPDX-License-Identifier: MIT */
/* Suspending the lanes below lane 0: what runs, what waits, and every end of the suspension. */
#include "labels.h"

#include <baton/suspend.h>
#include <baton/window.h>

#include <signal.h>

#include "core/contention.h"

#include "../parts.h"

/* A scene of two lanes with four steps: 0 and 2 of lane 0, 1 and 3 of lane 1, with futures. */
struct lowered {
	struct scene *scene;
	struct mark_step steps[4];
	struct baton_future futures[4];
	struct baton_suspension suspension;
};

static struct lowered lowered;

static void begin(void)
{
	lowered.suspension = (struct baton_suspension)BATON_SUSPENSION_INIT;
	lowered.scene = scene_create();
	scene_begin(lowered.scene, 2, false);
	for (int i = 0; i < 4; i++)
		mark_step_init(&lowered.steps[i], lowered.scene, i, (unsigned)i % 2,
		               &lowered.futures[i]);
}

static void submit_all(void)
{
	for (int i = 0; i < 4; i++)
		cr_assert_eq(mark_step_submit(&lowered.steps[i], lowered.scene), 0);
}

static void suspend_lower(struct baton_suspension *suspension)
{
	cr_assert_eq(baton_resource_suspend_lower(&lowered.scene->resource, suspension), 0);
}

#define RAN(...) cr_assert(JOURNAL_IS(&lowered.scene->journal, __VA_ARGS__))

Test(suspend_lower, of_an_idle_resource_only_the_first_lane_runs, .timeout = 10)
{
	begin();
	suspend_lower(&lowered.suspension);
	cr_assert(baton_suspension_is_effective(&lowered.suspension));
	cr_assert_eq(baton_suspension_wait(&lowered.suspension), 0);
	cr_assert_not(baton_resource_is_idle(&lowered.scene->resource));
	submit_all();
	RAN(0, 2);
	cr_assert_eq(baton_lanes_waiting(&lowered.scene->lanes, 1), 2);
	cr_assert_eq(baton_resource_resume(&lowered.suspension), 0);
	RAN(0, 2, 1, 3);
	cr_assert(baton_resource_is_idle(&lowered.scene->resource));
	scene_end(lowered.scene);
}

/* It waits for an entry: to stand back would be in vain. */
Test(suspend_lower, a_call_does_not_stand_back_from_a_resource_that_rests, .timeout = 10)
{
	struct baton__stand_back_call looks;

	begin();
	suspend_lower(&lowered.suspension);
	cr_assert(baton__word_is_busy(baton__word(&lowered.scene->resource)));
	cr_assert_not(baton__stand_back_call_begin(&lowered.scene->resource, &looks));
	cr_assert_eq(baton_resource_resume(&lowered.suspension), 0);
	scene_end(lowered.scene);
}

Test(suspend_lower, of_a_busy_resource_what_is_queued_does_not_begin, .timeout = 10)
{
	for (int queued = 0; queued < 2; queued++) {
		begin();
		occupy(&lowered.scene->occupant, &lowered.scene->resource);
		if (queued)
			submit_all();
		suspend_lower(&lowered.suspension);
		cr_assert_not(baton_suspension_is_effective(&lowered.suspension));
		if (!queued)
			submit_all();
		release(&lowered.scene->occupant);
		RAN(0, 2);
		cr_assert(baton_suspension_is_effective(&lowered.suspension));
		cr_assert_eq(baton_resource_resume(&lowered.suspension), 0);
		RAN(0, 2, 1, 3);
		scene_end(lowered.scene);
	}
}

Test(suspend_lower, withdrawn_it_never_takes_effect, .timeout = 10)
{
	begin();
	occupy(&lowered.scene->occupant, &lowered.scene->resource);
	submit_all();
	suspend_lower(&lowered.suspension);
	cr_assert_eq(baton_resource_resume(&lowered.suspension), 0);
	memset(&lowered.suspension, 0xA5, sizeof(lowered.suspension));
	release(&lowered.scene->occupant);
	RAN(0, 2, 1, 3);
	scene_end(lowered.scene);
}

/* Suspends from inside a task of lane 0, and perhaps resumes. */
struct inside {
	struct mark_step step;
	bool resume;
};

static int inside_run(struct baton_task *task)
{
	struct inside *inside = baton_container_of(task, struct inside, step.stamped.task);

	suspend_lower(&lowered.suspension);
	if (inside->resume)
		MUST(baton_resource_resume(&lowered.suspension) == 0);
	return mark_step_run(task);
}

Test(suspend_lower, by_a_task_of_the_resource, .timeout = 10)
{
	for (int resume = 0; resume < 2; resume++) {
		struct inside inside = {.resume = resume};

		begin();
		mark_step_init(&inside.step, lowered.scene, 9, 1, NULL);
		stamped_init(&inside.step.stamped, inside_run, NULL);
		baton_stamp_set_lane(&inside.step.stamped.stamp, 1);
		occupy(&lowered.scene->occupant, &lowered.scene->resource);
		cr_assert_eq(mark_step_submit(&inside.step, lowered.scene), 0);
		for (int i = 1; i < 4; i++)
			cr_assert_eq(mark_step_submit(&lowered.steps[i], lowered.scene), 0);
		release(&lowered.scene->occupant);
		if (!resume) {
			RAN(2, 9);
			cr_assert_eq(baton_resource_resume(&lowered.suspension), 0);
		}
		RAN(2, 9, 1, 3);
		scene_end(lowered.scene);
	}
}

Test(suspend_lower, several_and_of_the_whole_resource, .timeout = 10)
{
	struct baton_suspension other = BATON_SUSPENSION_INIT;
	struct baton_suspension whole = BATON_SUSPENSION_INIT;

	begin();
	suspend_lower(&lowered.suspension);
	suspend_lower(&other);
	cr_assert_eq(baton_resource_suspend(&lowered.scene->resource, &whole), 0);
	cr_assert(baton_suspension_is_effective(&whole));
	submit_all();
	cr_assert_eq(lowered.scene->journal.count, 0);
	cr_assert_eq(baton_resource_resume(&other), 0);
	cr_assert_eq(lowered.scene->journal.count, 0);
	cr_assert_eq(baton_resource_resume(&whole), 0);
	RAN(0, 2);
	cr_assert_eq(baton_resource_resume_later(&lowered.suspension), 0);
	cr_assert_eq(baton_resource_await(&lowered.scene->resource), 0);
	RAN(0, 2, 1, 3);
	/* The whole resource is resumed while nothing waits: it is not idle. */
	suspend_lower(&other);
	cr_assert_eq(baton_resource_suspend(&lowered.scene->resource, &whole), 0);
	cr_assert_eq(baton_resource_resume(&whole), 0);
	cr_assert_not(baton_resource_is_idle(&lowered.scene->resource));
	cr_assert_eq(baton_resource_resume(&other), 0);
	scene_end(lowered.scene);
}

static void *answer(void *arg)
{
	return arg;
}

Test(suspend_lower, calls_run_and_awaits_wait, .timeout = 10)
{
	uint64_t soon = deadline_in_ms(1);
	void *value = NULL;

	begin();
	suspend_lower(&lowered.suspension);
	submit_all();
	cr_assert_eq(baton_call(&lowered.scene->resource, answer, &soon, &value), 0);
	cr_assert_eq(value, (void *)&soon);
	cr_assert_eq(baton_resource_await_until(&lowered.scene->resource, soon), -ETIMEDOUT);
	cr_assert_eq(baton_resource_resume(&lowered.suspension), 0);
	cr_assert_eq(baton_resource_await(&lowered.scene->resource), 0);
	RAN(0, 2, 1, 3);
	scene_end(lowered.scene);
}

/* The resource is not released meanwhile: it rests. */
Test(suspend_lower, an_await_of_what_is_over_does_not_wait_for_the_resume, .timeout = 10)
{
	const uint64_t late = deadline_in_ms(60000);

	begin();
	suspend_lower(&lowered.suspension);
	cr_assert_eq(mark_step_submit(&lowered.steps[0], lowered.scene), 0);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(baton_resource_await_until(&lowered.scene->resource, late), 0);
	cr_assert_eq(mark_step_submit(&lowered.steps[2], lowered.scene), 0);
	RAN(0, 2);
	cr_assert_eq(baton_resource_resume(&lowered.suspension), 0);
	scene_end(lowered.scene);
}

Test(suspend_lower, what_waits_can_be_cancelled, .timeout = 10)
{
	begin();
	suspend_lower(&lowered.suspension);
	submit_all();
	cr_assert_eq(baton_future_cancel(&lowered.futures[1]), 0);
	cr_assert_eq(baton_resource_cancel_pending(&lowered.scene->resource), 0);
	cr_assert_eq(baton_future_wait(&lowered.futures[1]), 0);
	cr_assert_eq(baton_future_status(&lowered.futures[1]), -ECANCELED);
	cr_assert_eq(baton_future_wait(&lowered.futures[3]), 0);
	cr_assert_eq(baton_future_status(&lowered.futures[3]), -ECANCELED);
	RAN(0, 2);
	cr_assert_eq(baton_resource_resume(&lowered.suspension), 0);
	scene_end(lowered.scene);
}

static int count_final(struct baton_task *task)
{
	journal_add(&lowered.scene->journal, 100);
	return 0;
}

static int close_and_suspend(struct baton_task *task)
{
	(void)task;
	submit_all();
	MUST(baton_resource_close(&lowered.scene->resource) == 0);
	suspend_lower(&lowered.suspension);
	return 0;
}

Test(suspend_lower, a_task_of_a_closed_resource_may_suspend_too, .timeout = 10)
{
	struct baton_task task = BATON_TASK_INIT(close_and_suspend, NULL);
	const uint64_t soon = deadline_in_ms(1);

	begin();
	cr_assert_eq(baton_submit(&lowered.scene->resource, &task), 0);
	RAN(0, 2);
	cr_assert_eq(baton_resource_await_until(&lowered.scene->resource, soon), -ETIMEDOUT);
	cr_assert_eq(baton_resource_resume(&lowered.suspension), 0);
	RAN(0, 2, 1, 3);
	cr_assert_eq(baton_resource_await(&lowered.scene->resource), 0);
	free(lowered.scene);
}

Test(suspend_lower, a_closed_resource_ends_after_the_resume, .timeout = 10)
{
	struct baton_task finaliser = BATON_TASK_INIT(count_final, NULL);

	for (int empty = 0; empty < 2; empty++) {
		begin();
		suspend_lower(&lowered.suspension);
		if (!empty)
			submit_all();
		baton_task_init(&finaliser, count_final, NULL);
		cr_assert_eq(baton_resource_close_then(&lowered.scene->resource, &finaliser), 0);
		cr_assert_eq(lowered.scene->journal.count, empty ? 0 : 2);
		cr_assert_eq(baton_resource_resume(&lowered.suspension), 0);
		cr_assert_eq(lowered.scene->journal.number[empty ? 0 : 4], 100);
		cr_assert_eq(
			baton_resource_suspend_lower(&lowered.scene->resource, &lowered.suspension),
			-EPIPE);
		free(lowered.scene);
	}
}

Test(suspend_lower, what_a_window_admits_waits_too, .timeout = 10)
{
	struct windowed tasks[2];
	struct baton_future futures[2] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT};
	struct baton_window window;
	uint64_t soon;

	begin();
	baton_window_init(&window, &lowered.scene->resource, 0);
	for (int i = 0; i < 2; i++) {
		windowed_init(&tasks[i], &window, count_final, &futures[i]);
		baton_stamp_set_lane(&tasks[i].stamp, !i);
		cr_assert_eq(baton_submit(&lowered.scene->resource, &tasks[i].task), 0);
	}
	suspend_lower(&lowered.suspension);
	cr_assert_eq(baton_window_set_limit(&window, 2), 0);
	cr_assert_not(baton_future_is_complete(&futures[0]));
	cr_assert(baton_future_is_complete(&futures[1]));
	soon = deadline_in_ms(10);
	cr_assert_eq(baton_resource_await_until(&lowered.scene->resource, soon), -ETIMEDOUT);
	cr_assert_eq(baton_resource_resume(&lowered.suspension), 0);
	cr_assert(baton_future_is_complete(&futures[0]));
	RAN(100, 100);
	scene_end(lowered.scene);
	baton_window_deinit(&window);
}

Test(suspend_lower, wrong_use_is_an_error, .timeout = 10)
{
	begin();
	suspend_lower(&lowered.suspension);
	cr_assert_eq(baton_resource_suspend_lower(&lowered.scene->resource, &lowered.suspension),
	             -EALREADY);
	cr_assert_eq(baton_resource_resume(&lowered.suspension), 0);
	cr_assert_eq(baton_resource_resume(&lowered.suspension), -EINVAL);
	scene_end(lowered.scene);
}

Test(suspend_lower, without_lanes_is_a_misuse, .signal = SIGABRT, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	cr_assert_neq(baton_resource_suspend_lower(&resource, &suspension), 0);
}
