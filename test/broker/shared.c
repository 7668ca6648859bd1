/* SPDX-License-Identifier: MIT */
/* See shared.h. */
#include "shared.h"

#include <stdio.h>

const char *shared(const char *group, const char *filter)
{
	static char words[8][256];
	static unsigned int at;
	char *next = words[at++ % 8];

	snprintf(next, sizeof(words[0]), "^$share/%s-%s/%s/%s", story_name(), group, story_name(),
	         filter);
	return next;
}
