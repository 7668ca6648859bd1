/* SPDX-License-Identifier: MIT */
/*
 * Redelivery. A session sends a message again, after a delay, until the client acknowledges it. The
 * acknowledgement stops the timer, which may be pending, or queued, or running just then; whichever
 * it is, message_free is called when nothing touches the message any more. No thread waits.
 */
#include "../check.h"

#include <baton.h>
#include <baton/group.h>

#include <stdio.h>
#include <stdlib.h>

#define MESSAGES 3
#define AGAIN_NS (2 * BATON_MILLISECOND)

struct session {
	struct baton_resource resource;
	struct baton_future sent_again; /* a promise: the last message was sent twice */
	struct baton_group messages;    /* those that are not freed */
};

struct message {
	struct baton_timer retry;
	struct session *session;
	int number;
	int sends;
};

/* A task of the session. */
static int send_again(struct baton_timer *timer)
{
	struct message *message = baton_container_of(timer, struct message, retry);

	message->sends++;
	printf("message %d, sent %d times\n", message->number, message->sends);
	if (message->sends == 2)
		(void)baton_future_complete(&message->session->sent_again, 0, NULL);
	return baton_timer_arm_after(timer, AGAIN_NS);
}

static struct message *send_first(struct session *session, int number)
{
	struct message *message = calloc(1, sizeof(*message));

	CHECK(message != NULL);
	message->session = session;
	message->number = number;
	message->sends = 1;
	baton_group_enter(&session->messages);
	CHECK(baton_submit_after(&session->resource, &message->retry, AGAIN_NS, send_again) == 0);
	return message;
}

static void message_free(void *arg)
{
	struct message *message = arg;
	struct session *session = message->session;

	free(message);
	baton_group_leave(&session->messages);
}

/* From any thread. */
static void acknowledged(struct message *message)
{
	(void)baton_timer_stop_then(&message->retry, message_free, message);
}

int main(void)
{
	struct session session = {.resource = BATON_RESOURCE_INIT(NULL),
	                          .sent_again = BATON_PROMISE_INIT,
	                          .messages = BATON_GROUP_INIT};
	struct message *messages[MESSAGES];

	for (int i = 0; i < MESSAGES; i++)
		messages[i] = send_first(&session, i);
	for (int i = 0; i < MESSAGES - 1; i++)
		acknowledged(messages[i]);
	CHECK(baton_future_wait(&session.sent_again) == 0);
	acknowledged(messages[MESSAGES - 1]);
	CHECK(baton_group_wait(&session.messages) == 0);
	CHECK(baton_resource_close(&session.resource) == 0);
	CHECK(baton_resource_await(&session.resource) == 0);
	baton_resource_deinit(&session.resource);
	puts("all messages are acknowledged, and freed");
	return 0;
}
