/* SPDX-License-Identifier: MIT */
/* Text for the log; see printable.h. */
#include "common/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "mqtt/names.h"

struct range {
	uint32_t first;
	uint32_t last;
};

static const struct range refused[] = {
	{0x00, 0x1f},     /* C0 */
	{0x7f, 0x9f},     /* DEL and C1: 0x9b alone begins a terminal's command */
	{0x061c, 0x061c}, /* a mark of direction, like the next entry */
	{0x200e, 0x200f},
	{0x2028, 0x202e}, /* line and paragraph separator, embeddings and overrides of direction */
	{0x2066, 0x2069}, /* isolates */
};

/* The code point of a well-formed sequence of that length. */
static uint32_t code_point(const unsigned char *at, size_t length)
{
	uint32_t code = length == 1 ? at[0] : at[0] & (0x7fU >> length);

	for (size_t i = 1; i < length; i++)
		code = code << 6 | (at[i] & 0x3f);
	return code;
}

static bool code_refused(uint32_t code)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (code >= refused[i].first && code <= refused[i].last)
			return true;
	return false;
}

void printable(char *text, size_t size)
{
	unsigned char *at = (unsigned char *)text;
	size_t left = size;

	while (left > 0) {
		const size_t length = names_utf8_length(at, left);
		const size_t step = length > 0 ? length : 1;

		if (length == 0 || code_refused(code_point(at, length)))
			memset(at, '?', step);
		at += step;
		left -= step;
	}
}
