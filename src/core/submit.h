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
 * (barge.h).
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

/*
 * As baton__run_captured, for a short path, which has popped its frame and not released the
 * resource (baton_inline_leave).
 */
void baton__run_on(struct baton_resource *resource, uint32_t ran, uint32_t own);

/*
 * Ends a short path, whose frame this is. Resource and record are read anew: a value that is kept
 * across the user's function is saved on the stack. The record is read by its second name, since
 * the compiler would keep the place of baton__self, too.
 *
 * The reason to save stores: where a thread uses many resources, each capture waits for a cache
 * line, and the processor goes on with the next tasks meanwhile. It stops when its store buffer is
 * full. Eight stores more per task cost a third there, 32 stores a factor of 4, one atomic
 * read-modify-write 9 % (test/bench/README.md).
 */
BATON_INLINE void baton__short_leave(const struct baton__frame *frame)
{
	struct baton_resource *resource = frame->resource;

	if (!baton_inline_leave(&baton__self_again->head, frame, resource, BATON__NORMAL))
		baton__run_on(resource, 1, 1);
}

#endif
