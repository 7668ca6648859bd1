/* SPDX-License-Identifier: MIT */
/*
 * The broker as a whole. Each part is described in its own header; README.md has the files by
 * folder.
 *
 * The way of a message, and the thread that runs each step:
 *
 *   publisher's connection   its loop thread reads and decodes, finds the topic without a hop
 *     -> topic               the thread that holds the topic's baton: order, acknowledge, fan out
 *     -> session             one per subscriber: packet id, in-flight window, queue
 *     -> connection          subscriber's loop thread: gathers, writes once per turn of the loop
 *
 * Each arrow is a submit by the step before it. So the order of a topic is the order at all of its
 * subscribers, and a publisher's order survives all hops. PUBACK or PUBREC goes back to the
 * publisher from the topic, before the fan-out. A subscriber's acknowledgement goes from its
 * connection to its session.
 *
 * The way of a SUBSCRIBE: connection -> subscription tree -> topic table -> (topics, session); see
 * topic/request.h. The way of a CONNECT: connection -> client ids -> session -> connection; see
 * session/session.h.
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
	int argc; /* the command line: a reload reads it again */
	char **argv;
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

/* init logs errors. deinit follows init, whatever init has returned. */
int broker_init(struct broker *broker);
void broker_deinit(struct broker *broker, int status);

#endif
