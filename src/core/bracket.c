/* SPDX-License-Identifier: MIT */
/* baton_submit, and what a bracket seldom needs. */
#include "core/bracket.h"

#include "base/checked.h"
#include "base/refused.h"
#include "core/contention.h"
#include "core/handoff.h"
#include "core/place.h"
#include "core/label.h"
#include "core/submit.h"

#include <errno.h>

BATON_NOINLINE void baton__go_on_captured(struct baton_resource *resource, uint32_t ran,
                                          uint32_t own)
{
	struct baton__stay stay;

	baton__frame_push(&stay.frame, resource);
	stay.until_ns = 0;
	baton__run_captured(&stay, ran, own);
}

BATON_NOINLINE void baton__go_on_in_time(struct baton_resource *resource, uint64_t until_ns)
{
	struct baton__stay stay;

	baton__frame_push(&stay.frame, resource);
	stay.until_ns = until_ns;
	baton__run_captured(&stay, 1, 1);
}

BATON_NOINLINE void baton__leave_outer(void)
{
	baton__leave_framed(&baton__self_again->outer, 1, 1);
}

BATON_NOINLINE void baton__pop_outer(void)
{
	baton__frame_pop(&baton__self->outer);
}

BATON_NOINLINE void baton__guard_bracket(const struct baton__frame *frame)
{
	const struct baton__thread *self = baton__self;

	if (!(self->top & BATON_INLINE_BARE) && self->top != (uintptr_t)frame)
		baton__guard_frame(self, &self->outer);
}

BATON_NOINLINE void baton__bracket_failed(const struct baton__frame *frame, struct baton_task *task,
                                          int status)
{
	baton__guard_bracket(frame);
	(void)baton__task_failed(baton__top(baton__self), task, status, false);
}

#define ANY_SPECIAL (BATON__BARE | BATON__FRAMED | BATON__COUNTED | BATON__ANY_SPECIAL)

/* Six copies: what one of them lacks is not on its stack. */
BATON_INLINE bool any_special(struct baton_resource *resource, baton_call_fn fn, void *arg,
                              void **value, unsigned flags, uint32_t depth_max)
{
	return baton__bracket(resource, fn, arg, value, ANY_SPECIAL | flags, depth_max) ==
	       BATON_INLINE_HELD;
}

static BATON_NOINLINE bool run_task(struct baton_resource *resource, void *task)
{
	return any_special(resource, NULL, task, NULL, BATON__TASK, BATON_NESTING_MAX);
}

static BATON_NOINLINE bool run_task_in_time(struct baton_resource *resource, void *task)
{
	return any_special(resource, NULL, task, NULL, BATON__TASK | BATON__IN_TIME,
	                   BATON_NESTING_MAX);
}

static BATON_NOINLINE bool run_function(struct baton_resource *resource, baton_call_fn fn,
                                        void *arg, void **value, uint32_t depth_max)
{
	return any_special(resource, fn, arg, value, 0, depth_max);
}

static BATON_NOINLINE bool run_function_in_time(struct baton_resource *resource, baton_call_fn fn,
                                                void *arg, void **value, uint32_t depth_max)
{
	return any_special(resource, fn, arg, value, BATON__IN_TIME, depth_max);
}

static BATON_NOINLINE bool run_task_in_context(struct baton_resource *resource, void *task)
{
	return any_special(resource, NULL, task, NULL,
	                   BATON__TASK | BATON__IN_TIME | BATON__CONTEXT, BATON_NESTING_MAX);
}

static BATON_NOINLINE bool run_function_in_context(struct baton_resource *resource,
                                                   baton_call_fn fn, void *arg, void **value,
                                                   uint32_t depth_max)
{
	return any_special(resource, fn, arg, value, BATON__IN_TIME | BATON__CONTEXT, depth_max);
}

