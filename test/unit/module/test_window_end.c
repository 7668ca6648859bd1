/* SPDX-License-Identifier: MIT */
/* What waits in a window, cancelled in every way there is; and the end of its resource. */
#include "window_support.h"

#include "../parts.h"

/* ---- Cancelling ---- */

Test(window_end, cancel_ends_what_waits_and_leaves_what_is_in_flight, .timeout = 10)
{
	struct client client;

	client_init(&client, 2, &telling);
	client_submit(&client, 0, 8);
	cr_assert_eq(baton_window_cancel(&client.window), 0);
	cr_assert_eq(baton_window_waiting(&client.window), 0);
	cr_assert_eq(atomic_load(&told), 3);
	for (int i = 3; i < 8; i += 2)
		cr_assert_eq(baton_future_state(&client.messages[i].future), BATON_CANCELLED);
	cr_assert_eq(baton_window_cancel(&client.window), 0, "none waits: nothing");
	client_submit(&client, 8, 10);
	cr_assert_eq(baton_window_waiting(&client.window), 2, "later ones are not concerned");
	cr_assert_eq(client_ack(&client, 0), 0);
	cr_assert_eq(client_ack(&client, 1), 0);
	cr_assert_eq(client_ack(&client, 8), 0);
	cr_assert_eq(client_ack(&client, 9), 0);
	cr_assert_eq(client.journal.count, 4);
	client_end(&client);
}

Test(window_end, cancel_ends_what_waits_in_all_lanes, .timeout = 10)
{
	struct baton_window_lane lanes[3];
	struct client client;

	client_init(&client, 1, NULL);
	baton_window_set_lanes(&client.window, lanes, 3);
	client_submit(&client, 0, 8);
	cr_assert_eq(baton_window_waiting(&client.window), 7);
	cr_assert_eq(baton_window_cancel(&client.window), 0);
	cr_assert_eq(baton_window_waiting(&client.window), 0);
	cr_assert_eq(client_ack(&client, 0), 0);
	client_end(&client);
}

Test(window_end, one_that_waits_is_cancelled_by_its_future, .timeout = 10)
{
	struct client client;

	client_init(&client, 1, NULL);
	client_submit(&client, 0, 6);
	cr_assert_eq(baton_future_cancel(&client.messages[3].future), 0);
	cr_assert_eq(baton_future_state(&client.messages[3].future), BATON_PENDING, "at its turn");
	cr_assert_eq(baton_window_cancel_task(&client.messages[5].windowed.task), 0);
	cr_assert_eq(baton_future_state(&client.messages[5].future), BATON_CANCELLED, "at once");
	cr_assert_eq(baton_window_cancel_task(&client.messages[5].windowed.task), -EALREADY);
	cr_assert_eq(baton_window_cancel_task(&client.messages[3].windowed.task), -EALREADY);
	cr_assert_eq(baton_window_cancel_task(&client.messages[2].windowed.task), -EINVAL,
	             "no future");
	cr_assert_eq(baton_future_state(&client.messages[3].future), BATON_PENDING, "still");
	cr_assert_eq(baton_window_waiting(&client.window), 4);
	client_ack(&client, 0);
	cr_assert_eq(baton_window_cancel_task(&client.messages[1].windowed.task), -EINPROGRESS);
	for (int i = 1; i < 5; i++)
		if (i != 3)
			cr_assert_eq(client_ack(&client, i), 0);
	cr_assert_eq(baton_future_state(&client.messages[3].future), BATON_CANCELLED);
	cr_assert_eq(client.journal.count, 4);
	client_end(&client);
}

Test(window_end, a_cancelled_one_gives_its_turn_to_the_next, .timeout = 10)
{
	struct client client;

	client_init(&client, 1, NULL);
	client_submit(&client, 0, 5);
	cr_assert_eq(baton_future_cancel(&client.messages[1].future), 0);
	cr_assert_eq(baton_future_cancel(&client.messages[3].future), 0);
	cr_assert_eq(client_ack(&client, 0), 0);
	cr_assert_eq(baton_future_state(&client.messages[1].future), BATON_CANCELLED);
	cr_assert_eq(client.journal.number[client.journal.count - 1], 2);
	cr_assert_eq(client_ack(&client, 2), 0);
	cr_assert_eq(client.journal.number[client.journal.count - 1], 4);
	cr_assert_eq(client_ack(&client, 4), 0);
	cr_assert_eq(client.journal.count, 3);
	client_end(&client);
}

/* A task of the resource that completes a token, then has everything pending cancelled. */
struct mower {
	struct baton_task task;
	struct client *client;
};

static int mows(struct baton_task *task)
{
	struct client *client = baton_container_of(task, struct mower, task)->client;

	MUST(client_ack(client, 0) == 0);
	MUST(baton_resource_cancel_pending(&client->resource) == 0);
	return 0;
}

Test(window_end, cancel_pending_does_not_reach_into_it_but_cancels_whose_turn_has_come,
     .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct client client;
	struct mower mower = {BATON_TASK_INIT(mows, NULL), &client};
	struct stash stash;

	stash_init(&stash);
	config.executor = &stash.executor;
	config.capture_max = 1;
	config.quantum = 1;
	client_init(&client, 2, &config);
	client_submit(&client, 0, 6);
	cr_assert_eq(client.journal.count, 2);
	cr_assert_eq(baton_submit(&client.resource, &mower.task), 0);
	stash_run(&stash); /* whatever the mark has met */
	cr_assert_eq(baton_window_in_flight(&client.window) + client.journal.count,
	             2 * client.journal.count - 1);
	for (int i = 1; i < 6; i++) {
		(void)client_ack(&client, i);
		stash_run(&stash);
	}
	cr_assert_eq(baton_window_in_flight(&client.window), 0);
	cr_assert_eq(baton_window_waiting(&client.window), 0);
	client_end(&client);
}

