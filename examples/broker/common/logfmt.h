/* SPDX-License-Identifier: MIT */
/*
 * A line of `key=value` pairs, as logfmt has them: a value with anything in it but plain characters
 * stands in quotes, with \ before " and \. A value is made printable, and cut at
 * LOGFMT_VALUE_MAX bytes. Pure.
 */
#ifndef BROKER_LOGFMT_H
#define BROKER_LOGFMT_H

#include <stddef.h>

#include "mqtt/names.h"

#define LOGFMT_VALUE_MAX 256

struct logfmt {
	char *text;
	size_t size;
	size_t used; /* less than `size` */
};

/*
 * Appends a pair, with a space before it unless it is the first. A value for which there is no room
 * is cut short, with its quotes; a pair whose key has no room is left out.
 */
void logfmt_add(struct logfmt *line, const char *key, struct slice value);

#endif
