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
 * - what the encoders make of what was decoded is what came, also of any bytes as properties of any
 *   packet; what of these is passed on to subscribers is what the model says.
 *
 * Each packet is decoded as one of 3.1.1 and as one of MQTT 5; the stream goes on in the version
 * that its last CONNECT has.
 */
#include <errno.h>

#include "mqtt/codec.h"
#include "decoder.h"
#include "fuzz.h"

static unsigned int stream_version;

/* Where a slice lies in the body; inside, or the target ends. None: 0. */
static void place(const struct codec_frame *frame, struct slice slice, size_t *at, size_t *size)
{
	if (slice.bytes == NULL)
		return;
	*at = (size_t)(slice.bytes - (const char *)frame->body);
	*size = slice.size;
	FUZZ_CHECK(*at <= frame->body_size && *size <= frame->body_size - *at);
}

static void decode_connect(const struct codec_frame *frame, struct decoded *decoded)
{
	struct codec_connect connect;

	decoded->status = codec_connect(frame, &connect);
	decoded->version = connect.version;
	if (decoded->status != 0)
		return;
	decoded->number = connect.keep_alive;
	decoded->flag = connect.clean;
	decoded->expiry = connect.session_expiry;
	decoded->alias = connect.alias_max;
	decoded->receive_max = connect.receive_max;
	decoded->packet_max = connect.packet_max;
	decoded->problem = connect.request_problem;
	place(frame, connect.auth_method, &decoded->method_at, &decoded->method_size);
	place(frame, connect.client_id, &decoded->text_at, &decoded->text_size);
	if (connect.will.topic.size > 0) {
		FUZZ_CHECK(connect.will.packet_id == 0 && !connect.will.duplicate);
		FUZZ_CHECK(connect.will.alias == 0);
		decoded->will_qos = connect.will.qos;
		decoded->will_retain = connect.will.retain;
		decoded->will_expiry = connect.will.expiry;
		decoded->will_delay = connect.will_delay;
		place(frame, connect.will.topic, &decoded->will_at, &decoded->will_size);
		place(frame, connect.will.payload, &decoded->will_payload_at,
		      &decoded->will_payload_size);
		place(frame, connect.will.properties, &decoded->will_properties_at,
		      &decoded->will_properties_size);
	}
	place(frame, connect.user_name, &decoded->user_at, &decoded->user_size);
	place(frame, connect.password, &decoded->password_at, &decoded->password_size);
}

static void decode_publish(const struct codec_frame *frame, enum codec_version version,
                           struct decoded *decoded)
{
	struct codec_publish publish;

	decoded->status = codec_publish(frame, version, &publish);
	if (decoded->status != 0)
		return;
	decoded->number = publish.packet_id;
	decoded->qos = publish.qos;
	decoded->flag = publish.retain;
	decoded->duplicate = publish.duplicate;
	decoded->expiry = publish.expiry;
	decoded->alias = publish.alias;
	place(frame, publish.topic, &decoded->text_at, &decoded->text_size);
	place(frame, publish.payload, &decoded->rest_at, &decoded->rest_size);
	place(frame, publish.properties, &decoded->properties_at, &decoded->properties_size);
}

static void decode_filters(const struct codec_frame *frame, enum codec_version version,
                           struct decoded *decoded)
{
	struct codec_filters filters;

	decoded->status = codec_filters(frame, version, &filters);
	decoded->number = filters.packet_id;
	decoded->count = filters.count;
	decoded->offset = filters.offset;
	decoded->subscription_id = filters.subscription_id;
}

/* What has a reason. */
static void decode_reason(const struct codec_frame *frame, enum codec_version version,
                          struct decoded *decoded)
{
	struct codec_disconnect disconnect;
	struct slice method = {NULL, 0};
	uint16_t packet_id = 0;
	uint8_t reason;

