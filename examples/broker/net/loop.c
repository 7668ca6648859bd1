/* SPDX-License-Identifier: MIT */
/* I/O threads; see loop.h. */
#include "net/loop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/env.h"
#include "common/hop.h"
#include "common/log.h"
#include "common/must.h"
#include "common/vouchers.h"
#include "common/why.h"
#include "net/connection.h"
#include "net/net.h"
#include "net/recheck.h"
#include "net/visit.h"

/* The descriptor only wakes the loop; the tasks run in loop_turn(). */
static void loop_wake(uv_poll_t *poll, int status, int events)
{
	struct loop *loop = poll->data;

	(void)status;
	(void)events;
	loop->signalled = true;
}

static void loop_look_after(struct loop *loop)
{
	while (loop->dirty != NULL) {
		struct connection *connection = loop->dirty;

		loop->dirty = connection->dirty_next;
		connection->dirty = false;
		connection_turn(connection);
	}
}

/* Bytes that came in time are read before loop_turn() finds their client to be late. */
static void loop_alarmed(uv_timer_t *timer)
{
	struct loop *loop = timer->data;

	loop->alarmed = true;
}

static void loop_expire(struct loop *loop)
{
	loop->alarmed = false;
	loop->alarm_at = BATON_NEVER;
	baton_loop_gather(loop->executor);
	must(baton_timers_poll(loop->timers) < 0 ? -EINVAL : 0, "poll the timers");
	baton_loop_run_gathered(loop->executor);
}

/* An alarm that is too early, since deadlines have moved, finds nothing and costs one look. */
static void loop_set_alarm(struct loop *loop)
{
	const uint64_t next = baton_timers_next(loop->timers), now = uv_now(&loop->uv);
	const uint64_t due = next / BATON_MILLISECOND + 1; /* not before its time */

	if (next >= loop->alarm_at)
		return;
	loop->alarm_at = next;
	uv_timer_start(&loop->alarm, loop_alarmed, due > now ? due - now : 0, 0);
}

static void loop_note_bytes(struct loop *loop)
{
	const uint64_t bytes = loop->stats.bytes_in + loop->stats.bytes_out;

	if (bytes - loop->trim_noted < TRIM_BYTES)
		return;
	loop->trim_noted = bytes;
	trim_note(&loop->env->trim);
}

void loop_settle(struct loop *loop)
{
	loop_look_after(loop);
	loop_note_bytes(loop);
	loop_set_alarm(loop);
}

/* The tasks of a turn, once libuv has read what has come. */
static void loop_turn(struct loop *loop)
{
	const bool signalled = loop->signalled;

	loop->signalled = false;
	if (signalled)
		baton_loop_run(loop->executor, 0);
	else
		baton_loop_run_gathered(loop->executor);
	if (loop->alarmed)
		loop_expire(loop);
}

void loop_remember(struct loop *loop, struct connection *connection)
{
	loop->stats.connections++;
	connection->previous = NULL;
	connection->next = loop->connections;
	if (loop->connections != NULL)
		loop->connections->previous = connection;
	loop->connections = connection;
}

void loop_forget(struct loop *loop, struct connection *connection)
{
	if (connection->previous != NULL)
		connection->previous->next = connection->next;
	else
		loop->connections = connection->next;
	if (connection->next != NULL)
		connection->next->previous = connection->previous;
	loop_end_if_idle(loop);
}

struct accept {
	struct baton_task task;
	struct loop *loop;
	int fd;
	bool tls;
};

static int loop_run_accept(struct baton_task *task)
{
	struct accept *accept = baton_container_of(task, struct accept, task);
	int status = connection_open(accept->loop, accept->fd, accept->tls);

	if (status != 0)
		log_event(LOG_LEVEL_ERROR, "accept_failed",
		          log_text("reason", uv_strerror(status)));
	free(accept);
	return 0;
}

int loop_accept(struct loop *loop, int fd, bool tls)
{
	struct accept *accept = malloc(sizeof(*accept));

	if (accept == NULL) {
		log_event(LOG_LEVEL_ERROR, "accept_failed",
		          log_text("reason", why_text(WHY_NO_MEMORY)));
		close(fd);
		return -ENOMEM;
	}
	accept->loop = loop;
	accept->fd = fd;
	accept->tls = tls;
	hop(&loop->resource, &accept->task, loop_run_accept, "accept");
	return 0;
}

struct change_tls {
	struct baton_task task;
	struct loop *loop;
	struct ssl_ctx_st *tls;
};

static int loop_run_change_tls(struct baton_task *task)
{
	struct change_tls *change = baton_container_of(task, struct change_tls, task);
	struct loop *loop = change->loop;

	const bool again = loop->tls != NULL;

	tls_release(loop->tls);
	loop->tls = change->tls;
	free(change);
	if (again && tls_asks(loop->tls))
		recheck_clients(loop);
	return 0;
}

void loop_use_tls(struct loop *loop, struct ssl_ctx_st *tls)
{
	struct change_tls *change = must_alloc(sizeof(*change));

	change->loop = loop;
	change->tls = tls;
	tls_reference(tls);
	hop(&loop->resource, &change->task, loop_run_change_tls, "change the certificate");
}

struct change_vouchers {
	struct baton_task task;
	struct loop *loop;
	struct vouchers *vouchers;
};

static int loop_run_change_vouchers(struct baton_task *task)
{
	struct change_vouchers *change = baton_container_of(task, struct change_vouchers, task);
	struct loop *loop = change->loop;

	vouchers_release(loop->vouchers);
	loop->vouchers = change->vouchers;
	free(change);
	/* Connections leave the list in a later turn. */
	for (struct connection *connection = loop->connections; connection != NULL;
	     connection = connection->next)
		if (connection->voucher != 0 && !connection->closing &&
		    !vouchers_has(loop->vouchers, connection->voucher))
			connection_fail(connection, WHY_FILE_CHANGED);
	return 0;
}

