/* SPDX-License-Identifier: MIT */
/*
 * The place: where a task or another function of the user's may run now. Code that is about to run
 * tasks, or to call a user's function that holds no baton, calls baton__place() first; the short
 * paths of submit, batch and post check the depth themselves. So the stack is bounded on every path
 * (L7, L14).
 */
#ifndef BATON_SRC_PLACE_H
#define BATON_SRC_PLACE_H

#include "core/resource.h"

enum baton__place {
	BATON__HERE,     /* at once, in a new frame */
	BATON__EXECUTOR, /* hand off; later on this thread, if no executor takes the job */
	BATON__LATER,    /* on this thread, when its stack is less deep */
};

/* `resource`: the resource whose tasks are to run; NULL: for a function that holds no baton. */
BATON_INLINE enum baton__place baton__place(const struct baton_resource *resource)
{
	const uint32_t depth = baton__self->depth;

	if (resource)
		return depth < BATON_NESTING_MAX && baton__capture_limit(resource)
		               ? BATON__HERE
		               : BATON__EXECUTOR;
	/* A thread without a record cannot put anything off. */
	return depth < BATON_NESTING_MAX || depth >= BATON__DEPTH_NONE ? BATON__HERE : BATON__LATER;
}

#endif
