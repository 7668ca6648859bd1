/* SPDX-License-Identifier: MIT */
/* The example broker's codec: SUBSCRIBE and UNSUBSCRIBE, MQTT 3.1.1, sections 3.8 and 3.10. */
#include "packets.h"

static const unsigned firsts[] = {FIRST_SUBSCRIBE, FIRST_UNSUBSCRIBE};

static void put_filter(struct wire *body, unsigned first, const char *filter, unsigned qos)
{
	wire_text(body, filter);
	if (first == FIRST_SUBSCRIBE)
		wire_u8(body, qos);
}

/* Three filters of QoS 2, 0 and 1. */
static struct wire three(unsigned first, unsigned packet_id)
{
	struct wire body = {0};

	wire_u16(&body, packet_id);
	put_filter(&body, first, "a/#", 2);
	put_filter(&body, first, "+", 0);
	put_filter(&body, first, "$SYS/+/x", 1);
	return body;
}

static int with_filter(unsigned first, const void *bytes, size_t size)
{
	struct wire body = {0};

	wire_u16(&body, 1);
	put_filter(&body, first, "good", 0);
	wire_u16(&body, (unsigned)size);
	wire_bytes(&body, bytes, size);
	if (first == FIRST_SUBSCRIBE)
		wire_u8(&body, 0);
	return decode_filters(first, &body);
}

Test(codec_filters, the_packet_id_and_the_count_are_told, .timeout = 5)
{
	static const unsigned ids[] = {1, 255, 256, 0x1234, 65535};

	for (size_t i = 0; i < 2; i++) {
		for (size_t j = 0; j < sizeof(ids) / sizeof(ids[0]); j++) {
			struct wire body = three(firsts[i], ids[j]);
			struct codec_frame frame;
			struct codec_filters filters = {.count = 77};

			cr_assert_eq(frame_of(firsts[i], &body, &frame), 1);
			cr_assert_eq(codec_filters(&frame, CODEC_311, &filters), 0);
			cr_assert_eq(filters.packet_id, ids[j]);
			cr_assert_eq(filters.count, 3);
		}
	}
}

Test(codec_filters, they_come_in_their_order_with_their_qos, .timeout = 5)
{
	static const char *const filters[] = {"a/#", "+", "$SYS/+/x"};
	static const unsigned wanted[] = {2, 0, 1};

	for (size_t i = 0; i < 2; i++) {
		struct wire body = three(firsts[i], 1);
		struct codec_frame frame;
		struct codec_filters told;

		cr_assert_eq(frame_of(firsts[i], &body, &frame), 1);
		cr_assert_eq(codec_filters(&frame, CODEC_311, &told), 0);
		for (size_t j = 0; j < 3; j++) {
			struct codec_filter filter = codec_filter_next(&frame, &told.offset);

			cr_assert(slice_is(filter.name, filters[j]));
			cr_assert(!filter.no_local && !filter.retain_as_published);
			cr_assert_eq(filter.retain_handling, 0);
			cr_assert_eq(filter.qos, firsts[i] == FIRST_SUBSCRIBE ? wanted[j] : 0);
		}
	}
}

Test(codec_filters, a_filter_points_into_the_bytes_given, .timeout = 5)
{
	struct wire body = three(FIRST_SUBSCRIBE, 1);
	struct codec_frame frame;
	struct codec_filters filters;

	cr_assert_eq(frame_of(FIRST_SUBSCRIBE, &body, &frame), 1);
	cr_assert_eq(codec_filters(&frame, CODEC_311, &filters), 0);
	cr_assert(codec_filter_next(&frame, &filters.offset).name.bytes ==
	          (const char *)frame.body + 4);
	cr_assert(codec_filter_next(&frame, &filters.offset).name.bytes ==
	          (const char *)frame.body + 10);
}

Test(codec_filters, many_filters_are_counted_and_read_to_the_last, .timeout = 5)
{
	for (size_t i = 0; i < 2; i++) {
		struct wire body = {0};
		struct codec_frame frame;
		struct codec_filters filters;

		wire_u16(&body, 1);
		for (unsigned n = 0; n < 100; n++)
			put_filter(&body, firsts[i], n < 99 ? "x" : "last", n % 3);
		cr_assert_eq(frame_of(firsts[i], &body, &frame), 1);
		cr_assert_eq(codec_filters(&frame, CODEC_311, &filters), 0);
		cr_assert_eq(filters.count, 100);
		for (unsigned n = 0; n < 99; n++) {
			struct codec_filter filter = codec_filter_next(&frame, &filters.offset);

			cr_assert(slice_is(filter.name, "x"));
			cr_assert_eq(filter.qos, firsts[i] == FIRST_SUBSCRIBE ? n % 3 : 0);
		}
		cr_assert(slice_is(codec_filter_next(&frame, &filters.offset).name, "last"));
	}
}

