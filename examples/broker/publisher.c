/* SPDX-License-Identifier: MIT */
/* Messages on their way to their topics; see publisher.h. */
#include "publisher.h"

#include <errno.h>
#include <stdlib.h>

#include <baton/future.h>
#include <baton/registry.h>

#include "broker.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/why.h"
#include "net/connection.h"
#include "net/loop.h"
#include "session/session.h"
#include "topic/topic.h"

/* A topic that is being made for a message. */
struct look_up {
	struct baton_registry_request request;
	struct baton_continuation then;
	struct baton_task found;
	struct connection *connection; /* charged */
	struct message *message;
	bool outdated; /* there are new access rules since the client was found to have the right */
};

/* The message's place in the connection's table of the topics that it has looked up last. */
static struct topic_use **publisher_slot(struct connection *connection,
                                         const struct message *message)
{
	const struct slice name = message->publish.topic;

	return &connection->topics[hash_bytes(name.bytes, name.size, 0) % CONNECTION_TOPICS];
}

static void publisher_keep(struct topic_use **slot, struct topic_use *use)
{
	if (*slot != NULL)
		topic_unuse(*slot);
	*slot = use;
}

static int publisher_found(struct connection *connection, struct message *message,
                           const struct baton_registry_request *request)
{
	struct topic_use **slot = publisher_slot(connection, message);
	struct topic_use *use;
	const int status = table_found(request, &use);

	if (status != 0)
		return status;
	publisher_keep(slot, use);
	topic_publish(use->topic, message);
	return 0;
}

/* A task of the connection: the topic has been made. */
static int publisher_run_found(struct baton_task *task)
{
	struct look_up *look_up = baton_container_of(task, struct look_up, found);
	struct connection *connection = look_up->connection;
	struct message *message = look_up->message;

	if (publisher_found(connection, message, &look_up->request) != 0) {
		if (message->answer != NULL && message->publish.qos == 2) /* it may come again */
			received_remove(&connection->session->received, message->publish.packet_id);
		connection_fail(connection, WHY_NO_MEMORY); /* before the answer is freed */
		message_release(message, MESSAGE_REFERENCE + MESSAGE_HOP);
	}
	if (look_up->outdated)
		publisher_forget(connection);
	free(look_up);
	connection_go_on(connection);
	connection_release(connection, CONNECTION_REFERENCE);
	return 0;
}

/* Has the topic made. The message's name lives until its topic is there. */
static int publisher_look_up(struct connection *connection, struct message *message)
{
	struct look_up *look_up = malloc(sizeof(*look_up));
	int status;

	if (look_up == NULL) {
		message_release(message, MESSAGE_REFERENCE + MESSAGE_HOP);
		return -ENOMEM;
	}
	table_ask(&broker_of(connection)->table, message->publish.topic, &look_up->request);
	if (baton_future_is_complete(&look_up->request.future)) {
		status = publisher_found(connection, message, &look_up->request);
		if (status != 0)
			message_release(message, MESSAGE_REFERENCE + MESSAGE_HOP);
		free(look_up);
		return status;
	}
	look_up->connection = connection;
	look_up->message = message;
	look_up->outdated = false;
	connection_charge_more(connection, CONNECTION_REFERENCE);
	connection_hold(connection, look_up);
	baton_task_init(&look_up->found, publisher_run_found, NULL);
	baton_continuation_task(&look_up->then, &connection->resource, &look_up->found);
	baton_future_then(&look_up->request.future, &look_up->then);
	return 0;
}

/* May the client write to the message's topic? The log is told of its first that it may not. */
static bool publisher_may(struct connection *connection, const struct message *message)
{
	const struct slice topic = message->publish.topic;

	if (session_may(connection->session, ACCESS_WRITE, topic))
		return true;
	if (!connection->told_access)
		log_event(LOG_LEVEL_WARNING, "publish_refused",
		          log_slice("client", connection->session->client_id),
		          log_slice("topic", topic), log_text("reason", why_text(WHY_ACCESS)));
	connection->told_access = true;
	return false;
}

void publisher_forget(struct connection *connection)
{
	for (size_t i = 0; i < CONNECTION_TOPICS; i++) {
		if (connection->topics[i] != NULL)
			topic_unuse(connection->topics[i]);
		connection->topics[i] = NULL;
	}
	if (connection->look_up != NULL)
		connection->look_up->outdated = true;
}

int publisher_pass(struct connection *connection, struct message *message)
{
	struct topic_use **slot = publisher_slot(connection, message), *use = *slot;
	int status = 0;

	message->sender = connection->session->identity;
	if (use == NULL || !names_equal(use->topic->name, message->publish.topic)) {
		status = publisher_may(connection, message)
		                 ? table_find(&broker_of(connection)->table, message->publish.topic,
		                              &use)
		                 : -EACCES;
		if (status == -ENOENT)
			return publisher_look_up(connection, message);
		if (status == 0)
			publisher_keep(slot, use);
	}
	if (status == 0)
		topic_publish(use->topic, message);
	else
		message_release(message, MESSAGE_REFERENCE + MESSAGE_HOP);
	return status;
}
