/* SPDX-License-Identifier: MIT */
/* What a thread that waits for a hold runs for others: not between the grant and the hold. */
#include "fixture.h"

#include <baton/call.h>
#include <baton/detach.h>
#include <baton/hold.h>
#include <baton/suspend.h>

#include "core/deferred.h"

struct late {
	struct baton_plain_job job;
	struct baton_task task;
	bool released; /* the hold has been */
	bool ran_after;
	int runs;
};

static void late_run(struct baton_plain_job *job)
{
	struct late *late = baton_container_of(job, struct late, job);

	late->runs++;
	late->ran_after = late->released;
}

static void defer(struct late *late)
{
	MUST(baton__thread_attach() == 0);
	baton_plain_job_init(&late->job, late_run, NULL);
	baton__deferred_append(&late->job.job);
}

static int defer_here(struct baton_task *task)
{
	defer(baton_container_of(task, struct late, task));
	return 0;
}

Test(hold_deferred, a_job_that_is_deferred_in_the_wait_runs_after_the_release, .timeout = 10)
{
	struct baton_hold hold = BATON_HOLD_INIT;
	struct late late = {.task = BATON_TASK_INIT(defer_here, NULL)};

	fixture_stash();
	cr_assert_eq(baton_submit_later(&fix.resource, &late.task), 0);
	cr_assert_eq(baton_hold(&fix.resource, &hold), 0);
	late.released = true;
	cr_assert_eq(baton_release(&hold), 0);
	cr_assert_eq(late.runs, 1);
	cr_assert(late.ran_after);
	stash_run(&fix.stash);
	fixture_end();
}

Test(hold_deferred, a_job_that_is_deferred_in_a_wait_that_fails_runs, .timeout = 10)
{
	struct baton_hold hold = BATON_HOLD_INIT;
	struct late late = {.released = true};

	fixture_config();
	occupy(&fix.occupant, &fix.resource);
	defer(&late);
	cr_assert_eq(baton_hold_until(&fix.resource, &hold, 0), -ETIMEDOUT);
	cr_assert_eq(late.runs, 1);
	release(&fix.occupant);
	fixture_end();
}

/* By each way in which an idle resource is released: without a frame, with one, counted. */
static void expect_deferred_in_hold(bool counted, bool nested)
{
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct baton_hold hold = BATON_HOLD_INIT;
	struct baton_hold inner = BATON_HOLD_INIT;
	struct late late = {.released = true};

	fix.counted = counted;
	fixture_config();
	cr_assert_eq(baton_hold(&fix.resource, &hold), 0);
	if (nested)
		cr_assert_eq(baton_hold(&other, &inner), 0);
	defer(&late);
	if (nested)
		cr_assert_eq(baton_release(&hold), 0);
	cr_assert_eq(late.runs, 0, "this thread holds");
	cr_assert_eq(baton_release(nested ? &inner : &hold), 0);
	cr_assert_eq(late.runs, 1);
	resource_end(&other);
	fixture_end();
}

Test(hold_deferred, a_job_that_is_deferred_in_a_hold_runs_in_the_release, .timeout = 10)
{
	expect_deferred_in_hold(false, false);
}

Test(hold_deferred, a_job_that_is_deferred_in_a_counted_hold_runs_in_the_release, .timeout = 10)
{
	expect_deferred_in_hold(true, false);
}

Test(hold_deferred, a_job_that_is_deferred_in_two_holds_runs_in_the_last_release, .timeout = 10)
{
	expect_deferred_in_hold(false, true);
}

static struct baton_detached token = BATON_DETACHED_INIT;

/* Detaches itself, and stays. */
static int detach_and_stay(struct baton_task *task)
{
	struct occupant *occupant = baton_container_of(task, struct occupant, task);

	MUST(baton_detach(&token, BATON_DETACH_EXCLUSIVE) == 0);
	gate_open(&occupant->entered);
	gate_pass(&occupant->leave);
	return 0;
}

/* As the release of a hold whose runner has not left yet. */
Test(hold_deferred, a_thread_that_unshelves_before_the_holder_has_left_runs_its_jobs, .timeout = 10)
{
	struct occupant occupant;
	struct late late = {.released = true};

	fixture_config();
	occupant_init(&occupant, &fix.resource);
	baton_task_init(&occupant.task, detach_and_stay, NULL);
	occupant.thread = thread_start(occupant_main, &occupant);
	gate_pass(&occupant.entered);
	defer(&late);
	cr_assert_eq(baton_detached_complete(&token, 0, NULL), 0);
	cr_assert_eq(late.runs, 1);
	release(&occupant);
	fixture_end();
}

/* ---- A thread that drives an executor ---- */

static int call_status;

static void *nothing(void *arg)
{
	return arg;
}

/* The resource is granted while this runs. */
static int let_go_and_call(struct baton_task *task)
{
	(void)task;
	gate_open(&fix.occupant.leave);
	call_status = baton_call(&fix.resource, nothing, NULL, NULL);
	return 0;
}

