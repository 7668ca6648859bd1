/* SPDX-License-Identifier: MIT */
/* A detached task's deadline: it passes, or the token is completed; one of the two. */
#include "fixture.h"

#include <baton/detach.h>
#include <baton/timers.h>

struct request {
	struct baton_task task;
	struct baton_future future;
	struct baton_detached token;
	struct baton_deadline deadline;
	unsigned flags;
	uint64_t timeout_ns;
	int detached;
	int status; /* of a request that could not detach */
};

static int request_run(struct baton_task *task)
{
	struct request *request = baton_container_of(task, struct request, task);
	int detached = baton_detach_within(&request->token, request->flags, request->timeout_ns,
	                                   &request->deadline);

	if (detached) /* else it may be gone */
		request->detached = detached;
	return detached ? request->status : 0;
}

static void request_init(struct request *request, struct baton_timers *timers, uint64_t timeout_ns)
{
	memset(request, 0, sizeof(*request));
	baton_future_init(&request->future);
	baton_task_init(&request->task, request_run, &request->future);
	baton_detached_init(&request->token);
	baton_deadline_init(&request->deadline, timers);
	request->timeout_ns = timeout_ns;
}

/* A wheel's `dropped` knows the program's timers alone, and these tests arm none. */
static void dropped_by_the_wheel(struct baton_timer *timer, int error)
{
	cr_assert_fail("told of the library's timer %p: %d", (void *)timer, error);
}

static struct baton_timers *virtual_wheel(void)
{
	const struct baton_timers_options options = {.source = BATON_TIMERS_VIRTUAL,
	                                             .dropped = dropped_by_the_wheel};
	struct baton_timers *timers = NULL;

	cr_assert_eq(baton_timers_create(&options, &timers), 0);
	return timers;
}

