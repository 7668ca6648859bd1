/* SPDX-License-Identifier: MIT */
/*
 * Calls that fail only if this program is wrong, or if the machine lacks the few dozen bytes for a
 * change to a list: the program then stops with one line. Messages and packets, whose size clients
 * choose, are not allocated here: for them "no memory" is an ordinary answer.
 */
#ifndef BROKER_MUST_H
#define BROKER_MUST_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <baton/error.h>

/* Stops the program if `status` is an error; `what` is the call. */
static inline void must(int status, const char *what)
{
	if (status == 0)
		return;
	fprintf(stderr, "broker: %s: %s\n", what, baton_error_text(status));
	abort();
}

static inline void *must_alloc(size_t size)
{
	void *memory = calloc(1, size);

	if (memory == NULL) {
		fputs("broker: there is no memory\n", stderr);
		abort();
	}
	return memory;
}

#endif
