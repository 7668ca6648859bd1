/* SPDX-License-Identifier: MIT */
/* Cancelling a future: what it says at once, what happens to the task, who notices. */
#include "fixture.h"

struct listener {
	struct baton_task task;
	struct baton_task *nested; /* submitted to `other` from inside */
	struct baton_resource *resource;
	struct baton_resource *other;
	struct baton_future *own;
	sem_t entered;
	sem_t leave;
	bool before;
	bool after;
	int status;
};

static int listens(struct baton_task *task)
{
	struct listener *listener = baton_container_of(task, struct listener, task);

	listener->before = baton_cancel_requested();
	gate_open(&listener->entered);
	gate_pass(&listener->leave);
	if (listener->nested)
		BATON_IGNORE(baton_submit(listener->other, listener->nested));
	listener->after = baton_cancel_requested();
	return listener->status;
}

static void *listener_main(void *arg)
{
	struct listener *listener = arg;

	MUST(baton_submit(listener->resource, &listener->task) == 0);
	return NULL;
}

static void listener_init(struct listener *listener, struct baton_resource *resource,
                          struct baton_future *future)
{
	memset(listener, 0, sizeof(*listener));
	baton_task_init(&listener->task, listens, future);
	listener->resource = resource;
	gate_init(&listener->entered);
	gate_init(&listener->leave);
}

Test(cancel, what_was_never_submitted_cannot_be_cancelled, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;

	cr_assert_eq(baton_future_cancel(&future), -EINVAL);
	step_init(&fix.steps[0], &fix.journal, 1, &future);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(fix.journal.count, 1);
	cr_assert_eq(baton_future_cancel(&future), -EALREADY);
	cr_assert_eq(baton_future_state(&future), BATON_DONE);
	fixture_end();
}

Test(cancel, a_task_behind_a_runner_never_runs_and_completes_when_unlinked, .timeout = 10)
{
	struct baton_future futures[3] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT, BATON_FUTURE_INIT};

	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 3; i++) {
		step_init(&fix.steps[i], &fix.journal, i, &futures[i]);
		cr_assert_eq(baton_submit(&fix.resource, &fix.steps[i].task), 0);
	}
	cr_assert_eq(baton_future_cancel(&futures[1]), 0);
	cr_assert_eq(baton_future_state(&futures[1]), BATON_PENDING, "its memory is baton's still");
	cr_assert_eq(baton_future_status(&futures[1]), -EAGAIN);
	cr_assert_eq(baton_future_cancel(&futures[1]), -EALREADY);
	release(&fix.occupant);
	cr_assert_eq(baton_future_wait(&futures[1]), 0);
	cr_assert_eq(baton_future_state(&futures[1]), BATON_CANCELLED);
	cr_assert_eq(baton_future_status(&futures[1]), -ECANCELED);
	cr_assert_null(baton_future_value(&futures[1]));
	cr_assert_eq(baton_future_cancel(&futures[1]), -EALREADY);
	fixture_end();
	cr_assert_eq(fix.journal.count, 2);
	cr_assert(fix.journal.number[0] == 0 && fix.journal.number[1] == 2);
}

Test(cancel, of_a_queued_resources_task_takes_the_baton_and_runs_nothing, .timeout = 10)
{
	struct baton_future futures[3] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT, BATON_FUTURE_INIT};

	fixture_stash();
	for (int i = 0; i < 3; i++) {
		step_init(&fix.steps[i], &fix.journal, i, &futures[i]);
		cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[i].task), 0);
	}
	cr_assert_eq(baton_future_cancel(&futures[1]), 0);
	cr_assert_eq(baton_future_state(&futures[1]), BATON_CANCELLED);
	cr_assert_eq(fix.journal.count, 0);
	stash_run(&fix.stash);
	cr_assert_eq(fix.journal.count, 2);
	cr_assert(fix.journal.number[0] == 0 && fix.journal.number[1] == 2);
	cr_assert_eq(baton_future_state(&futures[2]), BATON_DONE);
	fixture_end();
}

