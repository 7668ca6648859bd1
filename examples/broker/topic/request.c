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

#define REQUEST_REFUSED 0x80 /* in a SUBACK of MQTT 3.1.1 */

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

/* Why a client may not have this filter; of a shared one, the part behind the group. */
static enum why request_objection(const struct broker_options *options,
                                  struct request_filter *filter)
{
	struct slice group;

	if (!names_share(filter->name, &group, &filter->shared))
		return WHY_SHARED;
	return request_denied(options, filter->shared.bytes != NULL ? filter->shared : filter->name)
	               ? WHY_DENIED
	               : WHY_NONE;
}

/* What the acknowledgement says of a filter, if it does. */
static uint8_t request_code(const struct request *request, enum why why)
{
	return request->version == CODEC_5 ? why_reason(why) : REQUEST_REFUSED;
}

/*
 * SUBACK has a code for each filter: the QoS granted, or why there is none. In MQTT 5 UNSUBACK has
 * codes, too.
 */
static struct packet *request_create_answer(const struct request *request, uint16_t packet_id)
{
	const bool subscribe = request->kind == REQUEST_SUBSCRIBE;
	const size_t codes = subscribe || request->version == CODEC_5 ? request->count : 0;
	const size_t properties = request->version == CODEC_5; /* their length, which is 0 */
	unsigned char *bytes = malloc(CODEC_HEADER_MAX + 2 + properties + codes);
	struct packet *answer;
	size_t at;

	if (bytes == NULL)
		return NULL;
	at = codec_put_header(bytes, subscribe ? CODEC_SUBACK : CODEC_UNSUBACK, 0,
	                      2 + properties + codes);
	at += codec_put_u16(bytes + at, packet_id);
	if (properties > 0)
		bytes[at++] = 0;
	for (size_t i = 0; i < codes; i++) {
		const struct request_filter *filter = &request->filters[i];

		bytes[at++] = filter->why == WHY_NONE ? (unsigned char)filter->options.qos
		                                      : request_code(request, filter->why);
	}
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

	if (request == NULL)
		return NULL;
	*request = (struct request){.table = table, .session = session, .count = count};
	request->kind = subscribe ? REQUEST_SUBSCRIBE : REQUEST_UNSUBSCRIBE;
	request->version = connection->version;
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

		*filter = (struct request_filter){
			.name = wire.name,
			.retained = wire.retain_handling,
			.options = {.identifier =
		                            filters->subscription_id & SUBSCRIPTION_IDENTIFIER_MAX,
		                    .qos = wire.qos & 3u,
		                    .no_local = wire.no_local,
		                    .retain_as_published = wire.retain_as_published}};
		filter->why = subscribe ? request_objection(options, filter) : WHY_NONE;
		if (filter->why != WHY_NONE)
			request_log(request, filter->name, filter->why);
	}
	request->answer = request_create_answer(request, filters->packet_id);
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

static void request_set_code(const struct request *request, size_t at, uint8_t code)
{
	request->answer->head[request->answer->head_size - request->count + at] = code;
}

void request_refuse(struct request *request, size_t at, enum why why)
{
	request_log(request, request->filters[at].name, why);
	request->filters[at].why = why;
	request_set_code(request, at, request_code(request, why));
}

void request_missed(const struct request *request, size_t at)
{
	if (request->version == CODEC_5)
		request_set_code(request, at, REASON_NO_SUBSCRIPTION);
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
	for (size_t i = 0; i < request->count; i++)
		if (request->filters[i].group != NULL)
			session_release(request->filters[i].group);
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
			.numbers = {(int64_t)request->session->id, filter->options.qos,
		                    subscription_stored(filter->options),
		                    filter->options.identifier},
			.texts = {filter->name}};

		if (filter->why == WHY_NONE)
			store_note(store, subscribe ? DATABASE_SUBSCRIBE : DATABASE_UNSUBSCRIBE,
			           &record);
	}
	if (!store_waits(store))
		request_answer(request);
	store_note_then(store, DATABASE_NOTHING, NULL, request_kept, request);
}
