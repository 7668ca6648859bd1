/* SPDX-License-Identifier: MIT */
/* What the encoders make of what was decoded: see decoder.h. */
#include <errno.h>

#include "mqtt/codec.h"
#include "decoder.h"
#include "fuzz.h"

/* The header and the beginning of the body are these bytes. */
static void check_bytes(const struct codec_frame *frame, const unsigned char *bytes, size_t size)
{
	FUZZ_CHECK(size <= frame->size);
	FUZZ_CHECK(memcmp(bytes, frame->body - (frame->size - frame->body_size), size) == 0);
}

static void check_publish(const struct codec_frame *frame)
{
	struct codec_publish publish;
	unsigned char *out;
	size_t size;

	FUZZ_CHECK(codec_publish(frame, CODEC_311, &publish) == 0);
	out = malloc(CODEC_HEADER_MAX + 2 + publish.topic.size + 2);
	FUZZ_CHECK(out != NULL);
	size = codec_put_publish(out, &publish);
	FUZZ_CHECK(size == frame->size - publish.payload.size);
	check_bytes(frame, out, size);
	free(out);
}

static bool same_message(const struct codec_publish *a, const struct codec_publish *b)
{
	return names_equal(a->topic, b->topic) && names_equal(a->payload, b->payload) &&
	       a->packet_id == b->packet_id && a->qos == b->qos && a->retain == b->retain &&
	       a->duplicate == b->duplicate && a->expiry == b->expiry && a->alias == b->alias;
}

/*
 * As a subscriber gets it: expiry and alias are the broker's own properties, the rest is passed on.
 * Whoever decodes that finds the same message.
 */
static void check_passed_on(const struct codec_publish *publish)
{
	unsigned char own[8], *passed = malloc(publish->properties.size + 1), *out;
	struct slice before = {(const char *)own, 0};
	struct codec_publish on = *publish, got;
	struct codec_frame frame;
	size_t head_size, size;

	FUZZ_CHECK(passed != NULL);
	on.properties.size = properties_forward(passed, publish->properties);
	on.properties.bytes = (const char *)passed;
	if (publish->expiry != PROPERTIES_NEVER)
		before.size += properties_put_u32(own, PROPERTY_MESSAGE_EXPIRY, publish->expiry);
	if (publish->alias != 0)
		before.size +=
			properties_put_u16(own + before.size, PROPERTY_ALIAS, publish->alias);
	size = codec_size_publish5(&on, before.size, &head_size);
	out = malloc(size);
	FUZZ_CHECK(out != NULL);
	FUZZ_CHECK(codec_put_publish5(out, &on, before) == head_size);
	memcpy(out + head_size, publish->payload.bytes, publish->payload.size);
	FUZZ_CHECK(codec_frame(out, size, size, &frame) == 1 && frame.size == size);
	FUZZ_CHECK(codec_publish(&frame, CODEC_5, &got) == 0);
	FUZZ_CHECK(same_message(&got, publish));
	FUZZ_CHECK(got.properties.size == before.size + on.properties.size);
	free(out);
	free(passed);
}

static void check_publish5(const struct codec_frame *frame)
{
	const struct slice none = {NULL, 0};
	struct codec_publish publish;
	size_t head_size, size;
	unsigned char *out;

	FUZZ_CHECK(codec_publish(frame, CODEC_5, &publish) == 0);
	size = codec_size_publish5(&publish, 0, &head_size);
	FUZZ_CHECK(size == frame->size && head_size == size - publish.payload.size);
	out = malloc(head_size);
	FUZZ_CHECK(out != NULL);
	FUZZ_CHECK(codec_put_publish5(out, &publish, none) == head_size);
	check_bytes(frame, out, head_size);
	free(out);
	check_passed_on(&publish);
}