	if (frame->type == CODEC_DISCONNECT) {
		decoded->status = codec_disconnect(frame, version, &disconnect);
		reason = disconnect.reason;
		decoded->expiry = disconnect.session_expiry;
		decoded->expiry_given = disconnect.expiry_given;
	} else if (frame->type == CODEC_AUTH) {
		decoded->status = codec_auth(frame, &reason, &method);
	} else {
		decoded->status = codec_ack(frame, version, &packet_id, &reason);
	}
	decoded->number = packet_id;
	decoded->reason = reason;
	if (decoded->status == 0)
		place(frame, method, &decoded->method_at, &decoded->method_size);
}

static struct decoded decode(const struct codec_frame *frame, unsigned int version)
{
	const enum codec_version as = (enum codec_version)version;
	struct decoded decoded = {0};

	switch (frame->type) {
	case CODEC_CONNECT:
		decode_connect(frame, &decoded);
		break;
	case CODEC_PUBLISH:
		decode_publish(frame, as, &decoded);
		break;
	case CODEC_SUBSCRIBE:
	case CODEC_UNSUBSCRIBE:
		decode_filters(frame, as, &decoded);
		break;
	case CODEC_PINGREQ:
		decoded.status = codec_empty(frame);
		break;
	case CODEC_AUTH:
		if (as != CODEC_5) {
			decoded.status = -EPROTO; /* the protocol refuses it */
			break;
		}
		/* fall through */
	case CODEC_PUBACK:
	case CODEC_PUBREC:
	case CODEC_PUBREL:
	case CODEC_PUBCOMP:
	case CODEC_DISCONNECT:
		decode_reason(frame, as, &decoded);
		break;
	default:
		decoded.status = -EPROTO; /* no client sends that */
		break;
	}
	return decoded.status == 0
	               ? decoded
	               : (struct decoded){.status = decoded.status, .version = decoded.version};
}

/* If not, it tells which members differ, by their place in struct decoded. */
static bool equal(const struct decoded *a, const struct decoded *b)
{
	const size_t *left = (const size_t *)a, *right = (const size_t *)b;

	for (size_t i = 0; i < sizeof(*a) / sizeof(size_t); i++)
		if (left[i] != right[i])
			fprintf(stderr, "member %zu: %zd, %zd\n", i, left[i], right[i]);
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* The first `size` bytes of the body, alone: their decoder and the model agree. */
static struct decoded check_body(const struct codec_frame *frame, unsigned int version, size_t size)
{
	const unsigned int first_byte = frame->type * 16U + frame->flags;
	const struct fuzz_copy copy = fuzz_copy(frame->body, size);
	const struct codec_frame alone = {frame->type, frame->flags, copy.bytes, size, 0};
	const struct decoded decoded = decode(&alone, version);
	const struct decoded model = model_body(version, first_byte, copy.bytes, size);

	FUZZ_CHECK(equal(&decoded, &model));
	fuzz_uncopy(copy);
	return decoded;
}

void decoder_begin(void)
{
	stream_version = CODEC_311;
}

/* In both versions: what the stream is in decides only how it goes on. */
int decoder_handle(const struct codec_frame *frame)
{
	struct decoded of_stream = {0};

	for (unsigned int version = CODEC_311; version <= CODEC_5; version++) {
		const struct decoded here = decode(frame, version);
		const struct decoded alone = check_body(frame, version, frame->body_size);

		FUZZ_CHECK(equal(&here, &alone));
		check_encoders(frame, version, &here);
		if (version == stream_version)
			of_stream = here;
	}
	check_properties(frame->body, frame->body_size);
	if (of_stream.status != 0)
		return (int)of_stream.status;
	if (frame->type == CODEC_CONNECT)
		stream_version = (unsigned int)of_stream.version;
	return frame->type == CODEC_DISCONNECT ? -ECONNRESET : 1;
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
		for (size_t i = 0; i <= frame.body_size && i < 48; i++) {
			check_body(&frame, CODEC_311, i);
			check_body(&frame, CODEC_5, i);
		}
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
