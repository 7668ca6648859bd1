/* SPDX-License-Identifier: MIT */
/* cancel_pending: what was accepted before it and has not started never runs; the rest does. */
#include "fixture.h"

struct watched {
	struct step step;
	int told;
	bool held;
	struct baton_resource *resource;
};

static void watched_cancelled(struct baton_task *task)
{
	struct step *step = baton_container_of(task, struct step, task);
	struct watched *watched = baton_container_of(step, struct watched, step);

	watched->told++;
	watched->held = baton_held(watched->resource);
}

static void watched_init(struct watched *watched, struct baton_resource *resource,
                         struct journal *journal, int number)
{
	memset(watched, 0, sizeof(*watched));
	step_init(&watched->step, journal, number, NULL);
	watched->resource = resource;
}

Test(pending, on_an_idle_resource_it_changes_nothing, .timeout = 10)
{
	cr_assert_eq(baton_resource_cancel_pending(&fix.resource), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 1));
	fixture_end();
}

Test(pending, what_waits_in_the_inbox_is_cancelled_and_later_submits_run, .timeout = 10)
{
	struct baton_future futures[6];

	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 6; i++) {
		baton_future_init(&futures[i]);
		step_init(&fix.steps[i], &fix.journal, i, &futures[i]);
		if (i == 4)
			cr_assert_eq(baton_resource_cancel_pending(&fix.resource), 0);
		cr_assert_eq(baton_submit(&fix.resource, &fix.steps[i].task), 0);
	}
	cr_assert_eq(baton_future_state(&futures[0]), BATON_PENDING, "it marks and returns");
	release(&fix.occupant);
	for (int i = 0; i < 6; i++)
		cr_assert_eq(baton_future_state(&futures[i]), i < 4 ? BATON_CANCELLED : BATON_DONE);
	cr_assert(journal_counts_up(&fix.journal, 4, 2));
	fixture_end();
}

Test(pending, tasks_without_future_are_told_once_under_the_baton, .timeout = 10)
{
	struct watched watched[4];

	fix.config.cancelled = watched_cancelled;
	fixture_config();
	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 4; i++) {
		watched_init(&watched[i], &fix.resource, &fix.journal, i);
		if (i == 3)
			cr_assert_eq(baton_resource_cancel_pending(&fix.resource), 0);
		cr_assert_eq(baton_submit(&fix.resource, &watched[i].step.task), 0);
	}
	release(&fix.occupant);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(watched[i].told, 1);
		cr_assert(watched[i].held);
	}
	cr_assert_eq(watched[3].told, 0);
	cr_assert(journal_counts_up(&fix.journal, 3, 1));
	fixture_end();
}

/* Called from the middle of a batch, so that its rest is the runner's already. */
struct breaker {
	struct baton_task task;
	struct baton_resource *resource;
	struct baton_task *before;
	struct baton_task *after;
	int result;
};

static int breaker_run(struct baton_task *task)
{
	struct breaker *breaker = baton_container_of(task, struct breaker, task);

	MUST(baton_submit(breaker->resource, breaker->before) == 0);
	breaker->result = baton_resource_cancel_pending(breaker->resource);
	MUST(baton_submit(breaker->resource, breaker->after) == 0);
	return 0;
}

Test(pending, from_an_own_task_it_meets_what_the_runner_has_taken_and_the_inbox, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct watched taken[3], before;
	struct step first, after;
	struct breaker breaker = {BATON_TASK_INIT(breaker_run, &future), &fix.resource,
	                          &before.step.task, &after.task, 1};
	struct baton_task *batch[5] = {&first.task, &breaker.task, &taken[0].step.task,
	                               &taken[1].step.task, &taken[2].step.task};

	fix.config.cancelled = watched_cancelled;
	fix.counted = true;
	fixture_config();
	step_init(&first, &fix.journal, 0, NULL);
	step_init(&after, &fix.journal, 1, NULL);
	for (int i = 0; i < 3; i++)
		watched_init(&taken[i], &fix.resource, &fix.journal, 50);
	watched_init(&before, &fix.resource, &fix.journal, 51);
	cr_assert_eq(baton_submit_batch(&fix.resource, batch, 5), 0);
	cr_assert_eq(breaker.result, 0);
	cr_assert_eq(baton_future_state(&future), BATON_DONE, "what runs is not pending");
	for (int i = 0; i < 3; i++)
		cr_assert_eq(taken[i].told, 1);
	cr_assert_eq(before.told, 1);
	cr_assert(journal_counts_up(&fix.journal, 0, 2));
	cr_assert_eq(fix.stats.cancelled, 4);
	cr_assert_eq(resource_counts(&fix.stats).executed, 3);
	fixture_end();
}

