/* SPDX-License-Identifier: MIT */
/*
 * What a failed assertion does (the only place where the library prints or ends the process), and
 * the library's version.
 */
#include "base/platform.h"

#include <baton/version.h>

#include <stdio.h>
#include <stdlib.h>

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

#define LINE_MAX_BYTES 512

static void print_line(const char *what, const char *file, int line)
{
	(void)fprintf(stderr, "baton: %s (%s:%d)\n", what, file, line);
}

BATON_EXPORT void (*baton_assert_hook)(const char *, const char *, int) = print_line;

void baton__assert_fail(const char *what, const char *file, int line)
{
	if (baton_assert_hook)
		baton_assert_hook(what, file, line);
	abort();
}

void baton__misuse(const char *function, const char *name, const char *what, const char *file,
                   int line)
{
	char text[LINE_MAX_BYTES];

	if (name)
		(void)snprintf(text, sizeof(text), "%s: \"%s\" %s", function, name, what);
	else
		(void)snprintf(text, sizeof(text), "%s: %s", function, what);
	baton__assert_fail(text, file, line);
}

BATON_EXPORT const char *baton_version(void)
{
	return VERSION_TEXT(BATON_VERSION_MAJOR, BATON_VERSION_MINOR, BATON_VERSION_PATCH);
}

BATON_EXPORT int baton_version_number(void)
{
	return BATON_VERSION;
}
