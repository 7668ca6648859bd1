/* SPDX-License-Identifier: MIT */
/* Connections: their turns, tasks, beginning and end; see connection.h. */
#include "net/connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/atomic.h"
#include "common/env.h"
#include "common/hop.h"
#include "common/log.h"
#include "common/must.h"
#include "common/why.h"
#include "net/address.h"
#include "net/loop.h"
#include "net/net.h"
#include "net/tls.h"

void connection_pause(struct connection *connection)
{
	connection->paused = true;
	uv_read_stop((uv_stream_t *)&connection->tcp);
}

void connection_read_on(struct connection *connection)
{
	connection->resumed = true; /* handled outside of tasks, at the end of this turn */
	connection_dirty(connection);
}

void connection_hold(struct connection *connection, struct look_up *look_up)
{
	connection->look_up = look_up;
	if (!connection->closing)
		uv_read_stop((uv_stream_t *)&connection->tcp);
}

void connection_go_on(struct connection *connection)
{
	connection->look_up = NULL;
	if (connection->gone)
		connection->loop->calls->closed(connection);
	else if (!connection->closing && !connection->paused) /* else the pause's end reads on */
		connection_read_on(connection);
}

static void connection_resume(struct connection *connection)
{
	connection->resumed = false;
	if (connection->loop->stopping)
		return;
	connection->paused = false;
	if (connection->look_up != NULL)
		return; /* its end reads on */
	connection->seen = uv_now(&connection->loop->uv);
	input_again(connection);
	if (connection_reads(connection) && input_start(connection) != 0)
		connection_close(connection);
}

static void connection_peer(const struct connection *connection, char *text, size_t text_size)
{
	struct sockaddr_storage address;
	int size = sizeof(address);
	char host[INET6_ADDRSTRLEN] = "";
	uint16_t port;

	if (uv_tcp_getpeername(&connection->tcp, (struct sockaddr *)&address, &size) != 0) {
		snprintf(text, text_size, "?");
		return;
	}
	if (address.ss_family == AF_INET6)
		port = ((struct sockaddr_in6 *)&address)->sin6_port;
	else
		port = ((struct sockaddr_in *)&address)->sin_port;
	uv_ip_name((struct sockaddr *)&address, host, sizeof(host));
	snprintf(text, text_size, address.ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u", host,
	         ntohs(port));
}

uint64_t connection_network(const struct connection *connection)
{
	struct sockaddr_storage address = {.ss_family = AF_INET};
	int size = sizeof(address);

	(void)uv_tcp_getpeername(&connection->tcp, (struct sockaddr *)&address, &size);
	return address_network(&address); /* 0: the client has gone already */
}

static void connection_announce(struct connection *connection)
{
	char peer[80];

	connection->announced = true;
	connection->loop->stats.connected++;
	if (!log_wants(LOG_LEVEL_NOTICE))
		return;
	connection_peer(connection, peer, sizeof(peer));
	log_event(LOG_LEVEL_NOTICE, "connected",
	          log_slice("client", connection->loop->calls->client_id(connection)),
	          log_text("address", peer),
	          log_text("tls", connection->tls != NULL ? "yes" : "no"));
}

void connection_turn(struct connection *connection)
{
	const bool more = connection->more;

	if (connection->parting) {
		connection->parting = false;
		connection_release(connection, CONNECTION_REFERENCE);
		return;
	}
	connection->more = false;
	if (!connection->closing && connection->resumed)
		connection_resume(connection);
	else if (more && connection_reads(connection) && input_start(connection) != 0)
		connection_close(connection);
	/* A connection that has closed in this turn is not counted: its close came before. */
	if (!connection->closing && connection->session != NULL && !connection->announced)
		connection_announce(connection);
	if (!connection->closing && connection->overdue)
		connection_judge(connection);
	if (!connection->closing && connection->ousted) {
		/* Its client may be the newcomer, and may have sent a DISCONNECT before. */
		input_last(connection);
		/* Relaxed: the first reason came before the fire, and stays. */
		connection_fail(connection, load_relaxed(&connection->kicked));
	}
	if (!connection->closing)
		output_flush(connection);
	if (!connection->closing)
		connection_watch(connection);
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
	const size_t cost = output_cost(packet);

	if (packet->lost)
		connection_fail(connection, WHY_STORE);
	if (connection->closing) {
		packet_destroy(packet);
		if (cost > 0)
			connection_release(connection, cost);
		return 0;
	}
	if (packet->ordered)
		answers_ready(connection, packet);
	else
		output_push(connection, packet);
	return 0;
}

int connection_drained(struct baton_resource *resource)
{
	struct connection *connection = baton_container_of(resource, struct connection, resource);

	/* A connection that closes has no more turns. */
	if (!connection->closing && connection->output_first != NULL)
		connection_dirty(connection);
	return 0;
}

void connection_send(struct connection *connection, struct packet *packet)
{
	const size_t cost = output_cost(packet);

	if (cost > 0)
		connection_charge_more(connection, cost);
	packet->connection = connection;
	hop(&connection->resource, &packet->task, connection_run_send, "send");
}

uint64_t connection_written(const struct connection *connection)
{
	return load_acquire(&connection->written);
}