BATON_NOINLINE bool baton__bracket_any_special(struct baton_resource *resource, baton_call_fn fn,
                                               void *arg, void **value, unsigned flags,
                                               uint32_t depth_max)
{
	const bool in_time = baton__timed(resource);

	if (!baton__capture_max(resource) || baton__hooked(resource))
		return false;
	if (baton__has_context(resource))
		return flags & BATON__TASK
		               ? run_task_in_context(resource, arg)
		               : run_function_in_context(resource, fn, arg, value, depth_max);
	if (flags & BATON__TASK)
		return in_time ? run_task_in_time(resource, arg) : run_task(resource, arg);
	return in_time ? run_function_in_time(resource, fn, arg, value, depth_max)
	               : run_function(resource, fn, arg, value, depth_max);
}

struct carrying {
	const struct baton_resource *resource;
	baton_call_fn fn;
	void *arg;
	void *value;
};

static void *run_carrying(void *arg)
{
	struct carrying *carrying = arg;
	struct baton__carried carried;
	void *result;

	baton__stats_show(carrying->resource, (uintptr_t)carrying->fn);
	baton__carry_begin(&carried, carrying->value);
	result = carrying->fn(carrying->arg);
	baton__carry_end(&carried);
	return result;
}

BATON_NOINLINE bool baton__bracket_carrying(struct baton_resource *resource, baton_call_fn fn,
                                            void *arg, void **value, uint32_t depth_max)
{
	struct carrying carrying = {resource, fn, arg, baton__carried()};
	unsigned flags = BATON__BARE | BATON__FRAMED | BATON__CARRYING;

	if (baton__word(resource) == BATON__SPECIAL)
		return baton__bracket_special(resource, run_carrying, &carrying, value, 0,
		                              depth_max);
	return baton__bracket(resource, run_carrying, &carrying, value, flags, depth_max) ==
	       BATON_INLINE_HELD;
}

#ifndef BATON_CHECKED
/*
 * The library's part of a bracket that a program compiles itself (baton/inline.h). It shares this
 * file with baton_submit(), since a program's weak references take no file out of an archive. The
 * checked library lacks it: the program's bracket would not check.
 */
BATON_EXPORT void baton_inline_end_v2(struct baton_resource *resource)
{
	if (baton__top(baton__self))
		baton__leave_outer();
	else
		baton__go_on_captured(resource, 1, 1);
}

BATON_EXPORT void baton_inline_left_v2(const struct baton_resource *resource)
{
	baton__task_was_left(resource);
}
#endif

/* ---- baton_submit ---- */

/* Submits a task with a future, or of a kind, that does not take the short way. */
static BATON_NOINLINE int submit_watched(struct baton_resource *resource, struct baton_task *task)
{
	struct baton__frame frame;
	struct baton__held held = {.frame = &frame};
	bool ready;

	baton__stand_back_if_due(resource, 1);
	if (baton__word(resource) != BATON__NORMAL ||
	    baton__enter(&held, resource, BATON__FRAMED | BATON__TASK, BATON_NESTING_MAX) !=
	            BATON_INLINE_HELD)
		return baton__submit(resource, task, 0);
	ready = baton__ready(resource, task);
	BATON_GUARD(guard);
	if (BATON_LIKELY(ready))
		baton__run_task(baton__self, &frame, resource, task, NULL, false);
	guard = false;
	baton__leave(&held, BATON__FRAMED, ready, ready);
	return ready ? 0 : BATON__NOT_FRESH("baton_submit");
}

/* Submits a task of a kind. */
static BATON_NOINLINE int submit_of_kind(struct baton_resource *resource, struct baton_task *task)
{
	const struct baton__part_hooks *hooks = baton__part_hooks(task);

	baton__stamp_carry(task);
	if (BATON_UNLIKELY(hooks && hooks->join) && !baton__thread_attach() &&
	    hooks->join(resource, task))
		return 0;
	return submit_watched(resource, task);
}

static BATON_NOINLINE int go_on_watched(struct baton_resource *resource)
{
	baton__go_on_captured(resource, 1, 1);
	return 0;
}

