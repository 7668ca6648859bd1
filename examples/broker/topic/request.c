/* SPDX-License-Identifier: MIT */
/* Requests; see request.h. */
#include "topic/request.h"

#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "common/log.h"
#include "common/why.h"
#include "net/connection.h"
#include "session/session.h"
#include "store/writes.h"
#include "topic/table.h"

/* Says in the log that a filter is refused. */
static void request_log(const struct request *request, struct slice filter, enum why why)
{
	log_event(LOG_LEVEL_WARNING, "subscribe_refused",
	          log_slice("client", request->session->client_id), log_slice("filter", filter),
	          log_text("reason", why_text(why)));
}

/* Is the filter covered by one of --deny-subscribe? */
static bool request_denied(const struct broker_options *options, struct slice filter)
{
	for (size_t i = 0; i < options->denied_count; i++)
		if (names_covers(options->denied[i], filter))
			return true;
	return false;
}

/* Why a client may not have this filter. A filter of MQTT 5's shared subscriptions is
 * an ordinary one in 3.1.1, and would match nothing that anybody means. */
static enum why request_objection(const struct broker_options *options, struct slice filter)
{
	static const char shared[] = "$share/";
	const size_t size = sizeof(shared) - 1;

	if (filter.size >= size && memcmp(filter.bytes, shared, size) == 0)
		return WHY_SHARED;
	return request_denied(options, filter) ? WHY_DENIED : WHY_NONE;
}

/* SUBACK has a code for each filter: the QoS granted, or 0x80. */
static struct packet *request_create_answer(const struct request *request, uint8_t type,
                                            uint16_t packet_id)
{
	const size_t codes = type == CODEC_SUBACK ? request->count : 0;
	unsigned char *bytes = malloc(CODEC_HEADER_MAX + 2 + codes);
	struct packet *answer;
	size_t at;

	if (bytes == NULL)
		return NULL;
	at = codec_put_header(bytes, type, 0, 2 + codes);
	at += codec_put_u16(bytes + at, packet_id);
	for (size_t i = 0; i < codes; i++)
		bytes[at++] = request->filters[i].accepted ? request->filters[i].qos : 0x80;
	answer = packet_create_own(bytes, at);
	free(bytes);
	return answer;
}

struct request *request_create(struct table *table, struct connection *connection,
                               const struct codec_frame *frame, const struct codec_filters *filters)
{
	struct session *session = connection->session;
	const struct broker_options *options = &session->env->options;
	const bool subscribe = frame->type == CODEC_SUBSCRIBE;
	const size_t count = filters->count, filters_size = count * sizeof(struct request_filter);
	/* One allocation: the filters, then a copy of the frame's body, which they point into. */
	const size_t size = sizeof(struct request) + filters_size + frame->body_size;
	struct request *request = malloc(size);
	struct codec_frame copy = *frame;
	unsigned char *body;
	size_t offset = filters->offset;
	enum why why;

	if (request == NULL)
		return NULL;
	*request = (struct request){.table = table, .session = session, .count = count};
	request->kind = subscribe ? REQUEST_SUBSCRIBE : REQUEST_UNSUBSCRIBE;
	request->epoch = connection->epoch;
	if (subscribe)
		request->ask = ++session->asks;
	request->filters = (struct request_filter *)(request + 1);
	body = (unsigned char *)(request->filters + count);
	memcpy(body, frame->body, frame->body_size);
	copy.body = body;
	for (size_t i = 0; i < count; i++) {
		struct request_filter *filter = &request->filters[i];
		const struct codec_filter wire = codec_filter_next(&copy, &offset);

		*filter = (struct request_filter){.name = wire.name, .qos = wire.qos};
		why = subscribe ? request_objection(options, filter->name) : WHY_NONE;
		filter->accepted = subscribe && why == WHY_NONE;
		if (why != WHY_NONE)
			request_log(request, filter->name, why);
	}
	request->answer = request_create_answer(request, subscribe ? CODEC_SUBACK : CODEC_UNSUBACK,
	                                        filters->packet_id);
	if (request->answer == NULL) {
		free(request);
		return NULL;
	}
	request->connection = connection;
	request->cost = size + count * (CONNECTION_CHARGES_HIGH / REQUEST_FILTERS_AHEAD);
	connection_charge(connection, request->cost);
	return request;
}

struct request *request_create_end(struct table *table, struct session *session)
{
	struct request *request = calloc(1, sizeof(*request));

	if (request == NULL)
		return NULL;
	request->kind = REQUEST_END;
	request->table = table;
	request->session = session;
	return request;
}

void request_submit(struct request *request)
{
	session_reference(request->session);
	matcher_apply(&request->table->matcher, request);
}

void request_refuse(struct request *request, size_t at, enum why why)
{
	request_log(request, request->filters[at].name, why);
	request->filters[at].accepted = false;
	request->answer->head[request->answer->head_size - request->count + at] = 0x80;
}

static void request_answer(struct request *request)
{
	if (request->answer != NULL) {
		request->answer->epoch = request->epoch;
		request->answer->ask = request->ask;
		session_deliver(request->session, request->answer);
	}
	request->answer = NULL;
}

static void request_destroy(struct request *request)
{
	session_release(request->session);
	if (request->connection != NULL)
		connection_release(request->connection, request->cost);
	free(request);
}

static void request_kept(void *arg, bool kept)
{
	struct request *request = arg;

	if (!kept && request->answer != NULL) {
		packet_destroy(request->answer);
		request->answer = NULL;
	}
	request_answer(request);
	request_destroy(request);
}

void request_end(struct request *request)
{
	struct store *store = request->session->env->store;
	const bool subscribe = request->kind == REQUEST_SUBSCRIBE;

	if (request->session->id == 0 || request->kind == REQUEST_END) {
		request_answer(request);
		request_destroy(request);
		return;
	}
	for (size_t i = 0; i < request->count; i++) {
		const struct request_filter *filter = &request->filters[i];
		const struct database_record record = {
			.numbers = {(int64_t)request->session->id, filter->qos},
			.texts = {filter->name}};

		if (filter->accepted || !subscribe)
			store_note(store, subscribe ? DATABASE_SUBSCRIBE : DATABASE_UNSUBSCRIBE,
			           &record);
	}
	if (!store_waits(store))
		request_answer(request);
	store_note_then(store, DATABASE_NOTHING, NULL, request_kept, request);
}
