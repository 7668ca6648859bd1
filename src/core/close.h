/* SPDX-License-Identifier: MIT */
/*
 * Whether a resource is closed, for callers that only ask; a submit finds out by its own
 * compare-and-swap.
 */
#ifndef BATON_SRC_CLOSE_H
#define BATON_SRC_CLOSE_H

#include <stdbool.h>

#include "core/word.h"

/*
 * True after a close that happened before this call; for a close that runs beside this call, either
 * answer.
 */
BATON_INLINE bool baton__resource_closed(const struct baton_resource *resource)
{
	/* Relaxed: CLOSED stays set; the closer's writes become visible by an await. */
	return baton__word_is_closed(baton__word(resource));
}

/* Puts a mark that is to be looked at before the next task into the inbox of a busy resource.
 * False: it is idle. */
bool baton__push_attention(struct baton_resource *resource, struct baton_task *mark);

#endif
