/* SPDX-License-Identifier: MIT */
/*
 * What a client's packets mean; see protocol.h. A handler of a packet returns what its connection
 * does next (net/input.c):
 *
 *   1             goes on with the next packet
 *   0             keeps the packet, and handles it again when its password was checked (login.c)
 *   -EPROTO       closes: a client must not send that
 *   -ECONNRESET   closes: the client has sent DISCONNECT, or has its refusal
 *   -ENOMEM       closes
 */
#include "protocol.h"

#include <errno.h>
#include <stdlib.h>

#include "broker.h"
#include "common/log.h"
#include "common/why.h"
#include "login.h"
#include "net/connection.h"
#include "net/loop.h"
#include "publisher.h"
#include "session/join.h"
#include "session/session.h"
#include "store/writes.h"
#include "topic/request.h"
#include "topic/topic.h"
#include "will.h"

/* Appends a packet of the broker's own to the connection's output. */
static int reply(struct connection *connection, const unsigned char *bytes, size_t size)
{
	struct packet *packet = packet_create_own(bytes, size);

	if (packet == NULL)
		return -ENOMEM;
	output_append(connection, packet);
	connection_dirty(connection);
	return 1;
}

static int reply_ack(struct connection *connection, uint8_t type, uint16_t packet_id)
{
	unsigned char bytes[4];

	return reply(connection, bytes, codec_put_ack(bytes, type, packet_id));
}

/* The PUBACK or PUBREC of a PUBLISH. NULL: no memory. */
static struct packet *answer_create(const struct codec_publish *publish)
{
	const uint8_t type = publish->qos == 1 ? CODEC_PUBACK : CODEC_PUBREC;
	unsigned char bytes[4];
	struct packet *answer =
		packet_create_own(bytes, codec_put_ack(bytes, type, publish->packet_id));

	if (answer != NULL)
		answer->ordered = true;
	return answer;
}

static void protocol_kept(void *arg, bool kept)
{
	struct packet *packet = arg;
	struct connection *connection = packet->connection;

	packet->lost = !kept;
	connection_send(connection, packet);
	connection_release(connection, CONNECTION_REFERENCE);
}

/* Sends the packet when the statement is committed, which concerns an id that has come. */
static void send_kept(struct connection *connection, struct packet *packet,
                      enum database_statement statement, uint16_t packet_id)
{
	const struct session *session = connection->session;

	packet->connection = connection;
	connection_charge(connection, CONNECTION_REFERENCE);
	store_note_then(session->env->store, statement,
	                STORE_NUMBERS((int64_t)session->id, packet_id), protocol_kept, packet);
}

/*
 * Acknowledges a PUBLISH that is not passed on, behind those before it. `again`: it was passed on
 * before, perhaps for an earlier connection, and may not be committed yet.
 */
static int answer_only(struct connection *connection, const struct codec_publish *publish,
                       bool again)
{
	struct packet *answer;

	if (publish->qos == 0)
		return 1;
	answer = answer_create(publish);
	if (answer == NULL)
		return -ENOMEM;
	answers_expect(connection, answer);
	if (again && connection->session->id != 0) {
		send_kept(connection, answer, DATABASE_NOTHING, 0);
		return 1;
	}
	connection_charge(connection, output_cost(answer));
	answers_ready(connection, answer);
	connection_dirty(connection);
	return 1;
}

static int refuse(struct connection *connection, enum why why)
{
	connection->why = why;
	return -ECONNRESET;
}

