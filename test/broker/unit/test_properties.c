/* SPDX-License-Identifier: MIT */
/* The example broker's properties of MQTT 5: section 2.2.2, table 2-4. */
#include "packets.h"

#define WILL PROPERTIES_OF_WILL
#define WHERE_MAX PROPERTIES_OF_WILL
#define NO(error) (-E##error)

/* Table 2-4 by hand: bit n stands for packets of type n, bit 16 for a will. */
enum {
	CONNECT = 1 << 1,
	CONNACK = 1 << 2,
	PUBLISH = 1 << 3,
	SUBSCRIBE = 1 << 8,
	DISCONNECT = 1 << 14,
	AUTH = 1 << 15,
	WILLS = 1 << 16,
	REASONED = CONNACK | 0xF0 | 1 << 9 | 1 << 11 | DISCONNECT | AUTH,
	ALL = 0x1CFFE, /* but PINGREQ and PINGRESP */
};

struct text {
	const char *bytes;
	size_t size;
};

#define TEXT(literal)                                                                              \
	{                                                                                          \
		literal, sizeof(literal) - 1                                                       \
	}

/* Each property there is: with a value that it may have. */
static const struct known {
	unsigned where;
	struct text bytes;
} known[] = {
	{PUBLISH | WILLS, TEXT("\x01\x01")},
	{PUBLISH | WILLS, TEXT("\x02\x00\x01\x02\x03")},
	{PUBLISH | WILLS, TEXT("\x03\x00\x04text")},
	{PUBLISH | WILLS, TEXT("\x08\x00\x03"
                               "a/b")},
	{PUBLISH | WILLS, TEXT("\x09\x00\x02\x00\xFF")},
	{PUBLISH | SUBSCRIBE, TEXT("\x0B\xFF\xFF\xFF\x7F")},
	{CONNECT | CONNACK | DISCONNECT, TEXT("\x11\x00\x00\x00\x07")},
	{CONNACK, TEXT("\x12\x00\x02me")},
	{CONNACK, TEXT("\x13\x00\x3C")},
	{CONNECT | CONNACK | AUTH, TEXT("\x15\x00\x01m")},
	{CONNECT, TEXT("\x17\x00")},
	{WILLS, TEXT("\x18\x00\x00\x01\x00")},
	{CONNECT, TEXT("\x19\x01")},
	{CONNACK, TEXT("\x1A\x00\x01i")},
	{CONNACK | DISCONNECT, TEXT("\x1C\x00\x01s")},
	{REASONED, TEXT("\x1F\x00\x03why")},
	{CONNECT | CONNACK, TEXT("\x21\x00\x01")},
	{CONNECT | CONNACK, TEXT("\x22\x01\x02")},
	{PUBLISH, TEXT("\x23\x12\x34")},
	{CONNACK, TEXT("\x24\x01")},
	{CONNACK, TEXT("\x25\x01")},
	{ALL, TEXT("\x26\x00\x01n\x00\x01v")},
	{CONNECT | CONNACK, TEXT("\x27\x00\x00\x01\x00")},
	{CONNACK, TEXT("\x28\x01")},
	{CONNACK, TEXT("\x29\x01")},
	{CONNACK, TEXT("\x2A\x01")},
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

static int decode(const void *bytes, size_t size, unsigned where, struct properties *properties)
{
	memset(properties, 0xA5, sizeof(*properties));
	return properties_decode(slice_of(bytes, size), where, properties);
}

/* What is said of two texts behind each other. */
static int decode_both(struct text a, struct text b, unsigned where)
{
	struct properties properties;
	struct wire wire = {0};

	wire_bytes(&wire, a.bytes, a.size);
	wire_bytes(&wire, b.bytes, b.size);
	return decode(wire.bytes, wire.size, where, &properties);
}

static const struct text none = TEXT("");

Test(properties, each_may_stand_in_the_packets_of_the_table_alone, .timeout = 5)
{
	for (size_t i = 0; i < KNOWN; i++)
		for (unsigned where = 1; where <= WHERE_MAX; where++)
			cr_assert_eq(decode_both(known[i].bytes, none, where),
			             known[i].where >> where & 1 ? 0 : NO(PROTO), "%#x in %u",
			             known[i].bytes.bytes[0], where);
}

/* Authentication data needs a method beside it: 3.1.2.11.10. */
Test(properties, authentication_data_stands_only_beside_a_method, .timeout = 5)
{
	static const struct text method = TEXT("\x15\x00\x01m"),
				 data = TEXT("\x16\x00\x02\xFF\x00");

	for (unsigned where = 1; where <= WHERE_MAX; where++) {
		const bool there = (CONNECT | CONNACK | AUTH) >> where & 1;

		cr_assert_eq(decode_both(method, data, where), there ? 0 : NO(PROTO));
		cr_assert_eq(decode_both(data, method, where), there ? 0 : NO(PROTO));
		cr_assert_eq(decode_both(data, none, where), there ? NO(BADMSG) : NO(PROTO));
	}
}

Test(properties, an_identifier_that_is_none_is_malformed, .timeout = 5)
{
	for (unsigned id = 0; id < 256; id++) {
		unsigned char bytes[16] = {(unsigned char)id};
		bool is_known = id == 0x16;
		struct properties properties;

		for (size_t i = 0; i < KNOWN; i++)
			is_known = is_known || (unsigned char)known[i].bytes.bytes[0] == id;
		for (unsigned where = 1; !is_known && where <= WHERE_MAX; where++)
			cr_assert_eq(decode(bytes, sizeof(bytes), where, &properties), NO(PROTO),
			             "%#x", id);
	}
}

/* 2.2.2.2: but for user properties, and the subscription ids of a PUBLISH. */
Test(properties, one_that_stands_twice_is_refused, .timeout = 5)
{
	for (size_t i = 0; i < KNOWN; i++)
		for (unsigned where = 1; where <= WHERE_MAX; where++) {
			const char id = known[i].bytes.bytes[0];
			const bool often = id == 0x26 || (id == 0x0B && where == CODEC_PUBLISH);

			if (known[i].where >> where & 1)
				cr_assert_eq(decode_both(known[i].bytes, known[i].bytes, where),
				             often ? 0 : NO(BADMSG), "%#x in %u", id, where);
		}
}

Test(properties, a_value_that_is_cut_off_is_malformed, .timeout = 5)
{
	for (size_t i = 0; i < KNOWN; i++)
		for (unsigned where = 1; where <= WHERE_MAX; where++)
			for (size_t size = 1; size < known[i].bytes.size; size++) {
				const struct text part = {known[i].bytes.bytes, size};

				cr_assert_eq(decode_both(part, none, where), NO(PROTO));
			}
}

/* Any two different ones that a packet may have, in both orders. */
Test(properties, they_may_stand_in_any_order, .timeout = 5)
{
	for (unsigned where = 1; where <= WHERE_MAX; where++)
		for (size_t i = 0; i < KNOWN; i++)
			for (size_t j = 0; j < KNOWN; j++)
				if (i != j && known[i].where & known[j].where & 1U << where)
					cr_assert_eq(
						decode_both(known[i].bytes, known[j].bytes, where),
						0);
}

struct row {
	unsigned where;
	int status;
	struct text bytes;
};

static const struct row rows[] = {
	/* 3.3.2.3.2, 3.1.3.2.3 */
	{CODEC_PUBLISH, 0, TEXT("\x01\x00")},
	{CODEC_PUBLISH, NO(BADMSG), TEXT("\x01\x02")},
	{WILL, NO(BADMSG), TEXT("\x01\xFF")},
	/* 3.3.2.3.3 */
	{CODEC_PUBLISH, 0, TEXT("\x02\x00\x00\x00\x00")},
	/* 3.3.2.3.4, 3.3.2-8 */
	{CODEC_PUBLISH, NO(BADMSG), TEXT("\x23\x00\x00")},
	{CODEC_PUBLISH, 0, TEXT("\x23\xFF\xFF")},
	/* 3.3.2.3.5, 3.3.2-14: a topic name */
	{CODEC_PUBLISH, NO(BADMSG),
         TEXT("\x08\x00\x03"
              "a/+")},
	{CODEC_PUBLISH, NO(BADMSG), TEXT("\x08\x00\x01#")},
	{CODEC_PUBLISH, NO(BADMSG), TEXT("\x08\x00\x00")},
	{WILL, NO(BADMSG), TEXT("\x08\x00\x01+")},
	/* 3.3.2.3.6, 3.3.2.3.9: no bytes at all */
	{CODEC_PUBLISH, 0, TEXT("\x09\x00\x00")},
	{CODEC_PUBLISH, 0, TEXT("\x03\x00\x00")},
	/* 3.8.2.1.2 */
	{CODEC_SUBSCRIBE, NO(BADMSG), TEXT("\x0B\x00")},
	{CODEC_SUBSCRIBE, 0, TEXT("\x0B\x01")},
	{CODEC_PUBLISH, NO(BADMSG), TEXT("\x0B\x00")},
	/* 1.5.5: a variable byte integer has at most four bytes, and none too many */
	{CODEC_SUBSCRIBE, 0, TEXT("\x0B\x80\x01")},
	{CODEC_SUBSCRIBE, NO(PROTO), TEXT("\x0B\x81\x00")},
	{CODEC_SUBSCRIBE, NO(PROTO), TEXT("\x0B\x80\x80\x00")},
	{CODEC_SUBSCRIBE, NO(PROTO), TEXT("\x0B\x80\x80\x80\x80\x01")},
	{CODEC_SUBSCRIBE, NO(PROTO), TEXT("\x0B\xFF\xFF\xFF\xFF\x7F")},
	{CODEC_PUBLISH, NO(PROTO), TEXT("\x81\x00\x01")},
	{CODEC_PUBLISH, NO(PROTO), TEXT("\x81\x01\x01")},
	/* 3.1.2.11.2 */
	{CODEC_CONNECT, 0, TEXT("\x11\x00\x00\x00\x00")},
	{CODEC_CONNECT, 0, TEXT("\x11\xFF\xFF\xFF\xFF")},
	/* 3.1.2.11.3 */
	{CODEC_CONNECT, NO(BADMSG), TEXT("\x21\x00\x00")},
	{CODEC_CONNECT, 0, TEXT("\x21\xFF\xFF")},
	/* 3.1.2.11.4 */
	{CODEC_CONNECT, NO(BADMSG), TEXT("\x27\x00\x00\x00\x00")},
	{CODEC_CONNECT, 0, TEXT("\x27\x00\x00\x00\x01")},
	/* 3.1.2.11.5 */
	{CODEC_CONNECT, 0, TEXT("\x22\x00\x00")},
	/* 3.1.2.11.6, 3.1.2.11.7 */
	{CODEC_CONNECT, NO(BADMSG), TEXT("\x19\x02")},
	{CODEC_CONNECT, 0, TEXT("\x17\x01")},
	{CODEC_CONNECT, NO(BADMSG), TEXT("\x17\x80")},
	/* 1.5.4, 1.5.7: each text is UTF-8 */
	{CODEC_PUBLISH, NO(PROTO), TEXT("\x03\x00\x01\xFF")},
	{CODEC_PUBLISH, NO(PROTO), TEXT("\x03\x00\x01\0")},
	{CODEC_PUBLISH, NO(PROTO), TEXT("\x08\x00\x03\xED\xA0\x80")},
	{CODEC_CONNECT, NO(PROTO), TEXT("\x15\x00\x02\xC0\x80")},
	{CODEC_DISCONNECT, NO(PROTO), TEXT("\x1F\x00\x01\x80")},
	{CODEC_PUBACK, NO(PROTO), TEXT("\x26\x00\x01\0\x00\x01v")},
	{CODEC_PUBACK, NO(PROTO), TEXT("\x26\x00\x01n\x00\x02v\xFF")},
	{CODEC_PUBACK, 0, TEXT("\x26\x00\x00\x00\x00")},
	/* What is malformed is that, also behind a value that is refused. */
	{CODEC_CONNECT, NO(PROTO), TEXT("\x21\x00\x00\x17")},
	{CODEC_CONNECT, NO(PROTO), TEXT("\x17\x02\x23\x00\x01")},
	{CODEC_CONNECT, NO(PROTO), TEXT("\x16\x00\x00\x26\x00\x00")},
};

Test(properties, a_value_outside_its_range_is_refused, .timeout = 5)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(decode_both(rows[i].bytes, none, rows[i].where), rows[i].status,
		             "row %zu", i);
}

