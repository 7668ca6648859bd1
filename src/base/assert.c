/* SPDX-License-Identifier: MIT */
/*
 * What a failed assertion does (the only place where a library ends the process), and how a library
 * prints. A shared companion has a copy of this file, and libbaton's hook.
 */
#include "base/platform.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LINE_MAX_BYTES 512

void baton__print(const char *format, ...)
{
	char line[LINE_MAX_BYTES + 256];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (length < 0)
		return;
	if ((size_t)length >= sizeof(line)) {
		length = (int)sizeof(line) - 1;
		line[length - 1] = '\n';
	}
	/* Ends: each failure is a signal. */
	while (write(STDERR_FILENO, line, (size_t)length) < 0 && errno == EINTR)
		;
}

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
