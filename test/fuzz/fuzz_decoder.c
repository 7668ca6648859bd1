/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: the example broker's decoder, from the bytes a socket brings to packets. An input's
 * first byte says how the others are cut into reads, the second how big a packet may be (low two
 * bits) and after which packets reading pauses. Properties:
 *
 * - no cut and no pause makes a difference, nor does the memory behind a packet;
 * - what is accepted, and as what, is what the model of the standard says, for each beginning of a
 *   packet, too; what is malformed is an error as soon as it can be seen, and stays one;
 * - nothing decoded lies outside its packet, nothing kept is longer than a packet and a read;
 * - to a stranger, who is let in some time after its CONNECT, the same happens, unless it begins
 *   with something else: then it is closed at its first byte;
 * - what the encoders make of what was decoded is what came.
 */
#include <errno.h>

#include "mqtt/codec.h"
#include "decoder.h"
#include "fuzz.h"

/* Where a slice lies in the body; inside, or the target ends. */
static void place(const struct codec_frame *frame, struct slice slice, size_t *at, size_t *size)
{
	*at = (size_t)(slice.bytes - (const char *)frame->body);
	*size = slice.size;
	FUZZ_CHECK(*at <= frame->body_size && *size <= frame->body_size - *at);
}

static void decode_connect(const struct codec_frame *frame, struct decoded *decoded)
{
	struct codec_connect connect;

	decoded->status = codec_connect(frame, &connect);
	if (connect.version == CODEC_5)
		decoded->status = -EPROTONOSUPPORT;
	if (decoded->status != 0)
		return;
	decoded->number = connect.keep_alive;
	decoded->flag = connect.clean;
	place(frame, connect.client_id, &decoded->text_at, &decoded->text_size);
	if (connect.will.topic.size > 0) {
		FUZZ_CHECK(connect.will.packet_id == 0 && !connect.will.duplicate);
		decoded->will_qos = connect.will.qos;
		decoded->will_retain = connect.will.retain;
		place(frame, connect.will.topic, &decoded->will_at, &decoded->will_size);
		place(frame, connect.will.payload, &decoded->will_payload_at,
		      &decoded->will_payload_size);
	}
	if (connect.user_name.bytes != NULL)
		place(frame, connect.user_name, &decoded->user_at, &decoded->user_size);
	if (connect.password.bytes != NULL)
		place(frame, connect.password, &decoded->password_at, &decoded->password_size);
}

static struct decoded decode(const struct codec_frame *frame)
{
	struct decoded decoded = {0};
	struct codec_publish publish;
	struct codec_filters filters;
	struct codec_disconnect disconnect;
	uint8_t reason;

	switch (frame->type) {
	case CODEC_CONNECT:
		decode_connect(frame, &decoded);
		break;
	case CODEC_PUBLISH:
		decoded.status = codec_publish(frame, CODEC_311, &publish);
		if (decoded.status != 0)
			break;
		decoded.number = publish.packet_id;
		decoded.qos = publish.qos;
		decoded.flag = publish.retain;
		decoded.duplicate = publish.duplicate;
		place(frame, publish.topic, &decoded.text_at, &decoded.text_size);
		place(frame, publish.payload, &decoded.rest_at, &decoded.rest_size);
		break;
	case CODEC_PUBACK:
	case CODEC_PUBREC:
	case CODEC_PUBREL:
	case CODEC_PUBCOMP:
		decoded.status = codec_ack(frame, CODEC_311, &decoded.number, &reason);
		break;
	case CODEC_SUBSCRIBE:
	case CODEC_UNSUBSCRIBE:
		decoded.status = codec_filters(frame, CODEC_311, &filters);
		decoded.number = filters.packet_id;
		decoded.count = filters.count;
		break;
	case CODEC_DISCONNECT:
		decoded.status = codec_disconnect(frame, CODEC_311, &disconnect);
		break;
	case CODEC_PINGREQ:
		decoded.status = codec_empty(frame);
		break;
	default:
		decoded.status = -EPROTO; /* no client sends that */
		break;
	}
	return decoded.status == 0 ? decoded : (struct decoded){.status = decoded.status};
}