/* 2.2.2.2: the flags of the server's CONNACK are 0 or 1. */
Test(properties, a_byte_that_says_yes_or_no_is_0_or_1, .timeout = 5)
{
	static const char ids[] = "\x24\x25\x28\x29\x2A";

	for (size_t i = 0; i < sizeof(ids) - 1; i++)
		for (unsigned value = 0; value < 256; value++) {
			const unsigned char bytes[] = {(unsigned char)ids[i], (unsigned char)value};
			struct properties properties;

			cr_assert_eq(decode(bytes, 2, CODEC_CONNACK, &properties),
			             value < 2 ? 0 : NO(BADMSG));
		}
}

static bool is_default(const struct properties *properties)
{
	return properties->session_expiry == 0 && properties->will_delay == 0 &&
	       properties->message_expiry == PROPERTIES_NEVER &&
	       properties->packet_max == UINT32_MAX && properties->subscription_id == 0 &&
	       properties->receive_max == 65535 && properties->alias_max == 0 &&
	       properties->alias == 0 && properties->request_problem &&
	       !properties->request_response && properties->auth_method.bytes == NULL;
}

Test(properties, without_any_each_has_its_default, .timeout = 5)
{
	for (unsigned where = 1; where <= WHERE_MAX; where++) {
		struct properties properties;

		cr_assert_eq(decode("", 0, where, &properties), 0);
		cr_assert(is_default(&properties));
		cr_assert_eq(properties.present, 0);
		cr_assert_eq(properties.bytes.size, 0);
	}
}

