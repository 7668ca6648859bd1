/* SPDX-License-Identifier: MIT */
/*
 * Functions of the user's that hold no baton: a finaliser; the `cancelled` of a task that its
 * resource has not accepted; the `cancelled` of a trigger or of a job that a continuation could not
 * hand to its target. Such a function has a frame of its own, without a resource: the calls that
 * the function makes count as nested.
 *
 * Invariants:
 * callback.frame: A function of the user's runs with a frame on the stack, except on a thread
 *    without a record. So the depth counts how often the library and the user have called each
 *    other.
 * callback.late: A function that a thread puts off is called by the same thread: before the thread
 *    sleeps in a wait (which may be a wait for that function), otherwise when the thread's stack is
 *    unwound.
 * callback.visit: For each refused task in a thread's `late_tasks` the task's resource has a
 *    counted visit.
 */
#ifndef BATON_SRC_CALLBACK_H
#define BATON_SRC_CALLBACK_H

#include "core/resource.h"

/* Push and pop the frame of a function that holds no baton; not on a thread without a record. */
void baton__callback_begin(struct baton__frame *frame);
void baton__callback_end(struct baton__frame *frame);

/* Calls the finaliser, here or later. No other thread touches the finaliser's resource any more. */
void baton__finalise(struct baton_task *finaliser);

/* Tells the owner of a task without a future, here or later, that the task was not accepted. */
void baton__tell_refused(struct baton_resource *resource, struct baton_task *task);

/* Calls `tell(continuation)`, here or later. `tell` calls a function of the user's. */
void baton__call_out(struct baton_continuation *continuation,
                     void (*tell)(struct baton_continuation *continuation));

/* Calls the functions that this thread has put off. True: there was at least one. */
bool baton__late_run(void);

#endif
