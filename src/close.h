/* SPDX-License-Identifier: MIT */
/*
 * Layer 5: whether a resource is closed, for callers that only ask; a submit finds out by its own
 * compare-and-swap.
 */
#ifndef BATON_SRC_CLOSE_H
#define BATON_SRC_CLOSE_H

#include <stdbool.h>

#include "atomic.h"
#include "resource.h"

/* True after a close that happened before this call; of a close beside this call, either answer. */
BATON_INLINE bool baton__resource_closed(const struct baton_resource *resource)
{
	/* Relaxed: CLOSED stays set, and what the closer did is for an await to show. */
	return (load_relaxed(&resource->_word) & BATON__MODE) == BATON__CLOSED;
}

#endif
