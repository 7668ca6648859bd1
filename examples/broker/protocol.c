/* SPDX-License-Identifier: MIT */
/*
 * What a client's packets mean; see protocol.h. A handler of a packet returns what its connection
 * does next (net/input.c):
 *
 *   1             goes on with the next packet
 *   0             keeps the packet, and handles it again when its password was checked (login.c)
 *   -EPROTO       closes: a client must not send that
 *   -EBADMSG      the same: it is well-formed, but against the protocol (MQTT 5)
 *   -EINVAL       the same: its topic name is invalid (MQTT 5)
 *   -ECONNRESET   closes: the client has sent DISCONNECT, or has its refusal
 *   -ENOMEM       closes
 */
#include "protocol.h"

#include <errno.h>
#include <stdlib.h>

#include "aliases.h"
#include "broker.h"
#include "common/log.h"
#include "common/why.h"
#include "connect.h"
#include "login.h"
#include "net/connection.h"
#include "net/loop.h"
#include "publisher.h"
#include "session/session.h"
#include "store/writes.h"
#include "topic/request.h"
#include "topic/topic.h"

/* Appends a packet of the broker's own to the connection's output. */
static void reply(struct connection *connection, struct packet *packet)
{
	output_append(connection, packet);
	connection_dirty(connection);
}

/* The PUBACK or PUBREC of a PUBLISH. NULL: no memory. */
static struct packet *answer_create(const struct connection *connection,
                                    const struct codec_publish *publish)
{
	const uint8_t type = publish->qos == 1 ? CODEC_PUBACK : CODEC_PUBREC;
	struct packet *answer = packet_create_ack(connection->version, type, publish->packet_id);

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
	connection_release(connection, CONNECTION_KEPT_COST);
}

/* Sends the packet when the statement is committed, which concerns an id that has come. */
static void send_kept(struct connection *connection, struct packet *packet,
                      enum database_statement statement, uint16_t packet_id)
{
	const struct session *session = connection->session;

	packet->connection = connection;
	connection_charge(connection, CONNECTION_KEPT_COST);
	store_note_then(session->env->store, statement,
	                STORE_NUMBERS((int64_t)session->id, packet_id), protocol_kept, packet);
}

/*
 * Acknowledges, behind those before it, a PUBLISH that is not passed on: it is refused, or was
 * passed on before (WHY_NONE), perhaps for an earlier connection, and may not be committed yet.
 */
static int answer_only(struct connection *connection, const struct codec_publish *publish,
                       enum why why)
{
	struct packet *answer;

