/* SPDX-License-Identifier: MIT */
/* Sessions: window, queue and lifetime; see session.h. */
#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "broker.h"
#include "connection.h"
#include "must.h"
#include "request.h"

/* The bytes that were given to the connection and are not yet written. */
static uint64_t session_buffered(const struct session *session)
{
	/* Never more than `sent`: what we gave it happens-before what it says it has written. */
	return session->sent - connection_written(session->connection);
}

static void session_send(struct session *session, struct packet *packet)
{
	if (packet->message != NULL)
		session->sent += packet->size;
	connection_send(session->connection, packet);
}

/* The next packet id whose slot is free; there is one, the window is smaller than the slots. */
static uint16_t session_number(struct session *session)
{
	uint16_t packet_id = session->packet_id;

	do {
		packet_id = (uint16_t)(packet_id == UINT16_MAX ? 1 : packet_id + 1);
	} while (session->slots[packet_id % SESSION_SLOTS] != 0);
	session->packet_id = packet_id;
	session->slots[packet_id % SESSION_SLOTS] = packet_id;
	session->inflight++;
	return packet_id;
}

static void session_drop(struct session *session, struct packet *packet)
{
	stats_count(&session->broker->stats.dropped);
	packet_destroy(packet);
}

static void session_queue(struct session *session, struct packet *packet)
{
	const bool full = session->queued + packet->size > session->broker->options.buffered_max;

	if (full && packet->qos == 0) {
		session_drop(session, packet);
		return;
	}
	packet_end_hop(packet);
	packet->next = NULL;
	*session->queue_end = packet;
	session->queue_end = &packet->next;
	session->queued += packet->size;
	if (full && !session->evicted) {
		stats_count(&session->broker->stats.evicted);
		session->evicted = true;
		connection_kick(session->connection);
	}
}

/* May a packet of this QoS go out now? */
static bool session_has_room(const struct session *session, uint8_t qos)
{
	return qos == 0 || session->inflight < session->broker->options.window;
}

static void session_send_message(struct session *session, struct packet *packet)
{
	if (packet->qos > 0)
		packet_number(packet, session_number(session));
	else if (session_buffered(session) + packet->size > session->broker->options.buffered_max) {
		session_drop(session, packet);
		return;
	}
	session_send(session, packet);
}

static void session_fill_window(struct session *session)
{
	while (session->queue != NULL && session_has_room(session, session->queue->qos)) {
		struct packet *packet = session->queue;

		session->queue = packet->next;
		if (session->queue == NULL)
			session->queue_end = &session->queue;
		session->queued -= packet->size;
		session_send_message(session, packet);
	}
}

static int session_run_deliver(struct baton_task *task)
{
	struct packet *packet = baton_container_of(task, struct packet, task);
	struct session *session = packet->session;

	if (session->detached)
		packet_destroy(packet);
	else if (packet->message == NULL)
		session_send(session, packet);
	else if (session->queue == NULL && session_has_room(session, packet->qos))
		session_send_message(session, packet);
	else
		session_queue(session, packet);
	return 0;
}

void session_deliver(struct session *session, struct packet *packet)
{
	packet->session = session;
	baton_task_init(&packet->task, session_run_deliver, NULL);
	must(baton_submit(&session->resource, &packet->task), "deliver");
}

static int session_run_acknowledge(struct baton_task *task)
{
	struct session_acks *acks = baton_container_of(task, struct session_acks, task);
	struct session *session = acks->session;

	for (size_t i = 0; i < acks->count; i++) {
		uint16_t *slot = &session->slots[acks->packet_ids[i] % SESSION_SLOTS];

		if (*slot != acks->packet_ids[i])
			continue; /* of nothing that we have sent; the standard lets us ignore it */
		*slot = 0;
		session->inflight--;
	}
	if (!session->detached)
		session_fill_window(session);
	free(acks);
	return 0;
}

void session_acknowledge(struct session *session, struct session_acks *acks)
{
	acks->session = session;
	baton_task_init(&acks->task, session_run_acknowledge, NULL);
	must(baton_submit(&session->resource, &acks->task), "acknowledge");
}

static int session_run_detach(struct baton_task *task)
{
	struct session *session = baton_container_of(task, struct session, detach);

	session->detached = true;
	while (session->queue != NULL) {
		struct packet *packet = session->queue;

		session->queue = packet->next;
		packet_destroy(packet);
	}
	session->queue_end = &session->queue;
	session->queued = 0;
	return 0;
}

static int session_run_evict(struct baton_task *task)
{
	struct session *session = baton_container_of(task, struct session, evict);

	if (!session->detached && !session->evicted) {
		session->evicted = true;
		connection_kick(session->connection);
	}
	return 0;
}

void session_evict(struct session *session)
{
	must(baton_submit(&session->resource, &session->evict), "evict");
}

static int session_finalise(struct baton_task *task)
{
	struct session *session = baton_container_of(task, struct session, finaliser);
	struct connection *connection = session->connection;

	stats_add(&session->broker->stats, STATS_SESSION, &session->stats);
	free(session);
	connection_release(connection, CONNECTION_REFERENCE);
	return 0;
}

struct session *session_create(struct broker *broker, struct connection *connection,
                               struct slice client_id)
{
	struct session *session = calloc(1, sizeof(*session) + client_id.size);

	if (session == NULL)
		return NULL;
	session->end = request_create_end(session);
	if (session->end == NULL) {
		free(session);
		return NULL;
	}
	baton_resource_init(&session->resource, session, "session", &broker->config,
	                    &session->stats);
	session->broker = broker;
	session->connection = connection;
	session->references = 1;
	session->queue_end = &session->queue;
	baton_task_init(&session->detach, session_run_detach, NULL);
	baton_task_init(&session->evict, session_run_evict, NULL);
	baton_task_init(&session->finaliser, session_finalise, NULL);
	memcpy(session->text, client_id.bytes, client_id.size);
	session->client_id = (struct slice){session->text, client_id.size};
	connection_charge(connection, CONNECTION_REFERENCE);
	return session;
}

void session_reference(struct session *session)
{
	/* Relaxed: whoever takes another reference holds one. */
	__atomic_fetch_add(&session->references, 1, __ATOMIC_RELAXED);
}

void session_release(struct session *session)
{
	/* Release: our submits; acquire: everybody's, so that they all come before the close. */
	if (__atomic_sub_fetch(&session->references, 1, __ATOMIC_ACQ_REL) == 0)
		must(baton_resource_close_then(&session->resource, &session->finaliser),
		     "close session");
}

void session_end(struct session *session)
{
	struct request *end = session->end;

	must(baton_submit(&session->resource, &session->detach), "detach");
	clients_forget(&session->broker->clients, session);
	session->end = NULL;
	request_submit(session->broker, end);
	session_release(session);
}
