/* SPDX-License-Identifier: MIT */
/* Reasons to close and to refuse; see why.h. */
#include "common/why.h"

static const struct {
	const char *text;
	uint8_t return_code;
	uint8_t reason;
} rows[] = {
	[WHY_NONE] = {"by the client", 0, 0},
#define WHY_ROW(name, return_code, reason, text) [WHY_##name] = {text, return_code, reason},
	WHY_LIST(WHY_ROW)
#undef WHY_ROW
};

const char *why_text(enum why why)
{
	return rows[why].text;
}

uint8_t why_return_code(enum why why)
{
	return rows[why].return_code;
}

uint8_t why_reason(enum why why)
{
	return rows[why].reason;
}
