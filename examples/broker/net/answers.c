/* SPDX-License-Identifier: MIT */
/*
 * Acknowledgements of what a client has published, PUBACK and PUBREC. They go out in the order of
 * the PUBLISHes (MQTT 3.1.1, 4.6.0), although topics answer in an order of their own: an
 * acknowledgement that is ready waits for those before it, which their topics will send.
 */
#include "net/connection.h"
#include "common/why.h"
#include "net/message.h"

void answers_init(struct connection *connection)
{
	connection->answers_end = &connection->answers;
}

void answers_expect(struct connection *connection, struct packet *packet)
{
	packet->next = NULL;
	*connection->answers_end = packet;
	connection->answers_end = &packet->next;
}

/* Does the exchange end with this acknowledgement? A PUBREC without an error has a PUBREL. */
static bool answers_end(const struct packet *packet)
{
	return packet->head[0] >> 4 == CODEC_PUBACK ||
	       (packet->size == CODEC_ACK_MAX && packet->head[4] >= REASON_UNSPECIFIED);
}

void answers_ready(struct connection *connection, struct packet *packet)
{
	struct packet *first;

	packet->ready = true;
	while ((first = connection->answers) != NULL && first->ready) {
		connection->answers = first->next;
		if (connection->answers == NULL)
			connection->answers_end = &connection->answers;
		if (answers_end(first))
			connection_answered(connection);
		output_push(connection, first);
	}
}

void answers_drop(struct connection *connection)
{
	struct packet *next = connection->answers, *packet;

	connection->answers = NULL;
	answers_init(connection);
	while ((packet = next) != NULL) {
		const size_t cost = output_cost(packet);

		next = packet->next;
		if (!packet->ready)
			continue; /* its message has it, or it is on its way here */
		packet_destroy(packet);
		connection_release(connection, cost);
	}
}
