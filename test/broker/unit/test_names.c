/* SPDX-License-Identifier: MIT */
/*
 * The example broker's names (examples/broker/names.h): which bytes are UTF-8, names and filters,
 * their levels, and their hash. Which filter matches which name: test_names_match.c.
 */
#include "packets.h"

/* Unicode 15, table 3-7: well-formed UTF-8 byte sequences. */
static const struct {
	size_t size;
	unsigned char low[4];
	unsigned char high[4];
} well_formed[] = {
	{1, {0x00}, {0x7F}},
	{2, {0xC2, 0x80}, {0xDF, 0xBF}},
	{3, {0xE0, 0xA0, 0x80}, {0xE0, 0xBF, 0xBF}},
	{3, {0xE1, 0x80, 0x80}, {0xEC, 0xBF, 0xBF}},
	{3, {0xED, 0x80, 0x80}, {0xED, 0x9F, 0xBF}},
	{3, {0xEE, 0x80, 0x80}, {0xEF, 0xBF, 0xBF}},
	{4, {0xF0, 0x90, 0x80, 0x80}, {0xF0, 0xBF, 0xBF, 0xBF}},
	{4, {0xF1, 0x80, 0x80, 0x80}, {0xF3, 0xBF, 0xBF, 0xBF}},
	{4, {0xF4, 0x80, 0x80, 0x80}, {0xF4, 0x8F, 0xBF, 0xBF}},
};

/* By the table alone; U+0000 is MQTT's own exception (1.5.3-2). */
static bool table_says(const unsigned char *bytes, size_t size)
{
	while (size > 0) {
		size_t row, at = 0;

		for (row = 0; row < sizeof(well_formed) / sizeof(well_formed[0]); row++) {
			for (at = 0; at < well_formed[row].size && at < size; at++)
				if (bytes[at] < well_formed[row].low[at] ||
				    bytes[at] > well_formed[row].high[at])
					break;
			if (at == well_formed[row].size)
				break;
			at = 0;
		}
		if (at == 0 || bytes[0] == 0)
			return false;
		bytes += at;
		size -= at;
	}
	return true;
}

static bool utf8(const void *bytes, size_t size)
{
	return names_utf8_valid(slice_of(bytes, size));
}

/* The same without a copy, for loops. */
static bool agrees(const unsigned char *bytes, size_t size)
{
	struct slice text = {(const char *)bytes, size};

	return names_utf8_valid(text) == table_says(bytes, size);
}

/* RFC 3629, section 3; of surrogates as well. */
static size_t encode(uint32_t scalar, unsigned char *out)
{
	if (scalar < 0x80) {
		out[0] = (unsigned char)scalar;
		return 1;
	}
	if (scalar < 0x800) {
		out[0] = (unsigned char)(0xC0 | scalar >> 6);
		out[1] = (unsigned char)(0x80 | (scalar & 0x3F));
		return 2;
	}
	if (scalar < 0x10000) {
		out[0] = (unsigned char)(0xE0 | scalar >> 12);
		out[1] = (unsigned char)(0x80 | (scalar >> 6 & 0x3F));
		out[2] = (unsigned char)(0x80 | (scalar & 0x3F));
		return 3;
	}
	out[0] = (unsigned char)(0xF0 | scalar >> 18);
	out[1] = (unsigned char)(0x80 | (scalar >> 12 & 0x3F));
	out[2] = (unsigned char)(0x80 | (scalar >> 6 & 0x3F));
	out[3] = (unsigned char)(0x80 | (scalar & 0x3F));
	return 4;
}

Test(names, each_code_point_but_nul_and_the_surrogates_is_valid, .timeout = 60)
{
	for (uint32_t scalar = 0; scalar < 0x110000; scalar++) {
		unsigned char bytes[4];
		struct slice text = {(const char *)bytes, encode(scalar, bytes)};
		bool valid = scalar != 0 && (scalar < 0xD800 || scalar > 0xDFFF);

		cr_assert_eq(names_utf8_valid(text), valid, "U+%04X", scalar);
	}
}

