/* SPDX-License-Identifier: MIT */
/*
 * The example broker's codec (examples/broker/codec.h): fixed headers, as MQTT 3.1.1, section 2.2,
 * has them, and the packets that have little besides: acknowledgements, PINGREQ, DISCONNECT.
 */
#include "packets.h"

/* The first bytes that a client may send: 2.2.2, table 2.2; 3.3.1 for PUBLISH. */
static bool first_allowed(unsigned first)
{
	unsigned flags = first & 0x0F;
	unsigned qos = flags >> 1 & 3;

	switch (first >> 4) {
	case CODEC_CONNECT:
	case CODEC_PUBACK:
	case CODEC_PUBREC:
	case CODEC_PUBCOMP:
	case CODEC_PINGREQ:
	case CODEC_DISCONNECT:
	case CODEC_AUTH:
		return flags == 0;
	case CODEC_PUBREL:
	case CODEC_SUBSCRIBE:
	case CODEC_UNSUBSCRIBE:
		return flags == 2;
	case CODEC_PUBLISH:
		return qos != 3 && (qos != 0 || (flags & 8) == 0);
	default:
		return false;
	}
}

/* A header alone, of `size` bytes. */
static int frame_bytes(const unsigned char *bytes, size_t size, struct codec_frame *frame)
{
	return codec_frame(exactly(bytes, size), size, SIZE_MAX, frame);
}

/* Is the header of a PUBLISH with this remaining length understood, whole and in part? */
static bool remaining_understood(size_t remaining)
{
	unsigned char header[5] = {0x30};
	size_t size = 1 + remaining_length(header + 1, remaining);
	struct codec_frame frame;

	for (size_t part = 0; part < size; part++)
		if (frame_bytes(header, part, &frame) != 0 || frame.size != 0)
			return false;
	return frame_bytes(header, size, &frame) == (remaining == 0) &&
	       frame.size == size + remaining;
}

Test(codec, no_bytes_are_no_packet_and_no_error, .timeout = 5)
{
	struct codec_frame frame = {.size = 77};

	cr_assert_eq(codec_frame(NULL, 0, 100, &frame), 0);
	cr_assert_eq(frame.size, 0);
}

Test(codec, of_all_first_bytes_those_of_a_client_are_taken, .timeout = 5)
{
	for (unsigned first = 0; first < 256; first++) {
		struct wire body = {0};
		struct codec_frame frame;
		int found;

		wire_u16(&body, 0x1234);
		found = frame_of(first, &body, &frame);
		cr_assert_eq(found, first_allowed(first) ? 1 : -EPROTO, "%#x: %d", first, found);
		if (found == 1)
			cr_assert(frame.type == first >> 4 && frame.flags == (first & 0x0F));
	}
}

Test(codec, a_forbidden_first_byte_is_refused_before_its_body_comes, .timeout = 5)
{
	for (unsigned first = 0; first < 256; first++) {
		unsigned char header[2] = {(unsigned char)first, 100};
		struct codec_frame frame;
		int found = frame_bytes(header, 2, &frame);

		cr_assert_eq(found, first_allowed(first) ? 0 : -EPROTO, "%#x: %d", first, found);
	}
}

Test(codec, a_first_byte_alone_is_never_a_packet, .timeout = 5)
{
	for (unsigned first = 0; first < 256; first++) {
		unsigned char byte = (unsigned char)first;
		struct codec_frame frame;
		int found = frame_bytes(&byte, 1, &frame);

		if (first_allowed(first))
			cr_assert(found == 0 && frame.size == 0);
		else
			cr_assert(found == 0 || found == -EPROTO);
	}
}

Test(codec, a_frame_is_its_type_flags_body_and_size, .timeout = 5)
{
	static const unsigned char bytes[] = {0x3D, 0x03, 'a', 'b', 'c', 0xC0, 0x00};
	unsigned char *copy = exactly(bytes, sizeof(bytes));
	struct codec_frame frame;

	cr_assert_eq(codec_frame(copy, sizeof(bytes), 100, &frame), 1);
	cr_assert_eq(frame.type, CODEC_PUBLISH);
	cr_assert_eq(frame.flags, 0x0D);
	cr_assert(frame.body == copy + 2);
	cr_assert_eq(frame.body_size, 3);
	cr_assert_eq(frame.size, 5);
}

Test(codec, the_next_packet_is_found_behind_the_first, .timeout = 5)
{
	static const unsigned char bytes[] = {0x40, 0x02, 0x00, 0x07, 0xC0, 0x00, 0xE0, 0x00};
	static const unsigned types[] = {CODEC_PUBACK, CODEC_PINGREQ, CODEC_DISCONNECT};
	unsigned char *copy = exactly(bytes, sizeof(bytes));
	size_t at = 0;

	for (size_t i = 0; i < 3; i++) {
		struct codec_frame frame;

		cr_assert_eq(codec_frame(copy + at, sizeof(bytes) - at, 100, &frame), 1);
		cr_assert_eq(frame.type, types[i]);
		at += frame.size;
	}
	cr_assert_eq(at, sizeof(bytes));
}

