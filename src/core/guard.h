/* SPDX-License-Identifier: MIT */
/*
 * The guards of a user's function, which must return, and inside no hold that it has taken.
 *
 * If unwinding left a task's function (a C++ exception, pthread_exit, the cancellation of its
 * thread), the baton would be held for ever, and frames would lie on a stack that is gone.
 * BATON_GUARD ends the process instead. It is a cleanup, which unwinding runs (-fexceptions). A
 * function that returns pays nothing: the guard is false then, and the compiler drops the check.
 * The guard keeps no value across the function (baton__leave_bare, bracket.h): it reads the
 * resource from the thread's record.
 *
 * A hold that the function has not released has a frame above the function's. That frame may lie
 * on a stack that is gone. So each place that has called a function of the user's compares the
 * thread's `top` with its value before, and ends the process where the two differ. The place looks
 * at no frame above its own before that.
 */
#ifndef BATON_SRC_GUARD_H
#define BATON_SRC_GUARD_H

#include <stdbool.h>

#include "thread/thread.h"

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

/* Ends the process: the function that has returned has kept a hold. */
_Noreturn BATON_COLD void baton__guard_kept(void);

/* Ends the process if that is so. `before`: the thread's `top` before the function. */
void baton__guard_moved(uintptr_t before);

/* A function of the user's has returned. `frame`: the thread's innermost frame before the function.
 */
BATON_INLINE void baton__guard_frame(const struct baton__thread *self,
                                     const struct baton__frame *frame)
{
	if (BATON_UNLIKELY(self->top != (uintptr_t)frame))
		baton__guard_kept();
}

/* The same where the thread may have no frame. `before`: its `top` before the function. */
BATON_INLINE void baton__guard_returned(uintptr_t before)
{
	if (BATON_UNLIKELY(baton__self->top != before))
		baton__guard_moved(before);
}

#endif
