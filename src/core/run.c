/* SPDX-License-Identifier: MIT */
/*
 * One task: entered, its future completed; or cancelled. The type of a task of a kind says what is
 * entered, and who is told that the task is cancelled.
 */
#include "core/run.h"

#include "base/atomic.h"
#include "core/backlog.h"
#include "core/call.h"
#include "core/hooks.h"
#include "core/kick.h"
#include "core/labelled.h"
#include "thread/node.h"

#include <errno.h>

void baton__tell_cancelled(struct baton_resource *resource, struct baton_task *task)
{
	struct baton_labelled *labelled = baton__label(task);

	if (labelled)
		baton__label_let_go(labelled);
	if (baton__of_kind(task) && baton__type(task)->cancelled)
		baton__type(task)->cancelled(task);
	else if (baton__function(task) == baton__post_labelled_run)
		baton__post_labelled_cancelled(task);
	else if (resource->_config && resource->_config->cancelled)
		resource->_config->cancelled(task);
}

void baton__cancel_entered(struct baton_resource *resource, struct baton_task *task)
{
	struct baton_resource_stats *stats = baton__stats(resource);
	struct baton_labelled *labelled = baton__label(task);
	struct baton_future *future = baton__task_future(task);

	if (stats)
		baton__count(&stats->cancelled, 1);
	if (BATON_UNLIKELY(task->_run == baton__windowed_run))
		baton__windowed_drop(task);
	if (!future) {
		baton__tell_cancelled(resource, task);
		return;
	}
	if (labelled)
		baton__label_let_go(labelled);
	baton__future_finish(future, BATON__FUTURE_CANCELLED, -ECANCELED, NULL,
	                     baton__turn_visits(resource));
}

void baton__cancel_task(struct baton_resource *resource, struct baton_task *task)
{
	baton__backlog_left(resource, task);
	baton__cancel_entered(resource, task);
}

void baton__task_failed(const struct baton__frame *frame, struct baton_task *task, int status,
                        bool told)
{
	struct baton_resource *resource = frame->resource;
	const struct baton_resource_config *config = resource->_config;
	struct baton_resource_stats *stats = baton__stats(resource);

	if (frame->value == BATON__DETACHED)
		return;
	if (stats)
		baton__count(&stats->failed, 1);
	if (!told && config && config->failed)
		config->failed(resource, task, status);
}

BATON_NOINLINE void baton__run_watched(struct baton__frame *frame, struct baton_resource *resource,
                                       struct baton_task *task, struct baton__batch *batch)
{
	const bool special = resource->_stats != NULL;
	struct baton_future *future = baton__task_future(task);
	const bool told = future != NULL;
	struct baton_resource_stats *stats;
	int status;

	if (BATON_UNLIKELY(task->_run == baton__windowed_run) && baton__windowed_keeps(task))
		return;
	if (special) {
		baton__backlog_left(resource, task);
	}
	if (!baton__label_enter(task) ||
	    (future && !baton__future_claim(future, baton__turn_visits(resource)))) {
		baton__cancel_entered(resource, task);
		return;
	}
	if (batch && !baton__batch_enter(batch, task))
		return;
	frame->future = future;
	status = baton__function(task)(task); /* last touch of the task */
	if (BATON_UNLIKELY(status))
		baton__task_failed(frame, task, status, told);
	/* NULL: it was detached, and may be complete, and gone. */
	future = frame->future;
	frame->future = NULL;
	if (batch)
		baton__batch_entered(batch, future, status, frame->value);
	else if (BATON_LIKELY(future != NULL))
		baton__future_finish(future, status ? BATON__FUTURE_FAILED : BATON__FUTURE_DONE,
		                     status, frame->value, NULL);
	stats = special ? baton__stats(resource) : NULL;
	if (stats)
		baton__count(&stats->executed, 1);
}

void baton__run_with_future(struct baton__frame *frame, struct baton_resource *resource,
                            struct baton_task *task)
{
	struct baton_future *future = task->_future;
	baton_task_fn fn = task->_run;
	int status;

	if (baton__of_kind(task)) {
		baton__run_watched(frame, resource, task, NULL);
		return;
	}
	if (BATON_UNLIKELY(fn == baton__labelled_run) ||
	    BATON_UNLIKELY(fn == baton__windowed_run)) {
		baton__run_watched(frame, resource, task, NULL);
		return;
	}
	if (BATON_UNLIKELY(!baton__future_claim(future, baton__turn_visits(resource)))) {
		baton__cancel_entered(resource, task);
		return;
	}
	frame->future = future;
	status = fn(task); /* last touch of the task */
	/* NULL: as above. */
	future = frame->future;
	frame->future = NULL;
	if (BATON_LIKELY(future != NULL))
		baton__future_finish(future, status ? BATON__FUTURE_FAILED : BATON__FUTURE_DONE,
		                     status, frame->value, NULL);
}
