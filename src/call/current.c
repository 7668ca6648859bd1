/* SPDX-License-Identifier: MIT */
/*
 * What a task asks and says about itself: its resource, which batons its thread holds, its result,
 * whether a canceller has asked it to stop.
 */
#include "base/atomic.h"
#include "core/resource.h"

/* The frame of the task that this thread runs. NULL: no task, or the innermost function is a
 * callback without a baton (callback.h). */
static struct baton__frame *frame_of_task(void)
{
	struct baton__frame *frame = baton__top(baton__self);

	return frame && frame->resource ? frame : NULL;
}

BATON_EXPORT struct baton_resource *baton_current(void)
{
	struct baton__frame *frame = frame_of_task();

	return frame ? frame->resource : NULL;
}

BATON_EXPORT bool baton_held(const struct baton_resource *resource)
{
	return baton__thread_holds(baton__self, resource);
}

BATON_EXPORT void baton_assert_held(const struct baton_resource *resource)
{
	BATON_REQUIRE_OF(baton_held(resource), baton__name(resource),
	                 "is not held by this thread: only a task of it may be here");
}

BATON_EXPORT void baton_set_result(void *value)
{
	struct baton__frame *frame = frame_of_task();

	BATON_REQUIRE(frame, "this thread runs no task: call it in a task's function");
	if (frame->future)
		frame->value = value;
}

BATON_EXPORT bool baton_cancel_requested(void)
{
	struct baton__frame *frame = frame_of_task();

	BATON_REQUIRE(frame, "this thread runs no task: call it in a task's function");
	/* Relaxed: a hint; the task reads nothing because of this load. */
	return frame->future && load_relaxed(&frame->future->_state) & BATON__FUTURE_STOP;
}
