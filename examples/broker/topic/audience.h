/* SPDX-License-Identifier: MIT */
/*
 * An audience: the sessions that get a topic's messages, each of them once, at the highest QoS of
 * its subscriptions that match. Pure: it only compares the sessions' addresses.
 *
 * Adding costs the same however many are there (one client may have thousands of filters that match
 * a topic, one topic thousands of subscribers): a hash table beside the entries finds the session.
 * The table goes when the audience is sealed.
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
	uint32_t *slots; /* twice the capacity; an entry's index and 1, or 0 */
};

/* An audience of zeroes has nobody. */

/* A subscription of this session at this QoS. False: no memory; the audience stays as it was. */
bool audience_add(struct audience *audience, struct session *session, uint8_t qos);

/* Nobody is added any more: gives back what only adding needs. */
void audience_seal(struct audience *audience);

/* Nobody is in it any more. */
void audience_clear(struct audience *audience);

/* The memory that the audience takes, once sealed. */
size_t audience_memory(const struct audience *audience);

#endif
