/* SPDX-License-Identifier: MIT */
/*
 * Packets as their client gets them: the last step in a session, under its baton. Only here are the
 * version of MQTT, the client's maximum packet size, its topic aliases and the time that a message
 * has left certain. The client is there.
 */
#ifndef BROKER_WIRE_H
#define BROKER_WIRE_H

#include <stdbool.h>

struct packet;
struct session;

/* Is the packet of a message within the client's maximum packet size? */
bool wire_fits(const struct session *session, const struct packet *packet);

/* The message is not to be sent any more: it has expired, or does not fit. Counts it then. */
bool wire_void(struct session *session, const struct packet *packet);

/* Sends the packet. */
void wire_send(struct session *session, struct packet *packet);

#endif