void loop_use_vouchers(struct loop *loop, struct vouchers *vouchers)
{
	struct change_vouchers *change = must_alloc(sizeof(*change));

	change->loop = loop;
	change->vouchers = vouchers;
	vouchers_reference(vouchers);
	hop(&loop->resource, &change->task, loop_run_change_vouchers, "change the passwords");
}

struct change_rules {
	struct baton_task task;
	struct loop *loop;
};

static int loop_run_change_rules(struct baton_task *task)
{
	struct change_rules *change = baton_container_of(task, struct change_rules, task);
	struct loop *loop = change->loop;

	free(change);
	for (struct connection *connection = loop->connections; connection != NULL;
	     connection = connection->next)
		loop->calls->ruled(connection);
	return 0;
}

void loop_use_rules(struct loop *loop)
{
	struct change_rules *change = must_alloc(sizeof(*change));

	change->loop = loop;
	hop(&loop->resource, &change->task, loop_run_change_rules, "change the access rules");
}

/* "loop-0", the name of the thread and of its resource; the pool's threads are "broker-0" ... */
#define LOOP_NAME_SIZE 16

static const char *loop_name(const struct loop *loop, char name[LOOP_NAME_SIZE])
{
	snprintf(name, LOOP_NAME_SIZE, "loop-%u", (unsigned int)(loop - loop->net->loops));
	return name;
}

static void *loop_thread(void *arg)
{
	struct loop *loop = arg;
	char name[LOOP_NAME_SIZE];
	bool alive;

	/* For baton-top, the watchdog and traces. A thread without a name works as well. */
	(void)pthread_setname_np(pthread_self(), loop_name(loop, name));
	visit_begin(loop);
	do {
		loop->watches = false;
		baton_loop_gather(loop->executor);
		alive = uv_run(&loop->uv, UV_RUN_NOWAIT) != 0;
		loop_turn(loop);
		loop_settle(loop);
		visit_others(loop);
		if (alive)
			visit_sleep(loop);
	} while (alive);
	return NULL;
}

/* Makes libuv's part; loop_end_if_idle() closes the handles. */
static int loop_init_uv(struct loop *loop)
{
	int status = uv_loop_init(&loop->uv);

	if (status != 0)
		return status;
	status = uv_poll_init(&loop->uv, &loop->poll, baton_loop_fd(loop->executor));
	if (status != 0) {
		uv_loop_close(&loop->uv);
		return status;
	}
	uv_timer_init(&loop->uv, &loop->alarm);
	uv_timer_init(&loop->uv, &loop->finish);
	loop->poll.data = loop;
	loop->alarm.data = loop;
	loop->alarm_at = BATON_NEVER;
	loop->finish.data = loop;
	uv_poll_start(&loop->poll, UV_READABLE, loop_wake);
	return 0;
}

/* Makes the executor and the wheel. On an error nothing is left. */
static int loop_init_baton(struct loop *loop)
{
	struct baton_timers_options timers = BATON_TIMERS_OPTIONS_INIT;
	int status = baton_loop_create(&loop->executor);

	if (status != 0)
		return status;
	timers.source = BATON_TIMERS_POLL;
	timers.resolution_ns = LOOP_TICK;
	status = baton_timers_create(&timers, &loop->timers);
	if (status != 0)
		baton_loop_destroy(loop->executor);
	return status;
}

static void loop_deinit_baton(struct loop *loop)
{
	must(baton_timers_destroy(loop->timers), "free the timers");
	baton_loop_destroy(loop->executor);
}

int loop_start(struct loop *loop, struct net *net)
{
	const struct baton_resource_config defaults = BATON_RESOURCE_CONFIG_INIT;
	char name[LOOP_NAME_SIZE];
	int status = loop_init_baton(loop);

	if (status != 0)
		return status;
	loop->net = net;
	visit_init(loop);
	loop->env = net->env;
	loop->calls = net->calls;
	loop->config = defaults;
	loop->config.capture_max = BATON_CAPTURE_NONE;
	loop->config.quantum = LOOP_QUANTUM;
	loop->config.executor = baton_loop_executor(loop->executor);
	loop->config.name = "loop";
	loop->connection_config = loop->config;
	loop->connection_config.name = "connection";
	/* The broker's drain hook: behind the tasks that have added to a connection's output. */
	loop->connection_config.batch_end = connection_drained;
	baton_resource_init(&loop->resource, &loop->config);
	env_reveal(loop->env, &loop->resource, loop_name(loop, name));
	status = loop_init_uv(loop);
	if (status != 0)
		goto deinit_baton;
	status = -pthread_create(&loop->thread, NULL, loop_thread, loop);
	if (status != 0)
		goto close_uv;
	return 0;

close_uv:
	loop->stopping = true;
	loop_end_if_idle(loop);
	uv_run(&loop->uv, UV_RUN_DEFAULT);
	uv_loop_close(&loop->uv);
deinit_baton:
	env_hide(loop->env, &loop->resource);
	loop_deinit_baton(loop);
	return status;
}

void loop_join(struct loop *loop)
{
	pthread_join(loop->thread, NULL);
}

void loop_deinit(struct loop *loop)
{
	must(baton_loop_adopt(loop->executor), "adopt the loop");
	baton_resource_close(&loop->resource);
	env_hide(loop->env, &loop->resource);
	baton_resource_deinit(&loop->resource);
	loop_deinit_baton(loop);
	must(uv_loop_close(&loop->uv), "close loop");
	tls_release(loop->tls);
	vouchers_release(loop->vouchers);
}