static void check_filters(const struct codec_frame *frame, const struct decoded *decoded)
{
	unsigned char *out = malloc(frame->body_size);
	size_t at = decoded->offset, offset = decoded->offset;

	FUZZ_CHECK(out != NULL);
	memcpy(out, frame->body, at);
	codec_put_u16(out, (uint16_t)decoded->number);
	for (size_t i = 0; i < decoded->count; i++) {
		const struct codec_filter filter = codec_filter_next(frame, &offset);

		at += codec_put_string(out + at, filter.name);
		if (frame->type == CODEC_SUBSCRIBE)
			out[at++] = (unsigned char)(filter.qos | (filter.no_local ? 4 : 0) |
			                            (filter.retain_as_published ? 8 : 0) |
			                            filter.retain_handling << 4);
		FUZZ_CHECK(at == offset && offset <= frame->body_size);
	}
	FUZZ_CHECK(at == frame->body_size && memcmp(out, frame->body, at) == 0);
	free(out);
}

/* Without a reason that says nothing, and without properties, an acknowledgement is as it came. */
static void check_ack(const struct codec_frame *frame, const struct decoded *decoded)
{
	unsigned char *ack = malloc(CODEC_ACK_MAX);
	const uint16_t packet_id = (uint16_t)decoded->number;
	size_t size;

	FUZZ_CHECK(ack != NULL);
	size = codec_put_ack5(ack, frame->type, packet_id, (uint8_t)decoded->reason);
	FUZZ_CHECK(size == (decoded->reason == 0 ? 4 : 5));
	if (frame->body_size == size - 2)
		check_bytes(frame, ack, size);
	free(ack);
	ack = malloc(4);
	FUZZ_CHECK(ack != NULL && codec_put_ack(ack, frame->type, packet_id) == 4);
	FUZZ_CHECK(memcmp(ack + 2, frame->body, 2) == 0);
	free(ack);
}

/* The broker's DISCONNECT with this text and reason is one that a client could send. */
static void check_disconnect(uint8_t reason, struct slice text)
{
	unsigned char *out = malloc(11 + text.size);
	struct codec_disconnect disconnect;
	struct codec_frame frame;
	size_t size;

	FUZZ_CHECK(out != NULL);
	size = codec_put_disconnect(out, reason, text);
	FUZZ_CHECK(codec_frame(out, size, size, &frame) == 1 && frame.size == size);
	FUZZ_CHECK(codec_disconnect(&frame, CODEC_5, &disconnect) == 0);
	FUZZ_CHECK(disconnect.reason == reason && !disconnect.expiry_given);
	free(out);
}

void check_encoders(const struct codec_frame *frame, unsigned int version,
                    const struct decoded *decoded)
{
	const size_t header_size = frame->size - frame->body_size;
	unsigned char header[CODEC_HEADER_MAX];

	FUZZ_CHECK(codec_put_header(header, frame->type, frame->flags, frame->body_size) ==
	           header_size);
	check_bytes(frame, header, header_size);
	if (decoded->status != 0)
		return;
	if (frame->type == CODEC_PUBLISH && version == CODEC_5)
		check_publish5(frame);
	else if (frame->type == CODEC_PUBLISH)
		check_publish(frame);
	if (frame->type == CODEC_SUBSCRIBE || frame->type == CODEC_UNSUBSCRIBE)
		check_filters(frame, decoded);
	if (frame->type >= CODEC_PUBACK && frame->type <= CODEC_PUBCOMP)
		check_ack(frame, decoded);
	if (frame->type == CODEC_DISCONNECT)
		check_disconnect((uint8_t)decoded->reason, (struct slice){NULL, 0});
	if (frame->type == CODEC_CONNECT)
		check_disconnect(0x81, (struct slice){(const char *)frame->body + decoded->text_at,
		                                      decoded->text_size});
}

/* ---- Properties ---- */

static struct said said_by(const struct properties *properties, ptrdiff_t status)
{
	struct said said = {.status = status};

	if (status != 0)
		return said;
	said.present[0] = properties->present & UINT32_MAX;
	said.present[1] = (size_t)(properties->present >> 32);
	said.session_expiry = properties->session_expiry;
	said.message_expiry = properties->message_expiry;
	said.will_delay = properties->will_delay;
	said.packet_max = properties->packet_max;
	said.subscription_id = properties->subscription_id;
	said.receive_max = properties->receive_max;
	said.alias_max = properties->alias_max;
	said.alias = properties->alias;
	said.problem = properties->request_problem;
	said.response = properties->request_response;
	if (properties->auth_method.bytes != NULL)
		said.method_at = (size_t)(properties->auth_method.bytes - properties->bytes.bytes);
	said.method_size = properties->auth_method.size;
	return said;
}

