/* SPDX-License-Identifier: MIT */
/* Connections: back-pressure and lifetime; see connection.h. */
#include "connection.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "broker.h"
#include "loop.h"
#include "must.h"
#include "session.h"
#include "topic.h"

/*
 * In `charges`: the loop has stopped reading and wants to be told. Set by the loop thread, while
 * more than CONNECTION_CHARGES_LOW is charged; cleared by the one release that gets there, which
 * does not give its charge back but passes it on to the `resume` task.
 */
#define CONNECTION_PAUSED ((uint64_t)1 << 63)

bool connection_charge(struct connection *connection, uint64_t cost)
{
	/* Relaxed: a count that keeps the connection alive; only its last release orders. */
	uint64_t charges = __atomic_add_fetch(&connection->charges, cost, __ATOMIC_RELAXED);

	while (charges >= CONNECTION_CHARGES_HIGH) /* ends: each failure is a release elsewhere */
		if (__atomic_compare_exchange_n(&connection->charges, &charges,
		                                charges | CONNECTION_PAUSED, false,
		                                __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			connection->paused = true;
			connection->loop->stats.pauses++;
			uv_read_stop((uv_stream_t *)&connection->tcp);
			return true;
		}
	return false;
}

void connection_charge_more(struct connection *connection, uint64_t cost)
{
	__atomic_fetch_add(&connection->charges, cost, __ATOMIC_RELAXED);
}

void connection_release(struct connection *connection, uint64_t cost)
{
	uint64_t charges = __atomic_load_n(&connection->charges, __ATOMIC_RELAXED);
	uint64_t left;
	bool resume;

	do {
		left = charges - cost;
		resume = (charges & CONNECTION_PAUSED) != 0 &&
		         (left & ~CONNECTION_PAUSED) <= CONNECTION_CHARGES_LOW;
		if (resume)
			left = charges & ~CONNECTION_PAUSED;
		/* Release: our use of it; acquire: everybody's, before it ends. */
	} while (!__atomic_compare_exchange_n(&connection->charges, &charges, left, true,
	                                      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	if (resume) {
		connection->resume_cost = cost;
		must(baton_submit(&connection->resource, &connection->resume), "resume");
	} else if (left == 0) {
		must(baton_submit(&connection->loop->resource, &connection->end), "end");
	}
}

static int connection_run_resume(struct baton_task *task)
{
	struct connection *connection = baton_container_of(task, struct connection, resume);

	connection_release(connection, connection->resume_cost);
	if (!connection->closing) {
		connection->resumed = true; /* outside of tasks, at the end of this turn */
		connection_dirty(connection);
	}
	return 0;
}

static void connection_resume(struct connection *connection)
{
	connection->resumed = false;
	connection->paused = false;
	connection->seen = uv_now(&connection->loop->uv);
	input_again(connection);
	if (!connection->closing && !connection->paused && input_start(connection) != 0)
		connection_close(connection);
}

void connection_turn(struct connection *connection)
{
	const bool more = connection->more;

	connection->more = false;
	if (!connection->closing && connection->resumed)
		connection_resume(connection);
	else if (!connection->closing && more && !connection->paused &&
	         input_start(connection) != 0)
		connection_close(connection);
	if (!connection->closing)
		output_flush(connection);
}

void connection_dirty(struct connection *connection)
{
	if (connection->dirty)
		return;
	connection->dirty = true;
	connection->dirty_next = connection->loop->dirty;
	connection->loop->dirty = connection;
}

static int connection_run_send(struct baton_task *task)
{
	struct packet *packet = baton_container_of(task, struct packet, task);
	struct connection *connection = packet->connection;

	packet_end_hop(packet);
	if (connection->closing) {
		packet_destroy(packet);
		return 0;
	}
	output_append(connection, packet);
	connection_dirty(connection);
	return 0;
}

void connection_send(struct connection *connection, struct packet *packet)
{
	packet->connection = connection;
	baton_task_init(&packet->task, connection_run_send, NULL);
	must(baton_submit(&connection->resource, &packet->task), "send");
}

uint64_t connection_written(const struct connection *connection)
{
	return __atomic_load_n(&connection->written, __ATOMIC_ACQUIRE);
}

static int connection_run_kick(struct baton_task *task)
{
	connection_close(baton_container_of(task, struct connection, kick));
	return 0;
}

void connection_kick(struct connection *connection)
{
	/* Relaxed: only the first one submits, it orders nothing. */
	if (!__atomic_exchange_n(&connection->kicked, true, __ATOMIC_RELAXED))
		must(baton_submit(&connection->resource, &connection->kick), "kick");
}

static int connection_finalise(struct baton_task *task)
{
	struct connection *connection = baton_container_of(task, struct connection, finaliser);
	struct loop *loop = connection->loop;

	stats_add(&loop->broker->stats, STATS_CONNECTION, &connection->stats);
	loop_forget(loop, connection);
	free(connection);
	return 0;
}

/* A task of the loop's resource: nothing is charged any more. */
static int connection_run_end(struct baton_task *task)
{
	struct connection *connection = baton_container_of(task, struct connection, end);

	must(baton_resource_close_then(&connection->resource, &connection->finaliser), "close");
	return 0;
}

static void connection_closed(uv_handle_t *handle)
{
	struct connection *connection = handle->data;

	output_drop(connection);
	input_free(connection);
	for (size_t i = 0; i < CONNECTION_TOPICS; i++)
		if (connection->topics[i] != NULL)
			topic_unuse(connection->topics[i]);
	if (connection->session != NULL)
		session_end(connection->session);
	connection->session = NULL;
	connection_release(connection, CONNECTION_REFERENCE);
}

void connection_close(struct connection *connection)
{
	if (connection->closing)
		return;
	connection->closing = true;
	output_flush(connection); /* last words, such as a CONNACK that refuses */
	uv_close((uv_handle_t *)&connection->tcp, connection_closed);
}

int connection_open(struct loop *loop, int fd)
{
	struct connection *connection = calloc(1, sizeof(*connection));
	int status;

	if (connection == NULL) {
		close(fd);
		return -ENOMEM;
	}
	connection->loop = loop;
	connection->output_end = &connection->output_first;
	connection->charges = CONNECTION_REFERENCE;
	connection->seen = uv_now(&loop->uv);
	connection->silence_max = LOOP_CONNECT_MS;
	baton_resource_init(&connection->resource, connection, "connection", &loop->config,
	                    &connection->stats);
	baton_task_init(&connection->resume, connection_run_resume, NULL);
	baton_task_init(&connection->kick, connection_run_kick, NULL);
	baton_task_init(&connection->end, connection_run_end, NULL);
	baton_task_init(&connection->finaliser, connection_finalise, NULL);
	uv_tcp_init(&loop->uv, &connection->tcp); /* creates no socket, so it cannot fail */
	connection->tcp.data = connection;
	loop_remember(loop, connection);
	status = uv_tcp_open(&connection->tcp, fd);
	if (status != 0)
		close(fd);
	else
		status = input_start(connection);
	if (status != 0)
		connection_close(connection);
	return status;
}
