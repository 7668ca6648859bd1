/* SPDX-License-Identifier: MIT */
/* Submits a chain of ready tasks: by a capture or a push. */
#ifndef BATON_SRC_SUBMIT_H
#define BATON_SRC_SUBMIT_H

#include "core/resource.h"

/* Flags of `how`. */
#define BATON__SUBMIT_LATER 1U /* never run the chain on this thread */
#define BATON__SUBMIT_NO_WAIT                                                                      \
	2U /* refuse the chain where a bound's policy says that the submitter waits */

/*
 * Publishes a chain of `count` tasks, linked oldest first; captures an idle resource. The tasks are
 * ready (baton__ready).
 */
int baton__submit_chain(struct baton_resource *resource, struct baton_task *first, uint32_t count,
                        unsigned how);

/*
 * A submit with all checks: attaches the thread and binds the future. Does not stand back
 * (contention.h).
 */
int baton__submit(struct baton_resource *resource, struct baton_task *task, unsigned how);

/*
 * The same for a task without a future, by a thread that has a record and has found the resource
 * busy. Stands back, and tries a plain push first.
 */
int baton__submit_busy(struct baton_resource *resource, struct baton_task *task);

/*
 * Unbinds the future of a task that was not accepted. Returns `error`; or -ECANCELED if the future
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
	/* wait.last_look (wait_help.c): the future is bound before the task is queued, and the look
	 * for sleepers comes after that; the other end is help_one */
	baton__future_bind(future, resource);
	return true;
}

#endif
