/* SPDX-License-Identifier: MIT */
/* Wills; see will.h. */
#include "will.h"

#include <errno.h>

#include "net/connection.h"
#include "publisher.h"

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

	connection->will = NULL;
	if (will != NULL)
		(void)publisher_pass(connection, will); /* without memory it is lost */
}

void will_forget(struct connection *connection)
{
	if (connection->will != NULL)
		message_release(connection->will, MESSAGE_REFERENCE + MESSAGE_HOP);
	connection->will = NULL;
}
