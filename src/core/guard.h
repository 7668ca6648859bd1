/* SPDX-License-Identifier: MIT */
/*
 * The guard of a task's function, which must return. If unwinding left the function (a C++
 * exception, pthread_exit, the cancellation of its thread), the baton would be held for ever, and
 * frames would lie on a stack that is gone. The guard ends the process instead. The guard is a
 * cleanup, which unwinding runs (-fexceptions). A function that returns pays nothing: the guard is
 * false then, and the compiler drops the check. The guard keeps no value across the function
 * (baton__leave_bare, bracket.h): it reads the resource from the thread's record.
 */
#ifndef BATON_SRC_GUARD_H
#define BATON_SRC_GUARD_H

#include <stdbool.h>

#include "base/platform.h"

struct baton_resource;

/*
 * Both end the process. task_was_left: a function of the resource was left by unwinding.
 * guard_left: a function of the thread's innermost frame was.
 */
void baton__task_was_left(const struct baton_resource *resource);
void baton__guard_left(void);

BATON_INLINE void baton__guard_end(const bool *guard)
{
	if (*guard)
		baton__guard_left();
}

/* Declares the guard `name`. When the user's function has returned, set `name` to false. */
#define BATON_GUARD(name) bool name __attribute__((cleanup(baton__guard_end))) = true

#endif
