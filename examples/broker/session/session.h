/* SPDX-License-Identifier: MIT */
/*
 * A session is the broker's side of one client: its subscriptions, what is on its way to it and not
 * acknowledged, what waits, and which packets of QoS 2 have come from it. It is a baton resource,
 * and has a life of its own: a connection (connection.h) joins it and leaves it again.
 *
 *            join                  leave
 *   AWAY ----------> JOINED ----------------------> AWAY            (clean session 0)
 *     |                |  join of another             `-> ENDED     (clean session 1)
 *     |                v
 *     | a join      LEAVING (the old connection is told to close, the newcomer waits)
 *     | with clean     |
 *     | session 1      | leave of the old one
 *     v                v
 *   ENDED           JOINED by the newcomer, or ENDED if the newcomer has a new session
 *
 * A session that is AWAY for longer than --session-expiry is ENDED, too: its timer asks the client
 * ids, which know whether a join is on its way to it.
 *
 * A session is made with clean session 0 or 1 and stays so. `connection` is NULL in AWAY and ENDED,
 * `waiting` is the newcomer in LEAVING, `ended` says ENDED. All this changes under the session's
 * own baton.
 *
 * The steps of a CONNECT (join.h), each one a task that submits the next:
 *
 *   1. connection: reads on no more; makes a session, in case it needs a new one.
 *   2. client ids (clients.h): numbers the join; enters the new session, or finds the one to go on
 *      with. An older session of that id that is not gone on with is taken out; the join visits it
 *      first, to end it. So of several clients with one id the joins come to each session in the
 *      order of their numbers, except one that had to wait elsewhere; that one is too late, and its
 *      connection closed.
 *   3. session: if it is JOINED, step 4 waits for the `leave` of the connection that it has. Before
 *      that leave its loop thread has submitted all that it has read, acknowledgements included,
 *      and the will: nothing of the old connection can come behind the new one's.
 *   4. session: has the new connection. It sends, in this order: the `joined`, which is the CONNACK
 *      and lets the connection read on; PUBREL for what the client had received; what it has not
 *      acknowledged, with DUP; what waits.
 *
 * The end of a connection, on its loop thread: it writes and reads no more, publishes its will
 * unless there was a DISCONNECT, submits `leave`. A session with clean session 1 then ends:
 * it drops what it has (what comes later, too), has the client ids forget it, and sends a request
 * through tree and table, which takes its subscriptions back (request.h).
 *
 * Who owns what. The session holds a charge of the connection that it has, from step 3 to the
 * leave: so it can always submit to it. A session is counted: its connection, a join, the client
 * ids, each subscription (until the last reader has left it), each place in a topic's audience and
 * each telling on its way to a topic hold a reference. Only who holds one submits to the session's
 * resource. So when the last reference goes, nobody can submit any more, what was submitted still
 * runs, and then the resource's finaliser frees the session: a topic never touches a session that
 * is gone.
 *
 * `received` belongs to the loop thread of the connection that has joined, `asks` likewise. They
 * pass from one to the next through `leave` and `joined`, and so need no hop.
 */
#ifndef BROKER_SESSION_H
#define BROKER_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/resource.h>
#include <baton/timer.h>

#include "session/inflight.h"
#include "net/message.h"
#include "mqtt/names.h"
#include "session/queue.h"
#include "session/received.h"

struct clients;
struct connection;
struct env;
struct join;
struct request;
struct subscription;

struct session {
	struct baton_resource resource;
	struct baton_resource_stats stats;
	struct env *env;
	struct clients *clients;
	uint32_t references; /* atomic */
	bool clean;

	/* Under the session's own baton. */
	bool ended;
	bool marked;                   /* a marker is in the connection's output, see delivery.c */
	bool dropping;                 /* some message could not wait, and the log has been told */
	struct connection *connection; /* charged */
	struct join *waiting;
	uint64_t newest; /* the join with the highest number that has come by */
	uint64_t epoch;  /* the join by which `connection` came */
	struct inflight inflight;
	struct queue queue;
	uint64_t sent;     /* memory of the messages given to the connection */
	uint64_t answered; /* the last SUBSCRIBE whose SUBACK has come by, see delivery.c */

	/* The loop thread's of the connection. */
	struct received received;
	uint64_t attempted; /* see session_leave() */
	uint64_t asks;      /* SUBSCRIBEs so far */

	/* Under the baton of the subscription tree, and of the client ids. */
	struct subscription *subscriptions;
	size_t filters; /* so many of them, and their memory */
	size_t filter_bytes;
	bool registered;
	uint64_t directed; /* the number of the last join that the client ids have sent here */

	struct baton_timer expiry; /* while the client is away */
	struct baton_task leave;
	struct baton_task end;
	struct baton_task forget;
	struct baton_task finaliser;
	struct request *end_request; /* the request that ends all subscriptions */
	struct slice client_id;
	char text[];
};

/* One reference, the caller's. NULL: no memory. */
struct session *session_create(struct clients *clients, struct slice client_id, bool clean);

/* Any thread. */
void session_reference(struct session *session);
void session_release(struct session *session);

/*
 * A join comes to a session: its own, or one that it has to end before. Any thread that holds a
 * reference.
 */
void session_join(struct session *session, struct join *join);

/*
 * The connection has ended: takes its reference. `attempted`: as in inflight_settle().
 * On its loop thread.
 */
void session_leave(struct session *session, uint64_t attempted);

/* Ends it, whose client is away. Once; any thread that holds a reference. */
void session_end(struct session *session);

/*
 * delivery.c. Brings a packet to the session: a message for the client, or a packet of the broker's
 * own, which is for the connection of that epoch only.
 */
void session_deliver(struct session *session, struct packet *packet);

/*
 * The client's PUBACK, PUBREC and PUBCOMP. Gives back the memory, and what its connection was
 * charged with for it and for the answers.
 */
#define SESSION_ACKS_MAX 60
#define SESSION_ACKS_COST (sizeof(struct session_acks) + SESSION_ACKS_MAX * sizeof(struct packet))

struct session_ack {
	uint16_t packet_id;
	uint8_t type;
};

struct session_acks {
	struct baton_task task;
	struct session *session;
	size_t count;
	struct session_ack acks[SESSION_ACKS_MAX];
};

void session_acknowledge(struct session *session, struct session_acks *acks);

/* A marker has come to the front of the connection's output. Takes the packet. */
void session_drained(struct packet *marker);

/* For session.c, under its baton: a connection has come; it has gone; the session has ended. */
void delivery_begin(struct session *session);
void delivery_pause(struct session *session);
void delivery_end(struct session *session);

#endif
