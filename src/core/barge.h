/* SPDX-License-Identifier: MIT */
/*
 * Standing back from a busy resource before a push. See barge.c.
 */
#ifndef BATON_SRC_BARGE_H
#define BATON_SRC_BARGE_H

#include "core/resource.h"

/* Should this thread stand back before it pushes to a busy resource? */
BATON_INLINE bool baton__barge_due(struct baton__thread *self)
{
	/* A thread that holds another resource must not make the submitters of that resource wait,
	 * too. Nor does a thread without a record stand back. */
	if (self->depth > 0)
		return false;
	if (self->barge_skip == 0)
		return true;
	self->barge_skip--;
	return false;
}

/* Stands back from a busy resource for a moment. True: the resource was idle afterwards. */
bool baton__barge(const struct baton_resource *resource);

/* Called once by submit, batch and call before they push to a busy resource. */
BATON_INLINE void baton__stand_back(const struct baton_resource *resource)
{
	uintptr_t word = baton__word(resource); /* a hint */

	/* With limit 0 there is nothing to capture. */
	if (baton__word_is_busy(word) && !baton__word_is_closed(word) &&
	    baton__barge_due(baton__self) && baton__capture_limit(resource))
		(void)baton__barge(resource);
}

#endif
