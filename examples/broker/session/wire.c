/* SPDX-License-Identifier: MIT */
/* Packets as their client gets them; see wire.h. */
#include "session/wire.h"

#include "common/env.h"
#include "common/why.h"
#include "net/connection.h"

#define WIRE_PACKET_MAX (CODEC_HEADER_MAX + (size_t)268435455) /* bytes of any packet */
#define WIRE_ALIAS_MORE 6 /* bytes, at most, of an alias and of the longer lengths before it */

/* Is the packet small enough, with so many bytes more? */
static bool wire_fits_with(const struct session *session, const struct packet *packet, size_t more)
{
	const size_t most =
		session->packet_max < WIRE_PACKET_MAX ? session->packet_max : WIRE_PACKET_MAX;

	/* The memory is more than what goes out, and needs no look at it. */
	return session->version != CODEC_5 || packet_memory(packet) + more <= most ||
	       packet_size5(packet) + more <= most;
}

bool wire_too_large(struct session *session, const struct packet *packet)
{
	if (wire_fits_with(session, packet, 0))
		return false;
	delivery_count_drop(session, "a message is larger than its maximum packet size");
	return true;
}

bool wire_look(struct session *session, const struct packet *packet)
{
	if (message_expired(packet->message)) {
		stats_count(&session->env->stats.dropped);
		return true;
	}
	return wire_too_large(session, packet);
}

/* An alias is given here alone: so the packet that introduces it is the first one that has it. */
static struct packet *wire_encode5(struct session *session, struct packet *packet)
{
	struct packet_alias alias = {0};

	if (session->alias_max > 0 && wire_fits_with(session, packet, WIRE_ALIAS_MORE))
		alias = aliases_out_choose(&session->aliases, session->alias_max,
		                           packet->message->publish.topic);
	return packet_encode5(packet, alias);
}

bool wire_encode(struct session *session, struct packet **packet)
{
	struct packet *encoded;

	if (session->version != CODEC_5) {
		packet_encode(*packet);
		return true;
	}
	encoded = wire_encode5(session, *packet);
	if (encoded != NULL) {
		*packet = encoded;
		return true;
	}
	connection_kick(session->connection, WHY_NO_MEMORY);
	packet_destroy(*packet);
	return false;
}
