/* SPDX-License-Identifier: MIT */
/* What the program may set or ask: the hook of a failed assertion, the library's version. */
#include "base/platform.h"

#include <baton/version.h>

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

static void print_line(const char *what, const char *file, int line)
{
	baton__print("baton: %s (%s:%d)\n", what, file, line);
}

BATON_EXPORT void (*baton_assert_hook)(const char *, const char *, int) = print_line;

BATON_EXPORT const char *baton_version(void)
{
	return VERSION_TEXT(BATON_VERSION_MAJOR, BATON_VERSION_MINOR, BATON_VERSION_PATCH);
}

BATON_EXPORT int baton_version_number(void)
{
	return BATON_VERSION;
}
