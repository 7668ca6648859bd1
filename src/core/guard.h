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
			"a task", baton__name(*guard),
			"was left by an exception, pthread_exit or a cancellation: a task's "
			"function returns");
}

/* Ends the process for the thread's innermost task. */
void baton__guard_top_left(void);

BATON_INLINE void baton__guard_top_end(const bool *guard)
{
	if (*guard)
		baton__guard_top_left();
}

/* Declares the guard `name`. When the user's function has returned, set `name` to false, or NULL.
 * The first keeps no value across the function (baton__short_leave): it asks the thread. */
#define BATON_GUARD_TOP(name) bool name __attribute__((cleanup(baton__guard_top_end))) = true
#define BATON_GUARD(name, resource)                                                                \
	const struct baton_resource *name __attribute__((cleanup(baton__guard_end))) = (resource)

#endif
