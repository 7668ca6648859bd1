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

#include "common/why.h"

struct clients;
struct codec_connect;
struct connection;
struct session;

struct join {
	struct baton_task task;
	struct connection *connection; /* charged; from step 4 on by the session */
	struct session *session;       /* counted; from step 4 on by the connection */
	struct session *at;            /* the session that the join visits now; counted */
	uint64_t number;
	bool replaces; /* it has ended a session that the store had */
	bool present; /* for the CONNACK: the session was there before */
	enum why why; /* it is closed instead of welcome; WHY_NONE: it is welcome */
};

/* An accepted CONNECT, on the connection's loop thread. Errors: -ENOMEM. */
int join_start(struct clients *clients, struct connection *connection,
               const struct codec_connect *connect);

/* The session has the connection: tells the connection so, and frees the join. */
void join_end(struct join *join);

/* A newer join has come. Closes the connection and frees the join. */
void join_refuse(struct join *join);

/* The same, and the client is told why. */
void join_deny(struct join *join, enum why why);

#endif
