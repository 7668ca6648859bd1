/* SPDX-License-Identifier: MIT */
/* A CONNECT on its way; see join.h. */
#include "session/join.h"

#include <errno.h>
#include <stdlib.h>

#include "common/hop.h"
#include "common/why.h"
#include "mqtt/codec.h"
#include "net/connection.h"
#include "session/clients.h"
#include "session/session.h"

int join_start(struct clients *clients, struct connection *connection,
               const struct codec_connect *connect)
{
	struct join *join = calloc(1, sizeof(*join));

	if (join == NULL)
		return -ENOMEM;
	join->session = session_create(clients, connect->client_id, connect->clean);
	if (join->session == NULL) {
		free(join);
		return -ENOMEM;
	}
	join->connection = connection;
	connection_charge(connection, CONNECTION_REFERENCE);
	connection_pause(connection);
	if (connect->client_id.size > 0) {
		clients_join(clients, join);
	} else {
		join->number = 1; /* a session without an id has only this join */
		session_join(join->session, join);
	}
	return 0;
}

/* On the connection's loop thread: it has the session now, and reads on. */
static int join_run_end(struct baton_task *task)
{
	struct join *join = baton_container_of(task, struct join, task);
	struct connection *connection = join->connection;
	unsigned char bytes[4];
	struct packet *answer;
	enum why why;

	if (connection->closing) {
		session_leave(join->session, 0);
		free(join);
		return 0;
	}
	connection->session = join->session;
	connection->epoch = join->number;
	why = join->why;
	answer = why == WHY_NONE
	                 ? packet_create_own(bytes, codec_put_connack(bytes, join->present, 0))
	                 : NULL;
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
	free(join);
}

static int join_run_deny(struct baton_task *task)
{
	struct join *join = baton_container_of(task, struct join, task);
	struct connection *connection = join->connection;

	connection_fail(connection, join->why);
	connection_release(connection, CONNECTION_REFERENCE);
	free(join);
	return 0;
}

void join_deny(struct join *join, enum why why)
{
	join->why = why;
	session_release(join->session);
	hop(&join->connection->resource, &join->task, join_run_deny, "deny");
}
