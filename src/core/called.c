/* SPDX-License-Identifier: MIT */
/* The chain of sleeping callers: called.h. */
#include "core/called.h"

#include "core/guard.h"
#include "core/run.h"

/* How deep are the frames that `top` means? 0: there are none. */
static uint32_t depth_of(uintptr_t top)
{
	return top ? baton__frame_of(top)->depth : 0;
}

bool baton__caller_begin(struct baton__caller *caller)
{
	struct baton__thread *self = baton__self;
	uintptr_t helped;

	if (!self->top)
		return false;
	caller->thread = self;
	/* called.constant: all frames, since the caller's own search for a cycle would make them */
	caller->top = baton__frames(self);
	/* What the thread runs in help, or in a call's wait, is not in the tasks below. */
	helped = self->helping ? self->helping->frame->below : 0;
	caller->end = depth_of(helped) > depth_of(self->lent) ? helped : self->lent;
	caller->called = self->called;
	caller->reading = self->reading;
	caller->lent = self->lent;
	self->lent = (uintptr_t)caller->top;
	return true;
}

void baton__caller_end(const struct baton__caller *caller)
{
	baton__self->lent = caller->lent;
}

void *baton__run_called(const struct baton__caller *caller, baton_call_fn fn, void *arg)
{
	struct baton__thread *self = baton__self;
	const struct baton__called *outer = self->called;
	const struct baton__called called = {baton__top(self), caller};
	void *value;

	if (caller)
		self->called = &called;
	value = fn(arg);
	baton__guard_frame(self, called.frame);
	self->called = outer;
	return value;
}

const struct baton__caller *baton__caller_of(const struct baton__called *called)
{
	/* called.detached; called.forked */
	return called && called->frame->value != BATON__DETACHED && !baton__forked()
	               ? called->caller
	               : NULL;
}

const struct baton__caller *baton__caller_holds(const struct baton__called *called,
                                                const struct baton_resource *resource)
{
	const struct baton__caller *caller;

	/* Bounded: each caller on the chain sleeps, and has entered its task before the next. */
	for (; (caller = baton__caller_of(called)); called = caller->called)
		if (baton__held_above((uintptr_t)caller->top, resource, caller->end))
			return caller;
	return NULL;
}

bool baton__caller_is(const struct baton__called *called, const struct baton__thread *thread)
{
	const struct baton__caller *caller;

	/* Bounded: as in baton__caller_holds. */
	for (; (caller = baton__caller_of(called)); called = caller->called)
		if (caller->thread == thread)
			return true;
	return false;
}

static bool reads(const struct baton__reading *reading, const struct baton_resource *resource)
{
	while (reading && reading->resource != resource)
		reading = reading->below;
	return reading;
}

bool baton__thread_reads(const struct baton__thread *thread, const struct baton_resource *resource)
{
	const struct baton__called *called = thread->called;
	const struct baton__caller *caller;

	if (reads(thread->reading, resource))
		return true;
	/* Bounded: as above. */
	for (; (caller = baton__caller_of(called)); called = caller->called)
		if (reads(caller->reading, resource))
			return true;
	return false;
}