Test(deadline, when_it_passes_the_future_fails, .timeout = 10)
{
	struct baton_timers *timers = virtual_wheel();
	struct request request;

	request_init(&request, timers, BATON_SECOND);
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	cr_assert_eq(baton_timers_advance(timers, BATON_SECOND - BATON_MILLISECOND), 0);
	cr_assert_eq(baton_future_state(&request.future), BATON_RUNNING);
	cr_assert_eq(baton_timers_advance(timers, 2 * BATON_MILLISECOND), 1);
	cr_assert_eq(baton_future_state(&request.future), BATON_FAILED);
	cr_assert_eq(baton_future_status(&request.future), -ETIMEDOUT);
	cr_assert_eq(baton_detached_complete(&request.token, 0, NULL), -EALREADY);
	fixture_end();
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(deadline, a_completion_disarms_it, .timeout = 10)
{
	struct baton_timers *timers = virtual_wheel();
	struct request *request = malloc(sizeof(*request));

	for (int i = 0; i < 3; i++) {
		request_init(request, timers, BATON_SECOND);
		cr_assert_eq(baton_submit(&fix.resource, &request->task), 0);
		cr_assert_eq(baton_detached_complete(&request->token, 0, request), 0);
		cr_assert_eq(baton_future_state(&request->future), BATON_DONE, "at once");
		cr_assert_eq(baton_future_value(&request->future), request);
	}
	free(request);
	cr_assert_eq(baton_timers_advance(timers, 2 * BATON_SECOND), 0);
	fixture_end();
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(deadline, a_held_resource_goes_on_when_it_passes, .timeout = 10)
{
	struct baton_timers *timers = virtual_wheel();
	struct request request;

	request_init(&request, timers, BATON_SECOND);
	request.flags = BATON_DETACH_EXCLUSIVE;
	step_init(&fix.steps[0], &fix.journal, 1, NULL);
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(baton_timers_advance(timers, 2 * BATON_SECOND), 1);
	cr_assert_eq(baton_future_status(&request.future), -ETIMEDOUT);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	cr_assert_eq(fix.journal.count, 1);
	fixture_end();
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(deadline, it_passes_although_the_resource_is_closed, .timeout = 10)
{
	struct baton_timers *timers = virtual_wheel();
	uint64_t soon = deadline_in_ms(20);
	struct request request;

	request_init(&request, timers, BATON_SECOND);
	request.flags = BATON_DETACH_COUNTED;
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert_eq(baton_resource_await_until(&fix.resource, soon), -ETIMEDOUT);
	cr_assert_eq(baton_timers_advance(timers, 2 * BATON_SECOND), 1);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	cr_assert_eq(baton_future_status(&request.future), -ETIMEDOUT);
	baton_resource_deinit(&fix.resource);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

static void cannot_be_armed(struct baton_timers *timers, int status)
{
	struct request request;

	request_init(&request, timers, BATON_SECOND);
	request.flags = BATON_DETACH_EXCLUSIVE | BATON_DETACH_COUNTED;
	request.status = status;
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	cr_assert_eq(request.detached, -ESHUTDOWN);
	cr_assert_eq(baton_future_state(&request.future), status ? BATON_FAILED : BATON_DONE);
	cr_assert_eq(baton_future_status(&request.future), status);
	cr_assert_null(baton_future_value(&request.future));
}

Test(deadline, one_that_cannot_be_armed_leaves_the_task_as_it_was, .timeout = 10)
{
	struct baton_timers *timers = virtual_wheel();

	fix.counted = true;
	fixture_config();
	cr_assert_eq(baton_timers_close(timers, BATON_TIMERS_DROP), 0);
	cannot_be_armed(timers, 5);
	cr_assert_eq(resource_counts(&fix.stats).failed, 1);
	cannot_be_armed(timers, 0);
	cr_assert_eq(resource_counts(&fix.stats).failed, 1);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(fix.journal.count, 1, "nothing is held");
	fixture_end();
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(deadline, a_wheel_that_ends_leaves_the_token_to_its_completer, .timeout = 10)
{
	struct baton_timers *timers = virtual_wheel();
	struct request request;

	request_init(&request, timers, BATON_SECOND);
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	cr_assert_eq(baton_timers_close(timers, BATON_TIMERS_DROP), 0);
	cr_assert_eq(baton_future_state(&request.future), BATON_RUNNING);
	cr_assert_eq(baton_detached_complete(&request.token, 0, NULL), 0);
	cr_assert_eq(baton_future_state(&request.future), BATON_DONE);
	fixture_end();
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

/* ---- The race ---- */

static void *completes_main(void *arg)
{
	struct request *request = arg;

	return (void *)(intptr_t)baton_detached_complete(&request->token, 0, request);
}

Test(deadline, beside_a_completion_one_of_the_two_wins, .timeout = 30)
{
	struct baton_timers *timers = virtual_wheel();
	int rounds = scaled(1000);

	for (int i = 0; i < rounds; i++) {
		/* Given back by whoever has seen the future complete, and the completer return. */
		struct request *request = malloc(sizeof(*request));
		pthread_t completer;
		intptr_t result;

		request_init(request, timers, BATON_MICROSECOND);
		cr_assert_eq(baton_submit(&fix.resource, &request->task), 0);
		completer = thread_start(completes_main, request);
		cr_assert_geq(baton_timers_advance(timers, BATON_MILLISECOND), 0);
		cr_assert_eq(baton_future_wait(&request->future), 0);
		result = (intptr_t)thread_join(completer);
		if (result == 0) {
			cr_assert_eq(baton_future_state(&request->future), BATON_DONE);
			cr_assert_eq(baton_future_value(&request->future), request);
		} else {
			cr_assert_eq(result, -EALREADY);
			cr_assert_eq(baton_future_status(&request->future), -ETIMEDOUT);
		}
		memset(request, 0xEE, sizeof(*request));
		free(request);
	}
	fixture_end();
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(deadline, real_ones_pass_on_their_own, .timeout = 20)
{
	struct request requests[8];
	uint64_t begin = now_ns();

	for (int i = 0; i < 8; i++) {
		request_init(&requests[i], NULL, (uint64_t)i * 2 * BATON_MILLISECOND);
		cr_assert_eq(baton_submit(&fix.resource, &requests[i].task), 0);
	}
	for (int i = 0; i < 8; i++) {
		cr_assert_eq(baton_future_wait(&requests[i].future), 0);
		cr_assert_eq(baton_future_status(&requests[i].future), -ETIMEDOUT);
		cr_assert_geq(now_ns() - begin, (uint64_t)i * 2 * BATON_MILLISECOND);
	}
	fixture_end();
}