Test(cancel, the_only_task_of_a_queued_resource_leaves_it_idle, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;

	fixture_stash();
	step_init(&fix.steps[0], &fix.journal, 0, &future);
	step_init(&fix.steps[1], &fix.journal, 1, NULL);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_future_cancel(&future), 0);
	stash_run(&fix.stash);
	cr_assert_eq(baton_future_state(&future), BATON_CANCELLED);
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[1].task), 0);
	cr_assert_eq(fix.journal.count, 1, "idle again: inline");
	fixture_end();
}

Test(cancel, a_running_task_is_told_and_its_followers_are_not, .timeout = 10)
{
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct baton_future futures[2] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT};
	struct listener told, nested, next;
	pthread_t thread;

	listener_init(&told, &fix.resource, &futures[0]);
	listener_init(&nested, &other, NULL);
	listener_init(&next, &fix.resource, &futures[1]);
	told.nested = &nested.task;
	told.other = &other;
	told.status = -ECANCELED;
	gate_open(&nested.leave);
	gate_open(&next.leave);
	thread = thread_start(listener_main, &told);
	gate_pass(&told.entered);
	cr_assert_eq(baton_submit(&fix.resource, &next.task), 0);
	cr_assert_eq(baton_future_cancel(&futures[0]), -EINPROGRESS);
	cr_assert_eq(baton_future_state(&futures[0]), BATON_RUNNING);
	gate_open(&told.leave);
	thread_join(thread);
	fixture_end();
	resource_end(&other);
	cr_assert(!told.before && told.after);
	cr_assert(!nested.before && !nested.after, "the innermost task is another one");
	cr_assert(!next.before && !next.after);
	cr_assert_eq(baton_future_state(&futures[0]), BATON_FAILED, "it ran");
	cr_assert_eq(baton_future_status(&futures[0]), -ECANCELED);
	cr_assert_eq(baton_future_state(&futures[1]), BATON_DONE);
}

Test(cancel, a_running_task_may_ignore_it, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct listener told;
	pthread_t thread;

	listener_init(&told, &fix.resource, &future);
	thread = thread_start(listener_main, &told);
	gate_pass(&told.entered);
	cr_assert_eq(baton_future_cancel(&future), -EINPROGRESS);
	gate_open(&told.leave);
	cr_assert_eq(baton_future_wait(&future), 0);
	cr_assert_eq(baton_future_state(&future), BATON_DONE);
	cr_assert_eq(baton_future_status(&future), 0);
	thread_join(thread);
	cr_assert(told.after);
	fixture_end();
}

static int cancels_itself(struct baton_task *task)
{
	struct listener *listener = baton_container_of(task, struct listener, task);

	listener->status = baton_future_cancel(listener->own);
	listener->after = baton_cancel_requested();
	return 0;
}

Test(cancel, a_task_may_cancel_itself, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct listener listener;

	listener_init(&listener, &fix.resource, &future);
	baton_task_init(&listener.task, cancels_itself, &future);
	listener.own = &future;
	cr_assert_eq(baton_submit(&fix.resource, &listener.task), 0);
	cr_assert_eq(listener.status, -EINPROGRESS);
	cr_assert(listener.after);
	cr_assert_eq(baton_future_state(&future), BATON_DONE);
	fixture_end();
}

struct killer {
	struct baton_task task;
	struct baton_future *victim;
	int answer;
	enum baton_future_state state;
};

static int cancels_the_next(struct baton_task *task)
{
	struct killer *killer = baton_container_of(task, struct killer, task);

	killer->answer = baton_future_cancel(killer->victim);
	killer->state = baton_future_state(killer->victim);
	return 0;
}

Test(cancel, a_task_may_cancel_the_next_of_its_own_batch, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct killer killer = {BATON_TASK_INIT(cancels_the_next, NULL), &future, 1, BATON_DONE};
	struct baton_task *batch[3] = {&killer.task, &fix.steps[0].task, &fix.steps[1].task};

	step_init(&fix.steps[0], &fix.journal, 0, &future);
	step_init(&fix.steps[1], &fix.journal, 1, NULL);
	cr_assert_eq(baton_submit_batch(&fix.resource, batch, 3), 0);
	cr_assert_eq(killer.answer, 0);
	cr_assert_eq(baton_future_state(&future), BATON_CANCELLED);
	cr_assert(journal_counts_up(&fix.journal, 1, 1));
	fixture_end();
}

