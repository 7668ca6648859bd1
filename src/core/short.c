/* SPDX-License-Identifier: MIT */
/*
 * baton_submit, and the short paths of a submit.
 */
#include "core/short.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "core/backlog.h"
#include "core/barge.h"
#include "core/guard.h"
#include "core/handoff.h"
#include "core/place.h"
#include "core/run.h"
#include "core/stats.h"
#include "core/stay.h"
#include "core/submit.h"

#include <errno.h>

BATON_NOINLINE void baton__run_on(struct baton_resource *resource, uint32_t ran, uint32_t own)
{
	struct baton__stay stay;

	baton__frame_push(&stay.frame, resource);
	baton__run_captured(&stay, ran, own);
}

BATON_NOINLINE void baton__framed_leave(void)
{
	baton__outer_leave();
}

BATON_NOINLINE void baton__guard_top_left(void)
{
	const struct baton__frame *frame = baton__frames(baton__self);

	/* Ends: the short path has a frame. The frames above it are of callbacks. */
	while (frame && !frame->resource)
		frame = baton__frame_of(frame->below);
	if (frame)
		baton__guard_end(&(const struct baton_resource *){frame->resource});
}

#ifndef BATON_CHECKED
/*
 * The library's part of a short path that a program compiles itself (baton/inline.h). It is in this
 * file since a program's weak references take no file out of an archive. The checked library lacks
 * it: the program's path would not check.
 */
BATON_EXPORT void baton_inline_end_v2(struct baton_resource *resource)
{
	if (baton__top(baton__self) == &baton__self->outer)
		baton__outer_leave();
	else
		baton__run_on(resource, 1, 1);
}

BATON_EXPORT void baton_inline_left_v2(const struct baton_resource *resource)
{
	baton__guard_end(&resource);
}
#endif

/*
 * The short path of a SPECIAL resource whose tasks are only counted: it has statistics or
 * config->failed, no extension, and no limit in time. (A task with a future takes the long way, and
 * a task with a kind, as a post's, is entered by its kind.)
 */
static BATON_NOINLINE int submit_counted(struct baton_resource *resource, struct baton_task *task)
{
	struct baton__thread *self = baton__self;
	struct baton_resource_stats *const stats = baton__stats(resource);
	const uintptr_t mode = baton__mode(resource);
	struct baton__frame frame;
	int status;

	if (!baton__config_is_plain(resource) || baton__extension_head(resource) ||
	    baton__too_deep(self) || !baton__word_capture(resource, BATON__SPECIAL, mode))
		return baton__submit_busy(resource, task);
	baton__short_push(self, &frame, resource);
	BATON_GUARD(guard, resource);
	BATON__CHECKED(enter(resource, task));
	baton__stats_entered(stats, (uintptr_t)task->_run);
	status = task->_run(task); /* last touch of the task */
	guard = NULL;
	if (BATON_UNLIKELY(status))
		(void)baton__task_failed(baton__top(self), task, status, false);
	baton__stats_executed(stats);
	if (!baton__short_release(self, resource, mode))
		baton__run_on(resource, 1, 1);
	return 0;
}

/* Submits to a resource that is not idle, or is special. */
BATON_INLINE int submit_other(struct baton_resource *resource, struct baton_task *task)
{
	return baton__word(resource) == BATON__SPECIAL ? submit_counted(resource, task)
	                                               : baton__submit_busy(resource, task);
}

/* Submits a task with a future, or of a kind, that cannot run at once on the short path. */
static BATON_NOINLINE int submit_watched(struct baton_resource *resource, struct baton_task *task)
{
	struct baton__stay stay;

	baton__stand_back(resource, 1);
	if (baton__word(resource) != BATON__NORMAL || baton__too_deep(baton__self) ||
	    !baton__word_capture(resource, BATON__NORMAL, BATON__NORMAL))
		return baton__submit(resource, task, 0);
	baton__frame_push(&stay.frame, resource);
	if (BATON_UNLIKELY(!baton__ready(resource, task))) {
		baton__run_captured(&stay, 0, 0);
		return -EINVAL;
	}
	BATON_GUARD(guard, resource);
	baton__run_task(&stay.frame, resource, task, NULL);
	guard = NULL;
	if (!baton__short_release(baton__self, resource, BATON__NORMAL))
		baton__run_on(resource, 1, 1);
	return 0;
}

