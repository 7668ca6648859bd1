/* SPDX-License-Identifier: MIT */
/* The example broker's codec: its encoders, by their bytes and by what its decoder says. */
#include "packets.h"

#define UNTOUCHED 0xA5

static unsigned char out[70000];

/* Did it write exactly these bytes, all that it says? */
static bool wrote(size_t size, const void *wanted, size_t wanted_size)
{
	return size == wanted_size && memcmp(out, wanted, size) == 0 && out[size] == UNTOUCHED;
}

#define WROTE(size, literal) wrote(size, literal, sizeof(literal) - 1)

static void renew(void)
{
	memset(out, UNTOUCHED, sizeof(out));
}

Test(codec_encode, a_header_has_the_bytes_of_the_standards_table, .timeout = 5)
{
	static const struct {
		size_t remaining;
		const char *bytes;
		size_t size;
	} rows[] = {
		{0, "\x00", 1},
		{1, "\x01", 1},
		{127, "\x7F", 1},
		{128, "\x80\x01", 2},
		{321, "\xC1\x02", 2},
		{16383, "\xFF\x7F", 2},
		{16384, "\x80\x80\x01", 3},
		{2097151, "\xFF\xFF\x7F", 3},
		{2097152, "\x80\x80\x80\x01", 4},
		{268435455, "\xFF\xFF\xFF\x7F", 4},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		renew();
		cr_assert_eq(codec_put_header(out, CODEC_PUBLISH, 0x0D, rows[i].remaining),
		             1 + rows[i].size);
		cr_assert_eq(out[0], 0x3D);
		cr_assert_eq(memcmp(out + 1, rows[i].bytes, rows[i].size), 0, "%zu",
		             rows[i].remaining);
		cr_assert_eq(out[1 + rows[i].size], UNTOUCHED);
	}
}

Test(codec_encode, a_header_has_its_type_above_its_flags, .timeout = 5)
{
	for (unsigned type = 1; type < 15; type++)
		for (unsigned flags = 0; flags < 16; flags++) {
			cr_assert_eq(codec_put_header(out, (uint8_t)type, (uint8_t)flags, 0), 2);
			cr_assert_eq(out[0], type * 16 + flags);
		}
}

Test(codec_encode, a_header_is_decoded_as_it_was, .timeout = 30)
{
	uint64_t rng = test_seed();

	for (int i = 0; i < scaled(200000); i++) {
		uint32_t remaining = rng_below(&rng, REMAINING_MAX + 1) >> rng_below(&rng, 28);
		unsigned char wanted[4];
		struct codec_frame frame;
		size_t size = codec_put_header(out, CODEC_PUBLISH, 0, remaining);

		cr_assert_eq(size, 1 + remaining_length(wanted, remaining));
		cr_assert_eq(memcmp(out + 1, wanted, size - 1), 0);
		cr_assert_geq(codec_frame(out, size, SIZE_MAX, &frame), 0);
		cr_assert_eq(frame.size, size + remaining);
	}
}

Test(codec_encode, a_number_has_its_high_byte_first, .timeout = 5)
{
	renew();
	cr_assert(WROTE(codec_put_u16(out, 0x1234), "\x12\x34"));
	cr_assert(WROTE(codec_put_u16(out, 0), "\0\0"));
	cr_assert(WROTE(codec_put_u16(out, 65535), "\xFF\xFF"));
	cr_assert(WROTE(codec_put_u16(out, 256), "\x01\x00"));
}

Test(codec_encode, a_string_has_its_size_before_it, .timeout = 5)
{
	renew();
	cr_assert(WROTE(codec_put_string(out, slice_text("MQTT")), "\0\x04MQTT"));
	renew();
	cr_assert(WROTE(codec_put_string(out, slice_text("")), "\0\0"));
	cr_assert(WROTE(codec_put_string(out, (struct slice){NULL, 0}), "\0\0"));
}

Test(codec_encode, a_string_may_have_65535_bytes, .timeout = 5)
{
	static char text[65535];

	renew();
	memset(text, 'x', sizeof(text));
	cr_assert_eq(codec_put_string(out, (struct slice){text, sizeof(text)}), 65537);
	cr_assert_eq(memcmp(out, "\xFF\xFF", 2), 0);
	cr_assert_eq(memcmp(out + 2, text, sizeof(text)), 0);
	cr_assert_eq(out[65537], UNTOUCHED);
}

Test(codec_encode, a_connack_says_session_present_and_the_return_code, .timeout = 5)
{
	renew();
	cr_assert(WROTE(codec_put_connack(out, false, 0), "\x20\x02\x00\x00"));
	cr_assert(WROTE(codec_put_connack(out, true, 0), "\x20\x02\x01\x00"));
	cr_assert(WROTE(codec_put_connack(out, false, 1), "\x20\x02\x00\x01"));
	cr_assert(WROTE(codec_put_connack(out, false, 5), "\x20\x02\x00\x05"));
}

