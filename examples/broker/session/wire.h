/* SPDX-License-Identifier: MIT */
/*
 * Packets of messages as their client gets them: the last step in a session, under its baton. Only
 * here are the version of MQTT, the client's maximum packet size, its topic aliases and the time
 * that a message has left certain. The client is there.
 */
#ifndef BROKER_WIRE_H
#define BROKER_WIRE_H

#include <stdbool.h>

#include "net/message.h"
#include "session/session.h"

/* Is the packet of a message above the client's maximum packet size? Counts it then. */
bool wire_too_large(struct session *session, const struct packet *packet);

/* For wire_void(): a message that may have expired, or may be too large. */
bool wire_look(struct session *session, const struct packet *packet);

/* The message is not to be sent any more: it has expired, or does not fit. Counts it then. */
static inline bool wire_void(struct session *session, const struct packet *packet)
{
	return (packet->message->expires != 0 || session->version == CODEC_5) &&
	       wire_look(session, packet);
}

/*
 * Makes the head of a message's packet, which may move. False: no memory; then the packet is gone,
 * and its connection is closed.
 */
bool wire_encode(struct session *session, struct packet **packet);

/* Is there no need to? */
static inline bool wire_ready(const struct session *session, const struct packet *packet)
{
	return packet->whole && session->version != CODEC_5;
}

#endif