/* Ends the bracket of baton__enter_outer. Returns 0. */
BATON_INLINE int leave_watched(struct baton__thread *self)
{
	struct baton_resource *resource = self->outer.resource;

	baton__top_set(&self->top, self->outer.below);
	if (BATON_UNLIKELY(self->deferred) || !baton_inline_release(resource, BATON__NORMAL))
		return go_on_watched(resource);
	return 0;
}

/* Completes the future of the outermost task, which was entered by baton__future_enter, unless the
 * task was detached; and ends the bracket. Returns 0. */
static BATON_NOINLINE int end_watched(int status)
{
	struct baton__frame *frame = &baton__self->outer;
	struct baton_future *future = frame->future;

	baton__guard_frame(baton__self, frame);
	frame->future = NULL;
	if (future)
		baton__future_finish(future, status ? BATON__FUTURE_FAILED : BATON__FUTURE_DONE,
		                     status, frame->value, NULL);
	return leave_watched(baton__self);
}

/*
 * Submits a task with a future, or of a kind. The short path is for a task of no kind, whose future
 * is fresh, and an idle resource. Three atomic read-modify-writes: capture, completion, release.
 */
static BATON_NOINLINE int submit_with_future(struct baton_resource *resource,
                                             struct baton_task *task)
{
	struct baton__thread *self = baton__self;
	struct baton_future *future = task->_future;
	int status;

	if (BATON_UNLIKELY(baton__of_kind(task)))
		return submit_of_kind(resource, task);
	if (BATON_UNLIKELY(!baton__future_fresh(future)) ||
	    !baton__enter_outer(self, resource, future))
		return submit_watched(resource, task);
	baton__future_enter(future, resource);
	BATON_GUARD(guard);
	BATON__CHECKED(enter(resource, task));
	status = task->_run(task); /* last touch of the task */
	guard = false;
	/* A failure needs no baton__task_failed: the future tells the status, and a NORMAL resource
	 * counts nothing.
	 * `future` is NULL if the task was detached: the future may be complete and gone. */
	self = baton__self_again;
	if (BATON_UNLIKELY(self->top != (uintptr_t)&self->outer))
		return end_watched(status);
	future = self->outer.future;
	if (BATON_UNLIKELY(!future) ||
	    BATON_UNLIKELY(!baton__future_finish_entered(future, status, self->outer.value)))
		return end_watched(status);
	return leave_watched(self);
}

/* Submits a plain task to a SPECIAL resource. */
static BATON_NOINLINE int submit_special(struct baton_resource *resource, struct baton_task *task)
{
	if (baton__bracket_special(resource, NULL, task, NULL, BATON__TASK, BATON_NESTING_MAX))
		return 0;
	return baton__submit_busy(resource, task);
}

/* Submits a plain task to a resource that is not idle, or is SPECIAL. */
BATON_INLINE int submit_other(struct baton_resource *resource, struct baton_task *task)
{
	return baton__word(resource) == BATON__SPECIAL ? submit_special(resource, task)
	                                               : baton__submit_busy(resource, task);
}

/* Submits a plain task inside another one, or by a thread without a record. */
static BATON_NOINLINE int submit_nested(struct baton_resource *resource, struct baton_task *task)
{
	if (BATON_UNLIKELY(baton__too_deep(baton__self)))
		return baton__submit(resource, task, 0);
	if (baton__bracket_nested(resource, NULL, task, NULL, BATON__TASK, BATON_NESTING_MAX))
		return 0;
	return submit_other(resource, task);
}

BATON_EXPORT int baton_submit(struct baton_resource *resource, struct baton_task *task)
{
	BATON__CHECKED_SUBMIT(resource, &task, 1, baton_submit(resource, task));
	if (task->_future)
		return submit_with_future(resource, task);
	switch (baton__bracket(resource, NULL, task, NULL, BATON__BARE | BATON__TASK, 0)) {
	case BATON_INLINE_HELD:
		break;
	case BATON_INLINE_NESTED:
		return submit_nested(resource, task);
	case BATON_INLINE_OTHER:
		return submit_other(resource, task);
	}
	return 0;
}