Test(codec_filters, packet_id_zero_is_refused, .timeout = 5)
{
	for (size_t i = 0; i < 2; i++) {
		struct wire body = three(firsts[i], 0);

		cr_assert_eq(decode_filters(firsts[i], &body), -EPROTO);
	}
}

/* 3.8.3-3, 3.10.3-2 */
Test(codec_filters, a_packet_without_a_filter_is_refused, .timeout = 5)
{
	for (size_t i = 0; i < 2; i++)
		for (size_t size = 0; size <= 2; size++) {
			struct wire body = {.size = size, .bytes = {0, 1}};

			cr_assert_eq(decode_filters(firsts[i], &body), -EPROTO, "%zu", size);
		}
}

/* Where a filter ends another may end the packet; anywhere else nothing may be missing. */
Test(codec_filters, a_packet_ends_only_where_a_filter_ends, .timeout = 5)
{
	static const size_t ends[2][3] = {{8, 12, 23}, {7, 10, 20}};

	for (size_t i = 0; i < 2; i++) {
		struct wire body = three(firsts[i], 1);

		cr_assert_eq(body.size, ends[i][2]);
		for (; body.size > 0; body.size--) {
			bool whole = body.size == ends[i][0] || body.size == ends[i][1] ||
			             body.size == ends[i][2];

			cr_assert_eq(decode_filters(firsts[i], &body), whole ? 0 : -EPROTO,
			             "%#x, %zu bytes", firsts[i], body.size);
		}
	}
}

Test(codec_filters, a_filter_longer_than_the_packet_is_refused, .timeout = 5)
{
	static const unsigned lengths[] = {6, 255, 256, 32768, 65535};

	for (size_t i = 0; i < 2; i++)
		for (size_t j = 0; j < sizeof(lengths) / sizeof(lengths[0]); j++) {
			struct wire body = {0};

			wire_u16(&body, 1);
			put_filter(&body, firsts[i], "good", 0);
			wire_u16(&body, lengths[j]);
			wire_bytes(&body, "short", 5);
			cr_assert_eq(decode_filters(firsts[i], &body), -EPROTO);
		}
}

/* 3.8.3-4: of the byte behind a filter two bits are the QoS, the others are reserved. */
Test(codec_filters, of_all_qos_bytes_three_are_taken, .timeout = 5)
{
	for (unsigned last = 0; last < 2; last++)
		for (unsigned qos = 0; qos < 256; qos++) {
			struct wire body = {0};

			wire_u16(&body, 1);
			put_filter(&body, FIRST_SUBSCRIBE, "a", last ? 0 : qos);
			put_filter(&body, FIRST_SUBSCRIBE, "b", last ? qos : 0);
			cr_assert_eq(decode_filters(FIRST_SUBSCRIBE, &body), qos < 3 ? 0 : -EPROTO,
			             "%#x", qos);
		}
}

Test(codec_filters, each_is_a_valid_filter_in_utf_8, .timeout = 5)
{
	static const struct slice good[] = {{"#", 1},     {"+", 1},         {"/", 1},
	                                    {"+/a/#", 5}, {"z\xC3\xBC", 3}, {"$share", 6}};
	static const struct slice wrong[] = {{"", 0},         {"#/a", 3},  {"a#", 2},
	                                     {"a+", 2},       {"+a/b", 4}, {"a\0b", 3},
	                                     {"\xC0\x80", 2}, {"\xC3", 1}, {"\xED\xBF\xBF", 3}};

	for (size_t i = 0; i < 2; i++) {
		for (size_t j = 0; j < sizeof(good) / sizeof(good[0]); j++)
			cr_assert_eq(with_filter(firsts[i], good[j].bytes, good[j].size), 0);
		for (size_t j = 0; j < sizeof(wrong) / sizeof(wrong[0]); j++)
			cr_assert_eq(with_filter(firsts[i], wrong[j].bytes, wrong[j].size), -EPROTO,
			             "%zu", j);
	}
}

/* The standard sets no limit. */
Test(codec_filters, a_filter_may_have_any_number_of_levels, .timeout = 5)
{
	char slashes[2 * 128];

	memset(slashes, '/', sizeof(slashes));
	for (size_t i = 0; i < 2; i++)
		for (size_t size = 128 - 2; size <= sizeof(slashes); size++)
			cr_assert_eq(with_filter(firsts[i], slashes, size), 0);
}
