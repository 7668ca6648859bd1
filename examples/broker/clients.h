/* SPDX-License-Identifier: MIT */
/*
 * Client ids: at most one session has each; who comes with one that is taken gets it, and the other
 * one's connection is closed (MQTT 3.1.1, 3.1.4). One resource.
 */
#ifndef BROKER_CLIENTS_H
#define BROKER_CLIENTS_H

#include <baton/resource.h>

#include "map.h"

struct broker;
struct session;

struct clients {
	struct baton_resource resource;
	struct baton_resource_stats stats;
	struct broker *broker;
	struct map sessions;
};

/* Errors: -ENOMEM. deinit: every session must have ended. */
int clients_init(struct clients *clients, struct broker *broker);
void clients_deinit(struct clients *clients);

/* Enters the session, which has an id; then takes it out. Each once, in this order. */
void clients_register(struct clients *clients, struct session *session);
void clients_forget(struct clients *clients, struct session *session);

#endif
