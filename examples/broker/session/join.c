/* SPDX-License-Identifier: MIT */
/* A CONNECT on its way; see join.h. */
#include "session/join.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "common/env.h"
#include "common/hop.h"
#include "mqtt/codec.h"
#include "net/connection.h"
#include "session/clients.h"
#include "session/session.h"
#include "session/will.h"

#define JOIN_ID_BYTES 16 /* random ones, of an id that the broker chooses */
#define JOIN_ID_SIZE (sizeof("auto-") - 1 + 2 * (size_t)JOIN_ID_BYTES)

/* Chooses a client id, which nobody can guess: a client that knows an id can have its session. */
static int join_choose_id(char id[JOIN_ID_SIZE + 1])
{
	unsigned char bytes[JOIN_ID_BYTES];
	int at = snprintf(id, JOIN_ID_SIZE + 1, "auto-");

	if (getentropy(bytes, sizeof(bytes)) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(bytes); i++)
		at += snprintf(id + at, JOIN_ID_SIZE + 1 - (size_t)at, "%02x", bytes[i]);
	return 0;
}

int join_start(struct clients *clients, struct connection *connection,
               const struct access_client *client, const struct join_terms *terms)
{
	struct join *join = calloc(1, sizeof(*join));
	struct access_client named = *client;
	char chosen[JOIN_ID_SIZE + 1];

	if (join == NULL)
		goto free_will;
	join->terms = *terms;
	join->assigned = client->id.size == 0;
	if (join->assigned && join_choose_id(chosen) != 0)
		goto free_join;
	if (join->assigned)
		named.id = (struct slice){chosen, JOIN_ID_SIZE};
	join->session = session_create(clients, &named, terms->expiry == 0);
	if (join->session == NULL)
		goto free_join;
	join->connection = connection;
	connection_charge(connection, CONNECTION_REFERENCE);
	connection_pause(connection);
	clients_join(clients, join);
	return 0;
free_join:
	free(join);
free_will:
	if (terms->will != NULL)
		will_free(terms->will);
	return -ENOMEM;
}

/* The join ends before its session has the will, which the store has not then. */
static void join_free(struct join *join)
{
	if (join->terms.will != NULL)
		will_free(join->terms.will);
	free(join);
}

void join_again(struct join *join)
{
	struct session *ended = join->session;
	struct clients *clients = ended->clients;
	const struct access_client client = session_client(ended);
	struct session *session = session_create(clients, &client, join->terms.expiry == 0);

	if (session == NULL) {
		join_deny(join, WHY_NO_MEMORY);
		return;
	}
	session_release(ended);
	join->session = session;
	join->present = false;
	clients_join(clients, join);
}

/* What is not as the client has asked for, or not as the standard says without a word of it. */
static size_t join_put_properties(const struct join *join, unsigned char *out)
{
	const struct session *session = join->session;
	const struct broker_options *options = &session->env->options;
	const uint32_t expiry = session_expiry(session);
	size_t at = 0;

	if (expiry != join->terms.expiry)
		at += properties_put_u32(out + at, PROPERTY_SESSION_EXPIRY, expiry);
	if (options->receive_max < UINT16_MAX)
		at += properties_put_u16(out + at, PROPERTY_RECEIVE_MAXIMUM,
		                         (uint16_t)options->receive_max);
	at += properties_put_u32(out + at, PROPERTY_MAXIMUM_PACKET_SIZE,
	                         (uint32_t)limit_of(session->env, packet_max));
	if (!limit_of(session->env, retain))
		at += properties_put_byte(out + at, PROPERTY_RETAIN_AVAILABLE, 0);
	if (join->assigned)
		at += properties_put_text(out + at, PROPERTY_ASSIGNED_CLIENT_ID,
		                          session->client_id);
	if (options->alias_max > 0)
		at += properties_put_u16(out + at, PROPERTY_ALIAS_MAXIMUM,
		                         (uint16_t)options->alias_max);
	if (join->terms.keep_alive != 0)
		at += properties_put_u16(out + at, PROPERTY_SERVER_KEEP_ALIVE,
		                         join->terms.keep_alive);
	return at;
}

/* The CONNACK. NULL: no memory. */
static struct packet *join_create_welcome(const struct join *join)
{
	unsigned char properties[80], bytes[11 + sizeof(properties)];
	size_t size;

	if (join->terms.version != CODEC_5)
		return packet_create_own(bytes, codec_put_connack(bytes, join->present, 0));
	size = join_put_properties(join, properties);
	size = codec_put_connack5(bytes, join->present, REASON_SUCCESS,
	                          (struct slice){(const char *)properties, size});
	return packet_create_own(bytes, size);
}

/* On the connection's loop thread: it has the session now, and reads on. */
static int join_run_end(struct baton_task *task)
{
	struct join *join = baton_container_of(task, struct join, task);
	struct connection *connection = join->connection;
	struct packet *answer;
	enum why why;

	if (connection->closing) {
		session_leave(join->session, 0, connection->expiry, false);
		free(join);
		return 0;
	}
	connection->session = join->session;
	connection->epoch = join->number;
	why = join->why;
	answer = why == WHY_NONE ? join_create_welcome(join) : NULL;
	free(join);
	if (answer == NULL) {
		connection_fail(connection, why != WHY_NONE ? why : WHY_NO_MEMORY);
		return 0;
	}
	connection->greeted = true;
	output_append(connection, answer);
	connection_read_on(connection);
	return 0;
}

void join_end(struct join *join)
{
	hop(&join->connection->resource, &join->task, join_run_end, "joined");
}

void join_refuse(struct join *join)
{
	connection_kick(join->connection, WHY_TAKEN_OVER);
	connection_release(join->connection, CONNECTION_REFERENCE);
	session_release(join->session);
	join_free(join);
}

static int join_run_deny(struct baton_task *task)
{
	struct join *join = baton_container_of(task, struct join, task);
	struct connection *connection = join->connection;

	connection_fail(connection, join->why);
	connection_release(connection, CONNECTION_REFERENCE);
	join_free(join);
	return 0;
}

void join_deny(struct join *join, enum why why)
{
	join->why = why;
	session_release(join->session);
	hop(&join->connection->resource, &join->task, join_run_deny, "deny");
}
