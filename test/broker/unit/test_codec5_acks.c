/* SPDX-License-Identifier: MIT */
/* The example broker's codec: what of MQTT 5 has a reason code. */
#include "packets.h"

#define BODY(literal) literal, sizeof(literal) - 1

static const unsigned firsts[] = {0x40, 0x50, 0x62, 0x70};

static struct codec_frame frame_with(unsigned first, const char *bytes, size_t size)
{
	struct wire body = {0};
	struct codec_frame frame;

	wire_bytes(&body, bytes, size);
	cr_assert_eq(frame_of(first, &body, &frame), 1);
	return frame;
}

static int ack_status(unsigned first, const char *bytes, size_t size)
{
	const struct codec_frame frame = frame_with(first, bytes, size);
	uint16_t packet_id;
	uint8_t reason;

	return codec_ack(&frame, CODEC_5, &packet_id, &reason);
}

static bool listed(const char *list, size_t size, unsigned reason)
{
	return memchr(list, (int)reason, size) != NULL;
}

/* 3.4.2-1, 3.5.2-1, 3.6.2-1, 3.7.2-1; "no matching subscribers" is the server's alone. */
Test(codec5_acks, of_all_reasons_those_of_a_client_are_taken, .timeout = 5)
{
	for (size_t i = 0; i < 4; i++)
		for (unsigned reason = 0; reason < 256; reason++) {
			const char body[] = {1, 2, (char)reason};
			const struct codec_frame frame = frame_with(firsts[i], body, 3);
			const bool good =
				i < 2 ? listed(BODY("\0\x80\x83\x87\x90\x91\x97\x99"), reason)
				      : listed(BODY("\0\x92"), reason);
			uint16_t packet_id = 0;
			uint8_t told = 77;

			cr_assert_eq(codec_ack(&frame, CODEC_5, &packet_id, &told),
			             good ? 0 : -EBADMSG, "%#x %#x", firsts[i], reason);
			cr_assert_eq(packet_id, 0x0102);
			cr_assert_eq(told, reason);
		}
}

/* 3.4.2.1, 3.4.2.2.1: without a reason it is success, without a length there are no properties. */
Test(codec5_acks, reason_and_properties_may_be_missing, .timeout = 5)
{
	for (size_t i = 0; i < 4; i++) {
		const struct codec_frame frame = frame_with(firsts[i], BODY("\0\7"));
		uint16_t packet_id = 0;
		uint8_t reason = 77;

		cr_assert_eq(codec_ack(&frame, CODEC_5, &packet_id, &reason), 0);
		cr_assert(packet_id == 7 && reason == 0);
		cr_assert_eq(ack_status(firsts[i], BODY("\0\7\0\0")), 0);
		cr_assert_eq(ack_status(firsts[i], BODY("\0\7\0\4\x1F\0\1x")), 0);
		cr_assert_eq(ack_status(firsts[i], BODY("\0\7\0\x0A\x26\0\0\0\0\x26\0\0\0\0")), 0);
	}
}

Test(codec5_acks, what_is_wrong_in_them_is_refused, .timeout = 5)
{
	for (size_t i = 0; i < 4; i++) {
		cr_assert_eq(ack_status(firsts[i], BODY("")), -EPROTO);
		cr_assert_eq(ack_status(firsts[i], BODY("\0")), -EPROTO);
		cr_assert_eq(ack_status(firsts[i], BODY("\0\0")), -EBADMSG);
		cr_assert_eq(ack_status(firsts[i], BODY("\0\7\0\1")), -EPROTO);
		cr_assert_eq(ack_status(firsts[i], BODY("\0\7\0\0\0")), -EPROTO);
		cr_assert_eq(ack_status(firsts[i], BODY("\0\7\0\x80\0")), -EPROTO);
		cr_assert_eq(ack_status(firsts[i], BODY("\0\7\0\2\1\1")), -EPROTO);
		cr_assert_eq(ack_status(firsts[i], BODY("\0\7\0\6\x1F\0\0\x1F\0\0")), -EBADMSG);
		cr_assert_eq(ack_status(firsts[i], BODY("\0\7\x01\1")), -EPROTO);
	}
}

/* 3.14.2.1 */
Test(codec5_acks, of_all_reasons_a_client_may_disconnect_for_its_own, .timeout = 5)
{
	static const char good[] = "\0\4\x80\x81\x82\x83\x90\x93\x94\x95\x96\x97\x98\x99";

	for (unsigned reason = 0; reason < 256; reason++) {
		const char body[] = {(char)reason, 0};
		struct codec_disconnect told = {77, true, 77};

		for (size_t size = 1; size <= 2; size++) {
			const struct codec_frame frame = frame_with(0xE0, body, size);

			cr_assert_eq(codec_disconnect(&frame, CODEC_5, &told),
			             listed(BODY(good), reason) ? 0 : -EBADMSG, "%#x", reason);
			cr_assert_eq(told.reason, reason);
			cr_assert(!told.expiry_given);
		}
	}
}

