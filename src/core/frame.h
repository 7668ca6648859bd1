/* SPDX-License-Identifier: MIT */
/*
 * Frames: the batons that a thread holds, innermost first. Each frame lies on the thread's stack.
 */
#ifndef BATON_SRC_FRAME_H
#define BATON_SRC_FRAME_H

#include "core/deferred.h"
#include "core/resource.h"

/* Pushes the frame of a short path, which does not need `value` and `batch`. */
BATON_INLINE void baton__frame_enter(struct baton__thread *self, struct baton__frame *frame,
                                     struct baton_resource *resource)
{
	baton_inline_push(&self->head, frame, resource);
}

BATON_INLINE void baton__frame_push(struct baton__frame *frame, struct baton_resource *resource)
{
	baton__frame_enter(baton__self, frame, resource);
	frame->value = NULL;
	frame->batch = NULL;
}

BATON_INLINE void baton__frame_pop(struct baton__frame *frame)
{
	baton_inline_pop(&baton__self->head, frame);
}

#endif
