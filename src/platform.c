/* SPDX-License-Identifier: MIT */
/*
 * The way out of a failed assertion: the only place where the library prints or ends the process.
 */
#include "platform.h"

#include <baton/version.h>

#include <stdio.h>
#include <stdlib.h>

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

static void print_line(const char *condition, const char *file, int line)
{
	(void)fprintf(stderr, "baton: %s:%d: assertion failed: %s\n", file, line, condition);
}

BATON_EXPORT void (*baton_assert_hook)(const char *, const char *, int) = print_line;

void baton__assert_fail(const char *condition, const char *file, int line)
{
	if (baton_assert_hook)
		baton_assert_hook(condition, file, line);
	abort();
}

BATON_EXPORT const char *baton_version(void)
{
	return VERSION_TEXT(BATON_VERSION_MAJOR, BATON_VERSION_MINOR, BATON_VERSION_PATCH);
}