static int disconnect_status(const char *bytes, size_t size, struct codec_disconnect *told)
{
	const struct codec_frame frame = frame_with(0xE0, bytes, size);

	return codec_disconnect(&frame, CODEC_5, told);
}

Test(codec5_acks, a_disconnect_may_say_how_long_the_session_stays, .timeout = 5)
{
	struct codec_disconnect told = {77, true, 77};

	cr_assert_eq(disconnect_status(BODY(""), &told), 0);
	cr_assert(told.reason == 0 && !told.expiry_given);
	cr_assert_eq(disconnect_status(BODY("\4\5\x11\0\0\1\2"), &told), 0);
	cr_assert(told.reason == 4 && told.expiry_given && told.session_expiry == 0x102);
	cr_assert_eq(disconnect_status(BODY("\0\5\x11\0\0\0\0"), &told), 0);
	cr_assert(told.expiry_given && told.session_expiry == 0);
	cr_assert_eq(disconnect_status(BODY("\0\x0A\x11\0\0\0\0\x11\0\0\0\0"), &told), -EBADMSG);
	cr_assert_eq(disconnect_status(BODY("\0\3\x21\0\1"), &told), -EPROTO);
	cr_assert_eq(disconnect_status(BODY("\0\0\0"), &told), -EPROTO);
	cr_assert_eq(disconnect_status(BODY("\0\1"), &told), -EPROTO);
}

static int auth_status(const char *bytes, size_t size)
{
	const struct codec_frame frame = frame_with(0xF0, bytes, size);
	struct slice method;
	uint8_t reason;

	return codec_auth(&frame, &reason, &method);
}

/* 3.15.2.1: a client goes on, or begins again; 3.15.2.2.2: its method is there. */
Test(codec5_acks, an_auth_has_a_reason_of_the_clients_and_a_method, .timeout = 5)
{
	const struct codec_frame frame = frame_with(0xF0, BODY("\x19\x09\x15\0\1m\x16\0\2\0\xFF"));
	struct slice method;
	uint8_t reason;

	cr_assert_eq(codec_auth(&frame, &reason, &method), 0);
	cr_assert(reason == 0x19 && slice_is(method, "m"));
	for (unsigned value = 0; value < 256; value++) {
		const char body[] = {(char)value, 4, 0x15, 0, 1, 'm'};

		cr_assert_eq(auth_status(body, sizeof(body)),
		             value == 0x18 || value == 0x19 ? 0 : -EBADMSG);
	}
	cr_assert_eq(auth_status(BODY("")), -EBADMSG);
	cr_assert_eq(auth_status(BODY("\x18")), -EPROTO);
	cr_assert_eq(auth_status(BODY("\x18\0")), -EBADMSG);
	cr_assert_eq(auth_status(BODY("\x18\4\x16\0\1x")), -EBADMSG);
	cr_assert_eq(auth_status(BODY("\x18\3\x21\0\1")), -EPROTO);
	cr_assert_eq(auth_status(BODY("\x18\4\x15\0\1m\0")), -EPROTO);
}

/* ---- Encoders ---- */

#define UNTOUCHED 0xA5

static unsigned char out[70000];

static bool wrote(size_t size, const char *wanted, size_t wanted_size)
{
	return size == wanted_size && memcmp(out, wanted, size) == 0 && out[size] == UNTOUCHED;
}

#define WROTE(call, literal) (memset(out, UNTOUCHED, sizeof(out)), wrote(call, BODY(literal)))

Test(codec5_encode, a_connack_has_its_properties, .timeout = 5)
{
	struct slice many = slice_of(out, 200);

	cr_assert(WROTE(codec_put_connack5(out, false, 0x87, (struct slice){NULL, 0}),
	                "\x20\3\0\x87\0"));
	cr_assert(WROTE(codec_put_connack5(out, true, 0, slice_of("\x21\0\5", 3)),
	                "\x20\6\1\0\3\x21\0\5"));
	memset(out, UNTOUCHED, sizeof(out));
	cr_assert_eq(codec_put_connack5(out, true, 0, many), 207);
	cr_assert_eq(memcmp(out, "\x20\xCC\1\1\0\xC8\1", 7), 0);
	cr_assert_eq(out[207], UNTOUCHED);
}

Test(codec5_encode, an_acknowledgement_has_a_reason_if_it_is_no_success, .timeout = 5)
{
	cr_assert(WROTE(codec_put_ack5(out, CODEC_PUBACK, 7, 0), "\x40\2\0\7"));
	cr_assert(WROTE(codec_put_ack5(out, CODEC_PUBACK, 7, 0x10), "\x40\3\0\7\x10"));
	cr_assert(WROTE(codec_put_ack5(out, CODEC_PUBREC, 7, 0x97), "\x50\3\0\7\x97"));
	cr_assert(WROTE(codec_put_ack5(out, CODEC_PUBREL, 7, 0x92), "\x62\3\0\7\x92"));
	cr_assert(WROTE(codec_put_ack5(out, CODEC_PUBCOMP, 0x1234, 0x92), "\x70\3\x12\x34\x92"));
}

