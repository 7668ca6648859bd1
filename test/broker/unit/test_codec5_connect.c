/* SPDX-License-Identifier: MIT */
/* The example broker's codec: CONNECT of MQTT 5, section 3.1. */
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

static const struct slice no_properties = {"", 0};

#define SLICE(literal) ((struct slice){literal, sizeof(literal) - 1})

/* The fields that the flags announce, with these properties. */
static struct wire connect_of(unsigned flags, struct slice properties, struct slice will_properties)
{
	struct wire body = {0};

	wire_text(&body, "MQTT");
	wire_u8(&body, 5);
	wire_u8(&body, flags);
	wire_u16(&body, 60);
	wire_properties(&body, properties);
	wire_text(&body, "me");
	if (flags & WILL) {
		wire_properties(&body, will_properties);
		wire_text(&body, "will/topic");
		wire_text(&body, "goodbye");
	}
	if (flags & USER_NAME)
		wire_text(&body, "user");
	if (flags & PASSWORD)
		wire_text(&body, "secret");
	return body;
}

static int connect_status(unsigned flags, struct slice properties, struct slice will_properties)
{
	const struct wire body = connect_of(flags, properties, will_properties);
	struct codec_connect connect;

	return decode_connect(&body, &connect);
}

/* 3.1.2.3 to 3.1.2.9: unlike in 3.1.1, a password may come without a user name. */
static bool flags_allowed(unsigned flags)
{
	if ((flags & 1) || (flags & 3 * WILL_QOS) == 3 * WILL_QOS)
		return false;
	return (flags & WILL) || !(flags & (3 * WILL_QOS | WILL_RETAIN));
}

static void assert_is(const struct codec_connect *connect, unsigned flags)
{
	cr_assert_eq(connect->version, CODEC_5);
	cr_assert(slice_is(connect->client_id, "me"));
	cr_assert_eq(connect->keep_alive, 60);
	cr_assert_eq(connect->clean, (flags & CLEAN) != 0);
	cr_assert_eq(connect->will.topic.size, flags & WILL ? 10 : 0);
	if (flags & WILL) {
		cr_assert(slice_is(connect->will.topic, "will/topic"));
		cr_assert(slice_is(connect->will.payload, "goodbye"));
		cr_assert_eq(connect->will.qos, flags / WILL_QOS & 3);
		cr_assert_eq(connect->will.retain, (flags & WILL_RETAIN) != 0);
	}
	cr_assert_eq(connect->user_name.bytes != NULL, (flags & USER_NAME) != 0);
	cr_assert_eq(connect->password.bytes != NULL, (flags & PASSWORD) != 0);
	if (flags & USER_NAME)
		cr_assert(slice_is(connect->user_name, "user"));
	if (flags & PASSWORD)
		cr_assert(slice_is(connect->password, "secret"));
}

Test(codec5_connect, of_all_flags_the_allowed_are_taken_and_told, .timeout = 5)
{
	for (unsigned flags = 0; flags < 256; flags++) {
		struct wire body = connect_of(flags, no_properties, no_properties);
		struct codec_connect connect;
		int status = decode_connect(&body, &connect);

		cr_assert_eq(status, flags_allowed(flags) ? 0 : -EPROTO, "%#x: %d", flags, status);
		cr_assert_eq(connect.version, CODEC_5);
		if (status == 0)
			assert_is(&connect, flags);
	}
}

Test(codec5_connect, no_byte_may_be_missing_or_follow, .timeout = 5)
{
	for (unsigned flags = 0; flags < 256; flags++) {
		struct wire body =
			connect_of(flags, SLICE("\x21\x00\x01"), SLICE("\x18\x00\x00\x00\x01"));
		struct codec_connect connect;

		wire_u8(&body, 0);
		cr_assert_eq(decode_connect(&body, &connect), -EPROTO, "%#x", flags);
		body.size--;
		while (body.size-- > 0)
			cr_assert_eq(decode_connect(&body, &connect), -EPROTO, "%#x, %zu bytes",
			             flags, body.size);
	}
}

/* The version is known once it is read, so that a CONNACK may say what is wrong. */
Test(codec5_connect, its_version_is_told_with_an_error_too, .timeout = 5)
{
	struct wire body = connect_of(ALL, no_properties, no_properties);
	struct codec_connect connect;

	for (; body.size > 7; body.size--) {
		decode_connect(&body, &connect);
		cr_assert_eq(connect.version, CODEC_5);
	}
	for (; body.size > 0; body.size--) {
		decode_connect(&body, &connect);
		cr_assert_eq(connect.version, body.size == 7 ? CODEC_5 : 0);
	}
}

Test(codec5_connect, without_properties_it_has_the_defaults, .timeout = 5)
{
	struct wire body = connect_of(CLEAN | WILL, no_properties, no_properties);
	struct codec_connect connect;

	cr_assert_eq(decode_connect(&body, &connect), 0);
	cr_assert_eq(connect.session_expiry, 0);
	cr_assert_eq(connect.receive_max, 65535);
	cr_assert_eq(connect.alias_max, 0);
	cr_assert_eq(connect.packet_max, UINT32_MAX);
	cr_assert(connect.request_problem);
	cr_assert_null(connect.auth_method.bytes);
	cr_assert_eq(connect.will_delay, 0);
	cr_assert_eq(connect.will.expiry, PROPERTIES_NEVER);
	cr_assert_eq(connect.will.properties.size, 0);
	body = connect_of(0, no_properties, no_properties);
	cr_assert_eq(decode_connect(&body, &connect), 0);
	cr_assert_eq(connect.session_expiry, 0, "no clean start is no expiry");
}

