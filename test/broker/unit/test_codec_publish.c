/* SPDX-License-Identifier: MIT */
/* The example broker's codec: PUBLISH, as MQTT 3.1.1, section 3.3, has it. */
#include "packets.h"

static const unsigned firsts[] = {0x30, 0x31, 0x32, 0x33, 0x3A, 0x3B, 0x34, 0x35, 0x3C, 0x3D};

static unsigned qos_of(unsigned first)
{
	return first >> 1 & 3;
}

static struct wire publish_of(unsigned first, struct slice topic, unsigned packet_id,
                              const char *payload)
{
	struct wire body = {0};

	wire_u16(&body, (unsigned)topic.size);
	wire_bytes(&body, topic.bytes, topic.size);
	if (qos_of(first) > 0)
		wire_u16(&body, packet_id);
	wire_bytes(&body, payload, strlen(payload));
	return body;
}

static int with_topic(const char *bytes, size_t size)
{
	struct slice topic = {bytes, size};
	struct wire body = publish_of(0x30, topic, 0, "payload");
	struct codec_publish publish;

	return decode_publish(0x30, &body, &publish);
}

Test(codec_publish, with_all_flags_it_is_what_was_sent, .timeout = 5)
{
	for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
		unsigned first = firsts[i];
		struct wire body = publish_of(first, slice_text("a/topic"), 0x1234, "payload");
		struct codec_publish publish;

		memset(&publish, 0xA5, sizeof(publish));
		cr_assert_eq(decode_publish(first, &body, &publish), 0, "%#x", first);
		cr_assert(slice_is(publish.topic, "a/topic"));
		cr_assert(slice_is(publish.payload, "payload"));
		cr_assert_eq(publish.packet_id, qos_of(first) > 0 ? 0x1234 : 0);
		cr_assert_eq(publish.qos, qos_of(first));
		cr_assert_eq(publish.retain, (first & 1) != 0);
		cr_assert_eq(publish.duplicate, (first & 8) != 0);
		cr_assert_eq(publish.properties.size, 0);
		cr_assert_eq(publish.expiry, PROPERTIES_NEVER);
		cr_assert_eq(publish.alias, 0);
	}
}

/* What is behind topic and packet id is payload, so only of these can a byte be missing. */
Test(codec_publish, topic_and_packet_id_must_be_there, .timeout = 5)
{
	for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
		struct wire body = publish_of(firsts[i], slice_text("topic"), 1, "");
		struct codec_publish publish;

		cr_assert_eq(decode_publish(firsts[i], &body, &publish), 0);
		cr_assert_eq(publish.payload.size, 0);
		while (body.size-- > 0)
			cr_assert_eq(decode_publish(firsts[i], &body, &publish), -EPROTO);
	}
}

Test(codec_publish, packet_id_zero_is_refused, .timeout = 5)
{
	for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
		struct wire body = publish_of(firsts[i], slice_text("topic"), 0, "payload");
		struct codec_publish publish;

		cr_assert_eq(decode_publish(firsts[i], &body, &publish),
		             qos_of(firsts[i]) > 0 ? -EPROTO : 0);
	}
}

Test(codec_publish, any_other_packet_id_is_told, .timeout = 5)
{
	static const unsigned ids[] = {1, 255, 256, 32767, 32768, 65280, 65535};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		struct wire body = publish_of(0x34, slice_text("topic"), ids[i], "");
		struct codec_publish publish;

		cr_assert_eq(decode_publish(0x34, &body, &publish), 0);
		cr_assert_eq(publish.packet_id, ids[i]);
	}
}

/* 3.3.1-2, 3.3.1-4 */
Test(codec_publish, qos_3_and_a_duplicate_of_qos_0_are_refused, .timeout = 5)
{
	static const unsigned wrong[] = {0x36, 0x37, 0x3E, 0x3F, 0x38, 0x39};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct wire body = publish_of(wrong[i], slice_text("topic"), 1, "payload");
		struct codec_publish publish;

		cr_assert_eq(decode_publish(wrong[i], &body, &publish), -EPROTO, "%#x", wrong[i]);
	}
}

Test(codec_publish, a_topic_longer_than_the_packet_is_refused, .timeout = 5)
{
	for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
		static const unsigned lengths[] = {6, 255, 256, 32768, 65535};

		for (size_t j = 0; j < sizeof(lengths) / sizeof(lengths[0]); j++) {
			struct wire body = {0};
			struct codec_publish publish;

			wire_u16(&body, lengths[j]);
			wire_bytes(&body, "topic", 5);
			cr_assert_eq(decode_publish(firsts[i], &body, &publish), -EPROTO);
		}
	}
}

/* Once by the high byte of its length, once by the low one. */
Test(codec_publish, a_topic_of_any_length_is_told, .timeout = 5)
{
	static const size_t sizes[] = {1, 255, 256, 257, 32768, 65535};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		static unsigned char body[2 + 65535 + 3];
		struct codec_frame frame = {.type = CODEC_PUBLISH};
		struct codec_publish publish;

		memset(body, 'x', sizeof(body));
		body[0] = (unsigned char)(sizes[i] >> 8);
		body[1] = (unsigned char)sizes[i];
		frame.body_size = 2 + sizes[i] + 3;
		frame.body = exactly(body, frame.body_size);
		frame.size = 4 + frame.body_size;
		cr_assert_eq(codec_publish(&frame, CODEC_311, &publish), 0);
		cr_assert_eq(publish.topic.size, sizes[i]);
		cr_assert_eq(publish.payload.size, 3);
	}
}

Test(codec_publish, its_topic_is_a_name_in_utf_8, .timeout = 5)
{
	cr_assert_eq(with_topic("/", 1), 0);
	cr_assert_eq(with_topic("z\xC3\xBCrich/\xF0\x9F\x98\x80", 12), 0);
	cr_assert_eq(with_topic("$SYS/x", 6), 0);
	cr_assert_eq(with_topic("", 0), -EPROTO);
	cr_assert_eq(with_topic("#", 1), -EPROTO);
	cr_assert_eq(with_topic("a/+", 3), -EPROTO);
	cr_assert_eq(with_topic("a+b", 3), -EPROTO);
	cr_assert_eq(with_topic("a#", 2), -EPROTO);
	cr_assert_eq(with_topic("a\0b", 3), -EPROTO);
	cr_assert_eq(with_topic("\xED\xA0\x80", 3), -EPROTO);
	cr_assert_eq(with_topic("\xC3", 1), -EPROTO);
}

Test(codec_publish, its_payload_may_be_any_bytes, .timeout = 5)
{
	struct wire body = publish_of(0x30, slice_text("t"), 0, "");
	struct codec_publish publish;

	for (unsigned byte = 0; byte < 256; byte++)
		wire_u8(&body, byte);
	cr_assert_eq(decode_publish(0x30, &body, &publish), 0);
	cr_assert_eq(publish.payload.size, 256);
	for (unsigned byte = 0; byte < 256; byte++)
		cr_assert_eq((unsigned char)publish.payload.bytes[byte], byte);
}

Test(codec_publish, topic_and_payload_point_into_the_bytes_given, .timeout = 5)
{
	struct wire body = publish_of(0x32, slice_text("topic"), 1, "payload");
	struct codec_frame frame;
	struct codec_publish publish;

	cr_assert_eq(frame_of(0x32, &body, &frame), 1);
	cr_assert_eq(codec_publish(&frame, CODEC_311, &publish), 0);
	cr_assert(publish.topic.bytes == (const char *)frame.body + 2);
	cr_assert(publish.payload.bytes == (const char *)frame.body + 9);
}
