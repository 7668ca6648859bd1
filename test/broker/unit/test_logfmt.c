/* SPDX-License-Identifier: MIT */
/* Lines of the broker's log (examples/broker/common/logfmt.h). */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "common/logfmt.h"

static const struct {
	const char *value;
	const char *pair;
} table[] = {
	{"plain", "key=plain"},
	{"127.0.0.1:1883", "key=127.0.0.1:1883"},
	{"", "key=\"\""},
	{"two words", "key=\"two words\""},
	{"a=b", "key=\"a=b\""},
	{"\"", "key=\"\\\"\""},
	{"a\\", "key=\"a\\\\\""},
	{"\n\x1b", "key=??"},
	{"\xc3\xbc", "key=\xc3\xbc"},
	{"\xc3\xbc \xc3\xbc", "key=\"\xc3\xbc \xc3\xbc\""},
	{"\xff", "key=?"},
};

static struct slice slice_of(const char *text)
{
	return (struct slice){text, strlen(text)};
}

Test(logfmt, a_value_stands_in_quotes_if_it_needs_them, .timeout = 5)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char text[64] = "";
		struct logfmt line = {text, sizeof(text), 0};

		logfmt_add(&line, "key", slice_of(table[i].value));
		text[line.used] = '\0';
		cr_assert_str_eq(text, table[i].pair, "%zu", i);
	}
}

Test(logfmt, pairs_have_a_space_between_them, .timeout = 5)
{
	char text[64] = "";
	struct logfmt line = {text, sizeof(text), 0};

	logfmt_add(&line, "a", slice_of("1"));
	logfmt_add(&line, "b", slice_of("2 3"));
	text[line.used] = '\0';
	cr_assert_str_eq(text, "a=1 b=\"2 3\"");
}

/* Is it key=value, with a whole value: quotes that end, whole characters? */
static bool whole_pair(const char *text, size_t size)
{
	size_t at = strlen("key=");
	const bool quoted = at < size && text[at] == '"';

	if (size < at || memcmp(text, "key=", at) != 0)
		return false;
	for (at += quoted; at < size; at++) {
		if (quoted && text[at] == '"')
			return at + 1 == size;
		if (quoted && text[at] == '\\')
			at++;
		else if (text[at] == '\xc3')
			at += at + 1 < size && text[at + 1] == '\xbc' ? 1 : size;
		else if (text[at] == '\xbc' || (!quoted && text[at] == '"'))
			return false;
	}
	return !quoted;
}

/* In a line of each size, of exactly its size, so that AddressSanitizer sees a byte behind it. */
Test(logfmt, a_value_without_room_is_cut_within_its_quotes, .timeout = 5)
{
	static const char *const values[] = {
		"\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc",
		"\xc3\xbc \xc3\xbc\xc3\xbc\xc3\xbc",
		"\"\"\"\"\"\"\"\"",
		"plain and \"quoted\"",
	};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		size_t longest = 0;

		for (size_t size = 1; size < 40; size++) {
			char *text = malloc(size);
			struct logfmt line = {text, size, 0};

			MUST(text != NULL);
			logfmt_add(&line, "key", slice_of(values[i]));
			cr_assert_lt(line.used, size);
			cr_assert(line.used == 0 || whole_pair(text, line.used), "%zu: %.*s", size,
			          (int)line.used, text);
			if (line.used > longest)
				longest = line.used;
			free(text);
		}
		cr_assert_geq(longest, strlen(values[i]) + 4);
	}
}

Test(logfmt, a_long_value_is_cut, .timeout = 5)
{
	char value[1000], text[600];
	struct logfmt line = {text, sizeof(text), 0};

	memset(value, 'x', sizeof(value));
	logfmt_add(&line, "key", (struct slice){value, sizeof(value)});
	cr_assert_eq(line.used, LOGFMT_VALUE_MAX + strlen("key="));
}
