/* SPDX-License-Identifier: MIT */
/*
 * A tiny MQTT 3.1.1 broker on baton: QoS 0 and 1, sessions that outlive connections, take-over,
 * wills, retained messages, wildcards, keep alive. Read it before examples/broker. Elsewhere are
 * the sockets, over libuv (minimq_sockets.h), and the pure functions that make packets of bytes
 * and bytes of packets (broker/mqtt).
 *
 *	minimq [PORT]	on 127.0.0.1; prints the port; SIGTERM ends it
 *
 * No lock guards anything. What two threads may change belongs to a resource:
 *
 *   client   a connection; its tasks run on its loop's thread alone
 *   session  what the broker keeps for a client id; it may outlive the connection
 *   shard    the topics whose names have the same hash: their retained messages, and a copy of all
 *            subscriptions
 *
 * A client has one request on its way at a time, a packet. The next packet is served when the
 * request has come home. An arrow is a submit to the resource that it leads to:
 *
 *   CONNECT                 client -> the registry of sessions -> session -> client
 *   PUBLISH                 client -> the topic's shard -> client
 *                                     the topic's shard -> each subscriber's session -> its client
 *   PUBACK                  client -> session -> client
 *   SUBSCRIBE, UNSUBSCRIBE  client -> all shards, one after the other -> client
 */
#include "minimq_sockets.h"

#include <baton/registry.h>
#include <baton/timers.h>

#include <errno.h>
#include <string.h>

#include "common/hash.h"
#include "mqtt/codec.h"
#include "mqtt/names.h"

#define SHARDS 16
#define MESSAGES_MAX 1000 /* of a session; more are dropped */

struct client {
	struct connection connection;
	struct session *session;          /* referenced; NULL before the CONNECT */
	uint32_t epoch;                   /* of the session, since the CONNECT */
	struct message *will, *last_will; /* none after a DISCONNECT; while it is published */
	bool busy; /* a request is on its way: its packet lies in the connection's input */
	struct codec_frame frame;
	struct codec_connect connect;
	struct codec_publish publish;
	struct codec_filters filters;
	uint16_t packet_id;
	unsigned shard; /* to which the request goes next */
};

struct session {
	struct baton_registry_entry entry; /* its name is the client id */
	struct client *client;             /* NULL: the client is away */
	bool kept;                         /* clean session 0: it references itself */
	uint32_t epoch;                    /* atomic; subscriptions of another epoch are void */
	struct message *messages, **end;   /* QoS 1: they wait for a PUBACK */
	unsigned count;
	uint16_t last_id;
};

struct shard {
	struct baton_resource resource;
	struct subscription *subscriptions;
	struct message *retained;
};

struct subscription {
	struct subscription *next;
	struct session *session; /* referenced */
	uint32_t epoch;
	uint8_t qos;
	struct slice filter;
	char bytes[];
};

struct message {
	struct message *next;
	struct session *session; /* of the subscriber */
	uint32_t epoch;
	struct codec_publish publish; /* points into `bytes` */
	char bytes[];
};

static const struct baton_registry_options options = {.object_size = sizeof(struct session)};
static struct baton_registry *sessions;
static struct shard shards[SHARDS];

static void *client_home(void *arg);

/* The caller holds what keeps the resource open. */
static void hop(struct baton_resource *resource, baton_call_fn run, void *arg)
{
	CHECK(baton_post(resource, run, arg) == 0);
}

/* The request comes home, behind its answer. */
static void answer(struct client *client, const void *bytes, size_t size)
{
	output_send(output_of(bytes, size), &client->connection);
	hop(&client->connection.resource, client_home, client);
}

static void release(struct session *session)
{
	CHECK(baton_registry_unref(&session->entry) == 0);
}

/* ---- Messages ---- */

static struct message *message_create(const struct codec_publish *publish)
{
	const struct slice topic = publish->topic, payload = publish->payload;
	struct message *message = allocate(sizeof(*message) + topic.size + payload.size);

	message->publish = *publish;
	message->publish.topic.bytes = memcpy(message->bytes, topic.bytes, topic.size);
	message->publish.payload.bytes = message->bytes + topic.size;
	if (payload.size > 0)
		memcpy(message->bytes + topic.size, payload.bytes, payload.size);
	return message;
}