static void check_equal(const struct decoded *a, const struct decoded *b)
{
	FUZZ_CHECK(a->status == b->status);
	FUZZ_CHECK(a->number == b->number && a->qos == b->qos && a->flag == b->flag);
	FUZZ_CHECK(a->text_at == b->text_at && a->text_size == b->text_size);
	FUZZ_CHECK(a->rest_at == b->rest_at && a->rest_size == b->rest_size);
	FUZZ_CHECK(a->count == b->count && a->duplicate == b->duplicate);
	FUZZ_CHECK(a->will_qos == b->will_qos && a->will_retain == b->will_retain);
	FUZZ_CHECK(a->will_at == b->will_at && a->will_size == b->will_size);
	FUZZ_CHECK(a->will_payload_at == b->will_payload_at);
	FUZZ_CHECK(a->will_payload_size == b->will_payload_size);
	FUZZ_CHECK(a->user_at == b->user_at && a->user_size == b->user_size);
	FUZZ_CHECK(a->password_at == b->password_at && a->password_size == b->password_size);
}

/* The first `size` bytes of the body, alone: their decoder and the model agree. */
static struct decoded check_body(const struct codec_frame *frame, size_t size)
{
	const unsigned int first_byte = frame->type * 16U + frame->flags;
	const struct fuzz_copy copy = fuzz_copy(frame->body, size);
	const struct codec_frame alone = {frame->type, frame->flags, copy.bytes, size, 0};
	const struct decoded decoded = decode(&alone);
	const struct decoded model = model_body(first_byte, copy.bytes, size);

	check_equal(&decoded, &model);
	fuzz_uncopy(copy);
	return decoded;
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
	FUZZ_CHECK(memcmp(out, frame->body - (frame->size - frame->body_size), size) == 0);
	free(out);
}

static void check_filters(const struct codec_frame *frame, const struct decoded *decoded)
{
	unsigned char *out = malloc(frame->body_size);
	size_t at, offset = 2;
	struct codec_filter filter;

	FUZZ_CHECK(out != NULL);
	at = codec_put_u16(out, decoded->number);
	for (size_t i = 0; i < decoded->count; i++) {
		filter = codec_filter_next(frame, &offset);
		at += codec_put_string(out + at, filter.name);
		if (frame->type == CODEC_SUBSCRIBE)
			out[at++] = filter.qos;
		FUZZ_CHECK(at == offset && offset <= frame->body_size);
	}
	FUZZ_CHECK(at == frame->body_size && memcmp(out, frame->body, at) == 0);
	free(out);
}

static void check_encoders(const struct codec_frame *frame, const struct decoded *decoded)
{
	const size_t header_size = frame->size - frame->body_size;
	unsigned char header[CODEC_HEADER_MAX], *ack;

	FUZZ_CHECK(codec_put_header(header, frame->type, frame->flags, frame->body_size) ==
	           header_size);
	FUZZ_CHECK(memcmp(header, frame->body - header_size, header_size) == 0);
	if (decoded->status != 0)
		return;
	if (frame->type == CODEC_PUBLISH)
		check_publish(frame);
	if (frame->type == CODEC_SUBSCRIBE || frame->type == CODEC_UNSUBSCRIBE)
		check_filters(frame, decoded);
	if (frame->type >= CODEC_PUBACK && frame->type <= CODEC_PUBCOMP) {
		ack = malloc(4);
		FUZZ_CHECK(ack != NULL && codec_put_ack(ack, frame->type, decoded->number) == 4);
		FUZZ_CHECK(memcmp(ack, frame->body - header_size, 4) == 0);
		free(ack);
	}
}

