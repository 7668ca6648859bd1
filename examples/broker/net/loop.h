/* SPDX-License-Identifier: MIT */
/*
 * An I/O thread: a libuv loop, the baton executor that brings other threads' tasks to the loop, the
 * baton wheel of its connections' timers, and the connections that the loop owns. One turn of the
 * loop, in loop_thread():
 *
 *   uv_run         libuv reads what has come, and input.c handles it. loop_wake() and
 *                  loop_alarmed() only note that other threads' tasks, or deadlines, are there
 *   loop_turn      runs the tasks of the loop's resources: what this thread has gathered, and, if
 *                  loop_wake() has noted it, what others have submitted; then passed deadlines.
 *                  connection_drained() puts each connection that has output now on `dirty`
 *   loop_settle    writes the output of the connections on `dirty`; sets the alarm
 *   visit_others   runs or wakes other loops that this turn has brought something
 *   visit_sleep    sleeps until a socket, the alarm or another thread has something
 *
 * While the thread sleeps, another loop's thread may take its turn (visit.h): "the loop's thread"
 * means the one whose turn it is.
 */
#ifndef BROKER_LOOP_H
#define BROKER_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include <baton/loop.h>
#include <baton/resource.h>
#include <baton/timers.h>

#include "common/stats.h"
#include "net/stranger.h"
#include "net/tls.h"
#include "net/visit.h"

struct connection;
struct env;
struct net;
struct net_calls;
struct ssl_ctx_st;
struct vouchers;

#define LOOP_INPUT_SIZE 65536
#define LOOP_QUANTUM 1024             /* tasks of one connection before others have their turn */
#define LOOP_TICK ((uint64_t)1 << 27) /* ns: deadlines are kept no more exactly than that */

struct loop {
	uv_loop_t uv;
	uv_poll_t poll; /* of the executor's descriptor */
	bool signalled; /* tasks of others wait for loop_turn() */
	bool watches;   /* libuv waits for something more: it must look before the thread sleeps */
	struct baton_timers *timers; /* of the clients' deadlines: polled by this thread */
	uv_timer_t alarm;            /* wakes the loop for `timers` */
	uint64_t alarm_at;           /* when the alarm fires, in ns; BATON_NEVER: not at all */
	bool alarmed;                /* from the alarm to loop_turn() */
	uv_timer_t finish;           /* looks at the connections while the loop stops */
	struct env *env;
	struct net *net;
	const struct net_calls *calls; /* the net's */
	struct baton_loop *executor;
	struct baton_resource_config config; /* of what runs on this thread alone */
	struct baton_resource_config
		connection_config;      /* `config`, with the hook connection_drained() */
	struct baton_resource resource; /* the loop's own: accept, end of connections, stop */
	struct baton_task stop;
	bool stopping;
	bool quiet;      /* the loop stops, and no message of its clients is on its way */
	bool quiet_seen; /* at the last look all loops were quiet */
	uint64_t stop_by;
	struct ssl_ctx_st *tls;    /* for new TLS connections; NULL: none yet, or no TLS */
	struct vouchers *vouchers; /* of the password file, as of the last loop_use_vouchers() */
	struct connection *connections;
	struct connection *dirty;
	struct strangers strangers;
	struct loop_stats stats;
	uint64_t trim_noted; /* bytes in and out, at the last trim_note() */
	pthread_t thread;
	struct visit visit;
	unsigned char input[LOOP_INPUT_SIZE];
	unsigned char record[TLS_RECORD_MAX];
};

/* Makes the loop and starts its thread. On an error (a negative errno) nothing is left. */
int loop_start(struct loop *loop, struct net *net);

/*
 * Any thread: gives the loop an accepted descriptor; `tls`: the client speaks TLS. Takes the
 * descriptor, and closes it on an error: -ENOMEM.
 */
int loop_accept(struct loop *loop, int fd, bool tls);

/*
 * Any thread: new connections use these TLS settings from now on. Takes a reference of its own.
 * Clients whose certificates they do not accept are closed, if certificates are asked for.
 */
void loop_use_tls(struct loop *loop, struct ssl_ctx_st *tls);

/*
 * Any thread: the password file has changed. Closes the connections that an older file has let in
 * by a line that the new file does not have. Takes a reference of its own.
 */
void loop_use_vouchers(struct loop *loop, struct vouchers *vouchers);

/* Any thread: there are new access rules. Tells each connection. */
void loop_use_rules(struct loop *loop);

/*
 * Any thread, once for each loop. The loop reads no more. When the messages that have come are with
 * their subscribers on all loops, the loop closes each connection whose output is written, and at
 * --stop-timeout all others. The thread ends with the last connection.
 */
void loop_stop(struct loop *loop);
void loop_join(struct loop *loop);

/* At the end of a turn: writes what there is, and sets the alarm. */
void loop_settle(struct loop *loop);

/* loop_stop.c: for loop.c, when a connection has gone. */
void loop_end_if_idle(struct loop *loop);

/* Frees the loop. All threads that might submit to it have ended, its own included. */
void loop_deinit(struct loop *loop);

/* For connections: enter and leave the loop's list. */
void loop_remember(struct loop *loop, struct connection *connection);
void loop_forget(struct loop *loop, struct connection *connection);

#endif
