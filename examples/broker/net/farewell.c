/* SPDX-License-Identifier: MIT */
/*
 * The last packet to a client that the broker closes: a CONNACK that refuses, if the client has had
 * none, or in MQTT 5 a DISCONNECT.
 */
#include <string.h>

#include "net/connection.h"

#define FAREWELL_TEXT_MAX 100

/* The text of a reason string; without bytes if the client does not want it, or it is too long. */
static struct slice farewell_text(const struct connection *connection)
{
	const char *text = why_text(connection->why);
	const size_t size = strlen(text), packet = 11 + 3 + size;

	if (!connection->request_problem || size > FAREWELL_TEXT_MAX ||
	    packet > connection->packet_max)
		return (struct slice){"", 0};
	return (struct slice){text, size};
}

/* Some reason codes are for a DISCONNECT alone. */
static uint8_t farewell_connack_reason(uint8_t reason)
{
	return reason == REASON_TAKEN_OVER || reason == REASON_SHUTTING_DOWN ? REASON_UNAVAILABLE
	                                                                     : reason;
}

static size_t farewell_put_connack(const struct connection *connection, unsigned char *out)
{
	const struct slice text = farewell_text(connection);
	unsigned char properties[3 + FAREWELL_TEXT_MAX];
	size_t size = 0;

	if (connection->version != CODEC_5)
		return codec_put_connack(out, false, why_return_code(connection->why));
	if (text.size > 0)
		size = properties_put_text(properties, PROPERTY_REASON_STRING, text);
	return codec_put_connack5(out, false, farewell_connack_reason(why_reason(connection->why)),
	                          (struct slice){(const char *)properties, size});
}

void connection_farewell(struct connection *connection)
{
	unsigned char bytes[11 + 3 + FAREWELL_TEXT_MAX];
	const uint8_t code = connection->version == CODEC_5 ? why_reason(connection->why)
	                     : connection->greeted || connection->version == 0
	                             ? 0
	                             : why_return_code(connection->why);
	struct packet *packet;
	size_t size;

	if (code == 0)
		return;
	size = connection->greeted ? codec_put_disconnect(bytes, code, farewell_text(connection))
	                           : farewell_put_connack(connection, bytes);
	packet = packet_create_own(bytes, size);
	if (packet != NULL)
		output_append(connection, packet);
}
