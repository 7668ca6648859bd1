/* SPDX-License-Identifier: MIT */
/* A future's states, value and status; promises; references; futures on the stack. */
#include "fixture.h"

struct outcome {
	struct baton_task task;
	struct baton_future *own;
	void *value;
	int status;
	enum baton_future_state seen;
	int seen_status;
};

static int outcome_run(struct baton_task *task)
{
	struct outcome *outcome = baton_container_of(task, struct outcome, task);

	outcome->seen = baton_future_state(outcome->own);
	outcome->seen_status = baton_future_status(outcome->own);
	if (outcome->value)
		baton_set_result(outcome->value);
	return outcome->status;
}

Test(future, a_fresh_one_is_pending_without_status_or_value, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;

	cr_assert_eq(baton_future_state(&future), BATON_PENDING);
	cr_assert_eq(baton_future_status(&future), -EAGAIN);
	cr_assert_null(baton_future_value(&future));
	cr_assert_not(baton_future_is_complete(&future));
}

Test(future, it_is_running_inside_its_task_and_done_after_it, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	int value = 0;
	struct outcome outcome = {
		BATON_TASK_INIT(outcome_run, &future), &future, &value, 0, BATON_DONE, 0};

	cr_assert_eq(baton_submit(&fix.resource, &outcome.task), 0);
	cr_assert_eq(outcome.seen, BATON_RUNNING);
	cr_assert_eq(outcome.seen_status, -EAGAIN);
	cr_assert_eq(baton_future_state(&future), BATON_DONE);
	cr_assert(baton_future_is_complete(&future));
	cr_assert_eq(baton_future_status(&future), 0);
	cr_assert_eq(baton_future_value(&future), &value);
	cr_assert_eq(baton_future_wait(&future), 0);
	fixture_end();
}

Test(future, without_set_result_the_value_is_null, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct outcome outcome = {
		BATON_TASK_INIT(outcome_run, &future), &future, NULL, 0, BATON_DONE, 0};

	cr_assert_eq(baton_submit(&fix.resource, &outcome.task), 0);
	cr_assert_eq(baton_future_state(&future), BATON_DONE);
	cr_assert_null(baton_future_value(&future));
	fixture_end();
}

Test(future, a_status_other_than_0_means_failed_with_it, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct outcome outcome = {
		BATON_TASK_INIT(outcome_run, &future), &future, NULL, -EIO, BATON_DONE, 0};

	cr_assert_eq(baton_submit(&fix.resource, &outcome.task), 0);
	cr_assert_eq(baton_future_state(&future), BATON_FAILED);
	cr_assert_eq(baton_future_status(&future), -EIO);
	cr_assert_eq(baton_future_wait(&future), 0, "the wait itself did not fail");
	baton_future_init(&future);
	outcome.status = 42;
	cr_assert_eq(baton_submit(&fix.resource, &outcome.task), 0);
	cr_assert_eq(baton_future_status(&future), 42);
	fixture_end();
}

struct watched {
	struct baton_task task;
	sem_t entered;
	sem_t leave;
	struct baton_resource *resource;
};

static int watched_run(struct baton_task *task)
{
	struct watched *watched = baton_container_of(task, struct watched, task);

	gate_open(&watched->entered);
	gate_pass(&watched->leave);
	return 0;
}

static void *watched_main(void *arg)
{
	struct watched *watched = arg;

	MUST(baton_submit(watched->resource, &watched->task) == 0);
	return NULL;
}

Test(future, another_thread_sees_it_running_and_then_done, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct watched watched = {.task = BATON_TASK_INIT(watched_run, &future),
	                          .resource = &fix.resource};
	pthread_t thread;

	gate_init(&watched.entered);
	gate_init(&watched.leave);
	thread = thread_start(watched_main, &watched);
	gate_pass(&watched.entered);
	cr_assert_eq(baton_future_state(&future), BATON_RUNNING);
	cr_assert_eq(baton_future_status(&future), -EAGAIN);
	gate_open(&watched.leave);
	cr_assert_eq(baton_future_wait(&future), 0);
	cr_assert_eq(baton_future_state(&future), BATON_DONE);
	thread_join(thread);
	fixture_end();
}

/* What a task did is visible to whoever polls its future complete: the counter is a plain one. */
struct published {
	struct baton_task task;
	struct baton_future future;
	uint64_t plain;
};

