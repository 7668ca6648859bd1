/* SPDX-License-Identifier: MIT */
/* The chain of sleeping callers: called.h. */
#include "core/called.h"

#include "core/run.h"

const struct baton__caller *baton__caller_begin(struct baton__caller *caller)
{
	struct baton__thread *self = baton__self;

	if (!self->top)
		return NULL;
	caller->thread = self;
	/* called.constant: all frames, since the caller's own search for a cycle would make them */
	caller->top = baton__frames(self);
	caller->last = self->helping ? self->helping->frame : NULL;
	caller->called = self->called;
	return caller;
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
		if (baton__held_above((uintptr_t)caller->top, resource, caller->last))
			return caller;
	return NULL;
}

bool baton__caller_is(const struct baton__called *called, const struct baton__thread *thread)
{
	const struct baton__caller *caller;

	/* Bounded: as above. */
	for (; (caller = baton__caller_of(called)); called = caller->called)
		if (caller->thread == thread)
			return true;
	return false;
}
