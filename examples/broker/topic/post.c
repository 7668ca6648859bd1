/* SPDX-License-Identifier: MIT */
/* Messages of no connection; see post.h. */
#include "topic/post.h"

#include <errno.h>
#include <stdlib.h>

#include "common/must.h"
#include "net/message.h"
#include "topic/table.h"
#include "topic/topic.h"

/* A topic that is being made for a message. */
struct posting {
	struct baton_registry_request request;
	struct baton_continuation then;
	struct baton_task found;
	struct message *message;
};

static void post_to(struct topic_use *use, struct message *message)
{
	topic_publish(use->topic, message);
	topic_unuse(use);
}

static void post_drop(struct message *message)
{
	message_release(message, MESSAGE_REFERENCE + MESSAGE_HOP);
}

/* A task of the topic table: the topic has been made. */
static int post_run_found(struct baton_task *task)
{
	struct posting *posting = baton_container_of(task, struct posting, found);
	struct topic_use *use;

	if (table_found(&posting->request, &use) == 0)
		post_to(use, posting->message);
	else
		post_drop(posting->message);
	free(posting);
	return 0;
}

/* The message's name lives until its topic is there. */
static void post_look_up(struct table *table, struct message *message)
{
	struct posting *posting = malloc(sizeof(*posting));

	if (posting == NULL) {
		post_drop(message);
		return;
	}
	posting->message = message;
	table_ask(table, message->publish.topic, &posting->request);
	baton_task_init(&posting->found, post_run_found, NULL);
	baton_continuation_task(&posting->then, baton_registry_resource(table->topics),
	                        &posting->found);
	baton_future_then(&posting->request.future, &posting->then);
}

void post(struct table *table, struct message *message)
{
	struct topic_use *use;
	const int status = table_find(table, message->publish.topic, &use);

	if (status == 0)
		post_to(use, message);
	else if (status == -ENOENT)
		post_look_up(table, message);
	else
		post_drop(message);
}