/* `outer`: a hold that the thread has, or NULL. */
static void expect_driven(struct baton_resource *outer)
{
	struct baton_hold first = BATON_HOLD_INIT;
	struct baton_hold hold = BATON_HOLD_INIT;
	struct baton_task task = BATON_TASK_INIT(let_go_and_call, NULL);
	struct baton_resource other;

	fixture_manual();
	baton_resource_init(&other, &fix.config);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit_later(&other, &task), 0);
	if (outer)
		cr_assert_eq(baton_hold(outer, &first), 0);
	cr_assert_eq(baton_hold(&fix.resource, &hold), 0);
	cr_assert_eq(call_status, -EDEADLK);
	cr_assert_eq(baton_release(&hold), 0);
	if (outer)
		cr_assert_eq(baton_release(&first), 0);
	cr_assert_eq(baton_call(&fix.resource, nothing, NULL, NULL), 0);
	thread_join(fix.occupant.thread);
	resource_end(&other);
	fixture_end();
}

Test(hold_deferred, a_task_that_is_driven_in_the_wait_cannot_wait_for_the_resource, .timeout = 10)
{
	expect_driven(NULL);
}

Test(hold_deferred, a_task_that_is_driven_in_the_wait_of_a_second_hold_cannot, .timeout = 10)
{
	struct baton_resource outer = BATON_RESOURCE_INIT(NULL);

	expect_driven(&outer);
	resource_end(&outer);
}

/* What the function is answered; it runs before the grant. */
struct answers {
	struct baton_task task;
	struct baton_task ahead;
	struct baton_future future; /* of `ahead`, which waits before the hold */
	struct baton_task queued;
	int wait, wait_until, any, call, call_with, try_call, hold, await, quiesce, submit, post;
	bool ran_ahead;
};

static int run_ahead(struct baton_task *task)
{
	(void)task;
	return 0;
}

static int asks_in_the_wait(struct baton_task *task)
{
	struct answers *answers = baton_container_of(task, struct answers, task);
	struct baton_resource *resource = &fix.resource;
	struct baton_future *future = &answers->future;
	struct baton_hold hold = BATON_HOLD_INIT;
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	const struct baton_call_options soon = {.fn = nothing, .timeout_ns = BATON_SECOND};

	answers->ran_ahead = baton_future_is_complete(future);
	answers->wait = baton_future_wait(future);
	answers->wait_until = baton_future_wait_until(future, baton_after(BATON_SECOND));
	answers->any = baton_future_wait_any(&future, 1, NULL);
	answers->call = baton_call(resource, nothing, NULL, NULL);
	answers->call_with = baton_call_with(resource, &soon, NULL);
	answers->try_call = baton_try_call(resource, nothing, NULL, NULL);
	answers->hold = baton_hold(resource, &hold);
	answers->await = baton_resource_await(resource);
	answers->quiesce = baton_quiesce(&resource, 1, &suspension);
	answers->submit = baton_submit(resource, &answers->queued);
	answers->post = baton_post(resource, nothing, NULL);
	gate_open(&fix.occupant.leave);
	return 0;
}

Test(hold_deferred, what_is_driven_in_the_wait_may_submit_and_waits_for_nothing_of_the_resource,
     .timeout = 10)
{
	struct answers answers = {.future = BATON_FUTURE_INIT};
	struct baton_hold hold = BATON_HOLD_INIT;
	struct baton_resource other;

	fixture_manual();
	baton_resource_init(&other, &fix.config);
	baton_task_init(&answers.task, asks_in_the_wait, NULL);
	baton_task_init(&answers.ahead, run_ahead, &answers.future);
	baton_task_init(&answers.queued, run_ahead, NULL);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &answers.ahead), 0);
	cr_assert_eq(baton_submit_later(&other, &answers.task), 0);
	cr_assert_eq(baton_hold(&fix.resource, &hold), 0);
	cr_assert(!answers.ran_ahead, "the function has run before the grant");
	cr_assert_eq(answers.wait, -EDEADLK);
	cr_assert_eq(answers.wait_until, -EDEADLK);
	cr_assert_eq(answers.any, -EDEADLK);
	cr_assert_eq(answers.call, -EDEADLK);
	cr_assert_eq(answers.call_with, -EDEADLK);
	cr_assert_eq(answers.try_call, -EDEADLK);
	cr_assert_eq(answers.hold, -EDEADLK);
	cr_assert_eq(answers.await, -EDEADLK);
	cr_assert_eq(answers.quiesce, -EDEADLK);
	cr_assert_eq(answers.submit, 0);
	cr_assert_eq(answers.post, 0);
	cr_assert(baton_future_is_complete(&answers.future), "it came before the hold");
	cr_assert_eq(baton_release(&hold), 0);
	cr_assert_eq(baton_call(&fix.resource, nothing, NULL, NULL), 0);
	thread_join(fix.occupant.thread);
	resource_end(&other);
	fixture_end();
}