static void message_send(struct message *message, struct client *client)
{
	struct codec_publish *publish = &message->publish;
	const struct slice payload = publish->payload;
	struct output *output =
		output_create(CODEC_HEADER_MAX + 4 + publish->topic.size + payload.size);

	output->optional = publish->qos == 0;
	output->size = codec_put_publish(output->bytes, publish);
	if (payload.size > 0)
		memcpy(output->bytes + output->size, payload.bytes, payload.size);
	output->size += payload.size;
	output_send(output, &client->connection);
	publish->duplicate = true; /* if it is sent again */
}

/* ---- Sessions ---- */

/* Takes a message of a shard. */
static void *session_take(void *arg)
{
	struct message *message = arg;
	struct session *session = message->session;
	const bool valid = message->epoch == session->epoch && session->count < MESSAGES_MAX;
	const bool keep = valid && message->publish.qos > 0;

	if (keep) {
		message->publish.packet_id = session->last_id = session->last_id % UINT16_MAX + 1;
		*session->end = message;
		session->end = &message->next;
		session->count++;
	}
	if (valid && session->client != NULL)
		message_send(message, session->client);
	if (!keep)
		free(message);
	return NULL;
}

static void *session_serve_puback(void *arg)
{
	struct client *client = arg;
	struct session *session = client->session;
	struct message **link = &session->messages, *message;

	while ((message = *link) != NULL && message->publish.packet_id != client->packet_id)
		link = &message->next;
	if (message != NULL) {
		*link = message->next;
		if (message->next == NULL)
			session->end = link;
		session->count--;
		free(message);
	}
	hop(&client->connection.resource, client_home, client);
	return NULL;
}

/* The session is as new. Each shard drops its subscriptions when it comes to them. */
static void session_wipe(struct session *session)
{
	struct message *message;

	while ((message = session->messages) != NULL) {
		session->messages = message->next;
		free(message);
	}
	session->end = &session->messages;
	session->count = 0;
	__atomic_store_n(&session->epoch, session->epoch + 1, __ATOMIC_RELAXED);
	if (session->kept)
		release(session);
	session->kept = false;
}

static void *session_serve_connect(void *arg)
{
	struct client *client = arg;
	struct session *session = client->session;
	const bool keep = !client->connect.clean, present = keep && session->kept;
	unsigned char bytes[4];

	if (session->client != NULL) /* is taken over */
		hop(&session->client->connection.resource, connection_close, session->client);
	if (!present)
		session_wipe(session);
	if (keep && !present)
		baton_registry_ref(&session->entry);
	session->kept = keep;
	session->client = client;
	client->epoch = session->epoch;
	answer(client, bytes, codec_put_connack(bytes, present, 0));
	for (struct message *each = session->messages; each != NULL; each = each->next)
		message_send(each, client);
	return NULL;
}

/* The last task for a client, which may have been taken over. */
static void *session_leave(void *arg)
{
	struct client *client = arg;
	struct session *session = client->session;

	if (session->client == client)
		session->client = NULL;
	if (session->client == NULL && !session->kept)
		session_wipe(session);
	connection_end(&client->connection);
	release(session);
	return NULL;
}

/* ---- Shards ---- */

static void deliver(const struct subscription *to, const struct codec_publish *publish, bool retain)
{
	struct message *message = message_create(publish);

	message->publish.qos = publish->qos < to->qos ? publish->qos : to->qos;
	message->publish.retain = retain;
	message->publish.duplicate = false;
	message->session = to->session;
	message->epoch = to->epoch;
	hop(&to->session->entry.resource, session_take, message);
}

static void shard_retain(struct shard *shard, const struct codec_publish *publish)
{
	struct message **link = &shard->retained, *old;

	while ((old = *link) != NULL && !names_equal(old->publish.topic, publish->topic))
		link = &old->next;
	if (old != NULL)
		*link = old->next;
	free(old);
	if (publish->payload.size > 0) {
		old = *link;
		*link = message_create(publish);
		(*link)->next = old;
	}
}