bool connection_full(const struct connection *connection)
{
	return load_relaxed(&connection->full);
}

static int connection_run_kick(struct baton_trigger *trigger, uint64_t fires)
{
	struct connection *connection = baton_container_of(trigger, struct connection, kick);

	(void)fires;
	if (connection->closing)
		return 0;          /* it may be freed before the end of this turn */
	connection->ousted = true; /* closed outside of tasks, at the end of this turn */
	connection_dirty(connection);
	return 0;
}

void connection_kick(struct connection *connection, enum why why)
{
	enum why first = WHY_NONE;

	/* Relaxed: the trigger orders it. */
	(void)cas_relaxed(&connection->kicked, &first, why);
	must(baton_trigger_fire(&connection->kick), "kick");
}

static int connection_finalise(struct baton_task *task)
{
	struct connection *connection = baton_container_of(task, struct connection, finaliser);
	struct loop *loop = connection->loop;

	stats_add(&loop->env->stats, STATS_CONNECTION, connection->stats);
	env_hide(loop->env, &connection->resource);
	loop_forget(loop, connection);
	free(connection);
	return 0;
}

/* A task of the loop's resource: no charge is left. */
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
	tls_destroy(connection->tls);
	connection->tls = NULL;
	input_free(connection);
	connection->gone = true;
	if (connection->look_up == NULL) /* else at its end */
		connection->loop->calls->closed(connection);
	if (connection->dirty)
		connection->parting = true;
	else
		connection_release(connection, CONNECTION_REFERENCE);
}

static void connection_log_end(const struct connection *connection)
{
	const bool fault = connection->why != WHY_NONE && connection->why != WHY_LOST &&
	                   !connection->loop->stopping;
	const enum log_level level = fault ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE;
	const struct slice id = connection->loop->calls->client_id(connection);
	const char *detail = connection->why == WHY_NETWORK ? uv_strerror(connection->error)
	                     : connection->tls != NULL      ? tls_reason(connection->tls)
	                                                    : NULL;
	char peer[80];

	if (!log_wants(level))
		return;
	connection_peer(connection, peer, sizeof(peer));
	log_event(level, "closed", log_slice("client", id), log_text("address", peer),
	          log_text("reason", why_text(connection->why)), log_text("detail", detail));
}

void connection_close(struct connection *connection)
{
	if (connection->closing)
		return;
	connection->closing = true;
	answers_drop(connection);
	stranger_forget(connection);
	connection->loop->calls->closing(connection);
	if (connection->announced)
		connection->loop->stats.connected--;
	connection_log_end(connection);
	connection_farewell(connection);
	output_flush(connection);
	if (connection->tls != NULL && output_empty(connection)) {
		tls_goodbye(connection->tls);
		output_flush(connection);
	}
	connection_unwatch(connection);
	uv_close((uv_handle_t *)&connection->tcp, connection_closed);
}

void connection_fail(struct connection *connection, enum why why)
{
	if (connection->why == WHY_NONE)
		connection->why = why;
	connection_close(connection);
}

void connection_break(struct connection *connection, int error)
{
	connection->error = error;
	connection_fail(connection, WHY_NETWORK);
}

static void connection_init(struct connection *connection, struct loop *loop, int fd)
{
	char number[16];
	const int length = snprintf(number, sizeof(number), "%d", fd);

	connection->loop = loop;
	connection->output_end = &connection->output_first;
	answers_init(connection);
	connection->opened = uv_now(&loop->uv);
	connection->seen = connection->opened;
	baton_resource_init(&connection->resource, &loop->connection_config);
	connection->stats =
		env_count(loop->env, &connection->resource, (struct slice){number, (size_t)length},
	                  &connection->own_stats);
	connection_charge_init(connection);
	baton_trigger_init(&connection->kick, &connection->resource, connection_run_kick);
	baton_task_init(&connection->end, connection_run_end, NULL);
	baton_task_init(&connection->finaliser, connection_finalise, NULL);
	connection_watch_init(connection);
	uv_tcp_init(&loop->uv, &connection->tcp); /* creates no socket, so it cannot fail */
	connection->tcp.data = connection;
}

int connection_open(struct loop *loop, int fd, bool tls)
{
	struct connection *connection = calloc(1, sizeof(*connection));
	char peer[80];
	int status;

	if (connection != NULL && tls)
		connection->tls = tls_create(loop->tls);
	if (connection == NULL || (tls && connection->tls == NULL)) {
		free(connection);
		close(fd);
		return -ENOMEM;
	}
	connection_init(connection, loop, fd);
	loop_remember(loop, connection);
	status = uv_tcp_open(&connection->tcp, fd);
	if (status != 0)
		close(fd);
	else
		status = input_start(connection);
	if (status != 0)
		connection_break(connection, status);
	else
		connection_watch(connection);
	if (log_wants(LOG_LEVEL_DEBUG)) {
		connection_peer(connection, peer, sizeof(peer));
		log_event(LOG_LEVEL_DEBUG, "accepted", log_text("address", peer),
		          log_text("tls", connection->tls != NULL ? "yes" : "no"));
	}
	return status;
}
