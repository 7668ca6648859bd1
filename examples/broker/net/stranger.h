/* SPDX-License-Identifier: MIT */
/*
 * A stranger is a connection that was not let in yet: its CONNECT has not come to its end, or its
 * password is being checked. A stranger costs its sender almost nothing, so the memory of strangers
 * is bounded: for each by --max-connect, and for all together by --max-strangers, of which each
 * loop has its share. A loop beyond its share disconnects the stranger that holds the most memory;
 * of several of about that size it disconnects the one whose last growth is the oldest. So a
 * stranger that sends a CONNECT of an ordinary size is the last to be disconnected.
 *
 * A stranger is charged for its memory, not for the bytes that it has announced: its input grows as
 * bytes come.
 */
#ifndef BROKER_STRANGER_H
#define BROKER_STRANGER_H

#include <stdbool.h>
#include <stddef.h>

struct connection;

#define STRANGERS_RANKS 24 /* by powers of two; the last rank has all larger ones */

/* One for each loop. */
struct strangers {
	size_t bytes;
	struct strangers_rank {
		struct connection *first; /* the one that entered this rank last */
		struct connection *last;
	} ranks[STRANGERS_RANKS];
};

/* One in each connection. */
struct stranger {
	size_t holds;
	size_t heard; /* bytes that have come on its socket */
	size_t login; /* memory of its log-in */
	struct connection *next;
	struct connection *previous;
};

/* The stranger holds so many bytes now. False: it was closed for that. */
bool stranger_hold(struct connection *connection, size_t bytes);

/* The connection was let in, or is being closed. May be called again. */
void stranger_forget(struct connection *connection);

/* How many more bytes may come on its socket before it is let in. */
size_t stranger_room(const struct connection *connection);

#endif
