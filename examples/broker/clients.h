/* SPDX-License-Identifier: MIT */
/*
 * Client ids: at most one session has each; who comes with one that is taken goes on with that
 * session, or ends it (MQTT 3.1.1, 3.1.2.4 and 3.1.4). One resource.
 */
#ifndef BROKER_CLIENTS_H
#define BROKER_CLIENTS_H

#include <baton/resource.h>

#include "map.h"

struct broker;
struct join;
struct session;

struct clients {
	struct baton_resource resource;
	struct baton_resource_stats stats;
	struct broker *broker;
	struct map sessions;
	uint64_t joins;
};

/* Errors: -ENOMEM. deinit: every session must have ended. */
int clients_init(struct clients *clients, struct broker *broker);
void clients_deinit(struct clients *clients);

/* Step 2 of a join, see session.h. */
void clients_join(struct clients *clients, struct join *join);

/* The session has ended. */
void clients_forget(struct clients *clients, struct session *session);

/* The broker ends: ends all sessions, whose clients have gone. */
void clients_end(struct clients *clients);

#endif
