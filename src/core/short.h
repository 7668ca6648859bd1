/* SPDX-License-Identifier: MIT */
/*
 * Short paths: an idle resource is captured, one function runs, and the resource is released. They
 * do the same as submit.c and drain.c, with less work: nobody else's task runs in them, and for the
 * outermost baton they need no frame (thread.top). The shortest is in the program (baton/inline.h).
 */
#ifndef BATON_SRC_SHORT_H
#define BATON_SRC_SHORT_H

#include "core/frame.h"
#include "core/resource.h"

/* Notes a captured resource: in `top` if it is the outermost, else in `frame`. Nobody asks for the
 * `batch` of either. */
BATON_INLINE void baton__short_push(struct baton__thread *self, struct baton__frame *frame,
                                    struct baton_resource *resource)
{
	if (BATON_LIKELY(!self->top)) {
		baton__top_set(&self->top, (uintptr_t)resource | BATON_INLINE_BARE);
		return;
	}
	baton__frame_enter(self, frame, resource, baton__depth(self));
	frame->value = NULL;
}

/* The same for a task with a future, of a thread that holds nothing: makes `outer` the frame. */
BATON_INLINE void baton__short_push_outer(struct baton__thread *self,
                                          struct baton_resource *resource,
                                          struct baton_future *future)
{
	self->outer.resource = resource;
	/* Two stores: the compiler would take three instructions to make them one. */
	__asm__ volatile("" ::: "memory");
	self->outer.future = future;
	self->outer.value = NULL;
	baton__top_set(&self->top, (uintptr_t)&self->outer);
}

/* Ends what one of the two has begun, also if the thread has got a frame meanwhile. */
BATON_INLINE void baton__short_pop(struct baton__thread *self)
{
	if (BATON_LIKELY(self->top & BATON_INLINE_BARE))
		baton__top_set(&self->top, 0);
	else
		baton__frame_pop((const struct baton__frame *)self->top);
}

/* The same, and releases the resource, which was captured in `mode`. False: it is not released, as
 * in baton_inline_pop_release; baton__run_on() is to be called. */
BATON_INLINE bool baton__short_release(struct baton__thread *self, struct baton_resource *resource,
                                       uintptr_t mode)
{
	baton__short_pop(self);
	return BATON_LIKELY(!self->deferred) && BATON_LIKELY(baton_inline_release(resource, mode));
}

/*
 * As baton__run_captured, for a short path that has not released the resource. `top` is as it was
 * before the short path.
 */
void baton__run_on(struct baton_resource *resource, uint32_t ran, uint32_t own);

/* Ends a short path that has a frame. */
BATON_INLINE void baton__short_leave_frame(struct baton__thread *self,
                                           const struct baton__frame *frame)
{
	struct baton_resource *resource = frame->resource;

	baton__top_set(&self->top, frame->below);
	if (BATON_UNLIKELY(self->deferred) || !baton_inline_release(resource, BATON__NORMAL))
		baton__run_on(resource, 1, 1);
}

/* The same; the frame is `outer`. */
BATON_INLINE void baton__outer_leave(void)
{
	baton__short_leave_frame(baton__self_again, &baton__self_again->outer);
}

/* The same, out of line. */
void baton__framed_leave(void);

/*
 * Ends a short path of the outermost task. Resource and record are read anew: a value that is kept
 * across the user's function is saved on the stack. The record is read by its second name, since
 * the compiler would keep the place of baton__self, too.
 *
 * The reason to save stores: where a thread uses many resources, each capture waits for a cache
 * line, and the processor goes on with the next tasks meanwhile. It stops when its store buffer is
 * full. Eight stores more per task cost a third there, 32 stores a factor of 4, one atomic
 * read-modify-write 9 % (test/bench/README.md).
 */
BATON_INLINE void baton__short_leave(void)
{
	struct baton__thread *self = baton__self_again;
	const uintptr_t top = self->top;

	if (BATON_UNLIKELY(!(top & BATON_INLINE_BARE)))
		baton__framed_leave();
	else if (!baton_inline_pop_release(&self->head,
	                                   (struct baton_resource *)(top - BATON_INLINE_BARE)))
		baton__run_on((struct baton_resource *)(top - BATON_INLINE_BARE), 1, 1);
}

#endif
