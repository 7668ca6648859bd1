/* SPDX-License-Identifier: MIT */
/* Runs one task, which has been unlinked. Called by the holder. */
#ifndef BATON_SRC_RUN_H
#define BATON_SRC_RUN_H

#include "base/checked.h"
#include "base/probe.h"
#include "core/context.h"
#include "core/guard.h"
#include "core/resource.h"

struct baton__batch;

/* A frame's `value` when the running task is detached: the status of its function is ignored. */
extern const char baton__detached;
#define BATON__DETACHED ((void *)(uintptr_t)&baton__detached)

/* The same, when the task was entered, and was then found to be withdrawn: it counts as cancelled
 * (baton__not_to_run). */
extern const char baton__void_run;
#define BATON__VOID_RUN ((void *)(uintptr_t)&baton__void_run)

/*
 * Runs a task of a resource with statistics, an extension, hooks or a context; or a task of a kind.
 * `batch`: NULL without hooks. `context`: has the resource enter or leave (context.h)?
 */
void baton__run_watched(struct baton__frame *frame, struct baton_task *task,
                        struct baton__batch *batch, bool context);

/*
 * Runs a task with a future, or of a kind, of a resource without statistics, extension, hooks and
 * context.
 */
void baton__run_with_future(struct baton__frame *frame, struct baton_task *task);

/*
 * Runs a task that has left the queue, on a thread that need not hold the baton: the caller keeps
 * the resource busy, and no thread but such threads runs tasks of the resource meanwhile. `frame`:
 * the innermost frame of this thread. False: the task was cancelled.
 */
bool baton__run_beside(struct baton__frame *frame, struct baton_task *task);

/*
 * The function of the frame's running task has returned a status other than 0. Counts the failure,
 * and calls config->failed unless `told`: the task has a future. The pointer `task` is passed on
 * and not followed. False: there is no failure, since the task was withdrawn.
 */
bool baton__task_failed(struct baton__frame *frame, struct baton_task *task, int status, bool told);

/*
 * For the `run` of a type of the library's: the runner has reached the task, and there is nothing
 * to run, as its timer, trigger, watch or fan-out has been stopped. `run` returns what this
 * function returns, and the task counts as cancelled, not as executed.
 */
int baton__not_to_run(void);

/* Enters the task, and completes its future. `self`: the calling thread. `resource`: the frame's.
 * `batch`, `context`: as in baton__run_watched. */
BATON_INLINE void baton__run_task(const struct baton__thread *self, struct baton__frame *frame,
                                  struct baton_resource *resource, struct baton_task *task,
                                  struct baton__batch *batch, bool context)
{
	int status = 0;

	BATON__CHECKED(enter(resource, task));
	BATON_PROBE(task__begin, resource, task);
	frame->value = NULL;
	if (BATON_UNLIKELY(baton__has_extras(resource)) || BATON_UNLIKELY(batch != NULL) ||
	    BATON_UNLIKELY(context))
		baton__run_watched(frame, task, batch, context);
	else if (BATON_UNLIKELY(task->_future != NULL))
		baton__run_with_future(frame, task);
	else
		status = task->_run(task); /* last touch of the task */
	baton__guard_frame(self, frame);
	BATON_PROBE(task__end, resource, status);
	if (BATON_UNLIKELY(status))
		(void)baton__task_failed(frame, task, status, false);
}

#endif
