/* SPDX-License-Identifier: MIT */
/*
 * Layer 5: one task that has been unlinked is run, or cancelled. The holder.
 */
#ifndef BATON_SRC_RUN_H
#define BATON_SRC_RUN_H

#include "resource.h"

struct baton__batch;

/* A task with a future, or of a resource that has statistics, an extension or hooks. */
void baton__run_watched(struct baton__frame *frame, struct baton_resource *resource,
                        struct baton_task *task, struct baton__batch *batch);

/* Enters the task, and completes its future. `batch`: NULL without hooks. */
BATON_INLINE void baton__run_task(struct baton__frame *frame, struct baton_resource *resource,
                                  struct baton_task *task, struct baton__batch *batch)
{
	frame->value = NULL;
	if (BATON_LIKELY(!task->_future) && BATON_LIKELY(!resource->_stats) && BATON_LIKELY(!batch))
		(void)task->_run(task); /* last touch of the task */
	else
		baton__run_watched(frame, resource, task, batch);
}

/* As baton__cancel_task, of one that the bound counts as gone already. */
void baton__cancel_entered(struct baton_resource *resource, struct baton_task *task);

#endif
