/* SPDX-License-Identifier: MIT */
/*
 * Standing back from a busy resource before a push: see barge.c.
 */
#ifndef BATON_SRC_BARGE_H
#define BATON_SRC_BARGE_H

#include "core/resource.h"

/* Should this thread stand back before it pushes to a busy resource? */
BATON_INLINE bool baton__barge_due(struct baton__thread *self)
{
	/* A thread that holds another resource would make the submitters of that resource wait,
	 * too. A thread without a record does not stand back either: its depth is above 0. */
	if (baton__depth(self) > 0)
		return false;
	if (self->barge_skip == 0)
		return true;
	self->barge_skip--;
	return false;
}

/* Stands back from a busy resource for a moment. True: the resource is idle and open now. */
bool baton__barge(const struct baton_resource *resource);

/* Submit, batch and call each call this once before a push to a busy resource. */
BATON_INLINE void baton__stand_back(const struct baton_resource *resource)
{
	uintptr_t word = baton__word(resource); /* a hint */

	/* On a resource with limit 0 this thread may run nothing. */
	if (baton__word_is_busy(word) && !baton__word_is_closed(word) &&
	    baton__barge_due(baton__self) && baton__capture_limit(resource))
		(void)baton__barge(resource);
}

#endif