Test(properties, what_they_say_is_told, .timeout = 5)
{
	static const char connect[] = "\x11\x01\x02\x03\x04\x21\x12\x34\x27\xFF\x00\x00\x01\x22\x56"
				      "\x78\x17\x00\x19\x01\x15\x00\x02me\x26\x00\x01n\x00\x01v";
	static const char publish[] =
		"\x01\x01\x02\x00\x00\x00\x09\x23\x00\x05\x0B\x81\x01\x0B\x07";
	struct properties told;

	cr_assert_eq(decode(connect, sizeof(connect) - 1, CODEC_CONNECT, &told), 0);
	cr_assert_eq(told.session_expiry, 0x01020304);
	cr_assert_eq(told.receive_max, 0x1234);
	cr_assert_eq(told.packet_max, 0xFF000001);
	cr_assert_eq(told.alias_max, 0x5678);
	cr_assert(!told.request_problem && told.request_response);
	cr_assert(slice_is(told.auth_method, "me"));
	cr_assert_eq(told.bytes.size, sizeof(connect) - 1);
	cr_assert_eq(told.present, 1ULL << 0x11 | 1ULL << 0x21 | 1ULL << 0x27 | 1ULL << 0x22 |
	                                   1ULL << 0x17 | 1ULL << 0x19 | 1ULL << 0x15 |
	                                   1ULL << 0x26);
	cr_assert_eq(decode(publish, sizeof(publish) - 1, CODEC_PUBLISH, &told), 0);
	cr_assert_eq(told.message_expiry, 9);
	cr_assert_eq(told.alias, 5);
	cr_assert_eq(told.subscription_id, 7);
	cr_assert_eq(decode("\x18\x00\x01\x00\x00", 5, WILL, &told), 0);
	cr_assert_eq(told.will_delay, 65536);
}

