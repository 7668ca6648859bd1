/* SPDX-License-Identifier: MIT */
/*
 * Loans (law L12). A submitter that finds the resource waiting in a queue borrows the baton, as a
 * helper does, adds its task, and runs tasks up to its capture limit before it gives the baton
 * back. So a thread that makes a queue longer also makes the queue shorter.
 *
 * The submitter borrows before it publishes its task: after the publication the submitter may touch
 * neither task nor resource.
 *
 * A loan that leaves no tasks recalls the job: the resource is idle at once, and need not wait for
 * a thread of its executor. Where submitters use all CPUs that wait takes milliseconds.
 *
 * A loan moves the tasks of a resource to another core and back. This is a loss where the queue
 * would have been served at once. A thread therefore learns: a loan that leaves tasks behind, or
 * recalls the job, makes the thread's next loan due at once; any other loan puts the next loan off,
 * each time for twice as many pushes to queued resources.
 * Exception: after a loan that has left tasks, the next BATON_LOAN_EAGER loans that leave none put
 * nothing off. A thread may meet long and short queues alternately, if it submits to many
 * resources, or to a chain of two. Without the exception the short queues would keep the thread
 * from shortening the long queues.
 *
 * Inside a task no other resource's tasks may run: a task of another resource might wait for the
 * baton that this thread holds. There the submitter notes a debt, and takes the loan when its stack
 * is unwound. A debt is a counted visit, which keeps the resource from being released for good. The
 * release does not wait for the debtor's task: a runner that wants to release the resource for good
 * revokes the debts to that resource.
 *
 * Invariants:
 * loan.debt: A resource in a thread's `debts` has a visit counted for that debt. The debtor or the
 *    resource's last holder takes the resource out by a CAS; the thread whose CAS succeeds ends the
 *    visit. A debtor that pays adds no debts, so that paying ends.
 */
#ifndef BATON_SRC_LOAN_H
#define BATON_SRC_LOAN_H

#include "core/resource.h"

struct baton__stay;

/*
 * baton__loan_due() for a queued resource. Inside a task the answer is false, and a debt may have
 * been noted.
 */
bool baton__loan_is_due(struct baton_resource *resource);

/* Should this thread try a loan before it pushes to a busy resource? */
BATON_INLINE bool baton__loan_due(struct baton_resource *resource)
{
	/* A hint; the CAS of borrow decides. */
	return baton__turn_seems_queued(resource) && baton__loan_is_due(resource);
}

/*
 * Borrows the baton, accepts the chain (oldest first, `count` tasks, ready), runs tasks, and gives
 * the baton back. False: nothing has been done: the resource is no longer queued, is closed, or
 * must not run here.
 */
bool baton__loan_submit(struct baton_resource *resource, struct baton_task *first, uint32_t count);

/* Ends a loan, a stay with a borrowed baton that has added `count` tasks: runs tasks up to the
 * capture limit, and gives the baton back. */
void baton__loan_run(struct baton__stay *stay, uint32_t count);

/* Drops this thread's debt to the resource, if there is one, after a submit that was refused. */
void baton__loan_forget(struct baton_resource *resource);

#endif
