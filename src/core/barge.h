/* SPDX-License-Identifier: MIT */
/*
 * Standing back from a busy resource before a push: see barge.c.
 */
#ifndef BATON_SRC_BARGE_H
#define BATON_SRC_BARGE_H

#include "core/resource.h"

/* So many calls in a row, at most, do not stand back (a power of 2). */
#define BATON__BARGE_CALL_SKIP_MAX 64U

/* Should this thread stand back before it pushes `count` tasks to a busy resource? */
BATON_INLINE bool baton__barge_due(struct baton__thread *self, uint32_t count)
{
	/* A thread that holds another resource would make the submitters of that resource wait,
	 * too. A thread without a record does not stand back either: its depth is above 0. */
	if (baton__depth(self) > 0)
		return false;
	if (self->barge_skip < count)
		return true;
	self->barge_skip = (uint16_t)(self->barge_skip - count);
	return false;
}

/* Stands back from a busy resource for a moment. True: the resource is idle and open now. */
bool baton__barge(const struct baton_resource *resource);

/* A caller stands back: what is left of its looks. */
struct baton__barge_call {
	uint32_t looks;
	uint32_t pause; /* before the next look: turns of an empty loop */
};

/*
 * A caller stands back from a busy resource. begin: false: it should not. look: true: the resource
 * is idle now, and the caller tries to capture it; if that fails, it looks again. False: no look is
 * left, or no look helps.
 */
bool baton__barge_call_begin(const struct baton_resource *resource,
                             struct baton__barge_call *barge);
bool baton__barge_call_look(const struct baton_resource *resource, struct baton__barge_call *barge);

/* Learns for the thread's next calls. `late`: the caller has waited, and has given the CPU away
 * meanwhile; else it has captured the resource. */
BATON_INLINE void baton__barge_call_learn(struct baton__thread *self, bool late)
{
	if (!late)
		self->call_next = 0;
	else if (self->call_next < BATON__BARGE_CALL_SKIP_MAX)
		self->call_next = self->call_next ? 2U * self->call_next : 1;
	self->call_skip = self->call_next;
}

/* Stands back, if that is due, before `count` tasks are submitted. (A submit to a plainly busy
 * resource does these steps itself: submit.c.) */
BATON_INLINE void baton__stand_back(const struct baton_resource *resource, uint32_t count)
{
	uintptr_t word = baton__word(resource); /* a hint */

	/* On a resource with limit 0 this thread may run nothing. */
	if (baton__word_is_busy(word) && !baton__word_is_closed(word) &&
	    baton__barge_due(baton__self, count) && baton__capture_limit(resource))
		(void)baton__barge(resource);
}

#endif