Test(codec5_connect, what_its_properties_say_is_told, .timeout = 5)
{
	struct wire body = connect_of(
		ALL,
		SLICE("\x11\x00\x00\x01\x02\x21\x00\x05\x22\x00\x06\x27\x00\x00\x10\x00"
	              "\x17\x00\x15\x00\x01m\x16\x00\x01\x00\x19\x01\x26\x00\x00\x00\x00"),
		SLICE("\x18\x00\x00\x00\x09\x01\x01\x02\x00\x00\x00\x0A\x03\x00\x01"
	              "c\x08\x00\x01r\x09\x00\x01\xFF\x26\x00\x01n\x00\x01v"));
	struct codec_connect connect;

	cr_assert_eq(decode_connect(&body, &connect), 0);
	assert_is(&connect, ALL);
	cr_assert_eq(connect.session_expiry, 0x102);
	cr_assert_eq(connect.receive_max, 5);
	cr_assert_eq(connect.alias_max, 6);
	cr_assert_eq(connect.packet_max, 4096);
	cr_assert_not(connect.request_problem);
	cr_assert(slice_is(connect.auth_method, "m"));
	cr_assert_eq(connect.will_delay, 9);
	cr_assert_eq(connect.will.expiry, 10);
	cr_assert_eq(connect.will.properties.size, 31);
	cr_assert_eq(connect.will.alias, 0);
}

static const struct {
	int status;
	struct slice properties;
	struct slice will_properties;
} rows[] = {
	/* 2.2.2.2: what is not of a CONNECT, or not of a will, is malformed. */
	{-EPROTO, {"\x18\x00\x00\x00\x01", 5}, {"", 0}},
	{-EPROTO, {"\x02\x00\x00\x00\x01", 5}, {"", 0}},
	{-EPROTO, {"", 0}, {"\x11\x00\x00\x00\x01", 5}},
	{-EPROTO, {"", 0}, {"\x23\x00\x01", 3}},
	/* Twice: 3.1.2.11, 3.1.3.2. */
	{-EBADMSG, {"\x21\x00\x01\x21\x00\x01", 6}, {"", 0}},
	{-EBADMSG, {"", 0}, {"\x01\x01\x01\x01", 4}},
	/* 3.1.2.11.3 to 3.1.2.11.7, 3.1.2.11.10 */
	{-EBADMSG, {"\x21\x00\x00", 3}, {"", 0}},
	{-EBADMSG, {"\x27\x00\x00\x00\x00", 5}, {"", 0}},
	{-EBADMSG, {"\x17\x02", 2}, {"", 0}},
	{-EBADMSG, {"\x19\x02", 2}, {"", 0}},
	{-EBADMSG, {"\x16\x00\x01x", 4}, {"", 0}},
	{-EBADMSG, {"", 0}, {"\x01\x02", 2}},
	{-EBADMSG, {"", 0}, {"\x08\x00\x01#", 4}},
	/* Both kinds: malformed, wherever that is. */
	{-EPROTO, {"\x21\x00\x00", 3}, {"\x23\x00\x01", 3}},
	{-EPROTO, {"\x23\x00\x01", 3}, {"\x01\x02", 2}},
};

Test(codec5_connect, properties_that_are_wrong_are_refused, .timeout = 5)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(connect_status(ALL, rows[i].properties, rows[i].will_properties),
		             rows[i].status, "row %zu", i);
}

/* Their length is a variable byte integer, and counts exactly what is there: 3.1.2.11.1. */
Test(codec5_connect, the_length_of_properties_is_minimal_and_right, .timeout = 5)
{
	static const struct slice lengths[] = {
		{"\x80\x00", 2}, {"\x80\x80\x80\x00", 4}, {"\x80\x80\x80\x80\x01", 5},
		{"\x01", 1},     {"\xFF\xFF\xFF\x7F", 4}, {"\xFF\xFF\xFF\xFF\x7F", 5},
	};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct wire body = {0};
		struct codec_connect connect;

		wire_text(&body, "MQTT");
		wire_u8(&body, 5);
		wire_u8(&body, CLEAN);
		wire_u16(&body, 60);
		wire_bytes(&body, lengths[i].bytes, lengths[i].size);
		wire_text(&body, "me");
		cr_assert_eq(decode_connect(&body, &connect), -EPROTO, "row %zu", i);
	}
}

static int with_will_topic(const char *topic, const char *payload)
{
	struct wire body = {0};
	struct codec_connect connect;

	wire_text(&body, "MQTT");
	wire_u8(&body, 5);
	wire_u8(&body, WILL);
	wire_u16(&body, 60);
	wire_u8(&body, 0);
	wire_text(&body, "me");
	wire_u8(&body, 0);
	wire_text(&body, topic);
	wire_text(&body, payload);
	return decode_connect(&body, &connect);
}

/* 3.1.3.3, 4.7.1-1, 4.7.3-1 */
Test(codec5_connect, its_will_has_a_topic_name, .timeout = 5)
{
	cr_assert_eq(with_will_topic("a", ""), 0);
	cr_assert_eq(with_will_topic("", "x"), -EINVAL);
	cr_assert_eq(with_will_topic("a/#", "x"), -EINVAL);
	cr_assert_eq(with_will_topic("+", "x"), -EINVAL);
	cr_assert_eq(with_will_topic("\xFF", "x"), -EPROTO);
}
