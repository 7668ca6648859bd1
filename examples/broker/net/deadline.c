/* SPDX-License-Identifier: MIT */
/*
 * What a client must do in time: send a CONNECT, finish a packet that it began, send something
 * within the keep-alive time, take some of the output that waits for it. One timer of the loop's
 * wheel for each connection stands at the earliest of these deadlines. Each turn of the loop in
 * which something happened arms the timer again, mostly for later, which costs one atomic
 * operation. The timer's run is a task of the connection and looks at the deadlines again.
 *
 * This process, too, may have been late: stopped by a signal, or without a CPU. So nobody is closed
 * before the socket was asked: what the client has sent is read first, and a socket that takes
 * bytes is not stuck.
 */
#include <poll.h>

#include "common/env.h"
#include "common/must.h"
#include "common/why.h"
#include "net/connection.h"
#include "net/loop.h"

static uint64_t seconds(unsigned int count)
{
	return (uint64_t)count * 1000;
}

/* What the client must do first, and by when. UINT64_MAX: nothing. */
static uint64_t deadline_next(const struct connection *connection, enum why *what)
{
	const struct env *env = connection->loop->env;
	uint64_t first = UINT64_MAX, at;

	*what = WHY_NONE;
	if (connection->writing > 0) {
		first = connection->progressed + seconds(limit_of(env, stuck_timeout));
		*what = WHY_STUCK;
	}
	if (!connection_reads(connection) || connection->login != NULL)
		return first; /* the broker has paused it */
	at = connection->opened + seconds(limit_of(env, connect_timeout));
	if (connection->session == NULL && at < first) {
		first = at;
		*what = WHY_LATE_CONNECT;
	}
	at = connection->begun + seconds(limit_of(env, packet_timeout));
	if (input_begun(connection) && at < first) {
		first = at;
		*what = WHY_LATE_PACKET;
	}
	at = connection->seen + connection->silence_max;
	if (connection->silence_max > 0 && at < first) {
		first = at;
		*what = WHY_SILENT;
	}
	return first;
}

/* Notes whether the socket has taken some of what is being written. */
static void deadline_look(struct connection *connection, uint64_t now)
{
	const size_t left = uv_stream_get_write_queue_size((uv_stream_t *)&connection->tcp);

	if (connection->writing > 0 && left != connection->left) {
		connection->left = left;
		connection->progressed = now;
	}
}

/* Would the socket take bytes now? Then the client has read, and this process has not written. */
static bool deadline_writable(const struct connection *connection)
{
	struct pollfd wanted = {.events = POLLOUT};

	return uv_fileno((const uv_handle_t *)&connection->tcp, &wanted.fd) == 0 &&
	       poll(&wanted, 1, 0) == 1 && (wanted.revents & (POLLOUT | POLLERR)) == POLLOUT;
}

static int deadline_run(struct baton_timer *timer)
{
	struct connection *connection = baton_container_of(timer, struct connection, deadline);

	if (connection->closing)
		return 0;
	connection->overdue = true; /* judged outside of tasks, at the end of this turn */
	connection_dirty(connection);
	return 0;
}

void connection_judge(struct connection *connection)
{
	const uint64_t now = uv_now(&connection->loop->uv);
	enum why what;

	connection->overdue = false;
	deadline_look(connection, now);
	if (deadline_next(connection, &what) <= now && what == WHY_STUCK &&
	    deadline_writable(connection))
		connection->progressed = now;
	else if (deadline_next(connection, &what) <= now && what != WHY_STUCK)
		input_rest(connection);
	if (connection->closing || deadline_next(connection, &what) > now)
		return;
	if (what == WHY_STUCK)
		stats_count(&connection->loop->env->stats.evicted);
	connection_fail(connection, what);
}

void connection_watch_init(struct connection *connection)
{
	baton_timer_init(&connection->deadline, connection->loop->timers, &connection->resource,
	                 deadline_run);
}

void connection_watch(struct connection *connection)
{
	enum why what;
	const uint64_t due = deadline_next(connection, &what);

	if (due == UINT64_MAX)
		baton_timer_disarm(&connection->deadline);
	else
		must(baton_timer_arm_at(&connection->deadline, due * BATON_MILLISECOND),
		     "arm a deadline");
}

void connection_unwatch(struct connection *connection)
{
	/* A run that is queued comes before the finaliser, which frees the connection. */
	BATON_IGNORE(baton_timer_stop(&connection->deadline).met);
}

void connection_progress(struct connection *connection)
{
	connection->left = uv_stream_get_write_queue_size((uv_stream_t *)&connection->tcp);
	connection->progressed = uv_now(&connection->loop->uv);
}