static int handle_connect(struct connection *connection, const struct codec_frame *frame)
{
	struct codec_connect connect;
	int status;

	if (connection->session != NULL) {
		connection->why = WHY_CONNECT_AGAIN;
		return -EPROTO;
	}
	status = codec_connect(frame, &connect);
	if (status == -EPFNOSUPPORT) {
		/* 3.1.2-1: a client of another protocol would not understand a CONNACK. */
		connection->why = WHY_PROTOCOL;
		return -EPROTO;
	}
	connection->version = 4;
	if (status == -EPROTONOSUPPORT || connect.version == CODEC_5)
		return refuse(connection, WHY_VERSION);
	if (status != 0)
		return status;
	if (connect.client_id.size == 0 && !connect.clean)
		return refuse(connection, WHY_NO_ID);
	if (!connect.clean && store_refuses(broker_of(connection)->env.store))
		return refuse(connection, WHY_STORE);
	/* One and a half times the keep-alive, 3.1.2.10; 0: the client may be silent. */
	connection->silence_max = (uint64_t)connect.keep_alive * 1500;
	if (connect.will.topic.size > 0 && names_own(connect.will.topic))
		log_line(LOG_LEVEL_WARNING, connect.client_id, "a will is refused: %s",
		         why_text(WHY_OWN_TOPIC));
	else if (connect.will.topic.size > 0)
		status = will_make(connection, &connect.will);
	if (status == 0)
		status = join_start(&broker_of(connection)->clients, connection, &connect);
	return status == 0 ? 1 : status;
}

static int publish(struct connection *connection, const struct codec_publish *publish)
{
	struct message *message = message_create(connection, publish);
	struct packet *answer = NULL;
	int status = message == NULL ? -ENOMEM : 0;

	if (status == 0 && publish->qos > 0) {
		answer = answer_create(publish);
		message->answer = answer;
		if (publish->qos == 2)
			message->received_by = connection->session->id;
		status = answer == NULL ? -ENOMEM : 0;
	}
	if (status != 0) {
		free(message);
		return status;
	}
	connection_charge(connection, message->cost);
	status = publisher_pass(connection, message);
	if (status != 0)
		return status;
	/* It may have been sent already, but comes as a task of this thread's, later. */
	if (answer != NULL)
		answers_expect(connection, answer);
	return 1;
}

/*
 * QoS 2 (4.3.3): the packet id is kept until PUBREL, so that the message is passed on once. A
 * message that is not passed on is acknowledged, too (3.3.5).
 */
static int handle_publish(struct connection *connection, const struct codec_frame *frame)
{
	struct codec_publish packet;
	int status = codec_publish(frame, CODEC_311, &packet);

	if (status != 0)
		return status;
	connection->loop->stats.messages_in++;
	if ((packet.qos > 0 || packet.retain) && store_refuses(connection->session->env->store))
		return refuse(connection, WHY_STORE);
	if (packet.qos == 2) {
		status = received_add(&connection->session->received, packet.packet_id);
		if (status == 0)
			return answer_only(connection, &packet, true);
		if (status < 0)
			return status;
	}
	/* A client's message to one of the broker's own topics is not passed on. */
	if (names_own(packet.topic)) {
		if (!connection->told_own)
			log_line(LOG_LEVEL_WARNING, connection->session->client_id,
			         "a message is refused: %s", why_text(WHY_OWN_TOPIC));
		connection->told_own = true;
		return answer_only(connection, &packet, false);
	}
	status = publish(connection, &packet);
	if (status < 0 && packet.qos == 2)
		received_remove(&connection->session->received, packet.packet_id);
	return status;
}

/* Forgets the packet id. An unknown packet id gets the same answer. */
static int handle_pubrel(struct connection *connection, const struct codec_frame *frame)
{
	unsigned char bytes[4];
	struct packet *answer;
	uint16_t packet_id;
	uint8_t reason;
	int status = codec_ack(frame, CODEC_311, &packet_id, &reason);

	if (status != 0)
		return status;
	received_remove(&connection->session->received, packet_id);
	if (connection->session->id == 0)
		return reply_ack(connection, CODEC_PUBCOMP, packet_id);
	/* Not before the store has forgotten the id: the client may use it again. */
	answer = packet_create_own(bytes, codec_put_ack(bytes, CODEC_PUBCOMP, packet_id));
	if (answer == NULL)
		return -ENOMEM;
	send_kept(connection, answer, DATABASE_END_ID, packet_id);
	return 1;
}

static void protocol_acks(struct connection *connection)
{
	session_acknowledge(connection->session, connection->acks);
	connection->acks = NULL;
}

