/* SPDX-License-Identifier: MIT */
/*
 * The context of a resource: its config's enter and leave. They are called around each function of
 * the user's that runs under the baton, except those that resource.h excepts. Pairs nest on a
 * thread; a resource is in one pair at a time.
 */
#ifndef BATON_SRC_CONTEXT_H
#define BATON_SRC_CONTEXT_H

#include "core/config.h"

/* For a resource that has a context (config.h). Called by the holder. */
void baton__context_enter(struct baton_resource *resource);
void baton__context_leave(struct baton_resource *resource);

/* Calls batch_begin or batch_end (hooks.h), in a context of its own. NULL: returns 0. */
int baton__context_hook(struct baton_resource *resource,
                        int (*hook)(struct baton_resource *resource));

/* The same for any resource. */
BATON_INLINE void baton__context_begin(struct baton_resource *resource)
{
	if (BATON_UNLIKELY(baton__has_context(resource)))
		baton__context_enter(resource);
}

BATON_INLINE void baton__context_end(struct baton_resource *resource)
{
	if (BATON_UNLIKELY(baton__has_context(resource)))
		baton__context_leave(resource);
}

#endif
