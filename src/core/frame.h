/* SPDX-License-Identifier: MIT */
/*
 * Frames: the batons that a thread holds, innermost first; each on the stack of its runner.
 */
#ifndef BATON_SRC_FRAME_H
#define BATON_SRC_FRAME_H

#include "core/place.h"
#include "core/resource.h"

/* Without `value`, `after` and `batch`, which a run at once does not need. */
BATON_INLINE void baton__frame_enter(struct baton__thread *self, struct baton__frame *frame,
                                     struct baton_resource *resource)
{
	frame->below = self->top;
	frame->resource = resource;
	frame->future = NULL;
	store_relaxed(&self->top, frame); /* read by on_fork_in_child */
	self->depth++;
}

BATON_INLINE void baton__frame_push(struct baton__frame *frame, struct baton_resource *resource)
{
	baton__frame_enter(baton__self, frame, resource);
	frame->value = NULL;
	frame->after = NULL;
	frame->batch = NULL;
}

BATON_INLINE void baton__frame_pop(struct baton__frame *frame)
{
	struct baton__thread *self = baton__self;

	store_relaxed(&self->top, frame->below);
	self->depth--;
}

/* Pops the frame of a run at once, which has nothing to fire. */
BATON_INLINE void baton__frame_exit(struct baton__thread *self, struct baton__frame *frame)
{
	store_relaxed(&self->top, frame->below);
	self->depth--;
	baton__deferred_check(self);
}

#endif