Test(codec5_encode, a_disconnect_has_a_reason_and_perhaps_a_text, .timeout = 5)
{
	static char text[65535];
	const struct slice long_text = {text, sizeof(text)};

	cr_assert(WROTE(codec_put_disconnect(out, 0x8B, (struct slice){NULL, 0}), "\xE0\1\x8B"));
	cr_assert(WROTE(codec_put_disconnect(out, 0x81, slice_text("why")),
	                "\xE0\x08\x81\6\x1F\0\3why"));
	memset(out, UNTOUCHED, sizeof(out));
	cr_assert_eq(codec_put_disconnect(out, 0x81, long_text), 65535 + 11);
	cr_assert_eq(memcmp(out, "\xE0\x86\x80\4\x81\x82\x80\4\x1F\xFF\xFF", 11), 0);
	cr_assert_eq(out[65535 + 11], UNTOUCHED);
}

Test(codec5_encode, a_publish_has_the_brokers_properties_before_the_publishers, .timeout = 5)
{
	struct codec_publish publish = {.topic = slice_text("a/b"),
	                                .payload = slice_text("hello"),
	                                .properties = slice_of("\1\1", 2)};
	size_t head_size;

	cr_assert(WROTE(codec_put_publish5(out, &publish, (struct slice){NULL, 0}), "\x30\x0D\0\3"
	                                                                            "a/b\2\1\1"));
	publish.packet_id = 0x1234;
	publish.qos = 1;
	publish.retain = true;
	publish.duplicate = true;
	cr_assert(WROTE(codec_put_publish5(out, &publish, slice_of("\x23\0\5", 3)),
	                "\x3B\x12\0\3"
	                "a/b\x12\x34\5\x23\0\5\1\1"));
	cr_assert_eq(codec_size_publish5(&publish, 3, &head_size), 20);
	cr_assert_eq(head_size, 15);
	publish.topic.size = 0;
	cr_assert(WROTE(codec_put_publish5(out, &publish, slice_of("\x23\0\5", 3)),
	                "\x3B\x0F\0\0\x12\x34\5\x23\0\5\1\1"));
}

/* Expiry, alias and perhaps a user property: as it is sent, and as it comes from a client. */
Test(codec5_encode, any_publish_is_decoded_as_it_was, .timeout = 30)
{
	uint64_t rng = test_seed();

	for (int i = 0; i < scaled(20000); i++) {
		static char text[20000];
		unsigned char own[16], passed[400], again[sizeof(passed) + sizeof(own)];
		struct codec_publish put = {.topic = {text, 1 + rng_below(&rng, 300)},
		                            .payload = {text, rng_below(&rng, 20000)},
		                            .properties.bytes = (const char *)passed,
		                            .qos = (uint8_t)rng_below(&rng, 3),
		                            .retain = rng_below(&rng, 2) == 0};
		const uint32_t expiry = rng_below(&rng, UINT32_MAX);
		const uint16_t alias = (uint16_t)(1 + rng_below(&rng, 65535));
		struct slice before = {(const char *)own, 0};
		struct codec_publish got;
		struct codec_frame frame;
		size_t size, head_size, whole;

		memset(text, 'a' + i % 26, sizeof(text));
		put.packet_id = put.qos ? (uint16_t)(1 + rng_below(&rng, 65535)) : 0;
		put.duplicate = put.qos && rng_below(&rng, 2) == 0;
		before.size = properties_put_u32(own, PROPERTY_MESSAGE_EXPIRY, expiry);
		before.size += properties_put_u16(own + before.size, PROPERTY_ALIAS, alias);
		if (rng_below(&rng, 2) == 0)
			put.properties.size =
				properties_put_text(passed, PROPERTY_CONTENT_TYPE,
			                            (struct slice){text, rng_below(&rng, 300)});
		whole = codec_size_publish5(&put, before.size, &head_size);
		memset(out, UNTOUCHED, sizeof(out));
		size = codec_put_publish5(out, &put, before);
		cr_assert_eq(size, head_size);
		cr_assert_eq(out[size], UNTOUCHED);
		memcpy(out + size, text, put.payload.size);
		cr_assert_eq(codec_frame(out, whole, whole, &frame), 1);
		cr_assert_eq(frame.size, whole);
		cr_assert_eq(codec_publish(&frame, CODEC_5, &got), 0);
		cr_assert(names_equal(got.topic, put.topic));
		cr_assert(names_equal(got.payload, put.payload));
		cr_assert(got.packet_id == put.packet_id && got.qos == put.qos &&
		          got.retain == put.retain && got.duplicate == put.duplicate);
		cr_assert(got.expiry == expiry && got.alias == alias);
		cr_assert_eq(got.properties.size, before.size + put.properties.size);
		cr_assert_eq(properties_forward(again, got.properties), put.properties.size);
		cr_assert_eq(memcmp(again, passed, put.properties.size), 0);
	}
}
