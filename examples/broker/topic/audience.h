/* SPDX-License-Identifier: MIT */
/*
 * An audience: the sessions that get a topic's messages, each session once, at the highest QoS of
 * its subscriptions that match, with the identifiers of all of them. Pure: it only compares the
 * sessions' addresses.
 *
 * A subscription with "no local" does not count for the session's own messages. So an entry says
 * both: what the session gets of others' messages, and of its own.
 *
 * The cost of adding does not depend on the number of sessions or filters (one client may have
 * thousands of filters that match a topic, one topic thousands of subscribers): a hash table beside
 * the entries finds the session. The table is freed when the audience is sealed. Identifiers take
 * no memory of an audience that has none but one pointer.
 */
#ifndef BROKER_AUDIENCE_H
#define BROKER_AUDIENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mqtt/names.h"

struct audience_identifiers;
struct session;

#define SUBSCRIPTION_IDENTIFIER_MAX 0xfffffff

/* What a client asks for with a subscription. In one word, which is read and written at once. */
union subscription_options {
	struct {
		uint32_t identifier : 28; /* 0: none */
		uint32_t qos : 2;
		uint32_t no_local : 1;
		uint32_t retain_as_published : 1;
	};
	uint32_t word;
};

/* Its options but QoS and identifier, as the store has them (store/database.c). */
static inline int64_t subscription_stored(union subscription_options options)
{
	return options.no_local | options.retain_as_published << 1;
}

#define AUDIENCE_NOTHING 3        /* in the place of a QoS */

struct audience_entry {
	struct session *session;
	uint32_t identifiers; /* see audience.c; 0: none */
	uint8_t qos;          /* of others' messages */
	uint8_t own_qos;      /* of its own messages, or AUDIENCE_NOTHING */
	bool plain;           /* there is nothing but a QoS */
	bool no_local : 1;    /* one of its subscriptions has that */
	bool retain : 1;      /* of others' messages, the retain flag is passed on as it came */
	bool own_retain : 1;  /* the same of its own */
};

struct audience {
	struct audience_entry *entries;
	size_t count;
	size_t capacity;
	uint32_t *slots; /* twice the capacity; an entry's index plus 1, or 0 */
	struct audience_identifiers *identifiers; /* NULL: there are none */
};

/* An audience of zeroes is empty. */

/* Adds a subscription. False: no memory; the audience may have its session, but not all of it. */
bool audience_add(struct audience *audience, struct session *session,
                  union subscription_options options);

/* Takes out the sessions that `keep` does not want. The audience must be sealed next. */
void audience_keep(struct audience *audience,
                   bool (*keep)(const struct session *session, void *arg), void *arg);

/* Frees the memory that only adding needs. False: no memory. No session is added any more. */
bool audience_seal(struct audience *audience);

/* Empties the audience. */
void audience_clear(struct audience *audience);

/* The memory of a sealed audience. */
size_t audience_memory(const struct audience *audience);

/*
 * The identifiers, as properties of a PUBLISH (mqtt/properties.h), for a message of the session's
 * own or of others; the audience is sealed.
 */
struct slice audience_identifiers(const struct audience *audience,
                                  const struct audience_entry *entry, bool own);

#endif
