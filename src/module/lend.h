/* SPDX-License-Identifier: MIT */
/*
 * Lending the queue (laws L12, L14). A bound that drops queued tasks is kept even while the runner
 * does not look at it: a submitter that finds no room drops the tasks itself. For that the
 * submitter needs the queue: _list, the inbox below its newest entries, the lanes, and the counts
 * of tasks that leave.
 *
 * The queue belongs to the holder of the baton. While the resource is QUEUED a submitter borrows
 * the baton, as a helper does. While the holder runs a task, or the baton lies on the shelf, the
 * holder does not need the queue, and lends it. A submitter that takes the queue sorts its tasks
 * into the lanes, which drops what is too much, and gives the queue back. Neither waits for the
 * other: a holder that comes back while a submitter has the queue leaves the resource to that
 * submitter, which then continues the drain, as a thread that unshelves does.
 *
 * The bound's word `_lent`, an enum baton__lent:
 *   KEPT   The queue belongs to the holder; also while the resource is idle, queued or resting.
 *   OPEN   The holder has lent the queue, and no submitter has it.
 *   TAKEN  A submitter has the queue. The holder has not come back.
 *   LEFT   A submitter has the queue. The holder has left the resource to that submitter.
 *
 * Transitions, and the functions that make them (with baton__lend_ before the name, or static):
 *   KEPT -> OPEN                 open: the holder
 *   OPEN -> KEPT, TAKEN -> LEFT  regain: the holder
 *   OPEN -> TAKEN                lend_take: any submitter
 *   TAKEN -> OPEN, LEFT -> KEPT  lend_return: the submitter; after LEFT it is the holder
 *
 * Invariants:
 * lend.after: A holder that lends the queue has no postponed marks in its stay, which it would have
 *    to put back: awaits are fired before a task is entered, and the marks that are FOR_GOOD exist
 *    only on a closed resource, whose queue is not lent.
 * lend.bound: Where a submitter returns, no more tasks are in the lanes than the bound allows.
 *    Besides, each submitter under way may have a chain reserved or accepted that is not in the
 *    lanes yet.
 *
 * lend.attention: A take clears ATTENTION, and only the holder knows what set it: the task that
 *    runs may have shelved the baton (baton__shelve). So a submitter that has taken the inbox sets
 *    ATTENTION again. A holder whose look finds nothing goes on.
 *
 * Progress: lock-free. A submitter that the system stops while it has the queue, or a borrowed
 * baton, keeps the tasks of this resource waiting, and no thread.
 * ABA: each transition depends on the word alone.
 */
#ifndef BATON_SRC_LEND_H
#define BATON_SRC_LEND_H

#include <baton/bound.h>

#include "core/resource.h"

/* For lend.c, and tests that watch the word. */
enum baton__lent { BATON__KEPT, BATON__OPEN, BATON__TAKEN, BATON__LEFT };

/*
 * Called by the holder. open: lends the queue; false: the resource is closed. regain: takes the
 * queue back, if it is lent. False: a submitter has the queue; with `leave`, the holder has left
 * the resource to that submitter, and touches it no more.
 */
bool baton__lend_open(struct baton_resource *resource);
bool baton__lend_regain(struct baton_resource *resource, bool leave);

/* Has a submitter the queue, and not the baton? Called by the thread that has the queue. */
bool baton__lend_is_taken(const struct baton_resource *resource);

/*
 * Submits a chain, oldest first, for which there is no room below the bound: drops queued tasks for
 * the chain, perhaps the chain itself. 1: accepted. 0: reserved, and to be pushed. -EAGAIN: the
 * queue is not to be had. -EPIPE: the resource is closed. `how`: flags of submit.h.
 */
int baton__lend_submit(struct baton_resource *resource, struct baton_task *first, uint32_t count,
                       unsigned how);

/*
 * Completes, as cancelled, a task that leaves its lane since too many wait. Where the stack is too
 * deep (L7), its `cancelled` is called later. Called by the thread that has the queue.
 */
void baton__lend_drop(struct baton_resource *resource, struct baton_task *task);

#endif
