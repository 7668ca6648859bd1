/* SPDX-License-Identifier: MIT */
/*
 * What cannot fail unless this program is wrong, or the machine is out of memory for the few dozen
 * bytes of a change to a list: then it stops with one line. Messages and packets, whose size others
 * choose, are not allocated through here: for them "no memory" is an ordinary answer.
 */
#ifndef BROKER_MUST_H
#define BROKER_MUST_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A submit to a resource that a reference of ours keeps open. */
static inline void must(int status, const char *what)
{
	if (status == 0)
		return;
	fprintf(stderr, "broker: %s: %s\n", what, strerror(-status));
	abort();
}

static inline void *must_alloc(size_t size)
{
	void *memory = calloc(1, size);

	if (memory == NULL)
		must(-12, "allocate");
	return memory;
}

#endif
