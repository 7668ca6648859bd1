/* SPDX-License-Identifier: MIT */
/*
 * Submitting: from a chain of ready tasks to a capture or a push.
 */
#ifndef BATON_SRC_SUBMIT_H
#define BATON_SRC_SUBMIT_H

#include "core/resource.h"

/* How to submit. */
#define BATON__SUBMIT_LATER 1U /* never run it on this thread */
#define BATON__SUBMIT_NO_WAIT                                                                      \
	2U /* refuse it where a bound's policy says that the submitter waits */

/*
 * Publishes a chain of `count` tasks, linked oldest first; captures if that is possible. The tasks
 * are ready (see baton__ready).
 */
int baton__submit_chain(struct baton_resource *resource, struct baton_task *first, uint32_t count,
                        unsigned how);

/* A submit the long way: attaches the thread, binds the future; does not stand back. */
int baton__submit(struct baton_resource *resource, struct baton_task *task, unsigned how);

/*
 * The same for a task without a future, by a thread that has a record and has found the resource
 * busy: pushed at once, where that is all.
 */
int baton__submit_busy(struct baton_resource *resource, struct baton_task *task);

/*
 * The task was not accepted: its future is bound no more. Returns `error`; -ECANCELED if the future
 * was cancelled meanwhile, and is now complete.
 */
int baton__unready(struct baton_resource *resource, struct baton_task *task, int error);

/* Binds the task's future to the resource. False: the future is not fresh. */
BATON_INLINE bool baton__ready(struct baton_resource *resource, struct baton_task *task)
{
	struct baton_future *future = baton__task_future(task);

	if (BATON_LIKELY(!future))
		return true;
	if (!baton__future_fresh(future))
		return false;
	/* [N6] before the task is queued, and the look for sleepers after that; pairs with [N6] in
	 * help_one */
	baton__future_bind(future, resource);
	return true;
}

/*
 * As baton__run_captured, from a short path, which has set up only half of this thread's topmost
 * frame.
 */
void baton__run_on(uint32_t ran, uint32_t own);

#endif
