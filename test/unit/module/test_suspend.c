/* SPDX-License-Identifier: MIT */
/*
 * Suspending a resource: no task begins until all of its suspensions are resumed; where the tasks
 * that waited run then.
 */
#include "fixture.h"

#include <baton/suspend.h>

Test(suspend, an_idle_resource_is_suspended_at_once, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	cr_assert_not(baton_suspension_is_effective(&suspension));
	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
	cr_assert(baton_suspension_is_effective(&suspension));
	cr_assert_eq(baton_suspension_wait(&suspension), 0);
	cr_assert_not(baton_held(&fix.resource));
	steps_submit(0, 3);
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 3));
	cr_assert_not(baton_suspension_is_effective(&suspension));
	fixture_end();
}

Test(suspend, it_can_be_used_again_and_again, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	for (int i = 0; i < 100; i++) {
		step_init(&fix.steps[0], &fix.journal, i, NULL);
		cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
		cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
		cr_assert_eq(baton_resource_resume(&suspension), 0);
	}
	cr_assert(journal_counts_up(&fix.journal, 0, 100));
	fixture_end();
}

Test(suspend, wrong_use_is_an_error, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	cr_assert_eq(baton_resource_resume(&suspension), -EINVAL);
	cr_assert_eq(baton_resource_resume_later(&suspension), -EINVAL);
	cr_assert_eq(baton_suspension_wait(&suspension), -EINVAL);
	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), -EALREADY);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	fixture_end();
	fix.resource = (struct baton_resource)BATON_RESOURCE_INIT(NULL);
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), -EPIPE);
	cr_assert_not(baton_suspension_is_effective(&suspension));
	cr_assert_eq(baton_quiesce(&(struct baton_resource *){&fix.resource}, 1, &suspension),
	             -EPIPE);
	baton_resource_deinit(&fix.resource);
}

/* ---- Closed, by the time that a task suspends ---- */

static struct {
	struct baton_suspension suspension;
	struct baton_task task;
	struct baton_task finaliser;
	int status;
	int finals;
	bool last; /* nothing is queued behind the task */
} ending;

static int finalise_ending(struct baton_task *task)
{
	(void)task;
	ending.finals++;
	ending.status = baton_resource_suspend(&fix.resource, &ending.suspension);
	return 0;
}

static int suspend_ending(struct baton_task *task)
{
	(void)task;
	if (!ending.last)
		for (int i = 0; i < 2; i++)
			MUST(baton_submit(&fix.resource, &fix.steps[i].task) == 0);
	MUST(baton_resource_close_then(&fix.resource, &ending.finaliser) == 0);
	ending.status = baton_resource_suspend(&fix.resource, &ending.suspension);
	return 0;
}

static void suspends_while_it_ends(bool last)
{
	const uint64_t soon = deadline_in_ms(1);
	const size_t steps = last ? 0 : 2;

	ending.last = last;
	baton_task_init(&ending.task, suspend_ending, NULL);
	baton_task_init(&ending.finaliser, finalise_ending, NULL);
	fixture_config();
	cr_assert_eq(baton_submit(&fix.resource, &ending.task), 0);
	cr_assert_eq(ending.status, 0);
	cr_assert(baton_suspension_is_effective(&ending.suspension));
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(ending.finals, 0);
	cr_assert_eq(baton_resource_await_until(&fix.resource, soon), -ETIMEDOUT);
	cr_assert_eq(baton_resource_resume(&ending.suspension), 0);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, steps));
	cr_assert_eq(ending.finals, 1);
	cr_assert_eq(ending.status, -EPIPE, "the finaliser is in no task");
}

Test(suspend, a_task_of_a_closed_resource_suspends_what_is_still_queued, .timeout = 10)
{
	suspends_while_it_ends(false);
}

Test(suspend, so_does_its_last_task_and_the_finaliser_waits, .timeout = 10)
{
	suspends_while_it_ends(true);
}

