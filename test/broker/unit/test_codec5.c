/* SPDX-License-Identifier: MIT */
/* The example broker's codec: PUBLISH, SUBSCRIBE and UNSUBSCRIBE of MQTT 5, by their bodies. */
#include "packets.h"

#define BODY(literal) literal, sizeof(literal) - 1

struct row {
	unsigned first;
	int status;
	const char *body;
	size_t size;
};

static struct wire wire_of(const char *bytes, size_t size)
{
	struct wire wire = {0};

	wire_bytes(&wire, bytes, size);
	return wire;
}

static const struct row publishes[] = {
	{0x30, 0, BODY("\0\1t\0")},
	{0x30, 0, BODY("\0\1t\0payload")},
	{0x32, 0, BODY("\0\1t\0\7\0payload")},
	{0x32, 0, BODY("\0\1t\0\7\3\x23\0\1payload")},
	/* 3.3.2-2, 4.7.1-1: no wildcards; 1.5.4: UTF-8 */
	{0x30, -EINVAL, BODY("\0\1#\0")},
	{0x30, -EINVAL, BODY("\0\3a/+\0")},
	{0x30, -EPROTO, BODY("\0\1\xFF\0")},
	{0x30, -EPROTO, BODY("\0\1\0\0")},
	/* 3.3.2.1: without a topic an alias must stand for it */
	{0x30, -EBADMSG, BODY("\0\0\0")},
	{0x30, 0, BODY("\0\0\3\x23\0\1")},
	{0x34, 0, BODY("\0\0\0\7\3\x23\0\1payload")},
	/* 3.3.2-8 */
	{0x30, -EBADMSG, BODY("\0\1t\3\x23\0\0")},
	/* 2.2.1-3, 2.2.1-4: packet id 0 */
	{0x32, -EBADMSG, BODY("\0\1t\0\0\0")},
	{0x34, -EBADMSG, BODY("\0\1t\0\0\0")},
	/* 3.3.4-6: subscription ids are the broker's to send */
	{0x30, -EBADMSG, BODY("\0\1t\2\x0B\1")},
	{0x30, -EBADMSG, BODY("\0\1t\4\x0B\1\x0B\2")},
	{0x30, -EBADMSG, BODY("\0\1t\2\x0B\0")},
	/* No property of a PUBLISH: malformed; twice, or out of range: refused */
	{0x30, -EPROTO, BODY("\0\1t\5\x11\0\0\0\1")},
	{0x30, -EPROTO, BODY("\0\1t\4\x1F\0\1x")},
	{0x30, -EBADMSG, BODY("\0\1t\6\x23\0\1\x23\0\1")},
	{0x30, -EBADMSG, BODY("\0\1t\2\1\2")},
	{0x30, -EBADMSG, BODY("\0\1t\4\x08\0\1#")},
	/* The length of the properties */
	{0x30, -EPROTO, BODY("\0\1t")},
	{0x30, -EPROTO, BODY("\0\1t\x80")},
	{0x30, -EPROTO, BODY("\0\1t\x80\0")},
	{0x30, -EPROTO, BODY("\0\1t\1")},
	{0x30, -EPROTO, BODY("\0\1t\2\x23\0\1")},
	{0x32, -EPROTO, BODY("\0\1t\0")},
	{0x32, -EPROTO, BODY("\0\1t\0\7")},
	/* Several errors: malformed, else against the protocol */
	{0x30, -EPROTO, BODY("\0\1#\5\x11\0\0\0\1")},
	{0x32, -EPROTO, BODY("\0\1t\0\0\1")},
	{0x30, -EBADMSG, BODY("\0\1#\3\x23\0\0")},
	{0x32, -EBADMSG, BODY("\0\1#\0\0\0")},
};

Test(codec5_publish, each_rule_of_the_standard_has_its_error, .timeout = 5)
{
	for (size_t i = 0; i < sizeof(publishes) / sizeof(publishes[0]); i++) {
		const struct row *row = &publishes[i];
		const struct wire body = wire_of(row->body, row->size);
		struct codec_publish publish;
		struct codec_frame frame;

		cr_assert_eq(frame_of(row->first, &body, &frame), 1);
		cr_assert_eq(codec_publish(&frame, CODEC_5, &publish), row->status, "row %zu", i);
	}
}