Test(names, a_code_point_above_the_last_is_not_valid, .timeout = 5)
{
	cr_assert(utf8("\xF4\x8F\xBF\xBF", 4));
	cr_assert_not(utf8("\xF4\x90\x80\x80", 4));
	cr_assert_not(utf8("\xF5\x80\x80\x80", 4));
	cr_assert_not(utf8("\xF7\xBF\xBF\xBF", 4));
	cr_assert_not(utf8("\xF8\x88\x80\x80\x80", 5));
	cr_assert_not(utf8("\xFC\x84\x80\x80\x80\x80", 6));
}

Test(names, all_sequences_of_up_to_two_bytes_are_as_in_the_table, .timeout = 30)
{
	for (unsigned first = 0; first < 256; first++) {
		unsigned char bytes[2] = {(unsigned char)first};

		cr_assert(agrees(bytes, 1), "%02x", first);
		for (unsigned second = 0; second < 256; second++) {
			bytes[1] = (unsigned char)second;
			cr_assert(agrees(bytes, 2), "%02x %02x", first, second);
		}
	}
}

/* The borders of the table's ranges, and the bytes beside them, at all places but the first. */
Test(names, sequences_of_three_and_four_bytes_at_all_borders_are_as_in_the_table, .timeout = 60)
{
	static const unsigned char edge[] = {0x00, 0x01, 0x7F, 0x80, 0x8F, 0x90, 0x9F,
	                                     0xA0, 0xBF, 0xC0, 0xC2, 0xE0, 0xF0, 0xFF};
	const size_t edges = sizeof(edge);

	for (size_t i = 0; i < 256 * edges * edges * edges; i++) {
		unsigned char bytes[4];

		bytes[0] = (unsigned char)(i / edges / edges / edges);
		bytes[1] = edge[i / edges / edges % edges];
		bytes[2] = edge[i / edges % edges];
		bytes[3] = edge[i % edges];
		if (i % edges == 0)
			cr_assert(agrees(bytes, 3), "%zu", i);
		cr_assert(agrees(bytes, 4), "%zu", i);
	}
}

Test(names, text_at_random_is_valid_as_the_table_says, .timeout = 60)
{
	uint64_t rng = test_seed();

	for (int i = 0; i < scaled(100000); i++) {
		unsigned char bytes[64];
		size_t size = 0;

		while (size < 56)
			size += encode(rng_below(&rng, 0x110000) >> rng_below(&rng, 21),
			               bytes + size);
		if (rng_below(&rng, 2))
			bytes[rng_below(&rng, (uint32_t)size)] =
				(unsigned char)rng_below(&rng, 256);
		size -= rng_below(&rng, 8);
		cr_assert_eq(utf8(bytes, size), table_says(bytes, size));
	}
}

Test(names, text_that_ends_within_a_character_is_not_valid, .timeout = 5)
{
	static const char *const whole[] = {"\xC3\xBC", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};

	for (size_t i = 0; i < 3; i++)
		for (size_t size = 1; size <= i + 2; size++)
			for (size_t before = 0; before < 20; before++) {
				char text[32];

				memset(text, 'a', before);
				memcpy(text + before, whole[i], size);
				cr_assert_eq(utf8(text, before + size), size == i + 2);
			}
}

Test(names, the_bytes_behind_the_text_do_not_complete_it, .timeout = 5)
{
	cr_assert_not(names_utf8_valid((struct slice){"\xC3\xBC", 1}));
	cr_assert_not(names_utf8_valid((struct slice){"a\xE2\x82\xAC", 3}));
	cr_assert_not(names_utf8_valid((struct slice){"\xF0\x9F\x98\x80", 3}));
	cr_assert_not(names_utf8_valid((struct slice){"\xF0\x9F\x98\x80", 2}));
	cr_assert_not(names_utf8_valid((struct slice){"\xF0\x9F\x98\x80", 1}));
	cr_assert_eq(names_utf8_length((const unsigned char *)"\xC3\xBC", 1), 0);
}