Test(pending, on_a_queued_resource_the_hand_off_finds_them_cancelled, .timeout = 10)
{
	struct baton_future futures[3] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT, BATON_FUTURE_INIT};

	fixture_stash();
	for (int i = 0; i < 3; i++) {
		step_init(&fix.steps[i], &fix.journal, i, &futures[i]);
		if (i == 2)
			cr_assert_eq(baton_resource_cancel_pending(&fix.resource), 0);
		cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[i].task), 0);
	}
	stash_run(&fix.stash);
	cr_assert_eq(baton_future_state(&futures[0]), BATON_CANCELLED);
	cr_assert_eq(baton_future_state(&futures[1]), BATON_CANCELLED);
	cr_assert_eq(baton_future_state(&futures[2]), BATON_DONE);
	cr_assert(journal_counts_up(&fix.journal, 2, 1));
	fixture_end();
}

Test(pending, twice_it_cancels_what_came_between_too, .timeout = 10)
{
	struct baton_future futures[3] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT, BATON_FUTURE_INIT};

	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 3; i++) {
		step_init(&fix.steps[i], &fix.journal, i, &futures[i]);
		cr_assert_eq(baton_submit(&fix.resource, &fix.steps[i].task), 0);
		if (i < 2)
			cr_assert_eq(baton_resource_cancel_pending(&fix.resource), 0);
	}
	release(&fix.occupant);
	cr_assert_eq(baton_future_state(&futures[0]), BATON_CANCELLED);
	cr_assert_eq(baton_future_state(&futures[1]), BATON_CANCELLED);
	cr_assert_eq(baton_future_state(&futures[2]), BATON_DONE);
	fixture_end();
}

Test(pending, with_close_then_the_finaliser_follows_the_cancelled_ones, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct step step, finaliser;

	step_init(&step, &fix.journal, 0, &future);
	step_init(&finaliser, &fix.journal, 1, NULL);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &step.task), 0);
	cr_assert_eq(baton_resource_close_then(&fix.resource, &finaliser.task), 0);
	cr_assert_eq(baton_resource_cancel_pending(&fix.resource), 0);
	release(&fix.occupant);
	cr_assert_eq(baton_future_state(&future), BATON_CANCELLED);
	cr_assert(journal_counts_up(&fix.journal, 1, 1));
}

Test(pending, thousands_cost_one_look_and_wake_their_waiters, .timeout = 10)
{
	enum { MANY = 2000 };
	struct baton_future *futures = calloc(MANY, sizeof(*futures));
	struct step *steps = calloc(MANY, sizeof(*steps));
	struct baton_future **pointers = calloc(MANY, sizeof(struct baton_future *));

	MUST(futures && steps && pointers);
	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < MANY; i++) {
		baton_future_init(&futures[i]);
		step_init(&steps[i], &fix.journal, i, &futures[i]);
		pointers[i] = &futures[i];
		cr_assert_eq(baton_submit(&fix.resource, &steps[i].task), 0);
	}
	cr_assert_eq(baton_resource_cancel_pending(&fix.resource), 0);
	gate_open(&fix.occupant.leave);
	cr_assert_eq(baton_future_wait_all(pointers, MANY), 0);
	thread_join(fix.occupant.thread);
	for (int i = 0; i < MANY; i++)
		cr_assert_eq(baton_future_state(&futures[i]), BATON_CANCELLED);
	cr_assert_eq(fix.journal.count, 0);
	fixture_end();
	free(pointers);
	free(steps);
	free(futures);
}
