/* SPDX-License-Identifier: MIT */
/* Windows: at most so many in flight, in order, and none left behind. */
#include "labels.h"
#include "window_support.h"

#include "../parts.h"

#include <baton/error.h>

Test(window, a_full_window_lets_the_next_one_start_when_one_completes, .timeout = 10)
{
	struct client client;

	client_init(&client, 3, NULL);
	client_submit(&client, 0, 10);
	cr_assert_eq(client.journal.count, 3);
	cr_assert_eq(baton_window_in_flight(&client.window), 3);
	cr_assert_eq(baton_window_waiting(&client.window), 7);
	cr_assert_eq(client_ack(&client, 1), 0);
	cr_assert_eq(baton_future_state(&client.messages[1].future), BATON_DONE);
	cr_assert_eq(client.journal.count, 4);
	cr_assert_eq(client_ack(&client, 1), -EALREADY);
	cr_assert_eq(client_ack(&client, 9), -EINVAL, "not started");
	for (int i = 0; i < 10; i++)
		if (i != 1)
			cr_assert_eq(client_ack(&client, i), 0);
	cr_assert(journal_counts_up(&client.journal, 0, 10));
	client_end(&client);
}

Test(window, other_tasks_pass, .timeout = 10)
{
	struct client client;
	struct step step;

	client_init(&client, 1, NULL);
	client_submit(&client, 0, 3);
	step_init(&step, &client.journal, 100, NULL);
	cr_assert_eq(baton_submit(&client.resource, &step.task), 0);
	cr_assert_eq(client.journal.count, 2);
	cr_assert_eq(client.journal.number[1], 100);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(client_ack(&client, i), 0);
	client_end(&client);
}

Test(window, a_function_that_does_not_detach_gives_its_place_back, .timeout = 10)
{
	struct client client;

	client_init(&client, 1, NULL);
	for (int i = 1; i < 20; i++)
		client.messages[i].keeps = false;
	client_submit(&client, 0, 20);
	cr_assert_eq(client.journal.count, 1);
	cr_assert_eq(client_ack(&client, 0), 0);
	cr_assert_eq(baton_resource_await(&client.resource), 0);
	client_end(&client);
	cr_assert(journal_counts_up(&client.journal, 0, 20));
	for (int i = 1; i < 20; i += 2)
		cr_assert_eq(baton_future_state(&client.messages[i].future), BATON_DONE);
}

Test(window, a_task_that_ran_needs_a_place_again_when_it_is_submitted_again, .timeout = 10)
{
	struct client client;

	client_init(&client, 1, NULL);
	client.messages[0].keeps = false;
	client_submit(&client, 0, 2);
	client_submit(&client, 0, 1);
	cr_assert_eq(baton_window_waiting(&client.window), 1);
	cr_assert_eq(baton_window_in_flight(&client.window), 1);
	cr_assert_eq(client_ack(&client, 1), 0);
	cr_assert(JOURNAL_IS(&client.journal, 0, 1, 0));
	cr_assert_eq(baton_window_in_flight(&client.window), 0);
	client_end(&client);
}

Test(window, later_ones_do_not_overtake_who_waits, .timeout = 10)
{
	struct client client;
	struct occupant occupant;

	client_init(&client, 1, NULL);
	client_submit(&client, 0, 3);
	occupy(&occupant, &client.resource);
	client_submit(&client, 3, 4); /* it comes to the window before the kick does */
	cr_assert_eq(client_ack(&client, 0), 0);
	client_submit(&client, 4, 5);
	release(&occupant);
	for (int i = 1; i < 5; i++) {
		cr_assert_eq(baton_resource_await(&client.resource), 0);
		cr_assert_eq(client_ack(&client, i), 0);
	}
	client_end(&client);
	cr_assert(journal_counts_up(&client.journal, 0, 5));
}

Test(window, the_limit_can_be_raised_and_lowered, .timeout = 10)
{
	struct client client;

	client_init(&client, 0, NULL);
	client_submit(&client, 0, 10);
	cr_assert_eq(client.journal.count, 0);
	cr_assert_eq(baton_window_set_limit(&client.window, 4), 0);
	cr_assert_eq(client.journal.count, 4);
	cr_assert_eq(baton_window_set_limit(&client.window, 2), 0);
	cr_assert_eq(client_ack(&client, 0), 0);
	cr_assert_eq(client_ack(&client, 1), 0);
	cr_assert_eq(client.journal.count, 4, "two are still in flight");
	cr_assert_eq(client_ack(&client, 2), 0);
	cr_assert_eq(client.journal.count, 5);
	cr_assert_eq(baton_window_set_limit(&client.window, 100), 0);
	cr_assert_eq(client.journal.count, 10);
	for (int i = 3; i < 10; i++)
		cr_assert_eq(client_ack(&client, i), 0);
	client_end(&client);
}