/* A check of eight bytes at a time has its own ways of being wrong. */
Test(names, one_wrong_byte_is_found_wherever_it_is, .timeout = 5)
{
	static const unsigned char wrong[] = {0x00, 0x80, 0xBF, 0xC0, 0xC3, 0xE2, 0xF0, 0xFF};

	for (size_t size = 1; size < 70; size++)
		for (size_t at = 0; at < size; at++)
			for (size_t i = 0; i < sizeof(wrong); i++) {
				char text[70];

				memset(text, 'a', size);
				cr_assert(utf8(text, size));
				text[at] = (char)wrong[i];
				cr_assert_not(utf8(text, size), "%zu of %zu: %#x", at, size,
				              wrong[i]);
			}
}

/* 1.5.3-3, and what the standard only advises against. */
Test(names, byte_order_marks_controls_and_noncharacters_are_valid, .timeout = 5)
{
	cr_assert(utf8("", 0));
	cr_assert(utf8("\xEF\xBB\xBF", 3));
	cr_assert(utf8("\x01\x1F\x7F\xC2\x80\xC2\x9F", 7));
	cr_assert(utf8("\xEF\xBF\xBE\xEF\xBF\xBF\xEF\xB7\x90", 9));
}

static bool topic_valid(const char *text)
{
	return names_topic_valid(slice_text(text));
}

static bool filter_valid(const char *text)
{
	return names_filter_valid(slice_text(text));
}

/* 4.7.1-1, 4.7.3-1 */
Test(names, a_topic_is_anything_but_empty_without_wildcards, .timeout = 5)
{
	static const char *const good[] = {"a", "/", "//", "/a", "a/", "a b", "$SYS/x", "$", "*"};
	static const char *const wrong[] = {"", "#", "+", "a/#", "a/+", "+/a", "a#", "a+b", "#a"};

	for (size_t i = 0; i < 9; i++) {
		cr_assert(topic_valid(good[i]), "%s", good[i]);
		cr_assert_not(topic_valid(wrong[i]), "%s", wrong[i]);
	}
}

/* 4.7.1-2, 4.7.1-3, 4.7.3-1, and the standard's own examples. */
Test(names, a_filter_has_its_wildcards_as_levels_and_a_hash_only_last, .timeout = 5)
{
	static const char *const good[] = {"a",   "/",       "//",       "#",       "+",    "+/+",
	                                   "a/#", "/#",      "+/#",      "/+",      "+/",   "//#",
	                                   "$/#", "+/a/+/#", "sport/+/", "a/+/b/+", "a*b/?"};
	static const char *const wrong[] = {"",    "##", "#/",   "#/a",  "a#",     "a/b#", "a/#/b",
	                                    "#/#", "++", "+a",   "a+",   "a/+b/c", "a/b+", "sport+",
	                                    "+#",  "#+", "a/#b", "a/+#", "/a#",    "a/##"};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		cr_assert(filter_valid(good[i]), "%s", good[i]);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_assert_not(filter_valid(wrong[i]), "%s", wrong[i]);
}

Test(names, a_valid_topic_is_a_valid_filter, .timeout = 30)
{
	uint64_t rng = test_seed();

	for (int i = 0; i < scaled(100000); i++) {
		char text[8];
		size_t size = rng_below(&rng, sizeof(text) + 1);
		struct slice name;

		for (size_t at = 0; at < size; at++)
			text[at] = "ab/+#$/"[rng_below(&rng, 7)];
		name = slice_of(text, size);
		if (names_topic_valid(name))
			cr_assert(names_filter_valid(name) && !names_wildcard(name));
		else if (names_filter_valid(name))
			cr_assert(names_wildcard(name));
	}
}

