/* SPDX-License-Identifier: MIT */
/*
 * A session is the broker's side of one client: its subscriptions, the messages on their way to the
 * client that are not acknowledged, the messages that wait, and the packet ids of QoS 2 that have
 * come from the client. A session is a baton resource and may outlive its connection
 * (net/connection.h), which joins the session and leaves it again.
 *
 * A group of a shared subscription is a session, too, without a client (group.h): of all that
 * follows it has the queue, the id in the store, and the references.
 *
 *            join                  leave
 *   AWAY ----------> JOINED ----------------------> AWAY            (expiry above 0)
 *     |                |  join of another             `-> ENDED     (expiry 0)
 *     |                v
 *     | a join      LEAVING (the old connection is told to close, the newcomer waits)
 *     | with clean     |
 *     | start          | leave of the old one
 *     v                v
 *   ENDED           JOINED by the newcomer, or ENDED if the newcomer has a new session
 *
 * The expiry is the time that a session outlives its connection. MQTT 5 has it in CONNECT, and a
 * DISCONNECT may change it; in 3.1.1 clean session 1 is a clean start and expiry 0, clean session 0
 * is no clean start and PROPERTIES_NEVER. --session-expiry limits it. A session that is AWAY for
 * longer is ENDED, too: its timer asks the client ids, which know whether a join is on its way to
 * the session. A join that comes to a session which the last leave has ended starts again at the
 * client ids, with a new session.
 *
 * The store has the expiry, and when the client went, by the wall clock. After a restart the rest
 * of the time is that of the wall clock: one that was set forward meanwhile ends the session early,
 * one that was set back ends it late, by the whole expiry at most. A session that was JOINED when
 * the process ended has all of its time, or has ended if its expiry is 0.
 *
 * `clean` says that a session was made with expiry 0: it ends with its connection and is never in
 * the store. With an access file a session is its user's, too: a client that comes back by another
 * name gets a new session, since what was subscribed, or waits, by the rights of one user is not
 * another user's.
 *
 * `connection` is NULL in AWAY and ENDED, `waiting` is the newcomer in LEAVING, `ended` says ENDED.
 * All this changes under the session's own baton.
 *
 * The steps of a CONNECT (join.h), each one a task that submits the next:
 *
 *   1. connection: reads no more; makes a session, in case the client needs a new one.
 *   2. client ids (clients.h): numbers the join, and enters the new session or finds the session to
 *      go on with. An older session of that id that ends is taken out, and the join visits it
 *      first, to end it. So the joins of several clients with one id come to each session in the
 *      order of their numbers. The exception is a join that had to wait elsewhere: it comes too
 *      late, and its connection is closed.
 *   3. session: if it is JOINED, step 4 waits for the `leave` of its connection. Before that leave,
 *      the connection's loop thread has submitted all that it has read, acknowledgements included,
 *      and the will: so nothing of the old connection can come behind the new connection's packets.
 *   4. session: has the new connection. It sends, in this order: the `joined`, which is the CONNACK
 *      and lets the connection read on; PUBREL for messages that the client has received; with DUP,
 *      the messages that the client has not acknowledged; the messages that wait.
 *
 * At its end, a connection writes and reads no more, and submits `leave`, on its loop thread. The
 * leave publishes the will (will.h), or begins its delay. A session with expiry 0 then ends: it
 * drops what it has and whatever comes later, has the client ids forget it, and sends a request
 * through tree and table, which takes its subscriptions back (topic/request.h).
 *
 * Ownership. The session holds a charge of its connection from step 3 to the leave, and so can
 * always submit to it. A session is counted: its connection, a join, the client ids, each
 * subscription (until the last reader has left it), each place in a topic's audience and each
 * telling on its way to a topic hold a reference. Only a holder of a reference submits to the
 * session's resource. So when the last reference goes, no thread can submit any more; tasks that
 * were submitted still run; then the resource's finaliser frees the session. A topic never touches
 * a session that is gone.
 *
 * `received`, `asks`, `bequeaths` and `outlives` belong to the loop thread of the connection that
 * has joined. They pass from one connection to the next through `leave` and `joined`, and so need
 * no hop.
 *
 * The numbers of a session. They only rise, but `storing`; `sent` begins anew with a connection.
 *
 *   number          | what it counts                  | who compares it, and why
 *   ----------------+---------------------------------+------------------------------------------
 *   join->number    | joins of all clients            | see the next three
 *   newest          | the latest join that has come   | step 3: a join with a lower number has come
 *                   |                                 | too late, and is refused
 *   epoch           | the join of `connection`        | delivery.c: a packet of the broker's own
 *                   |                                 | with another epoch is for a connection that
 *                   |                                 | has gone, and is dropped
 *   directed        | the latest join that the client | the client ids: while it is not `newest`, a
 *                   | ids have sent here              | join is on its way: no expiry ends it
 *   asks            | SUBSCRIBEs that were read       | gives a SUBSCRIBE its number
 *   answered        | SUBSCRIBEs whose SUBACK is sent | delivery.c: a retained message waits while
 *                   |                                 | its SUBSCRIBE (packet->due) is above it
 *   inflight.order  | changes of an entry's state     | sorts what is sent again
 *   attempted       | that order, of the last message | leave: a message above it was not begun to
 *                   | begun to be written             | be written, and is sent without DUP
 *   sent            | bytes of memory given to the    | delivery.c: less connection->written, these
 *                   | connection                      | lie in its output
 *   storing         | packets that wait for the store,| delivery.c: what needs no store waits for 0
 *                   | the CONNACK included            |
 */
