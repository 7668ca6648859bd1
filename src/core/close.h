/* SPDX-License-Identifier: MIT */
/*
 * The push of a mark; and the question whether a resource is closed, for callers that only ask: a
 * submit finds out by its own CAS.
 */
#ifndef BATON_SRC_CLOSE_H
#define BATON_SRC_CLOSE_H

#include <stdbool.h>

#include "core/word.h"

/*
 * True after a close that happened before this call. For a close that runs beside this call, either
 * answer is possible.
 */
BATON_INLINE bool baton__resource_closed(const struct baton_resource *resource)
{
	/* Relaxed: CLOSED stays set. An await makes the closer's writes visible. */
	return baton__word_is_closed(baton__word(resource));
}

/*
 * Puts a mark into the inbox, and asks what `ask` says. This thread captures an idle resource for
 * the mark. With ASK_LOOK it leaves an idle resource alone, since no entry waits: false.
 */
bool baton__push_mark(struct baton_resource *resource, struct baton_task *mark,
                      enum baton__ask ask);

#endif
