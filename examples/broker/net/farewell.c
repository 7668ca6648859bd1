/* SPDX-License-Identifier: MIT */
/*
 * The last packet to a client that the broker closes: a CONNACK that refuses, if the client has had
 * none, or in MQTT 5 a DISCONNECT.
 */
#include "net/connection.h"

void connection_farewell(struct connection *connection)
{
	unsigned char bytes[4];
	struct packet *packet;

	if (connection->greeted || connection->version == 0 ||
	    why_return_code(connection->why) == 0)
		return;
	packet = packet_create_own(
		bytes, codec_put_connack(bytes, false, why_return_code(connection->why)));
	if (packet != NULL)
		output_append(connection, packet);
}
