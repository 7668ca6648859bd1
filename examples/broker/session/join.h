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
#include "mqtt/names.h"

struct clients;
struct access_client;
struct connection;
struct session;
struct will;

/* What a CONNECT says of its session, and of what the client can take. */
struct join_terms {
	uint32_t expiry;      /* seconds that the session outlives the connection; see session.h */
	uint32_t packet_max;  /* bytes of a packet to the client; UINT32_MAX */
	uint16_t receive_max; /* messages in flight to the client; 65535 */
	uint16_t alias_max;   /* topic aliases that it takes; 0 */
	uint16_t keep_alive;  /* the client has to use this one; 0: its own */
	uint8_t version;      /* enum codec_version */
	bool clean_start;
	struct will *will; /* NULL: none; from step 4 on the session's */
};

struct join {
	struct baton_task task;
	struct connection *connection; /* charged; from step 4 on by the session */
	struct session *session;       /* counted; from step 4 on by the connection */
	struct session *at;            /* the session that the join visits now; counted */
	uint64_t number;
	struct join_terms terms;
	bool assigned; /* the client id is the broker's choice */
	bool replaces; /* it has ended a session that the store had */
	bool present;  /* for the CONNACK: the session was there before */
	enum why why;  /* it is closed instead of welcome; WHY_NONE: it is welcome */
};

/* An accepted CONNECT, on the connection's loop thread. An empty client id: the broker chooses one.
 * Takes the will. Errors: -ENOMEM. */
int join_start(struct clients *clients, struct connection *connection,
               const struct access_client *client, const struct join_terms *terms);

/*
 * The join's own session has ended before the join has come to it: sends the join to the client ids
 * again, with a new session.
 */
void join_again(struct join *join);

/* The session has the connection: tells the connection so, and frees the join. */
void join_end(struct join *join);

/* A newer join has come. Closes the connection and frees the join. */
void join_refuse(struct join *join);

/* The same, and the client is told why. */
void join_deny(struct join *join, enum why why);

#endif