Test(codec5_publish, all_that_it_says_is_told, .timeout = 5)
{
	const struct wire body = wire_of(BODY("\0\3a/b\x12\x34\x12\x02\0\0\0\x09\x23\0\5\x26\0\2me"
	                                      "\0\3youpayload"));
	struct codec_publish publish;
	struct codec_frame frame;

	cr_assert_eq(frame_of(0x3D, &body, &frame), 1);
	memset(&publish, 0xA5, sizeof(publish));
	cr_assert_eq(codec_publish(&frame, CODEC_5, &publish), 0);
	cr_assert(slice_is(publish.topic, "a/b"));
	cr_assert(slice_is(publish.payload, "payload"));
	cr_assert_eq(publish.packet_id, 0x1234);
	cr_assert(publish.qos == 2 && publish.retain && publish.duplicate);
	cr_assert_eq(publish.expiry, 9);
	cr_assert_eq(publish.alias, 5);
	cr_assert_eq(publish.properties.size, 18);
	cr_assert(publish.properties.bytes == (const char *)frame.body + 8);
}

Test(codec5_publish, without_properties_it_has_none, .timeout = 5)
{
	const struct wire body = wire_of(BODY("\0\1t\0"));
	struct codec_publish publish;
	struct codec_frame frame;

	cr_assert_eq(frame_of(0x30, &body, &frame), 1);
	memset(&publish, 0xA5, sizeof(publish));
	cr_assert_eq(codec_publish(&frame, CODEC_5, &publish), 0);
	cr_assert_eq(publish.expiry, PROPERTIES_NEVER);
	cr_assert_eq(publish.alias, 0);
	cr_assert_eq(publish.properties.size, 0);
	cr_assert_eq(publish.payload.size, 0);
}

static const struct row filters[] = {
	{0x82, 0, BODY("\0\1\0\0\1a\0")},
	{0x82, 0, BODY("\0\1\2\x0B\7\0\1a\0\0\1b\1")},
	{0x82, 0, BODY("\0\1\5\x26\0\0\0\0\0\1a\0")},
	{0xA2, 0, BODY("\0\1\0\0\1a")},
	{0xA2, 0, BODY("\0\1\5\x26\0\0\0\0\0\1a\0\1#")},
	/* 2.2.1-3 */
	{0x82, -EBADMSG, BODY("\0\0\0\0\1a\0")},
	{0xA2, -EBADMSG, BODY("\0\0\0\0\1a")},
	/* 3.8.3-2, 3.10.3-2: one filter at least */
	{0x82, -EBADMSG, BODY("\0\1\0")},
	{0xA2, -EBADMSG, BODY("\0\1\0")},
	/* 3.8.2.1.2 */
	{0x82, -EBADMSG, BODY("\0\1\2\x0B\0\0\1a\0")},
	{0x82, -EBADMSG, BODY("\0\1\4\x0B\1\x0B\1\0\1a\0")},
	{0x82, -EPROTO, BODY("\0\1\3\x0B\x81\0\0\1a\0")},
	{0x82, -EPROTO, BODY("\0\1\6\x0B\x80\x80\x80\x80\1\0\1a\0")},
	/* 3.10.2.1: of an UNSUBSCRIBE user properties alone */
	{0xA2, -EPROTO, BODY("\0\1\2\x0B\1\0\1a")},
	{0x82, -EPROTO, BODY("\0\1\4\x1F\0\1x\0\1a\0")},
	/* Too little, too much */
	{0x82, -EPROTO, BODY("\0\1")},
	{0x82, -EPROTO, BODY("\0")},
	{0x82, -EPROTO, BODY("\0\1\0\0\1a")},
	{0x82, -EPROTO, BODY("\0\1\0\0\2a")},
	{0x82, -EPROTO, BODY("\0\1\0\0\1a\0\0")},
	{0xA2, -EPROTO, BODY("\0\1\0\0\1a\0")},
	{0xA2, -EPROTO, BODY("\0\1\x09\0\1a")},
	/* 4.7: filters */
	{0x82, -EINVAL, BODY("\0\1\0\0\0\0")},
	{0x82, -EINVAL, BODY("\0\1\0\0\2a#\0")},
	{0x82, -EINVAL, BODY("\0\1\0\0\1a\0\0\3#/a\0")},
	{0x82, -EPROTO, BODY("\0\1\0\0\1\xFF\0")},
	{0x82, -EPROTO, BODY("\0\1\0\0\1\0\0")},
	{0xA2, -EINVAL, BODY("\0\1\0\0\2a+")},
	/* 4.8.2-1, 4.8.2-2: "$share/", a name without wildcards, a filter */
	{0x82, 0, BODY("\0\1\0\0\x0A$share/g/a\0")},
	{0x82, 0, BODY("\0\1\0\0\x0A$share/g/#\0")},
	{0x82, 0, BODY("\0\1\0\0\x0A$share/g//\0")},
	{0x82, 0, BODY("\0\1\0\0\x06$share\0")},
	{0x82, 0, BODY("\0\1\0\0\x09$shared/x\0")},
	{0x82, -EINVAL, BODY("\0\1\0\0\7$share/\0")},
	{0x82, -EINVAL, BODY("\0\1\0\0\x08$share/g\0")},
	{0x82, -EINVAL, BODY("\0\1\0\0\x09$share/g/\0")},
	{0x82, -EINVAL, BODY("\0\1\0\0\x09$share//a\0")},
	{0x82, -EINVAL, BODY("\0\1\0\0\x0A$share/+/a\0")},
	{0x82, -EINVAL, BODY("\0\1\0\0\x08$share/#\0")},
	{0xA2, -EINVAL, BODY("\0\1\0\0\x09$share/g/")},
	{0xA2, 0, BODY("\0\1\0\0\x0A$share/g/a")},
	/* 3.8.3-4: no local is not for a shared subscription */
	{0x82, -EBADMSG, BODY("\0\1\0\0\x0A$share/g/a\4")},
	{0x82, -EBADMSG, BODY("\0\1\0\0\x0A$share/g/a\0\0\x0A$share/g/b\5")},
	{0x82, 0, BODY("\0\1\0\0\x0A$share/g/a\x28\0\1a\4")},
	/* Several errors */
	{0x82, -EPROTO, BODY("\0\1\0\0\2a#\0\0\1b\x40")},
	{0x82, -EBADMSG, BODY("\0\1\0\0\2a#\3")},
	{0x82, -EBADMSG, BODY("\0\0\0\0\2a#\0")},
};