Test(suspend, the_running_task_ends_and_what_was_queued_does_not_begin, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	const uint64_t past = 1;

	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[1].task), 0);
	cr_assert_not(baton_suspension_is_effective(&suspension));
	cr_assert_eq(baton_suspension_wait_until(&suspension, past), -ETIMEDOUT);
	release(&fix.occupant);
	cr_assert_eq(baton_suspension_wait(&suspension), 0);
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 2));
	cr_assert(journal_here(&fix.journal, 0));
	fixture_end();
}

Test(suspend, resumed_before_it_takes_effect_it_never_does, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	/* It is the caller's again. */
	memset(&suspension, 0xA5, sizeof(suspension));
	release(&fix.occupant);
	cr_assert(journal_counts_up(&fix.journal, 0, 1));
	fixture_end();
}

Test(suspend, the_resource_runs_when_all_suspensions_are_resumed, .timeout = 10)
{
	struct baton_suspension suspensions[3] = {BATON_SUSPENSION_INIT, BATON_SUSPENSION_INIT,
	                                          BATON_SUSPENSION_INIT};

	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_resource_suspend(&fix.resource, &suspensions[i]), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert(baton_suspension_is_effective(&suspensions[0]));
	cr_assert_not(baton_suspension_is_effective(&suspensions[1]));
	/* Withdrawn, though others are in effect. */
	cr_assert_eq(baton_resource_resume(&suspensions[1]), 0);
	cr_assert_eq(baton_resource_resume(&suspensions[0]), 0);
	cr_assert(baton_suspension_is_effective(&suspensions[2]));
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(baton_resource_resume(&suspensions[2]), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 1));
	fixture_end();
}

struct inside {
	struct baton_task task;
	struct baton_resource *resource;
	struct baton_suspension suspension;
	bool resume;
	int results[5];
};

static int inside_run(struct baton_task *task)
{
	struct inside *inside = baton_container_of(task, struct inside, task);
	struct baton_suspension other;

	inside->results[0] = baton_quiesce(&inside->resource, 1, &other);
	inside->results[1] = baton_resource_suspend(inside->resource, &inside->suspension);
	inside->results[2] = baton_suspension_is_effective(&inside->suspension);
	inside->results[3] = baton_suspension_wait(&inside->suspension);
	if (inside->resume)
		inside->results[4] = baton_resource_resume(&inside->suspension);
	return 0;
}

static void inside_check(const struct inside *inside)
{
	cr_assert_eq(inside->results[0], -EDEADLK);
	cr_assert_eq(inside->results[1], 0);
	cr_assert_eq(inside->results[2], 0);
	cr_assert_eq(inside->results[3], -EDEADLK);
	cr_assert_eq(inside->results[4], 0);
}

Test(suspend, a_task_suspends_its_own_resource_after_itself, .timeout = 10)
{
	struct inside inside = {.task = BATON_TASK_INIT(inside_run, NULL),
	                        .resource = &fix.resource};

	cr_assert_eq(baton_submit(&fix.resource, &inside.task), 0);
	inside_check(&inside);
	cr_assert(baton_suspension_is_effective(&inside.suspension));
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(baton_resource_resume(&inside.suspension), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 1));
	/* And takes it back. */
	baton_task_init(&inside.task, inside_run, NULL);
	inside.resume = true;
	cr_assert_eq(baton_submit(&fix.resource, &inside.task), 0);
	inside_check(&inside);
	fixture_end();
}

Test(suspend, a_queued_resource_is_suspended_by_the_waiter_itself, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	fixture_stash();
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
	cr_assert_eq(baton_suspension_wait(&suspension), 0);
	/* Its job is popped meanwhile, and the task runs here; or the baton is given back. */
	for (int round = 0; round < 2; round++) {
		cr_assert_eq(fix.journal.count, (size_t)round);
		if (round == 0)
			stash_run(&fix.stash);
		cr_assert_eq(fix.journal.count, (size_t)round);
		cr_assert_eq(baton_resource_resume(&suspension), 0);
		stash_run(&fix.stash);
		cr_assert_eq(fix.journal.count, (size_t)round + 1);
		if (round == 1)
			break;
		cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[1].task), 0);
		cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
		cr_assert_eq(baton_suspension_wait(&suspension), 0);
	}
	cr_assert(journal_counts_up(&fix.journal, 0, 2));
	fixture_end();
}