static int publish(struct baton_task *task)
{
	struct published *published = baton_container_of(task, struct published, task);

	published->plain = 0xFEED;
	return 0;
}

Test(future, what_the_task_did_is_visible_after_poll, .timeout = 10)
{
	fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_pool(1);
	for (int i = 0; i < scaled(3000); i++) {
		struct published published;

		memset(&published, 0, sizeof(published));
		baton_future_init(&published.future);
		baton_task_init(&published.task, publish, &published.future);
		cr_assert_eq(baton_submit(&fix.resource, &published.task), 0);
		while (baton_future_state(&published.future) < BATON_DONE)
			sched_yield();
		cr_assert_eq(published.plain, 0xFEED);
	} /* and its memory is used again at once */
	fixture_end();
}

Test(future, thousands_on_the_stack_are_waited_for_and_forgotten, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	struct baton_resource_config configs[2] = {BATON_RESOURCE_CONFIG_INIT,
	                                           BATON_RESOURCE_CONFIG_INIT};
	struct baton_resource resources[2];

	configs[0].capture_max = BATON_CAPTURE_NONE;
	for (int i = 0; i < 2; i++) {
		configs[i].executor = baton_pool_executor(pool);
		baton_resource_init(&resources[i], &configs[i]);
	}
	for (int i = 0; i < scaled(10000); i++) {
		struct published published;

		memset(&published, 0, sizeof(published));
		baton_future_init(&published.future);
		baton_task_init(&published.task, publish, &published.future);
		cr_assert_eq(baton_submit_later(&resources[i % 2], &published.task), 0);
		cr_assert_eq(baton_future_wait(&published.future), 0);
		cr_assert_eq(published.plain, 0xFEED);
		memset(&published, 0xA5, sizeof(published));
	}
	resource_end(&resources[0]);
	resource_end(&resources[1]);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* Promises. */
Test(future, a_promise_is_fulfilled_once, .timeout = 10)
{
	struct baton_future promise = BATON_PROMISE_INIT;
	int value = 0;

	cr_assert_eq(baton_future_state(&promise), BATON_PENDING);
	cr_assert_eq(baton_future_status(&promise), -EAGAIN);
	cr_assert_eq(baton_future_complete(&promise, 0, &value), 0);
	cr_assert_eq(baton_future_state(&promise), BATON_DONE);
	cr_assert_eq(baton_future_complete(&promise, -EIO, NULL), -EALREADY);
	cr_assert_eq(baton_future_status(&promise), 0);
	cr_assert_eq(baton_future_value(&promise), &value);
	cr_assert_eq(baton_future_wait(&promise), 0);
	baton_promise_init(&promise);
	cr_assert_eq(baton_future_state(&promise), BATON_PENDING);
	cr_assert_eq(baton_future_complete(&promise, -EIO, NULL), 0);
	cr_assert_eq(baton_future_state(&promise), BATON_FAILED);
	cr_assert_eq(baton_future_status(&promise), -EIO);
}

Test(future, a_cancelled_promise_cannot_be_fulfilled, .timeout = 10)
{
	struct baton_future promise = BATON_PROMISE_INIT;

	cr_assert_eq(baton_future_cancel(&promise), 0);
	cr_assert_eq(baton_future_state(&promise), BATON_CANCELLED);
	cr_assert_eq(baton_future_status(&promise), -ECANCELED);
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), -EALREADY);
	cr_assert_eq(baton_future_cancel(&promise), -EALREADY);
	cr_assert_eq(baton_future_wait(&promise), 0);
}

Test(future, a_tasks_future_cannot_be_fulfilled_by_hand, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;

	step_init(&fix.steps[0], &fix.journal, 1, &future);
	cr_assert_eq(baton_future_complete(&future, 0, NULL), -EINVAL);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_future_complete(&future, 0, NULL), -EINVAL);
	cr_assert_eq(baton_future_state(&future), BATON_PENDING);
	release(&fix.occupant);
	cr_assert_eq(fix.journal.count, 1);
	cr_assert_eq(baton_future_state(&future), BATON_DONE);
	fixture_end();
}

enum { RIVALS = 4, RACES = 2000 };