Test(codec, each_prefix_of_a_packet_asks_for_more, .timeout = 5)
{
	unsigned char packet[203] = {0x32, 0xC8, 0x01, 0x00, 0x01, 't', 0x00, 0x09};

	for (size_t size = 0; size < sizeof(packet); size++) {
		struct codec_frame frame;

		cr_assert_eq(frame_bytes(packet, size, &frame), 0, "%zu", size);
		cr_assert_eq(frame.size, size < 3 ? 0 : sizeof(packet), "%zu", size);
	}
	cr_assert_eq(frame_bytes(packet, sizeof(packet), &(struct codec_frame){0}), 1);
}

Test(codec, remaining_lengths_at_their_borders_are_understood, .timeout = 5)
{
	static const size_t borders[] = {0,     1,     127,     128,     129,       255,
	                                 16383, 16384, 2097151, 2097152, 268435454, 268435455};

	for (size_t i = 0; i < sizeof(borders) / sizeof(borders[0]); i++)
		cr_assert(remaining_understood(borders[i]), "%zu", borders[i]);
}

Test(codec, remaining_lengths_of_up_to_three_bytes_are_all_understood, .timeout = 30)
{
	size_t step = BATON_TEST_SANITIZED ? 37 : 1;

	for (size_t remaining = 0; remaining < 40000; remaining += step)
		cr_assert(remaining_understood(remaining), "%zu", remaining);
}

Test(codec, remaining_lengths_at_random_are_understood, .timeout = 30)
{
	uint64_t rng = test_seed();

	for (int i = 0; i < scaled(100000); i++) {
		uint32_t remaining = rng_below(&rng, REMAINING_MAX + 1) >> rng_below(&rng, 28);

		cr_assert(remaining_understood(remaining), "%u", remaining);
	}
}

Test(codec, a_packet_of_the_greatest_length_is_found, .timeout = 30)
{
	size_t size = 5 + (size_t)REMAINING_MAX;
	unsigned char *bytes = calloc(1, size);
	struct codec_frame frame;

	cr_assert_not_null(bytes);
	bytes[0] = 0x30;
	memcpy(bytes + 1, "\xFF\xFF\xFF\x7F", 4);
	cr_assert_eq(codec_frame(bytes, size - 1, SIZE_MAX, &frame), 0);
	cr_assert_eq(codec_frame(bytes, size, SIZE_MAX, &frame), 1);
	cr_assert_eq(frame.body_size, REMAINING_MAX);
	cr_assert_eq(frame.size, size);
	free(bytes);
}

Test(codec, a_remaining_length_has_at_most_four_bytes, .timeout = 5)
{
	for (unsigned fourth = 0x80; fourth < 256; fourth++) {
		unsigned char header[] = {0x30, 0x80, 0x80, 0x80, (unsigned char)fourth, 0x01};
		struct codec_frame frame;

		cr_assert_eq(frame_bytes(header, 4, &frame), 0);
		cr_assert_eq(frame_bytes(header, 5, &frame), -EPROTO, "%#x", fourth);
		cr_assert_eq(frame_bytes(header, 6, &frame), -EPROTO, "%#x", fourth);
	}
}

/* 2.2.3, table 2.4: two bytes are from 128 on, three from 16384, four from 2097152. */
Test(codec, a_remaining_length_longer_than_needed_is_refused, .timeout = 5)
{
	static const unsigned char last[] = {0x00, 0x80, 0xFF};

	for (size_t more = 1; more <= 3; more++)
		for (size_t i = 0; i < sizeof(last); i++) {
			unsigned char header[5] = {0xC0, last[i] | 0x80, 0x80, 0x80, 0x80};
			struct codec_frame frame;

			header[1 + more] = 0;
			cr_assert_eq(frame_bytes(header, 1 + more, &frame), 0);
			cr_assert_eq(frame.size, 0);
			cr_assert_eq(frame_bytes(header, 2 + more, &frame), -EPROTO);
		}
}

Test(codec, the_limit_counts_the_header_and_is_itself_allowed, .timeout = 5)
{
	unsigned char packet[103] = {0x30, 0x65};
	unsigned char longer[203] = {0x30, 0xC8, 0x01};
	struct codec_frame frame;

	cr_assert_eq(codec_frame(packet, 103, 103, &frame), 1);
	cr_assert_eq(codec_frame(packet, 103, 102, &frame), -EMSGSIZE);
	cr_assert_eq(codec_frame(longer, 203, 203, &frame), 1);
	cr_assert_eq(codec_frame(longer, 203, 202, &frame), -EMSGSIZE);
}