/* Writes the numbers and the method that these properties have. */
static size_t put_all(unsigned char *out, const struct properties *from)
{
	static const enum property shorts[] = {PROPERTY_RECEIVE_MAXIMUM, PROPERTY_ALIAS_MAXIMUM,
	                                       PROPERTY_ALIAS};
	static const enum property longs[] = {PROPERTY_MESSAGE_EXPIRY, PROPERTY_SESSION_EXPIRY,
	                                      PROPERTY_WILL_DELAY, PROPERTY_MAXIMUM_PACKET_SIZE};
	const uint16_t short_values[] = {from->receive_max, from->alias_max, from->alias};
	const uint32_t long_values[] = {from->message_expiry, from->session_expiry,
	                                from->will_delay, from->packet_max};
	size_t at = 0;

	for (size_t i = 0; i < sizeof(shorts) / sizeof(*shorts); i++)
		if (from->present >> shorts[i] & 1)
			at += properties_put_u16(out + at, shorts[i], short_values[i]);
	for (size_t i = 0; i < sizeof(longs) / sizeof(*longs); i++)
		if (from->present >> longs[i] & 1)
			at += properties_put_u32(out + at, longs[i], long_values[i]);
	if (from->present >> PROPERTY_SUBSCRIPTION_ID & 1)
		at += properties_put_id(out + at, from->subscription_id);
	if (from->present >> PROPERTY_REQUEST_PROBLEM & 1)
		at += properties_put_byte(out + at, PROPERTY_REQUEST_PROBLEM,
		                          from->request_problem);
	if (from->present >> PROPERTY_REQUEST_RESPONSE & 1)
		at += properties_put_byte(out + at, PROPERTY_REQUEST_RESPONSE,
		                          from->request_response);
	if (from->auth_method.bytes != NULL)
		at += properties_put_text(out + at, PROPERTY_AUTH_METHOD, from->auth_method);
	return at;
}

/* They are written again: they say the same. */
static void check_rewritten(const struct properties *properties, unsigned int where)
{
	unsigned char *out = malloc(64 + properties->auth_method.size);
	struct properties again;
	struct said before = said_by(properties, 0), after;
	struct slice bytes = {(const char *)out, 0};

	FUZZ_CHECK(out != NULL);
	bytes.size = put_all(out, properties);
	after = said_by(&again, properties_decode(bytes, where, &again));
	FUZZ_CHECK(after.status == 0 && names_equal(again.auth_method, properties->auth_method));
	after.method_at = before.method_at;
	/* Those that are only passed on, or only the server's. */
	FUZZ_CHECK((after.present[0] & ~before.present[0]) == 0);
	FUZZ_CHECK((after.present[1] & ~before.present[1]) == 0);
	memcpy(after.present, before.present, sizeof(after.present));
	FUZZ_CHECK(memcmp(&after, &before, sizeof(after)) == 0);
	free(out);
}

void check_properties(const unsigned char *bytes, size_t size)
{
	const struct fuzz_copy copy = fuzz_copy(bytes, size), passed = fuzz_copy(bytes, size),
			       expected = fuzz_copy(bytes, size);
	const struct slice slice = {(const char *)copy.bytes, size};

	for (unsigned int where = 1; where <= PROPERTIES_OF_WILL; where++) {
		size_t passed_size, expected_size;
		struct properties properties;
		const struct said model =
			model5_properties(where, copy.bytes, size, expected.bytes, &expected_size);
		const struct said said =
			said_by(&properties, properties_decode(slice, where, &properties));

		FUZZ_CHECK(memcmp(&said, &model, sizeof(said)) == 0);
		if (said.status != 0)
			continue;
		passed_size = properties_forward(passed.bytes, slice);
		FUZZ_CHECK(passed_size == expected_size);
		FUZZ_CHECK(memcmp(passed.bytes, expected.bytes, passed_size) == 0);
		check_rewritten(&properties, where);
	}
	fuzz_uncopy(copy);
	fuzz_uncopy(passed);
	fuzz_uncopy(expected);
}
