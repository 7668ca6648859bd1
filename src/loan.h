/* SPDX-License-Identifier: MIT */
/*
 * Layer 5: loans (law L12). A submitter that finds the resource waiting in a queue borrows its
 * baton, as a helper does, adds its task, and runs tasks up to its capture limit before it gives
 * the baton back. So whoever makes a queue longer also makes it shorter.
 *
 * The submitter borrows before it publishes its task: after the publication it may touch nothing.
 *
 * A loan moves the tasks of a resource to another core and back, which costs something where the
 * queue would have been served at once. A thread therefore learns: a loan that leaves tasks behind
 * makes its next one due at once; a loan that leaves none puts its next one off, each time for
 * twice as many pushes to queued resources.
 */
#ifndef BATON_SRC_LOAN_H
#define BATON_SRC_LOAN_H

#include "resource.h"

/*
 * Is a loan worth a try, before this thread pushes to a busy resource? No inside a task, above
 * whose baton another's task must not run: that task might wait for the baton held below.
 */
BATON_INLINE bool baton__loan_due(const struct baton_resource *resource)
{
	struct baton__thread *self = baton__self;

	/* Relaxed: a hint; the CAS of borrow decides. */
	if ((load_relaxed(&resource->_job._turn) & BATON__PHASE) != BATON__QUEUED || self->depth)
		return false;
	if (self->loan_skip == 0)
		return true;
	self->loan_skip--;
	return false;
}

/*
 * Borrows the baton, accepts the chain (oldest first, `count` tasks, ready), runs tasks, and gives
 * the baton back. False: the resource is queued no more, or must not run here; nothing has been
 * done.
 */
bool baton__loan_submit(struct baton_resource *resource, struct baton_task *first, uint32_t count);

#endif
