/* SPDX-License-Identifier: MIT */
/* What clients can write into the log, and what they cannot. */
#include "client.h"

#include <stdio.h>
#include <string.h>

#include "server.h"

/* A terminal would obey it, or show the line in another order than it is written in. */
STORY(log_has_no_control_characters, .mosquitto = "refuses such client ids")
{
	static const char *const bad[] = {
		"\x01",
		"\x07",
		"\x1b[2J",
		"\x7f", /* C0, DEL */
		"\xc2\x85",
		"\xc2\x9b"
		"31m",
		"\xc2\x9d"
		"0;", /* C1 */
		"\xe2\x80\xae",
		"\xe2\x80\xad",
		"\xe2\x81\xa6", /* overrides, an isolate */
		"\xe2\x80\xa8",
		"\xe2\x80\x8f",
		"\xd8\x9c",
	};
	char id[64], tag[16], cut[600];

	start_server("--log-level info");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(id, sizeof(id), "a%sn%zun clean", bad[i], i);
		snprintf(tag, sizeof(tag), "n%zun", i);
		leave(join(id));
		check(strstr(await_said(tag), bad[i]) == NULL, "%zu is in the log", i);
	}
	/* An id that the log cuts short, in the midst of a character. */
	for (size_t at = 0; at < 3; at++) {
		size_t size = (size_t)snprintf(cut, sizeof(cut), "%zucut%.*s", at, (int)at, "xx");

		snprintf(tag, sizeof(tag), "%zucut", at);
		while (size < 400) {
			memcpy(cut + size, "\xe2\x82\xac", 3);
			size += 3;
		}
		strcpy(cut + size, " clean");
		leave(join(cut));
		for (const char *c = await_said(tag); (c = strchr(c, '\xe2')) != NULL; c++)
			check(memcmp(c, "\xe2\x82\xac", 3) == 0, "cut: %s", server_said());
	}
}
