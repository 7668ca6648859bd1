/* SPDX-License-Identifier: MIT */
/* The example broker's codec: CONNECT, as MQTT 3.1.1, section 3.1, has it. */
#include "packets.h"

enum {
	CLEAN = 0x02,
	WILL = 0x04,
	WILL_QOS = 0x08, /* times 0 to 3 */
	WILL_RETAIN = 0x20,
	PASSWORD = 0x40,
	USER_NAME = 0x80,
	ALL = CLEAN | WILL | WILL_RETAIN | PASSWORD | USER_NAME | WILL_QOS,
};

static void put_head(struct wire *body, unsigned flags)
{
	wire_text(body, "MQTT");
	wire_u8(body, 4);
	wire_u8(body, flags);
	wire_u16(body, 60);
}

/* The fields that the flags announce. */
static struct wire connect_of(unsigned flags)
{
	struct wire body = {0};

	put_head(&body, flags);
	wire_text(&body, "me");
	if (flags & WILL) {
		wire_text(&body, "will/topic");
		wire_text(&body, "goodbye");
	}
	if (flags & USER_NAME)
		wire_text(&body, "user");
	if (flags & PASSWORD)
		wire_text(&body, "secret");
	return body;
}

static bool flags_allowed(unsigned flags)
{
	if (flags & 1)
		return false; /* 3.1.2-3 */
	if (!(flags & WILL) && (flags & (3 * WILL_QOS | WILL_RETAIN)))
		return false; /* 3.1.2-11, 13, 15 */
	if ((flags & 3 * WILL_QOS) == 3 * WILL_QOS)
		return false;                              /* 3.1.2-14 */
	return (flags & USER_NAME) || !(flags & PASSWORD); /* 3.1.2-22 */
}

/* Does it say what connect_of has put there? */
static void assert_is(const struct codec_connect *connect, unsigned flags)
{
	cr_assert(slice_is(connect->client_id, "me"));
	cr_assert_eq(connect->keep_alive, 60);
	cr_assert_eq(connect->clean, (flags & CLEAN) != 0);
	if (flags & WILL) {
		cr_assert(slice_is(connect->will.topic, "will/topic"));
		cr_assert(slice_is(connect->will.payload, "goodbye"));
		cr_assert_eq(connect->will.qos, flags / WILL_QOS & 3);
		cr_assert_eq(connect->will.retain, (flags & WILL_RETAIN) != 0);
		cr_assert_not(connect->will.duplicate);
		cr_assert_eq(connect->will.packet_id, 0);
		cr_assert_null(connect->will.properties.bytes);
	} else {
		cr_assert_eq(connect->will.topic.size, 0);
	}
	if (flags & USER_NAME)
		cr_assert(slice_is(connect->user_name, "user"));
	else
		cr_assert_null(connect->user_name.bytes);
	if (flags & PASSWORD)
		cr_assert(slice_is(connect->password, "secret"));
	else
		cr_assert_null(connect->password.bytes);
}

/* A CONNECT of ALL whose fields are given; NULL: as they are. */
static int with_fields(struct slice id, struct slice topic, struct slice user)
{
	struct wire body = {0};
	struct codec_connect connect;

	put_head(&body, ALL);
	wire_u16(&body, (unsigned)id.size);
	wire_bytes(&body, id.bytes, id.size);
	wire_u16(&body, (unsigned)topic.size);
	wire_bytes(&body, topic.bytes, topic.size);
	wire_text(&body, "goodbye");
	wire_u16(&body, (unsigned)user.size);
	wire_bytes(&body, user.bytes, user.size);
	wire_text(&body, "secret");
	return decode_connect(&body, &connect);
}

static int with_protocol(const char *name, unsigned level)
{
	struct wire body = {0};
	struct codec_connect connect;

	wire_text(&body, name);
	wire_u8(&body, level);
	wire_u8(&body, CLEAN);
	wire_u16(&body, 0);
	wire_text(&body, "me");
	return decode_connect(&body, &connect);
}

