/* SPDX-License-Identifier: MIT */
/* Enters one task and completes its future. The type of a task of a kind names the function. */
#include "core/run.h"

#include "base/atomic.h"
#include "base/probe.h"
#include "thread/node.h"
#include "core/backlog.h"
#include "core/batching.h"
#include "core/drop.h"
#include "core/gauge.h"
#include "core/guard.h"
#include "core/label.h"
#include "core/stats.h"

#include <errno.h>

const char baton__detached;
const char baton__void_run;

int baton__not_to_run(void)
{
	baton__top(baton__self)->value = BATON__VOID_RUN;
	return -ECANCELED;
}

bool baton__task_failed(struct baton__frame *frame, struct baton_task *task, int status, bool told)
{
	struct baton_resource *resource = frame->resource;
	const struct baton_resource_config *config = baton__config(resource);
	struct baton_resource_stats *stats = baton__stats(resource);

	if (frame->value == BATON__DETACHED)
		return true;
	if (frame->value == BATON__VOID_RUN) {
		frame->value = NULL;
		return false;
	}
	BATON_PROBE(task__failed, resource, status);
	/* Relaxed: only counted. Tasks may run beside each other. */
	if (stats)
		(void)add_relaxed(&stats->failed, 1);
	if (!told && config && config->failed) {
		BATON_GUARD(guard); /* a bracket's has ended */
		config->failed(resource, task, status);
		guard = false;
		baton__guard_frame(baton__self, frame);
	}
	return true;
}

/*
 * The task has left the queue. True: the task is to be entered. False: it was cancelled meanwhile,
 * by its tag or its future, and has been completed.
 */
static bool claim(struct baton_resource *resource, struct baton_task *task,
                  struct baton_future *future)
{
	if (baton__stamp_enter(task) &&
	    (!future || baton__future_claim(future, baton__turn_visits(resource))))
		return true;
	baton__cancel_entered(resource, task);
	return false;
}

/* Enters the task, which has been claimed. `batch`: NULL without hooks. `context`: in a pair of
 * enter and leave. False: the task was withdrawn. */
BATON_INLINE bool enter(struct baton__frame *frame, struct baton_task *task,
                        struct baton_future *future, struct baton__batch *batch, bool context)
{
	const bool told = future != NULL;
	bool ran = true;
	int status;

	if (context)
		baton__context_enter(frame->resource);
	frame->future = future;
	/* last touch of the task */
	status = baton__of_kind(task) ? baton__run_of_kind(task) : task->_run(task);
	baton__guard_frame(baton__self, frame);
	if (BATON_UNLIKELY(status))
		ran = baton__task_failed(frame, task, status, told);
	/* `future` is NULL if the task was detached: the future may be complete and gone. */
	future = frame->future;
	frame->future = NULL;
	if (context)
		baton__context_leave(frame->resource);
	if (batch)
		baton__batching.entered(batch, future, status, frame->value);
	else if (BATON_LIKELY(future != NULL))
		baton__future_finish(future, status ? BATON__FUTURE_FAILED : BATON__FUTURE_DONE,
		                     status, frame->value, NULL);
	return ran;
}

BATON_NOINLINE void baton__run_watched(struct baton__frame *frame, struct baton_task *task,
                                       struct baton__batch *batch, bool context)
{
	struct baton_resource *resource = frame->resource;
	struct baton_future *future = baton__task_future(task);
	struct baton_resource_stats *stats = baton__stats(resource);
	const struct baton__part_hooks *hooks = baton__part_hooks(task);
	bool ran;

	if (hooks && hooks->keep(task))
		return;
	if (baton__has_extras(resource))
		baton__backlog_left(resource, task);
	if (!claim(resource, task, future) || (batch && !baton__batching.enter(batch, task)))
		return;
	if (stats && stats->_gauge)
		baton__gauge_enter(stats, baton__function(task), stats->executed);
	(void)baton__backlog_lend(resource); /* until the drain goes on */
	ran = enter(frame, task, future, batch, context);
	if (stats) {
		if (stats->_gauge)
			baton__gauge_leave(stats, stats->executed);
		baton__count(ran ? &stats->executed : &stats->cancelled, 1);
	}
}

bool baton__run_beside(struct baton__frame *frame, struct baton_task *task)
{
	struct baton_future *future = baton__task_future(task);

	/* A task of KIND_ALONE has no context around it (kind.h). */
	const bool context = baton__has_context(frame->resource) &&
	                     !baton__kind_is(task, BATON__KIND_ALONE);

	frame->value = NULL;
	return claim(frame->resource, task, future) &&
	       enter(frame, task, future, NULL, context);
}

void baton__run_with_future(struct baton__frame *frame, struct baton_task *task)
{
	if (baton__of_kind(task)) {
		baton__run_watched(frame, task, NULL, false);
		return;
	}
	if (BATON_LIKELY(baton__future_claim(task->_future, baton__turn_visits(frame->resource))))
		(void)enter(frame, task, task->_future, NULL, false);
	else
		baton__cancel_entered(frame->resource, task);
}
