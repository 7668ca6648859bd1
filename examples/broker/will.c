/* SPDX-License-Identifier: MIT */
/* Wills; see will.h. */
#include "will.h"

#include <errno.h>

#include "broker.h"
#include "net/connection.h"
#include "topic/topic.h"

int will_make(struct connection *connection, const struct codec_publish *will)
{
	connection->will = message_create(connection, will);
	if (connection->will == NULL)
		return -ENOMEM;
	connection_charge(connection, connection->will->cost);
	return 0;
}

void will_publish(struct connection *connection)
{
	struct message *will = connection->will;
	struct topic_use *use;

	if (will == NULL)
		return;
	use = table_lookup(&broker_of(connection)->table, will->publish.topic);
	if (use == NULL) {
		will_forget(connection);
		return;
	}
	connection->will = NULL;
	topic_publish(use->topic, will);
	topic_unuse(use);
}

void will_forget(struct connection *connection)
{
	if (connection->will != NULL)
		message_release(connection->will, MESSAGE_REFERENCE + MESSAGE_HOP);
	connection->will = NULL;
}
