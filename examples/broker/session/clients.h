/* SPDX-License-Identifier: MIT */
/*
 * Client ids: at most one session has each id. A client that comes with an id that is taken goes on
 * with that session, or ends it (MQTT 5, 3.1.2.4 and 3.1.4). This is one resource, and a hash
 * set that its tasks alone touch. A baton_registry would tie an id to one session; here an id
 * passes to a new session while the old one ends.
 */
#ifndef BROKER_CLIENTS_H
#define BROKER_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ck_hs.h>

#include <baton/resource.h>
#include <baton/stats.h>

struct env;
struct join;
struct message;
struct request;
struct session;

/* What sessions have the layer above do, which fills it. */
struct unsubscriber {
	/* The request that will do it, made beforehand; free() ends it. NULL: no memory. */
	struct request *(*prepare)(struct unsubscriber *unsubscriber, struct session *session);

	/* The session has ended: takes back all its subscriptions. The caller holds a reference on
	 * it. Takes the request. */
	void (*submit)(struct request *request);

	/* Publishes a will. Takes the message. */
	void (*publish)(struct unsubscriber *unsubscriber, struct message *message);
};

struct clients {
	struct baton_resource resource;
	struct baton_resource_stats own_stats;
	struct baton_resource_stats *stats; /* these, or those on the board */
	struct env *env;
	struct unsubscriber *unsubscriber;
	struct ck_hs sessions; /* by client id; touched under this resource's baton only */
	size_t removed;        /* since the set was rebuilt */
	size_t count_max;
	size_t kept; /* sessions that were made with an expiry above 0 */
	uint64_t joins;
};

/* Errors: -ENOMEM. deinit: every session must have ended. */
int clients_init(struct clients *clients, struct env *env, struct unsubscriber *unsubscriber);
void clients_deinit(struct clients *clients);

/* Step 2 of a join, see session.h. */
void clients_join(struct clients *clients, struct join *join);

/* At the start of the broker: a session of an earlier run. Takes a reference. Errors: -ENOMEM. */
int clients_restore(struct clients *clients, struct session *session);

/* The session has ended: its id is free, unless another session has it already. */
void clients_forget(struct clients *clients, struct session *session);

/*
 * The client has been away since the join of that number, for too long: ends the session, unless a
 * newer join is on its way to it. False: no memory.
 */
bool clients_expire(struct clients *clients, struct session *session, uint64_t number);

/* The broker shuts down, and all connections have closed: ends all sessions. */
void clients_end(struct clients *clients);

#endif