Test(window, a_batch_goes_through_it_as_well, .timeout = 10)
{
	struct baton_task *batch[6];
	struct client client;

	client_init(&client, 2, NULL);
	for (int i = 0; i < 6; i++) /* without futures: the batch's short path */
		batch[i] = &client.messages[2 * i].windowed.task;
	cr_assert_eq(baton_submit_batch(&client.resource, batch, 6), 0);
	cr_assert_eq(client.journal.count, 2);
	for (int i = 0; i < 6; i++)
		cr_assert_eq(client_ack(&client, 2 * i), 0);
	cr_assert_eq(client.journal.count, 6);
	client_end(&client);
}

Test(window, the_token_is_that_of_the_running_task_alone, .timeout = 10)
{
	struct client client;
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);

	client_init(&client, 2, NULL);
	client_submit(&client, 0, 1);
	cr_assert_eq(client.messages[0].detached, 0);
	/* The same function, but not run by the window: it is not that task's token. */
	baton_task_init(&client.messages[2].windowed.task, message_run, NULL);
	cr_assert_eq(baton_submit(&client.resource, &client.messages[2].windowed.task), 0);
	cr_assert_eq(client.messages[2].detached, -EINVAL);
	baton_task_init(&client.messages[4].windowed.task, message_run, NULL);
	cr_assert_eq(baton_submit(&other, &client.messages[4].windowed.task), 0);
	cr_assert_eq(client.messages[4].detached, -EINVAL);
	cr_assert_eq(client_ack(&client, 0), 0);
	client_end(&client);
	resource_end(&other);
}

/* ---- Threads ---- */

#define CROWD 2000

struct crowd {
	struct baton_resource resource;
	struct baton_window window;
	struct message messages[CROWD];
	atomic_int started; /* published after the detach */
	int submitted;
	uint32_t most;
	int count;
};

static struct crowd crowd;

static int crowd_run(struct baton_task *task)
{
	uint32_t in_flight = baton_window_in_flight(&crowd.window);
	struct message *message = baton_container_of(task, struct message, windowed.task);

	if (in_flight > crowd.most)
		crowd.most = in_flight;
	MUST(message == &crowd.messages[atomic_load(&crowd.started)]);
	MUST(baton_detach(&message->windowed.part.token, 0) == 0);
	atomic_fetch_add(&crowd.started, 1);
	return 0;
}

static void *crowd_acks(void *arg)
{
	for (int i = 0; i < crowd.count; i++) {
		until_at_least(&crowd.started, i + 1);
		MUST(baton_detached_complete(&crowd.messages[i].windowed.part.token, 0, NULL) == 0);
	}
	return NULL;
}