	if (publish->qos == 0)
		return 1;
	answer = answer_create(connection, publish);
	if (answer == NULL)
		return -ENOMEM;
	packet_set_reason(answer, why_reason(why));
	answers_expect(connection, answer);
	if (why == WHY_NONE && connection->session->id != 0) {
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

static int publish(struct connection *connection, const struct codec_publish *publish)
{
	struct message *message = message_create(connection, publish);
	struct packet *answer = NULL;
	int status = message == NULL ? -ENOMEM : 0;

	if (status == 0 && publish->qos > 0) {
		answer = answer_create(connection, publish);
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

/* What MQTT 5 adds: the receive maximum (3.3.4) and topic aliases. 0 or an error. */
static int publish_prepare(struct connection *connection, struct codec_publish *publish)
{
	const struct broker_options *options = &connection->loop->env->options;

	if (publish->qos > 0 && ++connection->receiving > options->receive_max)
		return refuse(connection, WHY_RECEIVE_MAXIMUM);
	if (publish->alias == 0)
		return 0;
	if (publish->alias > options->alias_max)
		return refuse(connection, WHY_ALIAS);
	return aliases_apply(&connection->aliases, options->alias_max, publish->alias,
	                     &publish->topic);
}

/*
 * A message that the client may not send, or that cannot be kept. A client of 3.1.1 cannot be told
 * so (3.3.5 there). To one of MQTT 5 the exchange has ended with the reason code.
 */
static int publish_refuse(struct connection *connection, const struct codec_publish *publish,
                          enum why why)
{
	if (publish->qos == 2 && connection->version == CODEC_5)
		received_remove(&connection->session->received, publish->packet_id);
	return answer_only(connection, publish, why);
}

/* QoS 2 (4.3.3): the packet id is kept until PUBREL, so that the message is passed on once. */
static int handle_publish(struct connection *connection, const struct codec_frame *frame)
{
	struct codec_publish packet;
	int status = codec_publish(frame, connection->version, &packet);
	bool refuses;

	if (status == 0 && connection->version == CODEC_5)
		status = publish_prepare(connection, &packet);
	if (status != 0)
		return status;
	connection->loop->stats.messages_in++;
	connection->loop->stats.payload_in += packet.payload.size;
	if (packet.retain && !limit_of(connection->loop->env, retain))
		return refuse(connection, WHY_RETAIN);
	refuses =
		(packet.qos > 0 || packet.retain) && store_refuses(connection->session->env->store);
	if (refuses && (packet.qos == 0 || connection->version != CODEC_5))
		return refuse(connection, WHY_STORE);
	if (packet.qos == 2) {
		status = received_add(&connection->session->received, packet.packet_id);
		if (status == 0)
			return answer_only(connection, &packet, WHY_NONE);
		if (status < 0)
			return status;
	}
	if (refuses)
		return publish_refuse(connection, &packet, WHY_STORE);
	/* A client's message to one of the broker's own topics is not passed on. */
	if (names_own(packet.topic)) {
		if (!connection->told_own)
			log_event(LOG_LEVEL_WARNING, "publish_refused",
			          log_slice("client", connection->session->client_id),
			          log_slice("topic", packet.topic),
			          log_text("reason", why_text(WHY_OWN_TOPIC)));
		connection->told_own = true;
		return publish_refuse(connection, &packet, WHY_OWN_TOPIC);
	}
	status = publish(connection, &packet);
	if (status == -EACCES)
		return publish_refuse(connection, &packet, WHY_ACCESS);
	if (status < 0 && packet.qos == 2)
		received_remove(&connection->session->received, packet.packet_id);
	return status;
}

/* Forgets the packet id. An unknown packet id is no error, but MQTT 5 tells the client. */
static int handle_pubrel(struct connection *connection, const struct codec_frame *frame)
{
	struct packet *answer;
	uint16_t packet_id;
	uint8_t reason;
	int status = codec_ack(frame, connection->version, &packet_id, &reason);
	bool known;

	if (status != 0)
		return status;
	answer = packet_create_ack(connection->version, CODEC_PUBCOMP, packet_id);
	if (answer == NULL)
		return -ENOMEM;
	known = received_remove(&connection->session->received, packet_id);
	if (known)
		connection_answered(connection);
	else
		packet_set_reason(answer, REASON_PACKET_ID_NOT_FOUND);
	/* Not before the store has forgotten the id: the client may use it again. */
	if (connection->session->id != 0)
		send_kept(connection, answer, DATABASE_END_ID, packet_id);
	else
		reply(connection, answer);
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
	int status = codec_ack(frame, connection->version, &packet_id, &reason);

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
	acks->acks[acks->count++] = (struct session_ack){packet_id, frame->type, reason};
	if (acks->count == SESSION_ACKS_MAX)
		protocol_acks(connection);
	return 1;
}

static int handle_filters(struct connection *connection, const struct codec_frame *frame)
{
	struct request *request;
	struct codec_filters filters;
	int status = codec_filters(frame, connection->version, &filters);

	if (status == -EINVAL)
		return refuse(connection, WHY_FILTER);
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
	struct packet *answer;

	if (status != 0)
		return status;
	received_trim(&connection->session->received);
	answer = packet_create_own(bytes, codec_put_header(bytes, CODEC_PINGRESP, 0, 0));
	if (answer == NULL)
		return -ENOMEM;
	reply(connection, answer);
	return 1;
}

/* 3.14: only reason 0 drops the will. A session that was to end now cannot be given a longer life.
 */
static int handle_disconnect(struct connection *connection, const struct codec_frame *frame)
{
	struct codec_disconnect disconnect;
	const int status = codec_disconnect(frame, connection->version, &disconnect);

	if (status != 0)
		return status;
	if (disconnect.expiry_given && disconnect.session_expiry > 0 && connection->expiry == 0)
		return refuse(connection, WHY_EXPIRY);
	if (disconnect.expiry_given)
		connection->expiry = disconnect.session_expiry;
	if (disconnect.reason == REASON_SUCCESS)
		connection->will_void = true;
	return -ECONNRESET;
}

/* The CONNECT has named no authentication method: connect.c lets in no client that does. */
static int handle_auth(struct connection *connection, const struct codec_frame *frame)
{
	struct slice method;
	uint8_t reason;
	const int status =
		connection->version == CODEC_5 ? codec_auth(frame, &reason, &method) : -EPROTO;

	return status != 0 ? status : refuse(connection, WHY_AUTH);
}

/* A packet of a client that is let in. */
static int protocol_handle(struct connection *connection, const struct codec_frame *frame)
{
	if (frame->type == CODEC_CONNECT)
		return connect_handle(connection, frame);
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
	case CODEC_AUTH:
		return handle_auth(connection, frame);
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
	publisher_forget(connection);
	if (connection->session != NULL)
		session_leave(connection->session, connection->attempted, connection->expiry,
		              connection->greeted && !connection->will_void);
	connection->session = NULL;
	aliases_free(connection->aliases, connection->loop->env->options.alias_max);
	connection->aliases = NULL;
}

const struct net_calls protocol_calls = {
	.packet = protocol_packet,
	.acks = protocol_acks,
	.drained = session_drained,
	.client_id = protocol_client_id,
	.closing = protocol_closing,
	.ruled = publisher_forget,
	.closed = protocol_closed,
};
