/* SPDX-License-Identifier: MIT */
/* The broker's log: what of a client's text does not reach it (examples/broker/printable.h). */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "common/printable.h"

static const struct {
	const char *text;
	const char *printed;
} table[] = {
	{"", ""},
	{"plain text, 1 ~", "plain text, 1 ~"},
	{"\x01\x1f\x7f\t\r\n", "??????"},
	{"\xc2\x80-\xc2\x9b-\xc2\x9f", "?\?-?\?-??"},     /* C1 */
	{"\xc2\xa0\xc3\xbc", "\xc2\xa0\xc3\xbc"},         /* the first behind it; a letter */
	{"\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f", "????????"}, /* marks of direction */
	{"\xd8\x9b\xd8\x9d", "\xd8\x9b\xd8\x9d"},         /* beside these */
	{"\xe2\x80\x8d\xe2\x80\x90", "\xe2\x80\x8d\xe2\x80\x90"},
	{"\xe2\x80\xa8\xe2\x80\xa9", "??????"},                /* separators of lines */
	{"\xe2\x80\xaa\xe2\x80\xad\xe2\x80\xae", "?????????"}, /* overrides of direction */
	{"\xe2\x80\xa7\xe2\x80\xaf", "\xe2\x80\xa7\xe2\x80\xaf"},
	{"\xe2\x81\xa6\xe2\x81\xa9", "??????"}, /* isolates */
	{"\xe2\x81\xa5\xe2\x81\xaa", "\xe2\x81\xa5\xe2\x81\xaa"},
	{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
	{"\x9b"
         "31m",
         "?31m"}, /* a byte of C1 alone */
	{"\xc3(\xff"
         "a",
         "?(?a"},
	{"cut \xe2\x80", "cut ??"},        /* at the end of a line */
	{"\xc0\x80\xed\xa0\x80", "?????"}, /* overlong, a surrogate */
};

Test(printable, of_a_text_these_bytes_are_replaced, .timeout = 5)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const size_t size = strlen(table[i].text);
		/* Of exactly its size, so that AddressSanitizer sees a look behind it. */
		char *text = malloc(size + (size == 0));

		MUST(text != NULL);
		memcpy(text, table[i].text, size);
		printable(text, size);
		cr_assert_eq(size, strlen(table[i].printed), "%zu", i);
		cr_assert_eq(memcmp(text, table[i].printed, size), 0, "%zu: %.*s", i, (int)size,
		             text);
		free(text);
	}
}

Test(printable, a_nul_is_replaced, .timeout = 5)
{
	char text[] = "a\0b";

	printable(text, 3);
	cr_assert_str_eq(text, "a?b");
}
