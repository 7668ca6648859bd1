/* SPDX-License-Identifier: MIT */
/*
 * A stranger is a connection that has not been let in: its CONNECT has not come to its end, or its
 * password is being checked. Strangers cost nothing but a connection each, so what they have sent
 * is bounded: for each by --max-connect, and for all together by --max-strangers, of which each
 * loop has its share. Beyond its share a loop disconnects the stranger that holds the most (of
 * several about as large the one that has grown last the longest ago): a stranger that sends a
 * CONNECT of an ordinary size is the last to be disconnected.
 *
 * A stranger is charged for its memory, not for the bytes that it has announced: its input grows as
 * bytes come.
 */
#ifndef BROKER_STRANGER_H
#define BROKER_STRANGER_H

#include <stdbool.h>
#include <stddef.h>

struct connection;

#define STRANGERS_RANKS 24 /* by powers of two; the last one is for all that is larger */

/* A loop's. */
struct strangers {
	size_t bytes;
	struct strangers_rank {
		struct connection *first; /* it has come into this rank last */
		struct connection *last;
	} ranks[STRANGERS_RANKS];
};

/* In a connection. */
struct stranger {
	size_t holds;
	size_t heard; /* bytes that have come on its socket */
	size_t login; /* memory of its log-in */
	struct connection *next;
	struct connection *previous;
};

/* The connection, which is a stranger, holds so many bytes. False: it has been closed for that. */
bool stranger_hold(struct connection *connection, size_t bytes);

/* It is no stranger any more, or is being closed. Once or more often. */
void stranger_forget(struct connection *connection);

/* How many bytes may still come on its socket before it is let in. */
size_t stranger_room(const struct connection *connection);

#endif