Test(codec_connect, of_all_flags_the_allowed_are_taken_and_told, .timeout = 5)
{
	for (unsigned flags = 0; flags < 256; flags++) {
		struct wire body = connect_of(flags);
		struct codec_connect connect;
		int status;

		memset(&connect, 0xA5, sizeof(connect));
		status = decode_connect(&body, &connect);
		cr_assert_eq(status, flags_allowed(flags) ? 0 : -EPROTO, "%#x: %d", flags, status);
		if (status == 0)
			assert_is(&connect, flags);
	}
}

Test(codec_connect, with_any_flags_no_byte_may_be_missing, .timeout = 5)
{
	for (unsigned flags = 0; flags < 256; flags++) {
		struct wire body = connect_of(flags);
		struct codec_connect connect;

		while (body.size-- > 0)
			cr_assert_eq(decode_connect(&body, &connect), -EPROTO, "%#x, %zu bytes",
			             flags, body.size);
	}
}

Test(codec_connect, with_any_flags_no_byte_may_follow, .timeout = 5)
{
	for (unsigned flags = 0; flags < 256; flags++) {
		struct wire body = connect_of(flags);
		struct codec_connect connect;

		wire_u8(&body, 0);
		cr_assert_eq(decode_connect(&body, &connect), -EPROTO, "%#x", flags);
		wire_u8(&body, 0);
		cr_assert_eq(decode_connect(&body, &connect), -EPROTO, "%#x", flags);
	}
}

/* Each length in turn says one, or very many, more than there are. */
Test(codec_connect, a_field_longer_than_the_packet_is_refused, .timeout = 5)
{
	static const size_t lengths[] = {10, 14, 26, 35, 41};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct wire body = connect_of(ALL);
		struct codec_connect connect;

		cr_assert_eq(body.bytes[lengths[i]], 0);
		body.bytes[lengths[i]] = 0xFF;
		cr_assert_eq(decode_connect(&body, &connect), -EPROTO, "%zu", lengths[i]);
		body.bytes[lengths[i]] = 0;
		body.bytes[lengths[i] + 1]++;
		cr_assert_eq(decode_connect(&body, &connect), -EPROTO, "%zu", lengths[i]);
	}
}

/* The body of a CONNECT of 3.1.1 is malformed for 5: its client id begins with 0, no properties. */
Test(codec_connect, of_all_levels_of_mqtt_four_and_five_are_supported, .timeout = 5)
{
	for (unsigned level = 0; level < 256; level++)
		cr_assert_eq(with_protocol("MQTT", level), level == 4   ? 0
		                                           : level == 5 ? -EPROTO
		                                                        : -EPROTONOSUPPORT);
}

Test(codec_connect, another_protocol_is_told_from_another_level, .timeout = 5)
{
	static const char *const names[] = {"MQIsdp", "mqtt", "MQT", "MQTU", "MQTTT", "AMQP", ""};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (unsigned level = 0; level < 256; level++)
			cr_assert_eq(with_protocol(names[i], level), -EPFNOSUPPORT);
}

/* What a later level has behind its flags is not for this one to judge. */
Test(codec_connect, another_level_is_told_whatever_follows_it, .timeout = 5)
{
	struct wire body = {0};
	struct codec_connect connect;

	wire_text(&body, "MQTT");
	wire_u8(&body, 6);
	wire_u8(&body, CLEAN);
	wire_u16(&body, 60);
	wire_u8(&body, 0); /* properties */
	wire_text(&body, "me");
	cr_assert_eq(decode_connect(&body, &connect), -EPROTONOSUPPORT);
	cr_assert_eq(connect.version, 0);
}

Test(codec_connect, any_keep_alive_is_told, .timeout = 5)
{
	static const unsigned values[] = {0, 1, 255, 256, 0x1234, 65535};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct wire body = connect_of(CLEAN);
		struct codec_connect connect;

		body.bytes[8] = (unsigned char)(values[i] >> 8);
		body.bytes[9] = (unsigned char)values[i];
		cr_assert_eq(decode_connect(&body, &connect), 0);
		cr_assert_eq(connect.keep_alive, values[i]);
	}
}

