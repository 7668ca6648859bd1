/* SPDX-License-Identifier: MIT */
/*
 * An I/O thread: a libuv loop, the baton executor that brings other threads' tasks to it, and the
 * connections that it owns. One turn of the loop: libuv reads what has come; then the tasks run
 * that were submitted to this thread's resources; then each connection that has something to
 * write writes.
 */
#ifndef BROKER_LOOP_H
#define BROKER_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include <baton/executor.h>
#include <baton/resource.h>

#include "stats.h"

struct broker;
struct connection;

#define LOOP_INPUT_SIZE 65536
#define LOOP_QUANTUM 1024     /* tasks of one connection before others have their turn */
#define LOOP_CONNECT_MS 10000 /* so long a connection may take to say CONNECT */
#define LOOP_TICK_MS 500      /* how often silence is looked for */

struct loop {
	uv_loop_t uv;
	uv_poll_t poll; /* of the executor's descriptor */
	uv_check_t check;
	uv_timer_t tick;
	struct broker *broker;
	struct baton_loop *executor;
	struct baton_resource_config config; /* of what runs on this thread alone */
	struct baton_resource resource;      /* the loop's own: accept, end of connections, stop */
	struct baton_task stop;
	bool stopping;
	struct connection *connections;
	struct connection *dirty;
	struct loop_stats stats;
	pthread_t thread;
	unsigned char input[LOOP_INPUT_SIZE];
};

/* Makes the loop and starts its thread. On an error (a negative errno) nothing is left. */
int loop_start(struct loop *loop, struct broker *broker);

/* Any thread: gives it an accepted descriptor. Errors: -ENOMEM; then the descriptor is closed. */
int loop_accept(struct loop *loop, int fd);

/* Any thread, once: closes all connections; the thread ends when the last one has. */
void loop_stop(struct loop *loop);
void loop_join(struct loop *loop);

/* Frees the loop. Its thread and all others that might submit to it have ended. */
void loop_deinit(struct loop *loop);

/* For connections: enter and leave the loop's list. */
void loop_remember(struct loop *loop, struct connection *connection);
void loop_forget(struct loop *loop, struct connection *connection);

#endif
