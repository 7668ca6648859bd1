/* SPDX-License-Identifier: MIT */
/*
 * Is a resource closed? For callers that only ask: a submit finds out by its own CAS. And the push
 * of a mark.
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
 * Puts a mark into the inbox, and asks what `ask` says. An idle resource is captured, and meets the
 * mark. With ASK_LOOK an idle resource is left alone, since no entry waits there: false.
 */
bool baton__push_mark(struct baton_resource *resource, struct baton_task *mark,
                      enum baton__ask ask);

#endif