/* So "never" stays the word for a message without an expiry. */
Test(properties, the_longest_expiry_of_a_message_is_a_second_less, .timeout = 5)
{
	struct properties told;

	cr_assert_eq(decode("\x02\xFF\xFF\xFF\xFF", 5, CODEC_PUBLISH, &told), 0);
	cr_assert_eq(told.message_expiry, UINT32_MAX - 1);
	cr_assert_eq(decode("\x02\xFF\xFF\xFF\xFE", 5, CODEC_PUBLISH, &told), 0);
	cr_assert_eq(told.message_expiry, UINT32_MAX - 1);
}

/* 3.3.2-4, -15, -16, -17, -20: unaltered, and user properties in their order. */
Test(properties, those_of_a_message_are_passed_on_in_their_order, .timeout = 5)
{
	for (size_t i = 0; i < KNOWN; i++)
		for (size_t j = 0; j < KNOWN; j++) {
			static const char on[] = "\x01\x03\x08\x09\x26";
			unsigned char out[64];
			struct wire all = {0}, wanted = {0};

			if (!(known[i].where & known[j].where & (PUBLISH | WILLS)))
				continue;
			wire_bytes(&all, known[i].bytes.bytes, known[i].bytes.size);
			wire_bytes(&all, known[j].bytes.bytes, known[j].bytes.size);
			if (strchr(on, known[i].bytes.bytes[0]) != NULL)
				wire_bytes(&wanted, known[i].bytes.bytes, known[i].bytes.size);
			if (strchr(on, known[j].bytes.bytes[0]) != NULL)
				wire_bytes(&wanted, known[j].bytes.bytes, known[j].bytes.size);
			cr_assert_eq(properties_forward(out, slice_of(all.bytes, all.size)),
			             wanted.size, "%#x %#x", known[i].bytes.bytes[0],
			             known[j].bytes.bytes[0]);
			cr_assert_eq(memcmp(out, wanted.bytes, wanted.size), 0);
		}
}