struct race {
	struct baton_future promises[RACES];
	pthread_barrier_t start;
	uint64_t plain[RACES][RIVALS];
};

struct rival {
	struct race *race;
	int index;
	int wins;
	int strange;
};

static void *rival_main(void *arg)
{
	struct rival *rival = arg;
	struct race *race = rival->race;

	pthread_barrier_wait(&race->start);
	for (int i = 0; i < scaled(RACES); i++) {
		int answer;

		race->plain[i][rival->index] = (uint64_t)i + 1;
		if (rival->index == 0 && i % 2)
			answer = baton_future_cancel(&race->promises[i]);
		else
			answer = baton_future_complete(&race->promises[i], 0,
			                               &race->plain[i][rival->index]);
		rival->wins += answer == 0;
		rival->strange += answer != 0 && answer != -EALREADY;
	}
	return NULL;
}

Test(future, of_several_threads_that_fulfil_one_wins, .timeout = 10)
{
	struct race *race = calloc(1, sizeof(*race));
	struct rival rivals[RIVALS];
	pthread_t threads[RIVALS];
	int wins = 0;

	MUST(race && pthread_barrier_init(&race->start, NULL, RIVALS) == 0);
	for (int i = 0; i < RACES; i++)
		baton_promise_init(&race->promises[i]);
	for (int i = 0; i < RIVALS; i++) {
		rivals[i] = (struct rival){race, i, 0, 0};
		threads[i] = thread_start(rival_main, &rivals[i]);
	}
	for (int i = 0; i < scaled(RACES); i++) {
		uint64_t *value;

		while (!baton_future_is_complete(&race->promises[i]))
			sched_yield();
		value = baton_future_value(&race->promises[i]);
		if (baton_future_state(&race->promises[i]) == BATON_CANCELLED)
			cr_assert_null(value);
		else
			cr_assert_eq(*value, (uint64_t)i + 1, "the winner's work is visible");
	}
	for (int i = 0; i < RIVALS; i++) {
		thread_join(threads[i]);
		wins += rivals[i].wins;
		cr_assert_eq(rivals[i].strange, 0);
	}
	cr_assert_eq(wins, scaled(RACES));
	free(race);
}

/* References. */
static void *returns_arg(void *arg)
{
	return arg;
}

static void *unref_main(void *arg)
{
	struct baton_future *future = arg;
	void *value = NULL;

	if (baton_future_wait(future) == 0)
		value = baton_future_value(future);
	baton_future_unref(future);
	return value;
}

Test(future, a_reference_keeps_it_after_the_others_are_gone, .timeout = 10)
{
	struct baton_future *future = NULL;
	pthread_t threads[4];
	int value = 0;

	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_async(&fix.resource, returns_arg, &value, &future), 0);
	for (int i = 0; i < 4; i++)
		threads[i] = thread_start(unref_main, baton_future_ref(future));
	release(&fix.occupant);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(thread_join(threads[i]), &value);
	cr_assert_eq(baton_future_state(future), BATON_DONE);
	cr_assert_eq(baton_future_value(future), &value);
	baton_future_unref(future);
	fixture_end();
}

static void *sets_flag(void *arg)
{
	*(int *)arg = 1;
	return NULL;
}

Test(future, dropping_the_last_reference_does_not_cancel, .timeout = 10)
{
	struct baton_future *future = NULL;
	int flag = 0;

	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_async(&fix.resource, sets_flag, &flag, &future), 0);
	baton_future_unref(future);
	release(&fix.occupant);
	fixture_end();
	cr_assert_eq(flag, 1);
}

static int ends(struct baton_task *task)
{
	(void)task;
	return 0;
}

Test(future, a_dropped_future_still_has_its_continuation, .timeout = 10)
{
	struct baton_continuation continuation;
	struct baton_future *future = NULL;
	struct baton_future after = BATON_FUTURE_INIT;
	struct baton_task task;
	int flag = 0;

	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_async(&fix.resource, sets_flag, &flag, &future), 0);
	baton_task_init(&task, ends, &after);
	baton_continuation_task(&continuation, &fix.resource, &task);
	baton_future_then(future, &continuation);
	baton_future_unref(future);
	release(&fix.occupant);
	cr_assert_eq(baton_future_wait(&after), 0);
	cr_assert_eq(flag, 1);
	fixture_end();
}
