/* SPDX-License-Identifier: MIT */
/*
 * The place: where tasks, or another function of the user's, may run now. The question is asked
 * here alone, so that the stack is bounded on every path (L7, L14); the callers act on the answer.
 */
#ifndef BATON_SRC_PLACE_H
#define BATON_SRC_PLACE_H

#include "core/resource.h"

enum baton__place {
	BATON__HERE,     /* at once, on this thread */
	BATON__LATER,    /* on the executor, or on this thread when its stack is less deep */
	BATON__EXECUTOR, /* on the executor; on this thread only if no executor takes the job */
};

/* Is the stack too deep for another capture? The short paths ask nothing else: the capture limit of
 * a NORMAL resource is above 0. True on a thread without a record. */
BATON_INLINE bool baton__too_deep(const struct baton__thread *self)
{
	return baton__depth(self) >= BATON_NESTING_MAX;
}

/*
 * Is the stack too deep for a function whose caller waits for it? Such a function cannot be put
 * off, so the call is refused. False on a thread without a record, which holds nothing.
 */
BATON_INLINE bool baton__too_deep_to_call(const struct baton__thread *self)
{
	return baton__depth(self) >= self->calling_max && baton__has_record(self);
}

/*
 * Called before a function of the user's: the caller's stack beside a frame counts as `levels` more
 * levels. Returns the value to store in `calling_max` afterwards. A level may take 430 bytes, so
 * that BATON_CALLING_MAX levels and a sleep fit into 64 KiB (test_stack.c).
 */
BATON_INLINE uint32_t baton__weigh(struct baton__thread *self, uint32_t levels)
{
	const uint32_t max = self->calling_max;

	self->calling_max = max > levels ? max - levels : 0;
	return max;
}

/* `resource`: the resource whose tasks are to run; NULL: for a function that holds no baton. */
BATON_INLINE enum baton__place baton__place(const struct baton_resource *resource)
{
	if (resource && !baton__capture_max(resource))
		return BATON__EXECUTOR;
	/* A thread without a record cannot put anything off. */
	return baton__too_deep(baton__self) && baton__has_record(baton__self) ? BATON__LATER
	                                                                      : BATON__HERE;
}

/*
 * Where may a held resource be released for good, which enters no task? HERE at any depth: each
 * function of the user's that follows the release asks for its own place, and this thread may be
 * waiting for these functions. With BATON_CAPTURE_NONE only a thread of the executor may.
 */
BATON_INLINE enum baton__place baton__place_to_release(const struct baton_resource *resource)
{
	return baton__capture_max(resource) ||
	                       baton__self->member == baton__executor_if_any(resource)
	               ? BATON__HERE
	               : BATON__EXECUTOR;
}

#endif
