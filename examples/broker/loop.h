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

#include <baton/resource.h>

#include "executor.h"
#include "stats.h"
#include "tls.h"

struct broker;
struct connection;
struct ssl_ctx_st;

#define LOOP_INPUT_SIZE 65536
#define LOOP_QUANTUM 1024 /* tasks of one connection before others have their turn */
#define LOOP_WATCH_MS 200 /* deadlines are looked at no more often than that */
#define LOOP_FINISH_MS 10 /* the same at the end */

struct loop {
	uv_loop_t uv;
	uv_poll_t poll; /* of the executor's descriptor */
	bool signalled; /* by that */
	uv_prepare_t prepare;
	uv_check_t check;
	uv_timer_t watch;   /* for the clients' deadlines; and the end */
	uint64_t watch_due; /* when it fires; UINT64_MAX: not at all */
	struct broker *broker;
	struct executor executor;
	struct baton_resource_config config; /* of what runs on this thread alone */
	struct baton_resource resource;      /* the loop's own: accept, end of connections, stop */
	struct baton_task stop;
	bool stopping;
	bool quiet;      /* while it stops: nothing that its clients sent is on its way */
	bool quiet_seen; /* all loops were, the last time */
	uint64_t stop_by;
	struct ssl_ctx_st *tls; /* for new connections; NULL: plain */
	struct connection *connections;
	struct connection *dirty;
	struct loop_stats stats;
	pthread_t thread;
	unsigned char input[LOOP_INPUT_SIZE];
	unsigned char record[TLS_RECORD_MAX];
};

/* Makes the loop and starts its thread. On an error (a negative errno) nothing is left. */
int loop_start(struct loop *loop, struct broker *broker);

/* Any thread: gives it an accepted descriptor. Errors: -ENOMEM; then the descriptor is closed. */
int loop_accept(struct loop *loop, int fd);

/* Any thread: from now on new connections use this certificate. Counted. */
void loop_use_tls(struct loop *loop, struct ssl_ctx_st *tls);

/*
 * Any thread, once, and for all loops: reads no more; lets what has come get to its subscribers on
 * all loops, and closes each connection when it has written that, or at --stop-timeout. The thread
 * ends when the last connection has.
 */
void loop_stop(struct loop *loop);
void loop_join(struct loop *loop);

/* Frees the loop. Its thread and all others that might submit to it have ended. */
void loop_deinit(struct loop *loop);

/* For connections: there is something to look at by then, in the loop's milliseconds. */
void loop_watch(struct loop *loop, uint64_t due);

/* For connections: enter and leave the loop's list. */
void loop_remember(struct loop *loop, struct connection *connection);
void loop_forget(struct loop *loop, struct connection *connection);

#endif
