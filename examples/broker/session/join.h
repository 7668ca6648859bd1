/* SPDX-License-Identifier: MIT */
/*
 * A CONNECT on its way: client ids -> session -> connection, see session.h for the steps. The same
 * struct is the task of each hop.
 */
#ifndef BROKER_JOIN_H
#define BROKER_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include <baton/task.h>

struct clients;
struct codec_connect;
struct connection;
struct session;

struct join {
	struct baton_task task;
	struct connection *connection; /* charged; the session's from joining on */
	struct session *session;       /* counted; the connection's from joining on */
	struct session *at;            /* where it is just now, counted */
	uint64_t number;
	bool present;        /* the session was there already */
	uint8_t return_code; /* of a join that is denied */
	const char *why;
};

/* An accepted CONNECT, on the connection's loop thread. Errors: -ENOMEM. */
int join_start(struct clients *clients, struct connection *connection,
               const struct codec_connect *connect);

/* For the session: it has the connection. Tells it so, and frees the join. */
void join_end(struct join *join);

/* Somebody newer has come. Closes the connection and frees the join. */
void join_refuse(struct join *join);

/* The same, and before it a CONNACK with that return code. `why` is for the log; it stays. */
void join_deny(struct join *join, uint8_t return_code, const char *why);

#endif
