/* SPDX-License-Identifier: MIT */
/*
 * Labels compose: a session with a receive maximum (a window), priorities among the messages that
 * wait, and a bound on their bytes. An urgent message overtakes bulk messages that wait in the
 * window. A message beyond the bound is refused. One tag cancels all messages of a client that is
 * gone.
 */
#include "../check.h"

#include <baton.h>
#include <baton/bound.h>
#include <baton/detach.h>
#include <baton/label.h>
#include <baton/tag.h>
#include <baton/window.h>

#include <errno.h>
#include <stdio.h>

#define MESSAGES 8

struct message {
	struct baton_task task;
	struct baton_window_part part;
	struct baton_stamp stamp;
	const char *text;
};

static const struct baton_bound_config config = {.bytes_max = 1000};
static struct baton_bound bound = BATON_BOUND_INIT(&config);
static struct baton_resource session = BATON_RESOURCE_INIT(NULL);
static struct baton_window window = BATON_WINDOW_INIT(&session, 1);
static struct baton_window_lane lanes[2];
static struct baton_tag client = BATON_TAG_INIT;
static int sent;
static int freed;

static int publish(struct baton_task *task)
{
	struct message *message = baton_container_of(task, struct message, task);

	printf("-> %s\n", message->text);
	sent++;
	return baton_detach(&message->part.token, 0);
}

static void give_back(struct baton_task *task)
{
	(void)task;
	freed++;
}

static const struct baton_task_type message_type = {
	.run = publish,
	.cancelled = give_back,
	.stamp = BATON_TASK_PLACE(struct message, task, stamp),
	.window = BATON_TASK_PLACE(struct message, task, part),
};

static int submit(struct message *message, const struct baton_label *label, const char *text)
{
	message->text = text;
	baton_task_init_of(&message->task, &message_type);
	baton_window_part_init(&message->part, &window);
	baton_stamp_set(&message->stamp, label);
	return baton_submit(&session, &message->task);
}

int main(void)
{
	static struct message messages[MESSAGES];
	const struct baton_label bulk = {.lane = 1, .bytes = 400, .tag = &client};
	const struct baton_label urgent = {.lane = 0, .bytes = 10};

	baton_resource_set_bound(&session, &bound);
	baton_window_set_lanes(&window, lanes, 2);

	CHECK(submit(&messages[0], &bulk, "bulk, at once") == 0);
	CHECK(submit(&messages[1], &bulk, "bulk") == 0);
	CHECK(submit(&messages[2], &bulk, "bulk, cancelled") == 0);
	CHECK(submit(&messages[3], &bulk, "too much") == -EAGAIN);
	CHECK(submit(&messages[4], &urgent, "urgent") == 0);
	CHECK(sent == 1 && baton_window_waiting(&window) == 3);

	/* Each PUBACK lets the next message go, the urgent message first. */
	CHECK(baton_detached_complete(&messages[0].part.token, 0, NULL) == 0);
	CHECK(baton_detached_complete(&messages[4].part.token, 0, NULL) == 0);
	CHECK(sent == 3);

	/* The client is gone: messages that have not been sent are cancelled. */
	baton_tag_cancel(&client);
	CHECK(baton_detached_complete(&messages[1].part.token, 0, NULL) == 0);
	CHECK(sent == 3 && freed == 1);
	CHECK(baton_resource_close(&session) == 0 && baton_resource_await(&session) == 0);
	baton_window_deinit(&window);
	puts("one was refused, one cancelled, none is left");
	return 0;
}