/* Gathers the acknowledgement; the session gets all of a reading at once (protocol_acks). */
static int handle_ack(struct connection *connection, const struct codec_frame *frame)
{
	struct session_acks *acks = connection->acks;
	uint16_t packet_id;
	uint8_t reason;
	int status = codec_ack(frame, CODEC_311, &packet_id, &reason);

	if (status != 0)
		return status;
	if (acks == NULL) {
		acks = malloc(sizeof(*acks));
		if (acks == NULL)
			return -ENOMEM;
		acks->count = 0;
		connection->acks = acks;
		connection_charge(connection,
		                  SESSION_ACKS_COST); /* until the session has handled them */
	}
	acks->acks[acks->count++] = (struct session_ack){packet_id, frame->type};
	if (acks->count == SESSION_ACKS_MAX)
		protocol_acks(connection);
	return 1;
}

static int handle_filters(struct connection *connection, const struct codec_frame *frame)
{
	struct request *request;
	struct codec_filters filters;
	int status = codec_filters(frame, CODEC_311, &filters);

	if (status != 0)
		return status;
	request = request_create(&broker_of(connection)->table, connection, frame, &filters);
	if (request == NULL)
		return -ENOMEM;
	request_submit(request);
	return 1;
}

/* A client that pings is idle: the memory for QoS 2 packets of long ago is given back. */
static int handle_ping(struct connection *connection, const struct codec_frame *frame)
{
	unsigned char bytes[CODEC_HEADER_MAX];
	int status = codec_empty(frame);

	if (status != 0)
		return status;
	received_trim(&connection->session->received);
	return reply(connection, bytes, codec_put_header(bytes, CODEC_PINGRESP, 0, 0));
}

static int handle_disconnect(struct connection *connection, const struct codec_frame *frame)
{
	struct codec_disconnect disconnect;
	const int status = codec_disconnect(frame, CODEC_311, &disconnect);

	if (status != 0)
		return status;
	will_forget(connection);
	return -ECONNRESET;
}

/* A packet of a client that is let in. */
static int protocol_handle(struct connection *connection, const struct codec_frame *frame)
{
	if (frame->type == CODEC_CONNECT)
		return handle_connect(connection, frame);
	if (connection->session == NULL)
		return -EPROTO; /* the first packet must be a CONNECT */
	switch (frame->type) {
	case CODEC_PUBLISH:
		return handle_publish(connection, frame);
	case CODEC_PUBREL:
		return handle_pubrel(connection, frame);
	case CODEC_PUBACK:
	case CODEC_PUBREC:
	case CODEC_PUBCOMP:
		return handle_ack(connection, frame);
	case CODEC_SUBSCRIBE:
	case CODEC_UNSUBSCRIBE:
		return handle_filters(connection, frame);
	case CODEC_PINGREQ:
		return handle_ping(connection, frame);
	case CODEC_DISCONNECT:
		return handle_disconnect(connection, frame);
	default:
		return -EPROTO; /* packets that only brokers send, and reserved types */
	}
}

static int protocol_packet(struct connection *connection, const struct codec_frame *frame)
{
	const int status = connection->admitted ? 1 : login_begin(connection, frame);

	return status > 0 ? protocol_handle(connection, frame) : status;
}

static struct slice protocol_client_id(const struct connection *connection)
{
	return connection->session != NULL ? connection->session->client_id : LOG_NOBODY;
}

static void protocol_closing(struct connection *connection)
{
	if (connection->login != NULL)
		login_leave(connection->login);
}

static void protocol_closed(struct connection *connection)
{
	if (connection->session != NULL)
		will_publish(connection);
	if (connection->look_up != NULL)
		return; /* the will waits for its topic; then this function is called again */
	for (size_t i = 0; i < CONNECTION_TOPICS; i++)
		if (connection->topics[i] != NULL)
			topic_unuse(connection->topics[i]);
	if (connection->session != NULL)
		session_leave(connection->session, connection->attempted);
	connection->session = NULL;
	will_forget(connection);
}

const struct net_calls protocol_calls = {
	.packet = protocol_packet,
	.acks = protocol_acks,
	.drained = session_drained,
	.client_id = protocol_client_id,
	.closing = protocol_closing,
	.closed = protocol_closed,
};