Test(codec, a_packet_over_the_limit_is_refused_once_its_header_is_there, .timeout = 5)
{
	unsigned char header[5] = {0x30, 0xFF, 0xFF, 0xFF, 0x7F};
	struct codec_frame frame;

	for (size_t size = 0; size < 5; size++)
		cr_assert_eq(codec_frame(exactly(header, size), size, 1000, &frame), 0);
	cr_assert_eq(codec_frame(exactly(header, 5), 5, 1000, &frame), -EMSGSIZE);
	cr_assert_eq(codec_frame(header, 5, REMAINING_MAX + 4, &frame), -EMSGSIZE);
	cr_assert_eq(codec_frame(header, 5, REMAINING_MAX + 5, &frame), 0);
}

Test(codec, any_bytes_give_an_answer_that_fits_them, .timeout = 30)
{
	uint64_t rng = test_seed();

	for (int i = 0; i < scaled(200000); i++) {
		unsigned char bytes[12];
		size_t size = rng_below(&rng, 13);
		size_t limit = rng_below(&rng, 300);
		struct codec_frame frame = {0};
		int found;

		for (size_t at = 0; at < size; at++)
			bytes[at] = (unsigned char)(rng_below(&rng, 256) >> rng_below(&rng, 5));
		found = codec_frame(exactly(bytes, size), size, limit, &frame);
		cr_assert(found == 0 || found == 1 || found == -EPROTO || found == -EMSGSIZE);
		if (found == 1)
			cr_assert(frame.size <= size && frame.size <= limit &&
			          frame.body_size <= frame.size - 2);
		if (found == 0)
			cr_assert(frame.size == 0 || (frame.size > size && frame.size <= limit));
	}
}

static const unsigned char ack_firsts[] = {0x40, 0x50, 0x62, 0x70};

Test(codec, an_acknowledgement_is_its_packet_id, .timeout = 5)
{
	for (size_t i = 0; i < sizeof(ack_firsts); i++) {
		for (unsigned id = 1; id < 65536; id += BATON_TEST_SANITIZED ? 127 : 1) {
			struct wire body = {0};
			struct codec_frame frame;
			uint16_t packet_id = 0;
			uint8_t reason = 77;

			wire_u16(&body, id);
			cr_assert_eq(frame_of(ack_firsts[i], &body, &frame), 1);
			cr_assert_eq(codec_ack(&frame, CODEC_311, &packet_id, &reason), 0);
			cr_assert_eq(packet_id, id);
			cr_assert_eq(reason, 0);
		}
	}
}

/* No packet that could be acknowledged has it: 2.3.1. */
Test(codec, an_acknowledgement_of_packet_id_zero_is_refused, .timeout = 5)
{
	for (size_t i = 0; i < sizeof(ack_firsts); i++) {
		struct wire body = {0};
		struct codec_frame frame;
		uint16_t packet_id;
		uint8_t reason;

		wire_u16(&body, 0);
		cr_assert_eq(frame_of(ack_firsts[i], &body, &frame), 1);
		cr_assert_eq(codec_ack(&frame, CODEC_311, &packet_id, &reason), -EPROTO);
	}
}

Test(codec, an_acknowledgement_has_exactly_two_bytes, .timeout = 5)
{
	for (size_t i = 0; i < sizeof(ack_firsts); i++) {
		for (size_t size = 0; size < 200; size++) {
			struct wire body = {.size = size, .bytes = {1, 1, 1}};
			struct codec_frame frame;
			uint16_t packet_id;
			uint8_t reason;

			cr_assert_eq(frame_of(ack_firsts[i], &body, &frame), 1);
			cr_assert_eq(codec_ack(&frame, CODEC_311, &packet_id, &reason),
			             size == 2 ? 0 : -EPROTO);
		}
	}
}

Test(codec, pingreq_and_disconnect_have_no_body, .timeout = 5)
{
	for (size_t size = 0; size < 200; size++) {
		struct wire body = {.size = size};
		struct codec_disconnect disconnect;
		struct codec_frame frame;

		cr_assert_eq(frame_of(0xC0, &body, &frame), 1);
		cr_assert_eq(codec_empty(&frame), size == 0 ? 0 : -EPROTO);
		cr_assert_eq(frame_of(0xE0, &body, &frame), 1);
		cr_assert_eq(codec_disconnect(&frame, CODEC_311, &disconnect),
		             size == 0 ? 0 : -EPROTO);
		cr_assert(disconnect.reason == 0 && !disconnect.expiry_given);
	}
}