static int told;

static void tell(struct baton_task *task)
{
	told++;
}

/* The waiter has borrowed the baton, and the job was popped since. Neither a task nor a callback of
 * a cancelled one runs on a thread that may have suspended other resources. */
Test(suspend, resume_later_runs_nothing_here_where_the_baton_was_borrowed, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	fix.config.cancelled = tell;
	fixture_stash();
	for (int cancels = 0; cancels < 2; cancels++) {
		cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
		cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
		cr_assert_eq(baton_suspension_wait(&suspension), 0);
		stash_run(&fix.stash);
		if (cancels)
			cr_assert_eq(baton_resource_cancel_pending(&fix.resource), 0);
		cr_assert_eq(baton_resource_resume_later(&suspension), 0);
		cr_assert_eq(fix.journal.count, (size_t)cancels);
		cr_assert_eq(told, 0);
		stash_run(&fix.stash);
		cr_assert_eq(fix.journal.count, 1U);
		cr_assert_eq(told, cancels);
	}
	/* With nothing queued the resource does not go to its executor. */
	cr_assert(baton_resource_is_idle(&fix.resource));
	fixture_end();
}

Test(suspend, withdrawn_from_a_queued_resource_it_leaves_no_mark, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	fixture_stash();
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert_eq(fix.resource._list, &fix.steps[0].task);
	cr_assert_null(fix.steps[0].task._next);
	stash_run(&fix.stash);
	cr_assert(journal_counts_up(&fix.journal, 0, 1));
	fixture_end();
}

Test(suspend, with_limit_0_the_backlog_runs_on_the_executor, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_stash();
	/* With nothing queued it does not even go there. */
	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert_eq(atomic_load(&fix.stash.count), 0);
	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert_eq(fix.journal.count, 0);
	stash_run(&fix.stash);
	cr_assert(journal_counts_up(&fix.journal, 0, 1));
	fixture_end();
}

Test(suspend, the_backlog_runs_up_to_the_capture_limit_then_on_the_executor, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	fix.config.capture_max = 2;
	fixture_stash();
	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
	steps_submit(0, 4);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert_eq(fix.journal.count, 2);
	stash_run(&fix.stash);
	cr_assert(journal_counts_up(&fix.journal, 0, 4));
	/* _later: none of it here. */
	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[4].task), 0);
	cr_assert_eq(baton_resource_resume_later(&suspension), 0);
	cr_assert_eq(fix.journal.count, 4);
	stash_run(&fix.stash);
	cr_assert(journal_counts_up(&fix.journal, 0, 5));
	fixture_end();
}

Test(suspend, what_no_executor_takes_runs_where_it_is_resumed, .timeout = 10)
{
	enum { MANY = BATON_QUANTUM + 1 }; /* resume leaves more than a quantum to the executor */
	static const struct {
		uint32_t limit;
		bool later;
		size_t count;
	} rows[] = {
		{BATON_CAPTURE_NONE, false, 3}, {1, true, 3}, {1, false, MANY}, {1, true, MANY}};

	for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
		struct baton_suspension suspension = BATON_SUSPENSION_INIT;
		struct step steps[MANY];

		fix.config.capture_max = rows[row].limit;
		fixture_stash();
		atomic_store(&fix.stash.answer, -ESHUTDOWN);
		steps_init(steps, MANY, &fix.journal, 0);
		cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
		for (size_t i = 0; i < rows[row].count; i++)
			cr_assert_eq(baton_submit(&fix.resource, &steps[i].task), 0);
		cr_assert_eq(rows[row].later ? baton_resource_resume_later(&suspension)
		                             : baton_resource_resume(&suspension),
		             0);
		cr_assert(journal_counts_up(&fix.journal, 0, rows[row].count), "row %zu", row);
		fixture_end();
	}
}
