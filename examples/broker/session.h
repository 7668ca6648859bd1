/* SPDX-License-Identifier: MIT */
/*
 * A session is the broker's side of one client: which QoS 1 messages are on their way to it, and
 * which wait until there is room in the window. It is a baton resource. So far sessions are clean
 * (clean session 0 is accepted, and answered with "no session present"): a session ends with its
 * connection.
 *
 * Lifetime. A session is counted: its connection, the client-id table, each subscription in the
 * tree, each entry in a topic's list of subscribers and each change on its way to one hold a
 * reference. Only who holds one submits to the session's resource. So when the last reference goes,
 * nobody can submit any more, what was submitted still runs, and then the resource's finaliser
 * frees the session: a topic never touches a session that is gone. The session in turn holds a
 * reference on its connection until its finaliser, so that it can always submit to that.
 *
 * The end of a connection takes the references back in this order: `detach` (what is delivered
 * from now on is dropped), `forget` at the client ids, and a request to the tree, from there to
 * the table and to each topic, whose task removes the entry; see request.h.
 */
#ifndef BROKER_SESSION_H
#define BROKER_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/resource.h>

#include "map.h"
#include "message.h"
#include "names.h"

struct broker;
struct request;
struct subscription;

#define SESSION_SLOTS 256 /* more than any window: packet ids in flight, by their low bits */
#define SESSION_WINDOW_MAX 200

struct session {
	struct baton_resource resource;
	struct baton_resource_stats stats;
	struct broker *broker;
	struct connection *connection; /* counted */
	uint32_t references;           /* atomic */

	/* Under the session's own baton. */
	bool detached;
	bool evicted;
	uint16_t packet_id; /* the last one given away */
	unsigned int inflight;
	uint16_t slots[SESSION_SLOTS]; /* the packet id in flight, or 0 */
	struct packet *queue;          /* QoS 1 beyond the window, and all that came behind it */
	struct packet **queue_end;
	size_t queued;
	uint64_t sent; /* bytes of messages given to the connection, ever */

	/* Under the baton of the subscription tree, and of the client ids. */
	struct subscription *subscriptions;
	struct map_entry client;
	bool registered;

	struct baton_task detach;
	struct baton_task evict;
	struct baton_task register_client;
	struct baton_task forget_client;
	struct baton_task finaliser;
	struct request *end; /* the request that ends all subscriptions */
	struct slice client_id;
	char text[];
};

/* One reference, the connection's. NULL: no memory. */
struct session *session_create(struct broker *broker, struct connection *connection,
                               struct slice client_id);

/* Any thread. */
void session_reference(struct session *session);
void session_release(struct session *session);

/* Brings a packet to the session: a message for the client, or a packet of the broker's own. */
void session_deliver(struct session *session, struct packet *packet);

/* The client has acknowledged these. Gives back the memory. */
#define SESSION_ACKS_MAX 60

struct session_acks {
	struct baton_task task;
	struct session *session;
	size_t count;
	uint16_t packet_ids[SESSION_ACKS_MAX];
};

void session_acknowledge(struct session *session, struct session_acks *acks);

/*
 * The connection has ended: the beginning of the session's end. Takes the connection's reference.
 */
void session_end(struct session *session);

/* Has the connection closed: somebody else has come with the same client id. Once. */
void session_evict(struct session *session);

#endif
