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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/pool.h>
#include <baton/resource.h>
#include <baton/timer.h>

#include "session/clients.h"
#include "login.h"
#include "topic/matcher.h"
#include "common/options.h"
#include "passwords.h"
#include "common/stats.h"
#include "topic/table.h"
#include "common/trim.h"

struct loop;

#define BROKER_SLOW_WORKERS 2

struct broker {
	struct broker_options options;
	struct baton_pool *pool;
	struct baton_pool *slow_pool; /* for what may take its time: passwords, the log, trim */
	struct baton_timers *timers;  /* of the sessions, and trim's */
	struct baton_resource_config config; /* of topics, sessions, table, tree and client ids */
	struct matcher matcher;
	struct table table;
	struct clients clients;
	struct stats stats;
	struct passwords passwords;
	struct logins logins;
	struct trim trim;
	bool ending; /* atomic: hurry */
	bool late;   /* atomic: the connections have gone, or have been told to; see table.c */
	struct loop *loops;
	unsigned int loops_running;
	unsigned int loops_quiet; /* atomic, see loop_stop() */
};

/* Reads the files that the options name. Errors are logged; what could not be read stays. */
int broker_load(struct broker *broker);

/* Errors are logged, and whatever status it returns deinit has to follow. */
int broker_init(struct broker *broker);
void broker_deinit(struct broker *broker, int status);

#endif
