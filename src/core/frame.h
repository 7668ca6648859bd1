/* SPDX-License-Identifier: MIT */
/*
 * Frames: the batons that a thread holds, innermost first. A frame lies on the thread's stack, or
 * is the record's `outer`. The outermost baton may have none (thread.top).
 */
#ifndef BATON_SRC_FRAME_H
#define BATON_SRC_FRAME_H

#include "core/deferred.h"
#include "core/guard.h"
#include "core/resource.h"

/* Pushes a frame whose `value` and `batch` nobody reads. `depth`: the thread's before the push. */
BATON_INLINE void baton__frame_enter(struct baton__thread *self, struct baton__frame *frame,
                                     struct baton_resource *resource, uint32_t depth)
{
	frame->below = self->top;
	frame->resource = resource;
	frame->future = NULL;
	frame->depth = depth + 1;
	baton__top_set(&self->top, (uintptr_t)frame);
}

BATON_INLINE void baton__frame_push(struct baton__frame *frame, struct baton_resource *resource)
{
	baton__frame_enter(baton__self, frame, resource, baton__depth(baton__self));
	frame->value = NULL;
	frame->batch = NULL;
}

BATON_INLINE void baton__frame_pop(const struct baton__frame *frame)
{
	baton__guard_frame(baton__self, frame);
	baton__top_set(&baton__self->top, frame->below);
}

/* Does the thread hold another baton below this one, or is it in a callback there? */
BATON_INLINE bool baton__frame_nested(const struct baton__frame *frame)
{
	return frame->below > BATON_INLINE_BARE;
}

#endif
