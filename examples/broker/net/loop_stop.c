/* SPDX-License-Identifier: MIT */
/* The shutdown of an I/O thread; see loop_stop() in loop.h. */
#include "common/atomic.h"
#include "common/env.h"
#include "common/hop.h"
#include "common/why.h"
#include "net/connection.h"
#include "net/loop.h"
#include "net/net.h"

#define LOOP_FINISH_MS 10

/* Closes the connections that get nothing more. */
static void loop_finish(uv_timer_t *timer)
{
	struct loop *loop = timer->data;
	struct net *net = loop->net;
	const uint64_t now = uv_now(&loop->uv);
	bool quiet = true;

	for (const struct connection *connection = loop->connections; connection != NULL;
	     connection = connection->next)
		quiet = quiet && connection_quiet(connection);
	if (now >= loop->stop_by) /* relaxed: a hint */
		store_relaxed(&loop->env->late, true);
	if (quiet && !loop->quiet) {
		loop->quiet = true;
		/* Release: the messages of this loop's clients are with their subscribers; pairs
		 * with the acquire below. */
		add_release(&net->loops_quiet, 1);
	}
	quiet = load_acquire(&net->loops_quiet) >= net->loops_running;
	/*
	 * `quiet_seen`: one more turn for messages that are not charged, such as retained ones.
	 * Connections leave the list in a later turn.
	 */
	for (struct connection *connection = loop->connections; connection != NULL;
	     connection = connection->next)
		if (now >= loop->stop_by || (quiet && loop->quiet_seen && output_empty(connection)))
			connection_fail(connection, WHY_SHUTDOWN);
	loop->quiet_seen = quiet;
}

void loop_end_if_idle(struct loop *loop)
{
	if (!loop->stopping || loop->connections != NULL ||
	    uv_is_closing((uv_handle_t *)&loop->poll))
		return;
	uv_close((uv_handle_t *)&loop->poll, NULL);
	uv_close((uv_handle_t *)&loop->alarm, NULL);
	uv_close((uv_handle_t *)&loop->finish, NULL);
}

static int loop_run_stop(struct baton_task *task)
{
	struct loop *loop = baton_container_of(task, struct loop, stop);

	loop->stopping = true;
	loop->stop_by = uv_now(&loop->uv) + (uint64_t)limit_of(loop->env, stop_timeout) * 1000;
	for (struct connection *connection = loop->connections; connection != NULL;
	     connection = connection->next)
		if (!connection->closing)
			connection_pause(connection);
	uv_timer_start(&loop->finish, loop_finish, LOOP_FINISH_MS, LOOP_FINISH_MS);
	/* A loop without connections, too, must become quiet: other loops wait for it. */
	loop_finish(&loop->finish);
	loop_end_if_idle(loop);
	return 0;
}

void loop_stop(struct loop *loop)
{
	hop(&loop->resource, &loop->stop, loop_run_stop, "stop");
}
