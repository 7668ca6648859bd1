/* SPDX-License-Identifier: MIT */
/*
 * What the broker's parts share: options, the pool, and the three resources of which there is one
 * (subscription tree, topic table, client ids).
 *
 * The way of a message, and who runs each step:
 *
 *   publisher's connection   its loop thread reads and decodes, finds the topic without a hop
 *     -> topic               whoever holds that topic's baton: order, acknowledge, fan out
 *     -> session             one per subscriber: packet id, in-flight window, queue
 *     -> connection          subscriber's loop thread: gathers, writes once per turn of the loop
 *
 * Each arrow is a submit by the step before it, in its own order, so the order of a topic is the
 * order at all its subscribers, and a publisher's order survives all hops.
 * Back to the publisher go PUBACK or PUBREC from the topic, before it fans out; what a subscriber
 * acknowledges goes from its connection to its session.
 *
 * The way of a SUBSCRIBE: connection -> subscription tree -> topic table -> (topics, session); see
 * request.h. Of a CONNECT: connection -> client ids -> session -> connection; see session.h.
 */
#ifndef BROKER_BROKER_H
#define BROKER_BROKER_H

#include <baton/task.h>

#include "common/env.h"
#include "login.h"
#include "net/connection.h"
#include "net/loop.h"
#include "net/net.h"
#include "passwords.h"
#include "session/clients.h"
#include "topic/table.h"

struct broker {
	struct env env;
	struct net net;
	struct table table;
	struct clients clients;
	struct passwords passwords;
	struct logins logins;
};

/* The broker that the connection belongs to. */
static inline struct broker *broker_of(const struct connection *connection)
{
	return baton_container_of(connection->loop->net, struct broker, net);
}

/* Reads the files that the options name. Errors are logged; what could not be read stays. */
int broker_load(struct broker *broker);

/* Errors are logged, and whatever status it returns deinit has to follow. */
int broker_init(struct broker *broker);
void broker_deinit(struct broker *broker, int status);

#endif