#ifndef BROKER_SESSION_H
#define BROKER_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/resource.h>
#include <baton/stats.h>
#include <baton/timer.h>

#include "common/access.h"
#include "session/aliases_out.h"
#include "session/group.h"
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
struct will;

struct session {
	struct baton_resource resource;
	struct baton_resource_stats own_stats;
	struct baton_resource_stats *stats; /* these, or those on the board */
	struct env *env;
	struct clients *clients;
	struct group *group; /* NULL: the session is a client's */
	uint64_t id;         /* in the store; 0: it is not kept there */
	uint64_t identity;   /* of its client id: what "no local" compares */
	uint32_t references; /* atomic */
	uint16_t user_size;  /* of the user name; 0: it has none */
	bool clean;

	/* Under the session's own baton. */
	bool ended;
	bool stored;                   /* the store has been given it */
	bool marked;                   /* a marker is in the connection's output, see delivery.c */
	bool dropping;                 /* a message was dropped, and the log has been told */
	struct connection *connection; /* charged */
	struct join *waiting;
	uint64_t newest;     /* the highest number of a join that has come here */
	uint64_t epoch;      /* the join by which `connection` came */
	uint32_t packet_max; /* this and the next three: of `connection`, as its CONNECT said */
	uint16_t receive_max;
	uint16_t alias_max;
	uint8_t version;
	uint16_t quota;              /* messages that may be sent on `connection`, see delivery.c */
	uint64_t begun;              /* inflight.order when `connection` came */
	struct aliases_out *aliases; /* given on `connection` */
	struct inflight inflight;
	struct queue queue;
	struct will *will; /* of `connection`, or one whose delay runs; NULL: none */
	uint64_t ends;     /* while AWAY: when its time is over, in ns; BATON_NEVER */
	struct member *members; /* of groups */
	bool refusing;          /* a member waits until there is room */
	uint32_t expires;       /* seconds behind the leave; PROPERTIES_NEVER */
	uint64_t storing;  /* packets that wait for the store, see delivery.c */
	uint64_t sent;     /* memory of the messages given to the connection */
	uint64_t answered; /* the last SUBSCRIBE whose SUBACK has passed, see delivery.c */

	/* The loop thread's of the connection. */
	struct received received;
	uint64_t attempted; /* see session_leave() */
	uint64_t asks;      /* SUBSCRIBEs so far */
	bool bequeaths;     /* its will is to be published */
	uint32_t outlives;  /* `expires`, as its client has said last */

	/* Under the baton of the subscription tree, and of the client ids. */
	struct subscription *subscriptions;
	size_t filters; /* the number of subscriptions, and their memory */
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
	char text[]; /* the client id, then the user name */
};

/* The caller gets one reference. NULL: no memory. */
struct session *session_create(struct clients *clients, const struct access_client *client,
                               bool clean);

static inline struct slice session_user(const struct session *session)
{
	return (struct slice){session->text + session->client_id.size, session->user_size};
}

