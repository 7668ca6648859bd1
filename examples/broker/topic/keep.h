/* SPDX-License-Identifier: MIT */
/*
 * What of a topic's messages goes into the store, if there is one. Under the topic's baton, once
 * the audience is known, and before the message goes out: so what the sessions write about it comes
 * behind it.
 */
#ifndef BROKER_KEEP_H
#define BROKER_KEEP_H

#include <stdbool.h>
#include <stdint.h>

struct message;
struct session;
struct topic;

/* Does a message that goes to the session at this QoS outlive the process? */
bool keep_needed(const struct session *session, uint8_t qos);

/*
 * Writes the message. It is acknowledged when it is committed; or now, where it needs no store, or
 * nobody waits. `outdated`: the id of the message that the topic has retained until now, or 0.
 * Gives the message its id; the rows of the sessions that need it follow in the order of the
 * audience.
 */
void keep_message(struct topic *topic, struct message *message, uint64_t outdated);

#endif
