/* SPDX-License-Identifier: MIT */
/*
 * What a task asks and says about itself: its resource, which batons its thread holds, its result,
 * whether a canceller has asked it to stop.
 */
#include "base/atomic.h"
#include "core/called.h"
#include "core/resource.h"

#include <stdio.h>
#include <string.h>

/* The frame of the task that this thread runs. NULL: no task, or the innermost function is a
 * callback without a baton (callback.h). */
static struct baton__frame *frame_of_task(void)
{
	struct baton__frame *frame = baton__top_running(baton__self);

	return frame && frame->resource ? frame : NULL;
}

BATON_EXPORT struct baton_resource *baton_current(void)
{
	struct baton__frame *frame = baton__top(baton__self);

	return frame ? frame->resource : NULL;
}

BATON_EXPORT bool baton_held(const struct baton_resource *resource)
{
	return baton__thread_excludes(baton__self, resource);
}

/* Adds the names of the resources of these frames, down to `end` and without it, to the text. */
static void add_names(char *text, size_t size, const struct baton__frame *frame, uintptr_t end)
{
	for (; frame && (uintptr_t)frame != end; frame = baton__frame_of(frame->below)) {
		size_t length = strlen(text);
		const char *name = frame->resource ? baton__name(frame->resource) : NULL;

		if (frame->resource)
			(void)snprintf(text + length, size - length, " \"%s\"",
			               name ? name : "(no name)");
	}
}

static BATON_COLD void not_held(const struct baton_resource *resource)
{
	char text[400] = "is not held by this thread: only a task of it, or a function that such a "
			 "task calls, may be here. Held, innermost first:";
	const struct baton__caller *caller;
	const struct baton__called *called = baton__self->called;
	size_t length;

	if (baton__thread_reads(baton__self, resource))
		BATON_MISUSE_OF("baton_assert_held", baton__name(resource),
		                "is held by this thread as a reader, beside other readers: only an "
		                "ordinary task may be here");
	add_names(text, sizeof(text), baton__frames(baton__self), baton__self->lent);
	if (text[strlen(text) - 1] == ':')
		(void)strcat(text, " nothing");
	for (; (caller = baton__caller_of(called)); called = caller->called) {
		length = strlen(text);
		(void)snprintf(text + length, sizeof(text) - length, "; by a sleeping caller:");
		add_names(text, sizeof(text), caller->top, caller->end);
	}
	BATON_MISUSE_OF("baton_assert_held", baton__name(resource), text);
}

BATON_EXPORT void baton_assert_held(const struct baton_resource *resource)
{
	if (BATON_UNLIKELY(!baton_held(resource)))
		not_held(resource);
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
