/* SPDX-License-Identifier: MIT */
/*
 * Detached completion and the end of a resource: counted and uncounted tokens, closing, finalisers,
 * and a resource that is held until the token is completed.
 */
#include "fixture.h"
#include "detach_support.h"

/* ---- The resource's end ---- */

Test(detach_end, an_uncounted_token_outlives_its_resource, .timeout = 10)
{
	struct baton_resource *resource = malloc(sizeof(*resource));
	struct request request;

	baton_resource_init(resource, NULL);
	request_init(&request, true);
	cr_assert_eq(baton_submit(resource, &request.task), 0);
	resource_end(resource);
	free(resource);
	cr_assert_eq(baton_future_state(&request.future), BATON_RUNNING);
	cr_assert_eq(baton_detached_complete(&request.token, 0, NULL), 0);
	cr_assert_eq(baton_future_state(&request.future), BATON_DONE);
}

Test(detach_end, await_on_a_closed_resource_waits_for_a_counted_one, .timeout = 10)
{
	uint64_t soon = deadline_in_ms(20);
	struct request request;
	pthread_t completer;

	request_init(&request, true);
	request.flags = BATON_DETACH_COUNTED;
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	cr_assert_eq(baton_resource_await(&fix.resource), 0, "open: no");
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert_eq(baton_resource_await_until(&fix.resource, soon), -ETIMEDOUT);
	completer = thread_start(completes_main, &request);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	cr_assert_eq(baton_future_state(&request.future), BATON_DONE);
	thread_join(completer);
	baton_resource_deinit(&fix.resource);
}

struct session {
	struct baton_resource resource;
	struct baton_task finaliser;
	atomic_int *ended;
};

static int session_end(struct baton_task *task)
{
	struct session *session = baton_container_of(task, struct session, finaliser);

	atomic_fetch_add(session->ended, 1);
	free(session);
	return 0;
}

Test(detach_end, the_finaliser_waits_for_a_counted_one, .timeout = 10)
{
	struct session *session = malloc(sizeof(*session));
	struct request requests[2];
	atomic_int ended = 0;

	baton_resource_init(&session->resource, NULL);
	baton_task_init(&session->finaliser, session_end, NULL);
	session->ended = &ended;
	for (int i = 0; i < 2; i++) {
		request_init(&requests[i], i == 0);
		requests[i].flags = BATON_DETACH_COUNTED;
		cr_assert_eq(baton_submit(&session->resource, &requests[i].task), 0);
	}
	cr_assert_eq(baton_resource_close_then(&session->resource, &session->finaliser), 0);
	cr_assert_eq(atomic_load(&ended), 0);
	cr_assert_eq(baton_detached_complete(&requests[1].token, 0, NULL), 0);
	cr_assert_eq(atomic_load(&ended), 0);
	cr_assert_eq(baton_detached_complete(&requests[0].token, 0, NULL), 0);
	cr_assert_eq(atomic_load(&ended), 1);
}

/* ---- A held queue ---- */

Test(detach_end, a_held_resource_runs_nothing_until_then, .timeout = 10)
{
	struct request request;

	request_init(&request, true);
	request.flags = BATON_DETACH_EXCLUSIVE;
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	cr_assert_eq(request.detached, 0);
	steps_submit(0, 3);
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(baton_future_state(&request.future), BATON_RUNNING);
	cr_assert_eq(baton_detached_complete(&request.token, 0, NULL), 0);
	cr_assert_eq(baton_future_state(&request.future), BATON_DONE);
	cr_assert(journal_counts_up(&fix.journal, 0, 3));
	fixture_end();
}

Test(detach_end, a_hold_that_is_over_at_once_holds_nothing, .timeout = 10)
{
	struct request request;

	request_init(&request, false);
	request.flags = BATON_DETACH_EXCLUSIVE | BATON_DETACH_COUNTED;
	request.by_itself = true;
	step_init(&fix.steps[0], &fix.journal, 1, NULL);
	cr_assert_eq(baton_submit(&fix.resource, &request.task), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(fix.journal.count, 1);
	fixture_end();
}

Test(detach_end, a_held_resource_that_is_closed_ends_after_the_token, .timeout = 10)
{
	struct session *session = malloc(sizeof(*session));
	struct request request;
	atomic_int ended = 0;

	baton_resource_init(&session->resource, NULL);
	baton_task_init(&session->finaliser, session_end, NULL);
	session->ended = &ended;
	request_init(&request, true);
	request.flags = BATON_DETACH_EXCLUSIVE;
	cr_assert_eq(baton_submit(&session->resource, &request.task), 0);
	cr_assert_eq(baton_resource_close_then(&session->resource, &session->finaliser), 0);
	cr_assert_eq(atomic_load(&ended), 0);
	cr_assert_eq(baton_detached_complete(&request.token, 0, NULL), 0);
	cr_assert_eq(atomic_load(&ended), 1);
}
