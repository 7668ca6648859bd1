/* SPDX-License-Identifier: MIT */
/*
 * What the broker's parts share: options, the pool, and the three resources of which there is one
 * (subscription tree, topic table, client ids).
 *
 * The way of a message, and who runs each step:
 *
 *   publisher's connection   its loop thread reads and decodes, looks the topic up
 *     -> topic               whoever holds that topic's baton: order, acknowledge, fan out
 *     -> session             one per subscriber: packet id, in-flight window, queue
 *     -> connection          subscriber's loop thread: gathers, writes once per turn of the loop
 *
 * Each arrow is a submit by the step before it, in its own order, so the order of a topic is the
 * order at all its subscribers, and a publisher's order survives all hops.
 *
 * The way of a SUBSCRIBE: connection -> subscription tree -> topic table -> (topics, session); see
 * request.h.
 */
#ifndef BROKER_BROKER_H
#define BROKER_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/pool.h>
#include <baton/resource.h>

#include "clients.h"
#include "matcher.h"
#include "stats.h"
#include "table.h"

struct loop;

struct broker_options {
	const char *host;
	unsigned int port;
	unsigned int threads;
	unsigned int workers;
	unsigned int window; /* most QoS 1 messages on their way to one subscriber */
	size_t packet_max;   /* bytes of one packet from a client */
	size_t buffered_max; /* bytes that wait for one subscriber */
	bool stats;
};

struct broker {
	struct broker_options options;
	struct baton_pool *pool;
	struct baton_resource_config config; /* of topics, sessions, table, tree and client ids */
	struct matcher matcher;
	struct table table;
	struct clients clients;
	struct stats stats;
	struct loop *loops;
	unsigned int loops_running;
};

#endif
