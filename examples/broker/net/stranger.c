/* SPDX-License-Identifier: MIT */
/* The memory that strangers hold; see stranger.h. */
#include "net/stranger.h"

#include "common/env.h"
#include "common/why.h"
#include "net/connection.h"
#include "net/loop.h"

/* With TLS a handshake comes first, and the CONNECT lies in records. */
#define STRANGER_TLS ((size_t)2 * TLS_RECORD_MAX)

static size_t rank_of(size_t bytes)
{
	size_t rank = 0;

	while (bytes > 1 && rank < STRANGERS_RANKS - 1) {
		bytes /= 2;
		rank++;
	}
	return rank;
}

static void rank_leave(struct strangers_rank *rank, struct connection *connection)
{
	struct stranger *stranger = &connection->stranger;

	if (stranger->previous != NULL)
		stranger->previous->stranger.next = stranger->next;
	else
		rank->first = stranger->next;
	if (stranger->next != NULL)
		stranger->next->stranger.previous = stranger->previous;
	else
		rank->last = stranger->previous;
}

static void rank_enter(struct strangers_rank *rank, struct connection *connection)
{
	connection->stranger.previous = NULL;
	connection->stranger.next = rank->first;
	if (rank->first != NULL)
		rank->first->stranger.previous = connection;
	else
		rank->last = connection;
	rank->first = connection;
}

static void stranger_set(struct connection *connection, size_t bytes)
{
	struct strangers *strangers = &connection->loop->strangers;
	const size_t before = connection->stranger.holds;

	if (before > 0)
		rank_leave(&strangers->ranks[rank_of(before)], connection);
	strangers->bytes = strangers->bytes - before + bytes;
	connection->stranger.holds = bytes;
	if (bytes > 0)
		rank_enter(&strangers->ranks[rank_of(bytes)], connection);
}

/* There is at least one stranger. */
static struct connection *strangers_largest(const struct strangers *strangers)
{
	size_t rank = STRANGERS_RANKS - 1;

	while (strangers->ranks[rank].last == NULL)
		rank--;
	return strangers->ranks[rank].last;
}

bool stranger_hold(struct connection *connection, size_t bytes)
{
	const struct env *env = connection->loop->env;
	struct strangers *strangers = &connection->loop->strangers;

	stranger_set(connection, bytes);
	while (strangers->bytes > limit_of(env, strangers_max) / env->options.threads) {
		struct connection *largest = strangers_largest(strangers);

		connection_fail(largest, WHY_MAX_STRANGERS);
		/* Its close comes later in this turn, behind many others' input. */
		if (largest != connection)
			input_free(largest);
	}
	return !connection->closing;
}

void stranger_forget(struct connection *connection)
{
	stranger_set(connection, 0);
}

size_t stranger_room(const struct connection *connection)
{
	const size_t most = connection->loop->env->options.connect_max +
	                    (connection->tls != NULL ? STRANGER_TLS : 0);

	return most - connection->stranger.heard;
}