Test(properties, none_are_passed_on_as_none, .timeout = 5)
{
	cr_assert_eq(properties_forward(NULL, (struct slice){NULL, 0}), 0);
}

/* The table of 1.5.5. */
Test(properties, a_varint_has_as_few_bytes_as_can_be, .timeout = 5)
{
	static const struct {
		uint32_t value;
		struct text bytes;
	} table[] = {
		{0, TEXT("\x00")},
		{127, TEXT("\x7F")},
		{128, TEXT("\x80\x01")},
		{16383, TEXT("\xFF\x7F")},
		{16384, TEXT("\x80\x80\x01")},
		{2097151, TEXT("\xFF\xFF\x7F")},
		{2097152, TEXT("\x80\x80\x80\x01")},
		{268435455, TEXT("\xFF\xFF\xFF\x7F")},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		unsigned char out[5] = {0xA5, 0xA5, 0xA5, 0xA5, 0xA5};
		const size_t size = properties_put_varint(out, table[i].value);

		cr_assert_eq(size, table[i].bytes.size);
		cr_assert_eq(properties_varint_size(table[i].value), size);
		cr_assert_eq(memcmp(out, table[i].bytes.bytes, size), 0);
		cr_assert_eq(out[size], 0xA5);
	}
}

static bool wrote(const unsigned char *out, size_t size, struct text wanted)
{
	return size == wanted.size && memcmp(out, wanted.bytes, size) == 0 && out[size] == 0xA5;
}

#define WROTE(call, literal)                                                                       \
	(memset(out, 0xA5, sizeof(out)), wrote(out, call, (struct text)TEXT(literal)))

Test(properties, each_is_written_as_identifier_and_value, .timeout = 5)
{
	unsigned char out[16];

	cr_assert(WROTE(properties_put_byte(out, PROPERTY_MAXIMUM_QOS, 1), "\x24\x01"));
	cr_assert(WROTE(properties_put_u16(out, PROPERTY_ALIAS, 0x1234), "\x23\x12\x34"));
	cr_assert(WROTE(properties_put_u32(out, PROPERTY_SESSION_EXPIRY, 0x12345678),
	                "\x11\x12\x34\x56\x78"));
	cr_assert(WROTE(properties_put_id(out, 1), "\x0B\x01"));
	cr_assert(WROTE(properties_put_id(out, 268435455), "\x0B\xFF\xFF\xFF\x7F"));
	cr_assert(WROTE(properties_put_text(out, PROPERTY_REASON_STRING, slice_text("why")),
	                "\x1F\x00\x03why"));
	cr_assert(WROTE(properties_put_text(out, PROPERTY_ASSIGNED_CLIENT_ID, slice_text("")),
	                "\x12\x00\x00"));
}

/* What is wrong in any bytes is found without reading behind them. */
Test(properties, any_bytes_give_an_answer, .timeout = 30)
{
	uint64_t rng = test_seed();

	for (int i = 0; i < scaled(200000); i++) {
		const struct text some = known[rng_below(&rng, KNOWN)].bytes;
		const struct text more = known[rng_below(&rng, KNOWN)].bytes;
		struct properties properties;
		unsigned char out[64];
		struct wire wire = {0};
		int status;

		wire_bytes(&wire, some.bytes, some.size);
		wire_bytes(&wire, more.bytes, more.size);
		wire.bytes[rng_below(&rng, (uint32_t)wire.size)] =
			(unsigned char)rng_below(&rng, 256);
		wire.size -= rng_below(&rng, 3);
		status = decode(wire.bytes, wire.size, 1 + rng_below(&rng, WHERE_MAX), &properties);
		cr_assert(status == 0 || status == NO(PROTO) || status == NO(BADMSG));
		if (status == 0)
			cr_assert_leq(properties_forward(out, slice_of(wire.bytes, wire.size)),
			              wire.size);
	}
}
