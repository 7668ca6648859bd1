/* SPDX-License-Identifier: MIT */
/* What a CONNECT means; see connect.h. */
#include "connect.h"

#include <errno.h>

#include "broker.h"
#include "common/log.h"
#include "common/why.h"
#include "login.h"
#include "net/connection.h"
#include "session/join.h"
#include "session/will.h"
#include "store/store.h"

/* The client is told by an MQTT that it may understand: a later one than 5 has to know 5. */
static uint8_t connect_level(const struct codec_frame *frame)
{
	static const size_t at = 6; /* behind the protocol's name, which is MQTT */

	return frame->body[at] > CODEC_5 ? CODEC_5 : CODEC_311;
}

int connect_decode(struct connection *connection, const struct codec_frame *frame,
                   struct codec_connect *connect)
{
	const int status = codec_connect(frame, connect);

	connection->version = (uint8_t)connect->version;
	if (status == -EPROTONOSUPPORT)
		connection->version = connect_level(frame);
	if (status != 0)
		return status;
	connection->request_problem = connect->request_problem;
	connection->packet_max = connect->packet_max;
	connection->expiry = connect->session_expiry;
	return 0;
}

/* Why the client is not let in. */
static enum why connect_objection(const struct connection *connection,
                                  const struct codec_connect *connect)
{
	if (connect->version == CODEC_311 && connect->client_id.size == 0 && !connect->clean)
		return WHY_NO_ID;
	if (connect->auth_method.bytes != NULL)
		return WHY_METHOD;
	if (connect->will.retain && !limit_of(connection->loop->env, retain))
		return WHY_RETAIN;
	if ((connect->session_expiry > 0 || connect->will.topic.size > 0) &&
	    store_refuses(broker_of(connection)->env.store))
		return WHY_STORE;
	return WHY_NONE;
}

/* One and a half times the keep alive (3.1.2.10); 0: the client may be silent. */
static void connect_keep_alive(struct connection *connection, struct codec_connect *connect,
                               struct join_terms *terms)
{
	const unsigned int most = limit_of(&broker_of(connection)->env, keep_alive_max);

	if (connect->version == CODEC_5 && most > 0 &&
	    (connect->keep_alive == 0 || connect->keep_alive > most)) {
		terms->keep_alive = (uint16_t)most;
		connect->keep_alive = (uint16_t)most;
	}
	connection->silence_max = (uint64_t)connect->keep_alive * 1500;
}

static int connect_will(const struct codec_connect *connect, struct will **will)
{
	*will = NULL;
	if (connect->will.topic.size == 0)
		return 0;
	if (names_own(connect->will.topic)) {
		log_event(LOG_LEVEL_WARNING, "will_refused",
		          log_slice("client", connect->client_id),
		          log_slice("topic", connect->will.topic),
		          log_text("reason", why_text(WHY_OWN_TOPIC)));
		return 0;
	}
	*will = will_create(&connect->will, connect->will_delay);
	return *will != NULL ? 0 : -ENOMEM;
}

int connect_handle(struct connection *connection, const struct codec_frame *frame)
{
	struct codec_connect connect;
	struct access_client client;
	struct join_terms terms;
	int status;

	if (connection->session != NULL) {
		connection->why = WHY_CONNECT_AGAIN;
		return -EPROTO;
	}
	status = connect_decode(connection, frame, &connect);
	if (status == -EPROTONOSUPPORT) {
		connection->why = WHY_VERSION;
		return -ECONNRESET;
	}
	if (status == -EPFNOSUPPORT) {
		/* 3.1.2-1: a client of another protocol would not understand a CONNACK. */
		connection->why = WHY_PROTOCOL;
		return -EPROTO;
	}
	if (status != 0)
		return status;
	connection->why = connect_objection(connection, &connect);
	if (connection->why != WHY_NONE)
		return -ECONNRESET;
	terms = (struct join_terms){
		.expiry = connect.session_expiry,
		.packet_max = connect.packet_max,
		.receive_max = connect.receive_max,
		.alias_max = connect.alias_max,
		.version = (uint8_t)connect.version,
		.clean_start = connect.clean,
	};
	client = (struct access_client){.user = login_user(connection, &connect),
	                                .id = connect.client_id};
	connect_keep_alive(connection, &connect, &terms);
	status = connect_will(&connect, &terms.will);
	if (status == 0)
		status = join_start(&broker_of(connection)->clients, connection, &client, &terms);
	return status == 0 ? 1 : status;
}
