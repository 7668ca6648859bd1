/* SPDX-License-Identifier: MIT */
/* Stories of MQTT 3.1.1, told in MQTT 5; see disguise.h. */
#include "disguise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packet_inside.h"

static bool on;

void disguise_begin(void)
{
	on = true;
}

bool disguised(void)
{
	return on;
}

/* Without a clean session a session of 3.1.1 does not end. */
bool disguise_connect(char *words, size_t size)
{
	const char *more = strstr(words, " clean") != NULL ? " v5" : " v5 expiry=4294967295";
	const size_t length = strlen(words);

	if (strstr(words, " v5") != NULL || strstr(words, " level=") != NULL ||
	    strstr(words, " name=") != NULL)
		return false;
	snprintf(words + length, size - length, "%s", more);
	return true;
}

/* The word behind `at` spaces; its end if there are fewer. */
static char *word_at(char *words, unsigned int at)
{
	while (at-- > 0) {
		words += strcspn(words, " ");
		words += *words == ' ' ? 1 : 0;
	}
	return words;
}

static void end_behind(char *words, unsigned int count)
{
	char *at = word_at(words, count);

	if (*at != '\0')
		at[-1] = '\0';
}

/* Return codes of 3.1.1, by the reasons of MQTT 5. */
static unsigned int return_code(unsigned long reason)
{
	return reason == 0x84                                       ? 1
	       : reason == 0x85                                     ? 2
	       : reason == 0x88 || reason == 0x89 || reason == 0x97 ? 3
	       : reason == 0x86                                     ? 4
	       : reason == 0x87                                     ? 5
	                                                            : (unsigned int)reason;
}

/* Takes the properties out of "PUBLISH ... qN [idN] properties topic payload". */
static void without_properties(char *words)
{
	unsigned char bytes[PACKET_WORDS_MAX];
	struct out out = {bytes, 0, sizeof(bytes)};
	char *at = strstr(words, " q"), *rest;

	at = word_at(at + 1, at[2] == '0' ? 1 : 2);
	for (rest = at;; rest = word_at(rest, 1)) {
		const size_t size = strcspn(rest, " ");
		char word[PACKET_WORDS_MAX];

		snprintf(word, sizeof(word), "%.*s", (int)size, rest);
		if (rest[size] == '\0' || !put_property(&out, 3, word))
			break;
	}
	memmove(at, rest, strlen(rest) + 1);
}

bool disguise_told(char *words)
{
	char *const code = word_at(words, 2);

	if (strncmp(words, "CONNACK ", 8) == 0) {
		sprintf(code, "%u", return_code(strtoul(code, NULL, 0)));
	} else if (strncmp(words, "PUBLISH ", 8) == 0) {
		without_properties(words);
	} else if (strncmp(words, "SUBACK ", 7) == 0) {
		for (char *at = code; *at != '\0'; at = word_at(at, 1))
			if (strncmp(at, "0x", 2) == 0) {
				memcpy(at, "128", 3);
				memmove(at + 3, at + 4, strlen(at + 4) + 1);
			}
	} else if (strncmp(words, "DISCONNECT", 10) == 0) {
		return false;
	} else {
		end_behind(words, 2);
	}
	return true;
}