static void *shard_serve_publish(void *arg)
{
	struct client *client = arg;
	const struct codec_publish *publish = &client->publish;
	struct shard *shard = &shards[client->shard];
	unsigned char bytes[4];

	for (struct subscription *each = shard->subscriptions; each != NULL; each = each->next)
		if (names_match(each->filter, publish->topic))
			deliver(each, publish, false);
	if (publish->retain)
		shard_retain(shard, publish);
	if (publish->qos > 0)
		answer(client, bytes, codec_put_ack(bytes, CODEC_PUBACK, publish->packet_id));
	else
		hop(&client->connection.resource, client_home, client);
	return NULL;
}

/* Drops the client's subscription to the filter, and all that are void. */
static void shard_drop(struct shard *shard, const struct client *client, struct slice filter)
{
	for (struct subscription **link = &shard->subscriptions, *each; (each = *link) != NULL;) {
		/* Relaxed: what is void, and not seen to be so, is dropped another time. */
		if (each->epoch == __atomic_load_n(&each->session->epoch, __ATOMIC_RELAXED) &&
		    (each->session != client->session || !names_equal(each->filter, filter))) {
			link = &each->next;
		} else {
			*link = each->next;
			release(each->session);
			free(each);
		}
	}
}

static void shard_add(struct shard *shard, struct client *client, struct slice filter, uint8_t qos)
{
	struct subscription *fresh = allocate(sizeof(*fresh) + filter.size);

	*fresh = (struct subscription){shard->subscriptions,
	                               client->session,
	                               client->epoch,
	                               qos,
	                               {fresh->bytes, filter.size}};
	memcpy(fresh->bytes, filter.bytes, filter.size);
	baton_registry_ref(&client->session->entry);
	shard->subscriptions = fresh;
	for (struct message *each = shard->retained; each != NULL; each = each->next)
		if (names_match(filter, each->publish.topic))
			deliver(fresh, &each->publish, true);
}

static void answer_filters(struct client *client)
{
	const struct codec_frame *frame = &client->frame;
	const bool subscribes = frame->type == CODEC_SUBSCRIBE;
	unsigned char *bytes = allocate(CODEC_HEADER_MAX + 2 + client->filters.count);
	size_t offset = client->filters.offset,
	       size = codec_put_header(bytes, subscribes ? CODEC_SUBACK : CODEC_UNSUBACK, 0,
	                               2 + (subscribes ? client->filters.count : 0));

	size += codec_put_u16(bytes + size, client->filters.packet_id);
	while (subscribes && offset < frame->body_size)
		bytes[size++] = codec_filter_next(frame, &offset).qos > 0; /* 1 is the most */
	answer(client, bytes, size);
	free(bytes);
}

static void *shard_serve_filters(void *arg)
{
	struct client *client = arg;
	const struct codec_frame *frame = &client->frame;
	struct shard *shard = &shards[client->shard++];

	for (size_t offset = client->filters.offset; offset < frame->body_size;) {
		const struct codec_filter filter = codec_filter_next(frame, &offset);

		shard_drop(shard, client, filter.name);
		if (frame->type == CODEC_SUBSCRIBE)
			shard_add(shard, client, filter.name, filter.qos);
	}
	if (client->shard < SHARDS)
		hop(&shards[client->shard].resource, shard_serve_filters, client);
	else
		answer_filters(client);
	return NULL;
}

/* ---- Clients: on the loop's thread ---- */

static void client_publish(struct client *client, const struct codec_publish *publish)
{
	client->publish = *publish;
	client->shard = hash_bytes(publish->topic.bytes, publish->topic.size, 0) % SHARDS;
	hop(&shards[client->shard].resource, shard_serve_publish, client);
}

/* The socket is closed. The will is the last request. */
static void client_leave(struct client *client)
{
	client->frame.size = 0; /* of the input */
	free(client->last_will);
	client->last_will = client->will;
	client->will = NULL;
	if (client->last_will != NULL)
		client_publish(client, &client->last_will->publish);
	else if (client->session != NULL)
		hop(&client->session->entry.resource, session_leave, client);
	else
		connection_end(&client->connection);
}

/* The request has come home. */
static void *client_home(void *arg)
{
	struct client *client = arg;

	client->busy = false;
	connection_take(&client->connection, client->frame.size);
	client_go_on(&client->connection);
	return NULL;
}

