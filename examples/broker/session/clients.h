/* SPDX-License-Identifier: MIT */
/*
 * Client ids: at most one session has each; who comes with one that is taken goes on with that
 * session, or ends it (MQTT 3.1.1, 3.1.2.4 and 3.1.4). One resource, and a hash set that is touched
 * by its tasks alone: a baton_registry would give each id one session, but here an id may pass to a
 * new session while the old one ends.
 */
#ifndef BROKER_CLIENTS_H
#define BROKER_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ck_hs.h>

#include <baton/resource.h>

struct env;
struct join;
struct request;
struct session;

/* Takes back all subscriptions of a session that ends: the layer above knows how. */
struct unsubscriber {
	/* The request that will do it, made beforehand; free() ends it. NULL: no memory. */
	struct request *(*prepare)(struct unsubscriber *unsubscriber, struct session *session);

	/* The session has ended. The caller holds a reference on it. Takes the request. */
	void (*submit)(struct request *request);
};

struct clients {
	struct baton_resource resource;
	struct baton_resource_stats stats;
	struct env *env;
	struct unsubscriber *unsubscriber;
	struct ck_hs sessions; /* by client id; touched under this resource's baton only */
	size_t removed;        /* since the set was rebuilt */
	size_t count_max;
	size_t kept; /* of them, with clean session 0 */
	uint64_t joins;
};

/* Errors: -ENOMEM. deinit: every session must have ended. */
int clients_init(struct clients *clients, struct env *env, struct unsubscriber *unsubscriber);
void clients_deinit(struct clients *clients);

/* Step 2 of a join, see session.h. */
void clients_join(struct clients *clients, struct join *join);

/* The session has ended. */
void clients_forget(struct clients *clients, struct session *session);

/*
 * The client has been away from its session since the join of that number, for too long: ends it,
 * unless the client is on its way back. False: no memory.
 */
bool clients_expire(struct clients *clients, struct session *session, uint64_t number);

/* The broker ends: ends all sessions, whose clients have gone. */
void clients_end(struct clients *clients);

#endif
