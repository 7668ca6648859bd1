/* SPDX-License-Identifier: MIT */
/* Detached completion: a task's future completes when the task's token is completed. */
#include "fixture.h"
#include "detach_support.h"

Test(detach, the_future_completes_when_the_token_does, .timeout = 10)
{
	struct request request;
	int value;

	request_init(&request, true);
	request.status = 7;
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	cr_assert_eq(request.detached, 0);
	cr_assert_eq(baton_future_state(&request.future), BATON_RUNNING);
	cr_assert_eq(baton_detached_complete(&request.token, 0, &value), 0);
	cr_assert_eq(baton_future_state(&request.future), BATON_DONE,
	             "what it returned is ignored");
	cr_assert_eq(baton_future_status(&request.future), 0);
	cr_assert_eq(baton_future_value(&request.future), &value);
	cr_assert_eq(baton_detached_complete(&request.token, 0, &value), -EALREADY);
	fixture_end();
}

Test(detach, a_status_says_failed, .timeout = 10)
{
	struct request request;

	request_init(&request, true);
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	cr_assert_eq(baton_detached_complete(&request.token, -EIO, NULL), 0);
	cr_assert_eq(baton_future_state(&request.future), BATON_FAILED);
	cr_assert_eq(baton_future_status(&request.future), -EIO);
	fixture_end();
}

Test(detach, a_token_serves_again_with_a_fresh_future, .timeout = 10)
{
	struct request request;

	request_init(&request, true);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
		cr_assert_eq(baton_detached_complete(&request.token, 0, NULL), 0);
		cr_assert_eq(baton_future_state(&request.future), BATON_DONE);
		baton_future_init(&request.future);
	}
	fixture_end();
}

Test(detach, the_resource_goes_on_meanwhile, .timeout = 10)
{
	struct request request;

	request_init(&request, true);
	step_init(&fix.steps[0], &fix.journal, 1, NULL);
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(fix.journal.count, 1);
	cr_assert_eq(baton_resource_await(&fix.resource), 0, "await does not wait for it");
	cr_assert_eq(baton_future_state(&request.future), BATON_RUNNING);
	cr_assert_eq(baton_detached_complete(&request.token, 0, NULL), 0);
	fixture_end();
}

Test(detach, a_token_may_be_completed_before_the_function_returns, .timeout = 10)
{
	struct request request;

	request_init(&request, true);
	request.by_itself = true;
	request.status = 1;
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	cr_assert_eq(request.completed, 0);
	cr_assert_eq(baton_future_state(&request.future), BATON_DONE);
	cr_assert_eq(baton_future_value(&request.future), &request);
	fixture_end();
}

static void *waits_main(void *arg)
{
	return (void *)(intptr_t)baton_future_wait(arg);
}

static void *writes_and_completes_main(void *arg)
{
	struct request *request = arg;

	request->status = 42; /* seen by who sees the future complete */
	return completes_main(arg);
}

Test(detach, sleepers_are_woken_and_see_what_the_completer_did, .timeout = 10)
{
	struct request request;
	pthread_t waiter, completer;

	request_init(&request, true);
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	waiter = thread_start(waits_main, &request.future);
	completer = thread_start(writes_and_completes_main, &request);
	cr_assert_eq(baton_future_wait(&request.future), 0);
	cr_assert_eq(request.status, 42);
	cr_assert_null(thread_join(waiter));
	cr_assert_null(thread_join(completer));
	fixture_end();
}

Test(detach, of_many_completers_one_succeeds, .timeout = 20)
{
	int rounds = scaled(200);

	for (int round = 0; round < rounds; round++) {
		struct request request;
		pthread_t threads[3];
		int succeeded = 0;

		request_init(&request, false);
		cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
		for (int i = 0; i < 3; i++)
			threads[i] = thread_start(completes_main, &request);
		for (int i = 0; i < 3; i++) {
			intptr_t result = (intptr_t)thread_join(threads[i]);

			cr_assert(result == 0 || result == -EALREADY);
			succeeded += result == 0;
		}
		cr_assert_eq(succeeded, 1);
	}
	fixture_end();
}

struct follower {
	struct step step;
	struct baton_continuation continuation;
};

Test(detach, continuations_run_on_the_completing_thread, .timeout = 10)
{
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct follower follower;
	struct request request;
	pthread_t completer;

	request_init(&request, true);
	step_init(&follower.step, &fix.journal, 1, NULL);
	baton_continuation_task(&follower.continuation, &other, &follower.step.task);
	baton_future_then(&request.future, &follower.continuation);
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	cr_assert_eq(fix.journal.count, 0);
	completer = thread_start(completes_main, &request);
	cr_assert_null(thread_join(completer));
	cr_assert_eq(fix.journal.count, 1);
	cr_assert(pthread_equal(fix.journal.thread[0], completer));
	fixture_end();
	resource_end(&other);
}

