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
 *
 * Inside a task no other resource's tasks may run: one of them might wait for the baton that this
 * thread holds. There the submitter notes a debt, and takes the loan when its stack is unwound. A
 * debt is a counted visit, which keeps the resource from being released for good; but not for as
 * long as the task likes to run: the runner that wants to release the resource revokes its debts.
 *
 * Invariants:
 * [loan.debt] A resource in a thread's `debts` has a visit counted for it. The thread that takes it
 *    out, the debtor or the resource's last holder, by a CAS, ends that visit. While the debtor
 *    pays, it adds no debts, so that paying ends.
 */
#ifndef BATON_SRC_LOAN_H
#define BATON_SRC_LOAN_H

#include "resource.h"

/* The answer for a queued resource. False inside a task, where a debt may have been noted. */
bool baton__loan_is_due(struct baton_resource *resource);

/* Is a loan to be tried, before this thread pushes to a busy resource? */
BATON_INLINE bool baton__loan_due(struct baton_resource *resource)
{
	/* Relaxed: a hint; the CAS of borrow decides. */
	return (load_relaxed(&resource->_job._turn) & BATON__PHASE) == BATON__QUEUED &&
	       baton__loan_is_due(resource);
}

/*
 * Borrows the baton, accepts the chain (oldest first, `count` tasks, ready), runs tasks, and gives
 * the baton back. False: the resource is queued no more, is closed, or must not run here; nothing
 * has been done.
 */
bool baton__loan_submit(struct baton_resource *resource, struct baton_task *first, uint32_t count);

/* The submit that may have noted a debt was refused. */
void baton__loan_forget(struct baton_resource *resource);

/* Ends the visits of all debts of a closed resource. Its holder. */
void baton__loan_revoke(struct baton_resource *resource);

#endif