int decoder_handle(const struct codec_frame *frame)
{
	const struct decoded here = decode(frame);
	const struct decoded alone = check_body(frame, frame->body_size);

	check_equal(&here, &alone);
	check_encoders(frame, &here);
	if (here.status == 0 && frame->type == CODEC_DISCONNECT)
		return -ECONNRESET;
	return here.status == 0 ? 1 : here.status;
}

/* The beginning of a packet, alone: its frame is what the model says. */
static int check_frame(const unsigned char *bytes, size_t size, size_t size_max, size_t *whole)
{
	const struct fuzz_copy copy = fuzz_copy(bytes, size);
	const int expected = model_frame(copy.bytes, size, size_max, whole);
	struct codec_frame frame;

	FUZZ_CHECK(codec_frame(copy.bytes, size, size_max, &frame) == expected);
	FUZZ_CHECK(expected < 0 || frame.size == *whole);
	if (expected > 0) {
		FUZZ_CHECK(frame.type == copy.bytes[0] / 16 && frame.flags == copy.bytes[0] % 16);
		FUZZ_CHECK(frame.body + frame.body_size == copy.bytes + *whole);
	}
	fuzz_uncopy(copy);
	return expected;
}

/* Each beginning of each packet; returns where the first packet begins that is none. */
static size_t check_beginnings(const unsigned char *bytes, size_t size, size_t size_max)
{
	size_t at = 0, whole = 0, part, left;
	struct codec_frame frame;
	int status, before;

	for (;; at += whole) {
		left = size - at;
		before = 0;
		for (size_t i = 0; i <= left && i <= 7; i++) {
			check_frame(bytes + at, i, SIZE_MAX, &part);
			status = check_frame(bytes + at, i, size_max, &part);
			FUZZ_CHECK(before == 0 || status == before); /* what it is, it stays */
			before = status;
		}
		status = check_frame(bytes + at, left, size_max, &whole);
		FUZZ_CHECK(before == 0 || status == before);
		if (status <= 0)
			return at;
		check_frame(bytes + at, whole - 1, size_max, &part);
		FUZZ_CHECK(codec_frame(bytes + at, left, size_max, &frame) == 1);
		for (size_t i = 0; i < frame.body_size && i < 48; i++)
			check_body(&frame, i);
	}
}

static void check_same(const struct trace *a, const struct trace *b)
{
	FUZZ_CHECK(a->packets == b->packets && a->hash == b->hash);
	FUZZ_CHECK(a->used == b->used);
	FUZZ_CHECK(a->closed == b->closed && a->malformed == b->malformed);
	FUZZ_CHECK(a->kept == b->kept && a->kept_hash == b->kept_hash);
}

static void check_stranger(const struct trace *strange, const struct trace *whole, uint8_t first)
{
	if (first / 16 == CODEC_CONNECT)
		check_same(strange, whole);
	else
		FUZZ_CHECK(strange->closed && strange->malformed && strange->packets == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t sizes_max[] = {40, 300, 5000, 20000};
	struct delivery delivery = {0};
	struct trace whole, pieces;
	size_t end;

	if (size < 2 || size > 60000)
		return 0;
	delivery.bytes = data + 2;
	delivery.size = size - 2;
	delivery.size_max = sizes_max[data[1] % 4];
	end = check_beginnings(delivery.bytes, delivery.size, delivery.size_max);
	whole = connection_read(&delivery);
	delivery.cuts = 1 + data[0];
	delivery.pauses = data[1] / 4;
	pieces = connection_read(&delivery);

	check_same(&whole, &pieces);
	FUZZ_CHECK(whole.used <= end);
	if (!whole.closed)
		FUZZ_CHECK(whole.used == end && whole.kept == delivery.size - end);
	delivery.login = 1 + data[0] % 5;
	pieces = connection_read(&delivery);
	if (delivery.size > 0)
		check_stranger(&pieces, &whole, delivery.bytes[0]);
	return 0;
}