/* For group.c. */
struct session *session_create_group(struct env *env, struct slice name, struct group *group);

static inline struct access_client session_client(const struct session *session)
{
	return (struct access_client){session_user(session), session->client_id};
}

/* Any thread: may the session's client do that with the topic? */
bool session_may(const struct session *session, enum access_right right, struct slice topic);

/*
 * At the start of the broker: a session of an earlier run, which waits for its client. `expiry`,
 * `away`: as the store has them.
 */
void session_restore(struct session *session, uint64_t id, uint32_t expiry, int64_t away);

/* The will of such a session, whose delay runs. */
void session_restore_will(struct session *session, struct will *will);

/*
 * At the start of the broker: what waits for the client. The row of the store becomes the
 * session's. queue: a message that was not sent; takes a packet without a hop. sent: the entry of
 * one that was (inflight_restore()).
 */
void session_restore_queued(struct session *session, struct packet *packet);
void session_restore_sent(struct session *session, const struct inflight_entry *entry,
                          struct slice identifiers);

/* For how many seconds more such a session waits; PROPERTIES_NEVER: for ever. 0: it has ended. */
uint32_t session_left(const struct env *env, uint32_t expiry, int64_t away);

/* All of the store is read: the session's time goes on. */
void session_restored(struct session *session);

/* Any thread. */
void session_reference(struct session *session);
void session_release(struct session *session);

/*
 * Sends the join to a session: its own, or one that it has to end first. Any thread that holds a
 * reference.
 */
void session_join(struct session *session, struct join *join);

/*
 * The connection has ended. Takes the connection's reference. `attempted`: as in
 * inflight_settle(). `expiry`: as the client has said last. `bequeaths`: its will, if it has one,
 * is to be published. On the connection's loop thread.
 */
void session_leave(struct session *session, uint64_t attempted, uint32_t expiry, bool bequeaths);

/*
 * What the client has asked for, and not more than --session-expiry. Under the session's baton; or
 * on the loop thread of its connection, before the leave.
 */
uint32_t session_expiry(const struct session *session);

/* Ends a session whose client is away. Once; any thread that holds a reference. */
void session_end(struct session *session);

/*
 * delivery.c. Brings a packet to the session: a message for the client, or a packet of the broker's
 * own, which goes to the connection of the packet's epoch only.
 */
void session_deliver(struct session *session, struct packet *packet);

/*
 * acknowledge.c. Handles the client's PUBACK, PUBREC and PUBCOMP. Frees `acks`, and ends what the
 * connection was charged for them and for their answers.
 */
#define SESSION_ACKS_MAX 60
#define SESSION_ACKS_COST (sizeof(struct session_acks) + SESSION_ACKS_MAX * sizeof(struct packet))

struct session_ack {
	uint16_t packet_id;
	uint8_t type;
	uint8_t reason;
};

struct session_acks {
	struct baton_task task;
	struct session *session;
	size_t count;
	struct session_ack acks[SESSION_ACKS_MAX];
};

void session_acknowledge(struct session *session, struct session_acks *acks);

/*
 * A marker has come to the front of the connection's output. Takes the packet. On the loop thread
 * of the connection, which holds a reference on the session.
 */
void session_drained(struct packet *marker);

/*
 * Under the session's baton, also for a group's. discard: the message need not be sent. drop: it
 * should have been. count_drop: counts a message that was; the log is told of the first one since
 * the client has come.
 */
void delivery_discard(struct session *session, struct packet *packet);
void delivery_drop(struct session *session, struct packet *packet);
void delivery_count_drop(struct session *session, const char *why);

/* Queues a message; one for which there is no room is dropped. */
void delivery_queue(struct session *session, struct packet *packet);

/*
 * For acknowledge.c, under the session's baton. go_on: sends what waits, if there may be room now.
 * send_pubrel: PUBREC has come, or had come before; or its packet id is not known, as the reason
 * says. `row`: that of the message in the store, if its state changes; else 0.
 */
void delivery_go_on(struct session *session);
void delivery_send_pubrel(struct session *session, uint16_t packet_id, uint8_t reason,
                          uint64_t row);

/* For session.c, under its baton: a connection has come. */
void delivery_begin(struct session *session);

#endif