/* Completes the future of the innermost task, which was entered by baton__future_enter, unless the
 * task was detached. */
static BATON_NOINLINE void finish_watched(int status)
{
	struct baton__frame *frame = baton__top(baton__self);
	struct baton_future *future = frame->future;

	frame->future = NULL;
	if (future)
		baton__future_finish(future, status ? BATON__FUTURE_FAILED : BATON__FUTURE_DONE,
		                     status, frame->value, NULL);
}

/*
 * Submits a task with a future, or of a kind. The short path: no kind, the future is fresh, and the
 * resource is idle. Three atomic read-modify-writes: capture, completion, release.
 */
static BATON_NOINLINE int submit_with_future(struct baton_resource *resource,
                                             struct baton_task *task)
{
	struct baton__thread *self = baton__self;
	struct baton_future *future = task->_future;
	int status;

	if (BATON_UNLIKELY(baton__of_kind(task)) || BATON_UNLIKELY(!baton__future_fresh(future)) ||
	    BATON_UNLIKELY(self->top) || baton_inline_seen_other(&self->head, resource) ||
	    !baton__word_capture_plain(&self->head, resource))
		return submit_watched(resource, task);
	baton__short_push_outer(self, resource, future);
	baton__future_enter(future, resource);
	BATON_GUARD_TOP(guard);
	BATON__CHECKED(enter(resource, task));
	status = task->_run(task); /* last touch of the task */
	guard = false;
	/* A status that is not 0 needs no baton__task_failed: the future tells it, and a NORMAL
	 * resource counts nothing.
	 * NULL: the task was detached; its future may be complete, and its memory gone. */
	self = baton__self_again;
	future = self->outer.future;
	if (BATON_UNLIKELY(!future) ||
	    BATON_UNLIKELY(!baton__future_finish_entered(future, status, self->outer.value)))
		finish_watched(status);
	baton__outer_leave();
	return 0;
}

/* The short path of a task that is submitted inside another one. */
static BATON_NOINLINE int submit_nested(struct baton_resource *resource, struct baton_task *task)
{
	struct baton__thread *self = baton__self;
	const uint32_t depth = baton__depth(self);
	struct baton__frame frame;

	if (BATON_UNLIKELY(depth >= BATON_NESTING_MAX))
		return baton__submit(resource, task, 0);
	if (!baton__word_capture_plain(&self->head, resource))
		return submit_other(resource, task);
	baton__frame_enter(self, &frame, resource, depth);
	BATON_GUARD_TOP(guard);
	BATON__CHECKED(enter(resource, task));
	(void)task->_run(task); /* last touch of the task */
	guard = false;
	baton__short_leave_frame(baton__self_again, &frame);
	return 0;
}

/*
 * The short path: no future, no kind, and the resource is idle. All other cases go to the functions
 * above.
 */
BATON_EXPORT int baton_submit(struct baton_resource *resource, struct baton_task *task)
{
	BATON__CHECKED_SUBMIT(resource, &task, 1, baton_submit(resource, task));
	if (task->_future)
		return submit_with_future(resource, task);
	switch (baton__word_enter(&baton__self->head, resource)) {
	case BATON_INLINE_HELD:
		break;
	case BATON_INLINE_NESTED:
		return submit_nested(resource, task);
	case BATON_INLINE_OTHER:
		return submit_other(resource, task);
	}
	BATON_GUARD_TOP(guard);
	BATON__CHECKED(enter(resource, task));
	(void)task->_run(task); /* last touch of the task */
	guard = false;
	baton__short_leave();
	return 0;
}