/* A task of the registry, where baton_registry_acquire() does not wait. */
static void *registry_serve_connect(void *arg)
{
	struct client *client = arg;
	struct slice id = client->connect.client_id;
	struct baton_registry_entry *entry;

	if (id.size == 0) /* its address: the id that a client sends has no zeros */
		id = (struct slice){(const char *)&client, sizeof(client)};
	CHECK(baton_registry_acquire(sessions, id.bytes, id.size, &entry) == 0);
	client->session = (struct session *)entry;
	hop(&entry->resource, session_serve_connect, client);
	return NULL;
}

static int client_connect(struct client *client)
{
	struct codec_connect *connect = &client->connect;
	const int status = codec_connect(&client->frame, connect);
	const bool other = status == -EPROTONOSUPPORT || connect->version == CODEC_5;
	const bool nameless = status == 0 && connect->client_id.size == 0 && !connect->clean;
	unsigned char bytes[4];

	if (other || nameless)
		output_write(output_of(bytes, codec_put_connack(bytes, false, other ? 1 : 2)),
		             &client->connection);
	if (status != 0 || other || nameless)
		return -EPROTO;
	connection_allow_silence(&client->connection, connect->keep_alive * BATON_SECOND * 3 / 2);
	connect->will.qos = connect->will.qos > 0;
	if (connect->will.topic.size > 0)
		client->will = message_create(&connect->will);
	hop(baton_registry_resource(sessions), registry_serve_connect, client);
	return 1;
}

/* Sends the request on its way: 1. A negative errno: the connection is to be closed. */
static int client_serve(struct client *client)
{
	const struct codec_frame *frame = &client->frame;
	unsigned char bytes[CODEC_HEADER_MAX];
	struct codec_publish publish;
	uint8_t reason;

	if ((client->session == NULL) != (frame->type == CODEC_CONNECT))
		return -EPROTO;
	switch (frame->type) {
	case CODEC_CONNECT:
		return client_connect(client);
	case CODEC_PUBLISH:
		if (codec_publish(frame, CODEC_311, &publish) != 0 || publish.qos > 1)
			return -EPROTO;
		client_publish(client, &publish);
		return 1;
	case CODEC_PUBACK:
		if (codec_ack(frame, CODEC_311, &client->packet_id, &reason) != 0)
			return -EPROTO;
		hop(&client->session->entry.resource, session_serve_puback, client);
		return 1;
	case CODEC_SUBSCRIBE:
	case CODEC_UNSUBSCRIBE:
		if (codec_filters(frame, CODEC_311, &client->filters) != 0)
			return -EPROTO;
		client->shard = 0;
		hop(&shards[0].resource, shard_serve_filters, client);
		return 1;
	case CODEC_PINGREQ:
		if (codec_empty(frame) != 0)
			return -EPROTO;
		answer(client, bytes, codec_put_header(bytes, CODEC_PINGRESP, 0, 0));
		return 1;
	case CODEC_DISCONNECT:
		if (codec_empty(frame) == 0) {
			free(client->will);
			client->will = NULL;
		}
		return -ECONNRESET;
	default:
		return -EPROTO;
	}
}

void client_go_on(struct connection *connection)
{
	struct client *client = (struct client *)connection;
	int status;

	if (connection->closed && !client->busy)
		client_leave(client);
	if (client->busy || connection->closing || connection_is_full(connection))
		return;
	status = codec_frame(connection->input + connection->begin,
	                     connection->size - connection->begin, PACKET_MAX, &client->frame);
	if (status > 0)
		status = client_serve(client);
	client->busy = status > 0;
	if (status < 0 || (status == 0 && connection->ended))
		connection_close(connection);
}

int main(int argc, char **argv)
{
	CHECK(baton_registry_create(&options, &sessions) == 0);
	sockets_run((unsigned short)(argc > 1 ? atoi(argv[argc - 1]) : 0), sizeof(struct client));
	CHECK(baton_timers_default_destroy() == 0);
	CHECK(baton_pool_default_destroy() == 0);
	return 0; /* what sessions and shards keep ends with the process */
}