Test(detach, cancel_of_its_future_is_told_to_the_completer, .timeout = 10)
{
	struct request request;

	request_init(&request, true);
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	cr_assert(!baton_detached_cancel_requested(&request.token));
	cr_assert_eq(baton_future_cancel(&request.future), -EINPROGRESS);
	cr_assert(baton_detached_cancel_requested(&request.token));
	cr_assert_eq(baton_future_state(&request.future), BATON_RUNNING);
	cr_assert_eq(baton_detached_complete(&request.token, -ECANCELED, NULL), 0);
	cr_assert_eq(baton_future_state(&request.future), BATON_FAILED);
	cr_assert_eq(baton_future_cancel(&request.future), -EALREADY);
	fixture_end();
}

/* Waits, in a task of the resource, for a future of the same resource that is detached. */
struct asker {
	struct baton_task task;
	struct request *request;
	int status;
};

static int asks(struct baton_task *task)
{
	struct asker *asker = baton_container_of(task, struct asker, task);

	asker->status = baton_future_wait(&asker->request->future);
	return 0;
}

Test(detach, a_task_of_the_same_resource_may_wait_for_it, .timeout = 10)
{
	struct asker asker = {BATON_TASK_INIT(asks, NULL), NULL, 1};
	struct request request;
	pthread_t completer;

	request_init(&request, true);
	asker.request = &request;
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	completer = thread_start(completes_main, &request);
	cr_assert_eq(baton_submit(&fix.resource, &asker.task), 0);
	cr_assert_eq(asker.status, 0, "no deadlock: it waits for the completer");
	thread_join(completer);
	fixture_end();
}

Test(detach, misuse_is_refused_and_the_task_is_as_any_other, .timeout = 10)
{
	struct request request;

	request_init(&request, true);
	request.flags = 64;
	request.status = 3;
	cr_assert_eq(baton_detached_complete(&request.token, 0, NULL), -EINVAL);
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	cr_assert_eq(request.detached, -EINVAL);
	cr_assert_eq(baton_future_state(&request.future), BATON_FAILED);
	cr_assert_eq(baton_future_status(&request.future), 3);
	cr_assert_eq(baton_future_value(&request.future), &request.task);

	request_init(&request, false);
	request.timeout_ns = BATON_SECOND;
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	cr_assert_eq(request.detached, -EINVAL, "a deadline, and nobody to be told");

	request_init(&request, true);
	request.flags = 64;
	request.timeout_ns = BATON_SECOND;
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	cr_assert_eq(request.detached, -EINVAL);
	fixture_end();
}

/* Not even if the runner has just run a task with one. */
Test(detach, a_task_without_a_future_detaches_none, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct request request;

	request_init(&request, false);
	step_init(&fix.steps[0], &fix.journal, 0, &future);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	release(&fix.occupant);
	cr_assert_eq(request.detached, 0);
	baton_future_init(&future); /* it is the caller's again */
	cr_assert_eq(baton_detached_complete(&request.token, -EIO, NULL), 0);
	cr_assert_eq(baton_future_state(&future), BATON_PENDING);
	fixture_end();
}

struct holder {
	struct baton_task task;
	struct baton_detached tokens[2];
	int results[2];
};

static int holder_run(struct baton_task *task)
{
	struct holder *holder = baton_container_of(task, struct holder, task);

	for (int i = 0; i < 2; i++)
		holder->results[i] = baton_detach(&holder->tokens[i], BATON_DETACH_EXCLUSIVE);
	return 0;
}

Test(detach, a_task_holds_its_resource_once, .timeout = 10)
{
	struct holder holder = {.task = BATON_TASK_INIT(holder_run, NULL),
	                        .tokens = {BATON_DETACHED_INIT, BATON_DETACHED_INIT}};

	cr_assert_eq(baton_submit(&fix.resource, &holder.task), 0);
	cr_assert_eq(holder.results[0], 0);
	cr_assert_eq(holder.results[1], -EBUSY);
	cr_assert_eq(baton_detached_complete(&holder.tokens[0], 0, NULL), 0);
	cr_assert_eq(baton_detached_complete(&holder.tokens[1], 0, NULL), -EINVAL);
	fixture_end();
}

Test(detach, a_token_that_is_outstanding_cannot_be_detached_again, .timeout = 10)
{
	struct request request;

	request_init(&request, false);
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	cr_assert_eq(request.detached, -EBUSY);
	cr_assert_eq(baton_detached_complete(&request.token, 0, NULL), 0);
	fixture_end();
}
