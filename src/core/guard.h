/* SPDX-License-Identifier: MIT */
/*
 * The guard of a task's function, which must return. If unwinding left the function (a C++
 * exception, pthread_exit, the cancellation of its thread), the baton would be held for ever, and
 * frames would lie on a stack that is gone. The guard ends the process instead. The guard is a
 * cleanup, which unwinding runs (-fexceptions). A function that returns pays nothing: the guard is
 * NULL then, and the compiler drops the check.
 */
#ifndef BATON_SRC_GUARD_H
#define BATON_SRC_GUARD_H

#include <baton/resource.h>

#include "base/platform.h"
#include "core/frame.h"

BATON_INLINE void baton__guard_end(const struct baton_resource **guard)
{
	if (*guard)
		BATON_MISUSE_OF(
			"a task", (*guard)->_name,
			"was left by an exception, pthread_exit or a cancellation: a task's "
			"function returns");
}

/* The guard of a short path: it has a frame, whose address costs no register. */
BATON_INLINE void baton__guard_frame_end(struct baton__frame *const *guard)
{
	if (*guard)
		baton__guard_end(&(const struct baton_resource *){(*guard)->resource});
}

/* Declares the guard `name`. When the user's function has returned, set `name = NULL`. */
#define BATON_GUARD_FRAME(name, frame)                                                             \
	struct baton__frame *name __attribute__((cleanup(baton__guard_frame_end))) = (frame)
#define BATON_GUARD(name, resource)                                                                \
	const struct baton_resource *name __attribute__((cleanup(baton__guard_end))) = (resource)

#endif