Test(names, a_filter_has_wildcards_or_not, .timeout = 5)
{
	cr_assert_not(names_wildcard(slice_text("a/b")));
	cr_assert_not(names_wildcard(slice_text("/")));
	cr_assert(names_wildcard(slice_text("#")));
	cr_assert(names_wildcard(slice_text("+")));
	cr_assert(names_wildcard(slice_text("a/#")));
	cr_assert(names_wildcard(slice_text("a/+")));
	cr_assert(names_wildcard(slice_text("+/a")));
}

/* Does it have these levels, joined by commas? */
static bool levels_are(const char *name, const char *wanted)
{
	struct slice rest = slice_text(name);
	struct slice level = {NULL, 0};
	char joined[64] = "";
	size_t levels = 0;

	while (names_next_level(&rest, &level)) {
		if (levels++ > 0)
			strcat(joined, ",");
		strncat(joined, level.bytes, level.size);
	}
	return strcmp(joined, wanted) == 0 && rest.bytes == NULL &&
	       names_levels(slice_text(name)) == levels;
}

Test(names, levels_are_what_is_between_the_slashes, .timeout = 5)
{
	cr_assert(levels_are("a", "a"));
	cr_assert(levels_are("a/b", "a,b"));
	cr_assert(levels_are("/", ","));
	cr_assert(levels_are("/a", ",a"));
	cr_assert(levels_are("a/", "a,"));
	cr_assert(levels_are("//", ",,"));
	cr_assert(levels_are("one/+/three//#", "one,+,three,,#"));
	cr_assert_eq(names_levels(slice_text("a")), 1);
	cr_assert_eq(names_levels(slice_text("/")), 2);
	cr_assert_eq(names_levels(slice_text("a/b/c")), 3);
}

Test(names, without_bytes_there_is_no_level_left, .timeout = 5)
{
	struct slice rest = {NULL, 0}, level;

	cr_assert_not(names_next_level(&rest, &level));
	cr_assert_not(names_next_level(&rest, &level));
	cr_assert_null(rest.bytes);
}

Test(names, what_is_left_after_a_level_is_the_rest, .timeout = 5)
{
	struct slice rest = slice_text("ab//c"), level;
	const char *start = rest.bytes;

	cr_assert(names_next_level(&rest, &level));
	cr_assert(level.bytes == start && level.size == 2);
	cr_assert(rest.bytes == start + 3 && rest.size == 2);
	cr_assert(names_next_level(&rest, &level));
	cr_assert_eq(level.size, 0);
	cr_assert(rest.bytes == start + 4 && rest.size == 1);
}

/* 4.8.2 of MQTT 5 */
Test(names, a_shared_filter_is_taken_apart, .timeout = 5)
{
	static const struct {
		const char *name, *group, *filter; /* NULL: it is none, or wrong */
		bool good;
	} rows[] = {
		{"$share/g/a", "g", "a", true},
		{"$share/g/a/b/#", "g", "a/b/#", true},
		{"$share/group one//", "group one", "/", true},
		{"$share/g/$share/h/x", "g", "$share/h/x", true},
		{"$share", NULL, NULL, true},
		{"$shared/g/a", NULL, NULL, true},
		{"a/$share/g/a", NULL, NULL, true},
		{"$SHARE/g/a", NULL, NULL, true},
		{"$share/", NULL, NULL, false},
		{"$share//a", NULL, NULL, false},
		{"$share/g", NULL, NULL, false},
		{"$share/g/", NULL, NULL, false},
		{"$share/+/a", NULL, NULL, false},
		{"$share/#", NULL, NULL, false},
		{"$share/g+/a", NULL, NULL, false},
		{"$share/g/a#", NULL, NULL, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct slice name = {rows[i].name, strlen(rows[i].name)};
		struct slice group, filter;

		cr_assert_eq(names_share(name, &group, &filter), rows[i].good, "%s", rows[i].name);
		if (rows[i].group != NULL)
			cr_assert(slice_is(group, rows[i].group) &&
			          slice_is(filter, rows[i].filter));
		else
			cr_assert_null(filter.bytes);
	}
}