Test(codec_encode, acknowledgements_have_these_bytes, .timeout = 5)
{
	renew();
	cr_assert(WROTE(codec_put_ack(out, CODEC_PUBACK, 1), "\x40\x02\x00\x01"));
	cr_assert(WROTE(codec_put_ack(out, CODEC_PUBREC, 0x1234), "\x50\x02\x12\x34"));
	cr_assert(WROTE(codec_put_ack(out, CODEC_PUBREL, 0x1234), "\x62\x02\x12\x34"));
	cr_assert(WROTE(codec_put_ack(out, CODEC_PUBCOMP, 65535), "\x70\x02\xFF\xFF"));
	cr_assert(WROTE(codec_put_ack(out, CODEC_UNSUBACK, 256), "\xB0\x02\x01\x00"));
}

Test(codec_encode, acknowledgements_are_decoded_as_they_were, .timeout = 5)
{
	static const uint8_t types[] = {CODEC_PUBACK, CODEC_PUBREC, CODEC_PUBREL, CODEC_PUBCOMP};

	for (size_t i = 0; i < sizeof(types); i++)
		for (unsigned id = 1; id < 65536; id += 13) {
			struct codec_frame frame;
			uint16_t packet_id = 0;
			uint8_t reason;
			size_t size = codec_put_ack(out, types[i], (uint16_t)id);

			cr_assert_eq(codec_frame(out, size, 4, &frame), 1);
			cr_assert_eq(frame.type, types[i]);
			cr_assert_eq(codec_ack(&frame, CODEC_311, &packet_id, &reason), 0);
			cr_assert_eq(packet_id, id);
		}
}

Test(codec_encode, a_publish_of_qos_0_has_no_packet_id, .timeout = 5)
{
	struct codec_publish publish = {.topic = slice_text("a/b"), .payload = slice_text("hello")};

	renew();
	cr_assert(WROTE(codec_put_publish(out, &publish), "\x30\x0A\x00\x03"
	                                                  "a/b"));
}

Test(codec_encode, a_publish_has_its_flags_and_its_packet_id, .timeout = 5)
{
	struct codec_publish publish = {.topic = slice_text("a/b"),
	                                .payload = slice_text("hello"),
	                                .packet_id = 0x1234,
	                                .qos = 1};

	renew();
	cr_assert(WROTE(codec_put_publish(out, &publish), "\x32\x0C\x00\x03"
	                                                  "a/b\x12\x34"));
	publish.qos = 2;
	publish.retain = true;
	cr_assert(WROTE(codec_put_publish(out, &publish), "\x35\x0C\x00\x03"
	                                                  "a/b\x12\x34"));
	publish.duplicate = true;
	publish.retain = false;
	cr_assert(WROTE(codec_put_publish(out, &publish), "\x3C\x0C\x00\x03"
	                                                  "a/b\x12\x34"));
}

Test(codec_encode, a_publish_counts_a_payload_it_does_not_touch, .timeout = 5)
{
	struct codec_publish publish = {.topic = slice_text("t"),
	                                .payload = {NULL, REMAINING_MAX - 3}};

	renew();
	cr_assert(WROTE(codec_put_publish(out, &publish), "\x30\xFF\xFF\xFF\x7F\x00\x01t"));
}

Test(codec_encode, any_publish_is_decoded_as_it_was, .timeout = 30)
{
	uint64_t rng = test_seed();

	for (int i = 0; i < scaled(20000); i++) {
		static char text[20000];
		struct codec_publish put = {.topic = {text, 1 + rng_below(&rng, 300)},
		                            .payload = {text, rng_below(&rng, 20000)},
		                            .qos = (uint8_t)rng_below(&rng, 3),
		                            .retain = rng_below(&rng, 2) == 0};
		struct codec_publish got;
		struct codec_frame frame;
		size_t size;

		memset(text, 'a' + i % 26, sizeof(text));
		put.packet_id = put.qos ? (uint16_t)(1 + rng_below(&rng, 65535)) : 0;
		put.duplicate = put.qos && rng_below(&rng, 2) == 0;
		size = codec_put_publish(out, &put);
		cr_assert_leq(size, CODEC_HEADER_MAX + 2 + put.topic.size + 2);
		memcpy(out + size, text, put.payload.size);
		size += put.payload.size;
		cr_assert_eq(codec_frame(out, size, size, &frame), 1);
		cr_assert_eq(frame.size, size);
		cr_assert_eq(codec_publish(&frame, CODEC_311, &got), 0);
		cr_assert(names_equal(got.topic, put.topic));
		cr_assert(names_equal(got.payload, put.payload));
		cr_assert(got.packet_id == put.packet_id && got.qos == put.qos &&
		          got.retain == put.retain && got.duplicate == put.duplicate);
	}
}
