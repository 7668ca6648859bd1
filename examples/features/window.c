/* SPDX-License-Identifier: MIT */
/*
 * Acknowledgements with a receive maximum. Of ten messages to a client at most three are in flight.
 * Each PUBACK lets the next message go. When the client is gone, the messages that wait are
 * cancelled.
 */
#include "../check.h"

#include <baton.h>
#include <baton/detach.h>
#include <baton/window.h>

#include <stdio.h>

#define RECEIVE_MAXIMUM 3

struct message {
	struct baton_task task;
	struct baton_window_part part;
	struct baton_future *reply; /* &future */
	struct baton_future future;
	int number;
};

static struct baton_resource session = BATON_RESOURCE_INIT(NULL);
static struct baton_window window = BATON_WINDOW_INIT(&session, RECEIVE_MAXIMUM);

static int publish(struct baton_task *task)
{
	struct message *message = baton_container_of(task, struct message, task);

	CHECK(baton_window_in_flight(&window) <= RECEIVE_MAXIMUM);
	BATON_IGNORE(baton_detach(&message->part.token, 0));
	printf("-> PUBLISH %d\n", message->number);
	return 0;
}

static const struct baton_task_type message_type = {
	.run = publish,
	.future = BATON_TASK_PLACE(struct message, task, reply),
	.window = BATON_TASK_PLACE(struct message, task, part),
};

static void puback(struct message *message)
{
	printf("<- PUBACK  %d\n", message->number);
	CHECK(baton_detached_complete(&message->part.token, 0, NULL) == 0);
	CHECK(baton_future_state(&message->future) == BATON_DONE);
}

int main(void)
{
	static struct message messages[10];

	for (int i = 0; i < 10; i++) {
		messages[i].number = i;
		baton_future_init(&messages[i].future);
		baton_task_init_of(&messages[i].task, &message_type);
		baton_window_part_init(&messages[i].part, &window);
		messages[i].reply = &messages[i].future;
		CHECK(baton_submit(&session, &messages[i].task) == 0);
	}
	CHECK(baton_window_waiting(&window) == 7);
	for (int i = 0; i < 5; i++)
		puback(&messages[i]);

	/* The client is gone. Messages 5, 6, 7 will not be acknowledged; 8 and 9 are cancelled. */
	CHECK(baton_window_cancel(&window) == 0);
	for (int i = 5; i < 8; i++)
		CHECK(baton_detached_complete(&messages[i].part.token, -1, NULL) == 0);
	CHECK(baton_future_state(&messages[9].future) == BATON_CANCELLED);
	CHECK(baton_resource_close(&session) == 0 && baton_resource_await(&session) == 0);
	baton_window_deinit(&window);
	printf("2 messages were cancelled unsent\n");
	return 0;
}