/* It is answered with return code 2 if the session is to be kept (3.1.3-8), so it is decoded. */
Test(codec_connect, a_client_id_may_be_empty, .timeout = 5)
{
	for (unsigned flags = 0; flags <= CLEAN; flags += CLEAN) {
		struct wire body = {0};
		struct codec_connect connect;

		put_head(&body, flags);
		wire_text(&body, "");
		cr_assert_eq(decode_connect(&body, &connect), 0);
		cr_assert_eq(connect.client_id.size, 0);
	}
}

Test(codec_connect, will_message_user_name_and_password_may_be_empty, .timeout = 5)
{
	struct wire body = {0};
	struct codec_connect connect;

	put_head(&body, ALL);
	wire_text(&body, "me");
	wire_text(&body, "t");
	for (int i = 0; i < 3; i++)
		wire_text(&body, "");
	cr_assert_eq(decode_connect(&body, &connect), 0);
	cr_assert(slice_is(connect.will.topic, "t"));
	cr_assert(slice_is(connect.will.payload, ""));
	cr_assert(slice_is(connect.user_name, ""));
	cr_assert(slice_is(connect.password, ""));
}

Test(codec_connect, will_message_and_password_may_be_any_bytes, .timeout = 5)
{
	struct wire body = {0};
	struct codec_connect connect;
	unsigned char any[150] = {0xFF, 0x00, 0xC0, 0x80};

	put_head(&body, ALL);
	wire_text(&body, "me");
	wire_text(&body, "t");
	wire_u16(&body, sizeof(any));
	wire_bytes(&body, any, sizeof(any));
	wire_text(&body, "user");
	wire_u16(&body, sizeof(any));
	wire_bytes(&body, any, sizeof(any));
	cr_assert_eq(decode_connect(&body, &connect), 0);
	cr_assert_eq(connect.will.payload.size, sizeof(any));
	cr_assert_eq(memcmp(connect.will.payload.bytes, any, sizeof(any)), 0);
	cr_assert_eq(connect.password.size, sizeof(any));
	cr_assert_eq(memcmp(connect.password.bytes, any, sizeof(any)), 0);
}

Test(codec_connect, client_id_will_topic_and_user_name_must_be_utf_8, .timeout = 5)
{
	static const struct slice wrong[] = {
		{"\x00", 1}, {"a\xFF", 2}, {"\xC0\x80", 2}, {"\xED\xA0\x80", 3}, {"\xE2\x82", 2}};
	struct slice good = {"z\xC3\xBC", 3};

	cr_assert_eq(with_fields(good, good, good), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		cr_assert_eq(with_fields(wrong[i], good, good), -EPROTO, "%zu", i);
		cr_assert_eq(with_fields(good, wrong[i], good), -EPROTO, "%zu", i);
		cr_assert_eq(with_fields(good, good, wrong[i]), -EPROTO, "%zu", i);
	}
}

Test(codec_connect, a_will_topic_is_a_topic_name, .timeout = 5)
{
	static const struct slice wrong[] = {{"", 0},    {"#", 1},   {"+", 1},
	                                     {"a/#", 3}, {"+/b", 3}, {"a+", 2}};
	struct slice good = {"a/b", 3};

	cr_assert_eq(with_fields(good, good, good), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_assert_eq(with_fields(good, wrong[i], good), -EPROTO, "%zu", i);
}

Test(codec_connect, its_fields_point_into_the_bytes_given, .timeout = 5)
{
	struct wire body = connect_of(ALL);
	struct codec_frame frame;
	struct codec_connect connect;
	const char *start;

	cr_assert_eq(frame_of(0x10, &body, &frame), 1);
	cr_assert_eq(codec_connect(&frame, &connect), 0);
	start = (const char *)frame.body;
	cr_assert(connect.client_id.bytes == start + 12);
	cr_assert(connect.will.topic.bytes == start + 16);
	cr_assert(connect.will.payload.bytes == start + 28);
	cr_assert(connect.user_name.bytes == start + 37);
	cr_assert(connect.password.bytes == start + 43);
}