Test(window, acknowledgements_from_another_thread_start_all_in_order, .timeout = 30)
{
	struct baton_pool *pool = pool_of(2);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	pthread_t acks;

	config.executor = baton_pool_executor(pool);
	crowd.count = scaled(CROWD);
	baton_resource_init(&crowd.resource, &config);
	baton_window_init(&crowd.window, &crowd.resource, 4);
	for (int i = 0; i < crowd.count; i++) {
		baton_future_init(&crowd.messages[i].future);
		windowed_init(&crowd.messages[i].windowed, &crowd.window, crowd_run,
		              i % 2 ? &crowd.messages[i].future : NULL);
	}
	acks = thread_start(crowd_acks, NULL);
	for (int i = 0; i < crowd.count; i++)
		cr_assert_eq(baton_submit(&crowd.resource, &crowd.messages[i].windowed.task), 0);
	thread_join(acks);
	resource_end(&crowd.resource);
	baton_window_deinit(&crowd.window);
	cr_assert_eq(atomic_load(&crowd.started), crowd.count);
	cr_assert_leq(crowd.most, 4);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(window, when_its_turn_has_come_it_goes_before_what_is_in_any_lane, .timeout = 10)
{
	static struct baton_lane array[2];
	static struct baton_lanes lanes;
	struct occupant occupant;
	struct client client;
	struct step steps[2];

	client_init(&client, 1, NULL);
	baton_lanes_init(&lanes, array, 2, NULL);
	baton_resource_set_lanes(&client.resource, &lanes);
	client_submit(&client, 0, 2);
	occupy(&occupant, &client.resource);
	steps_init(steps, 2, &client.journal, 100);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(baton_submit(&client.resource, &steps[i].task), 0);
	cr_assert_eq(client_ack(&client, 0), 0);
	release(&occupant);
	cr_assert(JOURNAL_IS(&client.journal, 0, 1, 100, 101));
	cr_assert_eq(client_ack(&client, 1), 0);
	client_end(&client);
}

/* The resource has nothing but the second one, whose turn has come. */
Test(window, one_that_holds_the_resource_keeps_the_next_one_whose_turn_has_come, .timeout = 10)
{
	static struct baton_lane array[2];
	static struct baton_lanes lanes;
	struct occupant occupant;
	struct client client;

	client_init(&client, 2, NULL);
	baton_lanes_init(&lanes, array, 2, NULL);
	baton_resource_set_lanes(&client.resource, &lanes);
	client.messages[2].flags = BATON_DETACH_EXCLUSIVE;
	client_submit(&client, 0, 4);
	occupy(&occupant, &client.resource);
	cr_assert_eq(client_ack(&client, 0), 0);
	cr_assert_eq(client_ack(&client, 1), 0);
	release(&occupant);
	cr_assert(JOURNAL_IS(&client.journal, 0, 1, 2));
	cr_assert_eq(client_ack(&client, 2), 0);
	cr_assert(JOURNAL_IS(&client.journal, 0, 1, 2, 3));
	cr_assert_eq(client_ack(&client, 3), 0);
	client_end(&client);
}

/* Detaches through a token that is not its own. */
struct thief {
	struct windowed windowed;
	struct baton_detached *token;
	int detached;
};

static int steals(struct baton_task *task)
{
	struct thief *thief = baton_container_of(task, struct thief, windowed.task);

	thief->detached = baton_detach(thief->token, 0);
	return 0;
}

Test(window, a_token_is_refused_to_any_other_task, .timeout = 10)
{
	struct client client;
	struct thief thieves[2];

	client_init(&client, 3, NULL);
	client.messages[0].keeps = false;
	client_submit(&client, 1, 2);
	client_submit(&client, 0, 1);
	for (int windowed = 0; windowed < 2; windowed++)
		for (int i = 0; i < 3; i++) { /* over, in flight, not submitted */
			struct thief *thief = &thieves[windowed];

			if (windowed)
				windowed_init(&thief->windowed, &client.window, steals, NULL);
			else
				baton_task_init(&thief->windowed.task, steals, NULL);
			thief->token = &client.messages[i].windowed.part.token;
			thief->detached = 0;
			cr_assert_eq(baton_submit(&client.resource, &thief->windowed.task), 0);
			cr_assert_eq(thief->detached, i == 1 ? -EBUSY : -EINVAL, "%d, %d", windowed,
			             i);
			cr_assert_eq(baton_window_in_flight(&client.window), 1);
		}
	cr_assert_eq(client_ack(&client, 1), 0);
	client_end(&client);
}

/* Detaches through its own token. */
struct misplaced {
	struct baton_task task;
	struct baton_window_part part;
	int detached;
};

static int misplaced_run(struct baton_task *task)
{
	struct misplaced *misplaced = baton_container_of(task, struct misplaced, task);

	misplaced->detached = baton_detach(&misplaced->part.token, 0);
	return 0;
}

/* A part that is initialised before the task, or that the type does not name. */
Test(window, a_part_that_is_not_the_tasks_is_refused_with_the_mistake, .timeout = 10)
{
	static const struct baton_task_type named = {
		.run = misplaced_run,
		.window = BATON_TASK_PLACE(struct misplaced, task, part),
	};
	static const struct baton_task_type unnamed = {.run = misplaced_run};
	struct misplaced misplaced;
	struct client client;

	client_init(&client, 1, NULL);
	for (int is_named = 0; is_named < 2; is_named++) {
		baton_window_part_init(&misplaced.part, &client.window);
		baton_task_init_of(&misplaced.task, is_named ? &named : &unnamed);
		if (!is_named)
			baton_window_part_init(&misplaced.part, &client.window);
		cr_assert_eq(baton_submit(&client.resource, &misplaced.task), 0);
		cr_assert_eq(misplaced.detached, -EINVAL, "%d", is_named);
		cr_assert(strstr(baton_refused(), "baton_window_part_init after") &&
		                  strstr(baton_refused(), ".window"),
		          "%s", baton_refused());
	}
	client_end(&client);
}