static struct codec_frame frame_at(const struct row *row)
{
	const struct wire body = wire_of(row->body, row->size);
	struct codec_frame frame;

	cr_assert_eq(frame_of(row->first, &body, &frame), 1);
	return frame;
}

Test(codec5_filters, each_rule_of_the_standard_has_its_error, .timeout = 5)
{
	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		const struct codec_frame frame = frame_at(&filters[i]);
		struct codec_filters told;

		cr_assert_eq(codec_filters(&frame, CODEC_5, &told), filters[i].status, "row %zu",
		             i);
	}
}

/* 3.8.3.1, 3.8.3-5: the last two bits are reserved; QoS 3 and retain handling 3 are no values. */
Test(codec5_filters, of_all_options_the_allowed_are_taken_and_told, .timeout = 5)
{
	for (unsigned options = 0; options < 256; options++) {
		const char body[] = {0, 1, 0, 0, 1, 'a', (char)options};
		const struct codec_frame frame =
			frame_at(&(struct row){0x82, 0, body, sizeof(body)});
		struct codec_filters told;
		const int status = codec_filters(&frame, CODEC_5, &told);

		if (options >= 0x40)
			cr_assert_eq(status, -EPROTO, "%#x", options);
		else if (options % 4 == 3 || options >= 0x30)
			cr_assert_eq(status, -EBADMSG, "%#x", options);
		else {
			const struct codec_filter filter = codec_filter_next(&frame, &told.offset);

			cr_assert_eq(status, 0, "%#x", options);
			cr_assert(slice_is(filter.name, "a"));
			cr_assert_eq(filter.qos, options & 3);
			cr_assert_eq(filter.no_local, (options & 4) != 0);
			cr_assert_eq(filter.retain_as_published, (options & 8) != 0);
			cr_assert_eq(filter.retain_handling, options >> 4);
		}
	}
}

Test(codec5_filters, id_count_and_filters_behind_the_properties_are_told, .timeout = 5)
{
	const struct codec_frame frame = frame_at(&(struct row){
		0x82, 0, BODY("\x12\x34\x08\x26\0\0\0\0\x0B\x81\1\0\1a\2\0\2b/\x0C")});
	struct codec_filters told = {.count = 77};

	cr_assert_eq(codec_filters(&frame, CODEC_5, &told), 0);
	cr_assert_eq(told.packet_id, 0x1234);
	cr_assert_eq(told.count, 2);
	cr_assert_eq(told.subscription_id, 129);
	cr_assert_eq(told.offset, 11);
	cr_assert(slice_is(codec_filter_next(&frame, &told.offset).name, "a"));
	cr_assert(slice_is(codec_filter_next(&frame, &told.offset).name, "b/"));
	cr_assert_eq(told.offset, frame.body_size);
}

Test(codec5_filters, without_a_subscription_id_it_has_none, .timeout = 5)
{
	const struct codec_frame frame = frame_at(&filters[0]);
	struct codec_filters told = {.subscription_id = 77};

	cr_assert_eq(codec_filters(&frame, CODEC_5, &told), 0);
	cr_assert_eq(told.subscription_id, 0);
	cr_assert_eq(told.offset, 3);
}

/* Of 3.1.1 a shared filter is one as any other. */
Test(codec5_filters, names_of_groups_concern_version_5_alone, .timeout = 5)
{
	const struct codec_frame frame =
		frame_at(&(struct row){0x82, 0, BODY("\0\1\0\x09$share//a\0")});
	struct codec_filters told;

	cr_assert_eq(codec_filters(&frame, CODEC_311, &told), 0);
}
