/* SPDX-License-Identifier: MIT */
/* A suspended resource beside await, call, close, cancels, helpers, and an executor that ends. */
#include "ledger.h"
#include "fixture.h"

#include <baton/suspend.h>

Test(suspend_others, await_waits_for_the_resume, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	uint64_t deadline = deadline_in_ms(10);

	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
	cr_assert_eq(baton_resource_await_until(&fix.resource, deadline), -ETIMEDOUT);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	fixture_end();
}

/* The first batch ends, which suspends the resource, after the runner has met an await. */
struct awaited {
	struct ledger ledger;
	struct baton_suspension suspension;
	pthread_t awaiter;
	atomic_int tid;
	atomic_int result;
};

static void *awaited_main(void *arg)
{
	struct awaited *awaited = arg;

	atomic_store(&awaited->tid, thread_id());
	atomic_store(&awaited->result, baton_resource_await(&awaited->ledger.resource));
	return NULL;
}

static void awaited_begin(void *arg)
{
	struct awaited *awaited = arg;

	awaited->awaiter = thread_start(awaited_main, awaited);
	until_at_least(&awaited->tid, 1);
	until_asleep(atomic_load(&awaited->tid));
}

static void awaited_suspend(void *arg)
{
	struct awaited *awaited = arg;

	awaited->ledger.on_end = NULL;
	cr_assert_eq(baton_resource_suspend(&awaited->ledger.resource, &awaited->suspension), 0);
}

Test(suspend_others, an_await_before_the_end_of_a_batch_that_suspends_is_kept, .timeout = 10)
{
	struct awaited awaited = {.suspension = BATON_SUSPENSION_INIT};
	struct entry entry;

	atomic_init(&awaited.result, -1);
	ledger_init(&awaited.ledger, NULL);
	awaited.ledger.on_end = awaited_suspend;
	awaited.ledger.arg = &awaited;
	entry_init(&entry, &awaited.ledger, false);
	entry.body = awaited_begin;
	entry.arg = &awaited;
	cr_assert_eq(baton_submit(&awaited.ledger.resource, &entry.task), 0);
	cr_assert(baton_suspension_is_effective(&awaited.suspension));
	cr_assert_eq(atomic_load(&awaited.result), -1);
	cr_assert_eq(baton_resource_resume(&awaited.suspension), 0);
	thread_join(awaited.awaiter);
	cr_assert_eq(atomic_load(&awaited.result), 0);
	cr_assert(ledger_balanced(&awaited.ledger));
	resource_end(&awaited.ledger.resource);
}

struct caller {
	struct baton_resource *resource;
	atomic_int tid;
	int ran;
	int result;
};

static void *caller_fn(void *arg)
{
	((struct caller *)arg)->ran++;
	return NULL;
}

static void *caller_main(void *arg)
{
	struct caller *caller = arg;

	atomic_store(&caller->tid, thread_id());
	caller->result = baton_call(caller->resource, caller_fn, caller, NULL);
	return NULL;
}

/* It sleeps: it does not spin on what nobody runs. */
Test(suspend_others, call_sleeps_until_the_resume, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	struct caller caller = {.resource = &fix.resource, .result = 1};
	pthread_t thread;

	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
	cr_assert_eq(baton_try_call(&fix.resource, caller_fn, &caller, NULL), -EAGAIN);
	thread = thread_start(caller_main, &caller);
	until_at_least(&caller.tid, 1);
	until_asleep(atomic_load(&caller.tid));
	cr_assert_eq(caller.ran, 0);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	thread_join(thread);
	cr_assert_eq(caller.result, 0);
	cr_assert_eq(caller.ran, 1);
	fixture_end();
}

Test(suspend_others, a_closed_resource_runs_what_it_has_accepted_then_its_finaliser, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	struct step steps[2], finaliser;

	steps_init(steps, 2, &fix.journal, 0);
	step_init(&finaliser, &fix.journal, 1, NULL);
	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
	cr_assert_eq(baton_submit(&fix.resource, &steps[0].task), 0);
	cr_assert_eq(baton_resource_close_then(&fix.resource, &finaliser.task), 0);
	cr_assert_eq(baton_submit(&fix.resource, &steps[1].task), -EPIPE);
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 2));
	baton_resource_deinit(&fix.resource);
}

Test(suspend_others, a_closed_resource_without_tasks_is_released_by_the_resume, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	baton_resource_deinit(&fix.resource);
}

Test(suspend_others, cancels_are_decided_at_once_and_obeyed_at_the_resume, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	struct baton_suspension second = BATON_SUSPENSION_INIT;
	struct baton_future futures[3] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT, BATON_FUTURE_INIT};

	for (int i = 0; i < 3; i++)
		step_init(&fix.steps[i], &fix.journal, i - 2, &futures[i]);
	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[1].task), 0);
	cr_assert_eq(baton_future_cancel(&futures[0]), 0);
	cr_assert_eq(baton_future_state(&futures[0]), BATON_PENDING);
	/* Not what is no task: the second suspension stays. */
	cr_assert_eq(baton_resource_suspend(&fix.resource, &second), 0);
	cr_assert_eq(baton_resource_cancel_pending(&fix.resource), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[2].task), 0);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert_eq(baton_future_state(&futures[0]), BATON_CANCELLED);
	cr_assert_eq(baton_future_state(&futures[1]), BATON_CANCELLED);
	cr_assert_eq(baton_future_state(&futures[2]), BATON_PENDING);
	cr_assert(baton_suspension_is_effective(&second));
	cr_assert_eq(baton_resource_resume(&second), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 1));
	fixture_end();
}

Test(suspend_others, a_shutdown_of_the_executor_leaves_it_suspended, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	fixture_pool(1);
	occupy_later(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
	gate_open(&fix.occupant.leave);
	cr_assert_eq(baton_suspension_wait(&suspension), 0);
	cr_assert_eq(baton_pool_destroy(fix.pool), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[1].task), 0);
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 2));
	resource_end(&fix.resource);
}

Test(suspend_others, a_cancelled_job_s_marks_stay, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	struct baton_future future = BATON_FUTURE_INIT;

	fixture_stash();
	step_init(&fix.steps[0], &fix.journal, -1, &future);
	step_init(&fix.steps[1], &fix.journal, 0, NULL);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
	baton_job_cancel(atomic_load(&fix.stash.jobs[0]));
	cr_assert_eq(baton_future_state(&future), BATON_CANCELLED);
	cr_assert(baton_suspension_is_effective(&suspension));
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[1].task), 0);
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 1));
	fixture_end();
}
