/* SPDX-License-Identifier: MIT */
/*
 * $SYS/broker/...: retained messages with the figures of the broker and of baton, every
 * --stats-interval seconds (a value that has not changed is not published again). A filter has to
 * begin with `$SYS`; `#` does not match them. A topic that mosquitto has, too, has the same name
 * here: README.md has the list.
 *
 * With --board the counters of a resource lie on the board: what is issued here and what baton-top
 * shows are the same words. `waiting`: tasks that have not begun; `oldest ms`: for how long the
 * first of these has waited.
 */
#ifndef BROKER_SYSTEM_H
#define BROKER_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include <baton/registry.h>

#include "net/connection.h"
#include "survey.h"

#define SYSTEM_TOPICS_MAX 144
#define SYSTEM_LOADS 9 /* figures with averages */
#define SYSTEM_AVERAGES 3

struct broker;
struct topic_use;

/* One topic and its last text. */
struct system_topic {
	struct topic_use *use;
	struct baton_registry_request request; /* for `use`, while `asked` */
	bool asked;
	char *name;
	char *said;
};

/* A figure at the last time, and its averages in a minute. */
struct system_load {
	uint64_t total;
	double averages[SYSTEM_AVERAGES];
};

/* The main thread's. */
struct system {
	struct broker *broker;
	uv_timer_t timer;
	uv_async_t done;
	bool busy; /* a survey is on its way */
	bool stopped;
	uint64_t started; /* in the main loop's milliseconds */
	uint64_t connected_max;
	uint64_t loads_at; /* in the main loop's milliseconds */
	struct system_load loads[SYSTEM_LOADS];
	struct survey survey;
	struct connection self; /* the publisher: has no socket and no loop, and never ends */
	struct system_topic topics[SYSTEM_TOPICS_MAX];
	unsigned int at; /* the next topic to publish */
};

void system_start(struct system *system, uv_loop_t *uv, struct broker *broker);

/* After a reload: --stats-interval may have changed. */
void system_pace(struct system *system);

/* stop: gives the topics back. deinit: the broker has shut down; closes the handles, for uv_run. */
void system_stop(struct system *system);
void system_deinit(struct system *system);

#endif