static void *sets_flag(void *arg)
{
	*(int *)arg = 1;
	return NULL;
}

Test(cancel, an_async_call_can_be_cancelled, .timeout = 10)
{
	struct baton_future *future = NULL;
	int flag = 0;

	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_async(&fix.resource, sets_flag, &flag, &future), 0);
	cr_assert_eq(baton_future_cancel(future), 0);
	release(&fix.occupant);
	cr_assert_eq(baton_future_wait(future), 0);
	cr_assert_eq(baton_future_status(future), -ECANCELED);
	baton_future_unref(future);
	fixture_end();
	cr_assert_eq(flag, 0);
}

static void *waits_main(void *arg)
{
	return (void *)(intptr_t)baton_future_wait(arg);
}

Test(cancel, a_waiter_of_the_cancelled_task_is_woken, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	pthread_t thread;

	occupy(&fix.occupant, &fix.resource);
	step_init(&fix.steps[0], &fix.journal, 1, &future);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	thread = thread_start(waits_main, &future);
	cr_assert_eq(baton_future_cancel(&future), 0);
	release(&fix.occupant);
	cr_assert_null(thread_join(thread));
	cr_assert_eq(baton_future_state(&future), BATON_CANCELLED);
	fixture_end();
	cr_assert_eq(fix.journal.count, 0);
}

Test(cancel, each_future_of_a_queued_batch_is_bound, .timeout = 10)
{
	struct baton_future futures[3];
	struct baton_task *tasks[3];

	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 3; i++) {
		baton_future_init(&futures[i]);
		step_init(&fix.steps[i], &fix.journal, i, &futures[i]);
		tasks[i] = &fix.steps[i].task;
	}
	cr_assert_eq(baton_submit_batch(&fix.resource, tasks, 3), 0);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_future_cancel(&futures[i]), 0);
	release(&fix.occupant);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_future_state(&futures[i]), BATON_CANCELLED);
	cr_assert_eq(fix.journal.count, 0);
	fixture_end();
}

Test(cancel, a_wait_for_all_that_times_out_cancels_the_rest, .timeout = 10)
{
	struct baton_future done = BATON_PROMISE_INIT, queued = BATON_FUTURE_INIT;
	struct baton_future *futures[] = {&done, &queued};
	const uint64_t past = 1;

	step_init(&fix.steps[0], &fix.journal, 0, &queued);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_future_complete(&done, 0, NULL), 0);
	cr_assert_eq(baton_future_wait_all_until(futures, 2, past), -ETIMEDOUT);
	cr_assert_eq(baton_future_cancel(&done), -EALREADY);
	cr_assert_eq(baton_future_wait_all_or_cancel_until(futures, 2, past), -ETIMEDOUT);
	cr_assert_eq(baton_future_cancel(&queued), -EALREADY, "that is decided");
	release(&fix.occupant);
	cr_assert_eq(baton_future_wait_all_or_cancel(futures, 2), 0);
	cr_assert_eq(baton_future_state(&done), BATON_DONE);
	cr_assert_eq(baton_future_state(&queued), BATON_CANCELLED);
	cr_assert_eq(fix.journal.count, 0U);
	fixture_end();
}

/* In a task: the wait for a task behind it would never end. */
static void *waits_for_what_is_behind(void *arg)
{
	struct baton_future *behind = arg;

	step_init(&fix.steps[0], &fix.journal, 0, behind);
	MUST(baton_submit(&fix.resource, &fix.steps[0].task) == 0);
	MUST(baton_future_wait_all_or_cancel(&behind, 1) == -EDEADLK);
	return NULL;
}

Test(cancel, a_wait_for_all_that_fails_otherwise_cancels_nothing, .timeout = 10)
{
	struct baton_future behind = BATON_FUTURE_INIT;

	cr_assert_eq(baton_call(&fix.resource, waits_for_what_is_behind, &behind, NULL), 0);
	cr_assert_eq(baton_future_wait(&behind), 0);
	cr_assert_eq(baton_future_state(&behind), BATON_DONE);
	cr_assert_eq(fix.journal.count, 1U);
	fixture_end();
}
