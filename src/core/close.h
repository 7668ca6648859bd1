/* SPDX-License-Identifier: MIT */
/*
 * Is a resource closed? For callers that only ask: a submit finds out by its own CAS. And the push
 * of a mark that asks the holder to look.
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

/* Puts a mark into the inbox of a busy resource, and asks the holder to look at the inbox before it
 * runs the next task. False: the resource is idle. */
bool baton__push_attention(struct baton_resource *resource, struct baton_task *mark);

#endif
