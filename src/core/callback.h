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
 *    counted visit, which ends when the task's function is about to be called.
 * callback.told: A function that is told of an end waits for nothing, and nothing that it submits
 *    runs inside it. Its frame is deeper than each limit of depth (DEPTH_TOLD): so all that asks
 *    for the place finds the stack too deep, calls are refused, no executor is driven, and what
 *    waits asks baton__is_told(). The function is called by a loop that fires continuations; that
 *    loop, too, fires the continuations of the futures that the function completes, after the
 *    function has returned (L7). On a thread that gets no record, the function runs without a
 *    frame; until it has returned the thread still gets none, since a submit would run inline.
 */
#ifndef BATON_SRC_CALLBACK_H
#define BATON_SRC_CALLBACK_H

#include "core/resource.h"

/* Added to the depth of a function that is told of an end (callback.told). */
#define BATON__DEPTH_TOLD 0x20000000U

/* Is the thread inside a function that is told of an end, or in one that this function has called?
 * False on a thread without a record, which cannot wait either. */
BATON_INLINE bool baton__is_told(const struct baton__thread *self)
{
	return baton__depth(self) >= BATON__DEPTH_TOLD && baton__has_record(self);
}

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

/* The `_fire` of a continuation that is a function, `_subject`, with its argument, `_target`: tells
 * the function of the end, here or later (callback.told). */
void baton__tell_end(struct baton_continuation *continuation);

/* Calls the functions that this thread has put off. True: there was at least one. */
bool baton__late_run(void);

#endif
