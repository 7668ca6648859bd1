/* SPDX-License-Identifier: MIT */
/* A client with a window, and messages to it that detach when they are sent. */
#ifndef BATON_TEST_UNIT_WINDOW_SUPPORT_H
#define BATON_TEST_UNIT_WINDOW_SUPPORT_H

#include "stash.h"

#include <baton/window.h>

#include "../parts.h"

struct message {
	struct windowed windowed;
	struct baton_future future;
	struct journal *journal;
	int number;
	bool keeps; /* the function detaches, and so keeps its place */
	unsigned flags;
	int detached;
};

static inline int message_run(struct baton_task *task)
{
	struct message *message = baton_container_of(task, struct message, windowed.task);

	journal_add(message->journal, message->number);
	if (message->keeps)
		message->detached = baton_detach(&message->windowed.part.token, message->flags);
	return 0;
}

static inline void message_init(struct message *message, struct baton_window *window,
                                struct journal *journal, int number)
{
	memset(message, 0, sizeof(*message));
	baton_future_init(&message->future);
	windowed_init(&message->windowed, window, message_run,
	              number % 2 ? &message->future : NULL);
	message->journal = journal;
	message->number = number;
	message->keeps = true;
}

struct client {
	struct baton_resource resource;
	struct baton_window window;
	struct journal journal;
	struct message messages[20];
};

static inline void client_init(struct client *client, uint32_t limit,
                               const struct baton_resource_config *config)
{
	memset(client, 0, sizeof(*client));
	baton_resource_init(&client->resource, config);
	baton_window_init(&client->window, &client->resource, limit);
	for (int i = 0; i < 20; i++)
		message_init(&client->messages[i], &client->window, &client->journal, i);
}

static inline void client_submit(struct client *client, int first, int end)
{
	for (int i = first; i < end; i++)
		cr_assert_eq(baton_submit(&client->resource, &client->messages[i].windowed.task),
		             0);
}

static inline int client_ack(struct client *client, int number)
{
	return baton_detached_complete(&client->messages[number].windowed.part.token, 0, NULL);
}

static inline void client_end(struct client *client)
{
	resource_end(&client->resource);
	cr_assert_null(client->window._first);
	cr_assert_eq(client->window._waiting, 0);
	baton_window_deinit(&client->window);
}

static atomic_int told; /* tasks without a future that were cancelled */

static inline void cancelled(struct baton_task *task)
{
	MUST(baton_container_of(task, struct windowed, task)->future == NULL);
	atomic_fetch_add(&told, 1);
}

static const struct baton_resource_config telling __attribute__((unused)) = {
	.capture_max = BATON_CAPTURE_MAX,
	.quantum = BATON_QUANTUM,
	.cancelled = cancelled,
};

#endif
