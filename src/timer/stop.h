/* SPDX-License-Identifier: MIT */
/*
 * What the stops of timers, triggers and watches have in common (baton/stop.h).
 *
 * Each kind has a word of its own that says who touches the object. The thread that clears the last
 * flag of that word gives the memory back: it calls the function of stop_then. The function and its
 * argument are read before, since a thread that finds no flag may free the object.
 */
#ifndef BATON_SRC_STOP_H
#define BATON_SRC_STOP_H

#include <baton/resource.h>
#include <baton/stop.h>

#include "base/platform.h"

#include <stdint.h>

BATON_INLINE struct baton_stopped baton__stopped(enum baton_stop met)
{
	return (struct baton_stopped){met};
}

/*
 * tell: calls `tell(task)`, here, or later if the stack is too deep. The caller holds the baton or
 * not. after: the same, when the task that another thread is running on the resource has returned;
 * the resource must live until then. `task`: the object's; nothing else uses it any more. `tell`
 * calls the function of stop_then, and returns 0.
 */
void baton__stop_tell(struct baton_task *task, baton_task_fn tell);
void baton__stop_tell_after(struct baton_resource *resource, struct baton_task *task,
                            baton_task_fn tell);

/*
 * Stops the object by `stop`, which is its kind's stop, until the memory is the caller's. While a
 * task of the object is queued or runs, the thread helps `resource`, as an await does. 0;
 * -ETIMEDOUT: the deadline has passed first; -EDEADLK: the call would have to wait, and the thread
 * holds the resource, or may not wait; the errors of baton_resource_await().
 */
int baton__stop_wait(void *object, enum baton_stop (*stop)(void *object),
                     struct baton_resource *resource, uint64_t deadline_ns);

#endif
