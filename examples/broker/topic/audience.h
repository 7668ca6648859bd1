/* SPDX-License-Identifier: MIT */
/*
 * An audience: the sessions that get a topic's messages, each session once, at the highest QoS of
 * its subscriptions that match. Pure: it only compares the sessions' addresses.
 *
 * The cost of adding does not depend on the number of sessions or filters (one client may have
 * thousands of filters that match a topic, one topic thousands of subscribers): a hash table beside
 * the entries finds the session. The table is freed when the audience is sealed.
 */
#ifndef BROKER_AUDIENCE_H
#define BROKER_AUDIENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session;

struct audience_entry {
	struct session *session;
	uint8_t qos;
};

struct audience {
	struct audience_entry *entries;
	size_t count;
	size_t capacity;
	uint32_t *slots; /* twice the capacity; an entry's index plus 1, or 0 */
};

/* An audience of zeroes is empty. */

/* Adds a session at that QoS. False: no memory; the audience stays as it was. */
bool audience_add(struct audience *audience, struct session *session, uint8_t qos);

/* Frees the memory that only adding needs. No session is added any more. */
void audience_seal(struct audience *audience);

/* Empties the audience. */
void audience_clear(struct audience *audience);

/* The memory of a sealed audience. */
size_t audience_memory(const struct audience *audience);

#endif