Test(window_end, a_cancelled_job_gives_back_the_places_of_whose_turn_has_come, .timeout = 10)
{
	struct baton_resource_config config = telling;
	struct client client;
	struct stash stash;

	stash_init(&stash);
	config.executor = &stash.executor;
	config.capture_max = 1;
	client_init(&client, 1, &config);
	client_submit(&client, 0, 8);
	cr_assert_eq(baton_window_set_limit(&client.window, 3), 0);
	/* One has run within the limit of the capture, one lies in the queue. */
	cr_assert_eq(client.journal.count, 2);
	cr_assert_eq(atomic_load(&stash.count), 1);
	baton_job_cancel(atomic_load(&stash.jobs[stash.next++]));
	cr_assert_eq(atomic_load(&told), 1);
	cr_assert_eq(client.journal.count, 3, "the next one has got its place");
	cr_assert_eq(baton_window_in_flight(&client.window), 3);
	for (int i = 0; i < 8; i++) {
		(void)client_ack(&client, i);
		stash_run(&stash);
	}
	cr_assert_eq(client.journal.count, 7);
	/* The one that was cancelled has no place any more. */
	cr_assert_eq(baton_window_set_limit(&client.window, 0), 0);
	client_submit(&client, 2, 3);
	cr_assert_eq(client.journal.count, 7);
	cr_assert_eq(baton_window_waiting(&client.window), 1);
	cr_assert_eq(baton_window_cancel(&client.window), 0);
	stash_run(&stash);
	cr_assert_eq(atomic_load(&told), 2);
	client_end(&client);
}

/* ---- The end ---- */

Test(window_end, a_closed_resource_still_runs_what_waits, .timeout = 10)
{
	uint64_t soon = deadline_in_ms(20);
	struct client client;

	client_init(&client, 2, NULL);
	client_submit(&client, 0, 6);
	cr_assert_eq(baton_resource_close(&client.resource), 0);
	cr_assert_eq(baton_submit(&client.resource, &client.messages[6].windowed.task), -EPIPE);
	cr_assert_eq(baton_resource_await_until(&client.resource, soon), -ETIMEDOUT);
	for (int i = 0; i < 6; i++)
		cr_assert_eq(client_ack(&client, i), 0);
	cr_assert_eq(client.journal.count, 6);
	client_end(&client);
}

struct finaliser {
	struct baton_task task;
	atomic_int count;
};

static int finalise(struct baton_task *task)
{
	atomic_fetch_add(&baton_container_of(task, struct finaliser, task)->count, 1);
	return 0;
}

Test(window_end, the_finaliser_comes_after_the_last_completion, .timeout = 10)
{
	struct finaliser finaliser = {BATON_TASK_INIT(finalise, NULL), 0};
	struct client client;

	client_init(&client, 2, NULL);
	client_submit(&client, 0, 6);
	cr_assert_eq(baton_resource_close_then(&client.resource, &finaliser.task), 0);
	for (int i = 0; i < 6; i++) {
		cr_assert_eq(atomic_load(&finaliser.count), 0);
		cr_assert_eq(client_ack(&client, i), 0);
	}
	cr_assert_eq(atomic_load(&finaliser.count), 1);
	cr_assert_eq(client.journal.count, 6);
	baton_window_deinit(&client.window);
}

Test(window_end, the_finaliser_waits_for_what_a_limit_of_0_keeps, .timeout = 10)
{
	struct finaliser finaliser = {BATON_TASK_INIT(finalise, NULL), 0};
	struct client client;

	client_init(&client, 0, &telling);
	client_submit(&client, 0, 4);
	cr_assert_eq(baton_resource_close_then(&client.resource, &finaliser.task), 0);
	cr_assert_eq(atomic_load(&finaliser.count), 0);
	cr_assert_eq(baton_window_cancel(&client.window), 0);
	cr_assert_eq(atomic_load(&finaliser.count), 1);
	cr_assert_eq(client.journal.count, 0);
	cr_assert_eq(atomic_load(&told), 2);
	cr_assert_eq(baton_future_state(&client.messages[3].future), BATON_CANCELLED);
	baton_window_deinit(&client.window);
}

/* ---- A helper on a closed resource ---- */

static int returns_0(struct baton_task *task)
{
	return 0;
}

/* No thread runs what the stash has taken: the waiting thread alone can let the task start. */
Test(window_end, a_helper_on_a_closed_resource_runs_the_kick_that_its_wait_needs, .timeout = 5)
{
	struct stash stash;
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	struct baton_window window;
	struct windowed windowed;
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task plain = BATON_TASK_INIT(returns_0, NULL);

	stash_init(&stash);
	config.executor = &stash.executor;
	baton_resource_init(&resource, &config);
	baton_window_init(&window, &resource, 0);
	windowed_init(&windowed, &window, returns_0, &future);
	cr_assert_eq(baton_submit(&resource, &windowed.task), 0);
	cr_assert_eq(baton_window_waiting(&window), 1);
	cr_assert_eq(baton_submit_later(&resource, &plain), 0);
	cr_assert_eq(baton_resource_close(&resource), 0);
	cr_assert_eq(baton_window_set_limit(&window, 1), 0);
	cr_assert_eq(baton_future_state(&future), BATON_PENDING);
	cr_assert_eq(baton_future_wait(&future), 0);
	stash_run(&stash);
	cr_assert_eq(baton_resource_await(&resource), 0);
	baton_window_deinit(&window);
	baton_resource_deinit(&resource);
}
