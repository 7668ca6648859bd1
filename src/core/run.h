/* SPDX-License-Identifier: MIT */
/*
 * One task that has been unlinked is run, or cancelled. The holder.
 */
#ifndef BATON_SRC_RUN_H
#define BATON_SRC_RUN_H

#include "core/resource.h"

struct baton__batch;

/* A frame's `value` when the running task is detached: what its function returns is ignored. */
extern const char baton__detached;
#define BATON__DETACHED ((void *)(uintptr_t)&baton__detached)

/* Completes one unlinked task as cancelled. The holder. tell: one without a future. */
void baton__cancel_task(struct baton_resource *resource, struct baton_task *task);
void baton__tell_cancelled(struct baton_resource *resource, struct baton_task *task);

/* A task of a resource with statistics, an extension or hooks; or a task of a kind. */
void baton__run_watched(struct baton__frame *frame, struct baton_resource *resource,
                        struct baton_task *task, struct baton__batch *batch);

/* A task with a future, or of a kind, of another resource. */
void baton__run_with_future(struct baton__frame *frame, struct baton_resource *resource,
                            struct baton_task *task);

/*
 * The function of the frame's running task has returned a status: counts, and calls config->failed
 * unless a future has been told. The task is only named.
 */
void baton__task_failed(const struct baton__frame *frame, struct baton_task *task, int status,
                        bool told);

/* Enters the task, and completes its future. `batch`: NULL without hooks. */
BATON_INLINE void baton__run_task(struct baton__frame *frame, struct baton_resource *resource,
                                  struct baton_task *task, struct baton__batch *batch)
{
	int status = 0;

	frame->value = NULL;
	if (BATON_UNLIKELY(resource->_stats != NULL) || BATON_UNLIKELY(batch != NULL))
		baton__run_watched(frame, resource, task, batch);
	else if (BATON_UNLIKELY(task->_future != NULL))
		baton__run_with_future(frame, resource, task);
	else
		status = task->_run(task); /* last touch of the task */
	if (BATON_UNLIKELY(status))
		baton__task_failed(frame, task, status, false);
}

/* As baton__cancel_task, of one that the bound counts as gone already. */
void baton__cancel_entered(struct baton_resource *resource, struct baton_task *task);

#endif
