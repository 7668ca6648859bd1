/* SPDX-License-Identifier: MIT */
/*
 * Visitors: threads that may touch a resource although they do not hold it. A visitor may borrow
 * the baton while the resource is queued (turn.h), and then gives it back.
 */
#ifndef BATON_SRC_VISIT_H
#define BATON_SRC_VISIT_H

#include "core/stay.h"

/*
 * Gives a borrowed baton back (turn.h), or continues as the runner. Pops the frame.
 *
 * helped: the same for a helper. `did`: it did something, or left work. `withdrawn`: the job is
 * in no queue. False: the resource is queued again. True: this thread has continued as the
 * runner. If `did` is false, the caller must still be a visitor.
 *
 * unshelved: the same for a baton that comes from the shelf, without a frame. True: the caller is
 * the runner now, and nothing of the resource has run.
 */
void baton__give_back(struct baton__stay *stay);
bool baton__give_back_helped(struct baton__stay *stay, bool did, bool withdrawn);
bool baton__give_back_unshelved(struct baton_resource *resource);

/*
 * Takes the job of a borrowed resource out of its executor's queue. Called before the baton is
 * given back. True: the job is in no queue.
 *
 * recall: called where the borrower has left nothing behind, so that the resource does not stay
 * queued until a thread of the executor has time. Cheap: false if the job is not found quickly.
 * withdraw: the same, whatever it costs.
 */
bool baton__recall(const struct baton__stay *stay);
bool baton__withdraw(const struct baton__stay *stay);

/*
 * Borrows the baton of a queued resource, and unlinks the cancelled task of `future`. True: the
 * visit is over, and the caller does not touch the future any more. False: the resource was not
 * queued.
 */
bool baton__unlink(struct baton_resource *resource, struct baton_future *future,
                   uint32_t generation);

/*
 * Ends a counted visit. If the runner has left, its last visitor continues as the runner: the call
 * may run anything, and may enter executors (thread.touch, thread.h).
 * go_on: its second half, for a visitor whose baton__turn_end_visit() has returned true: it holds
 * the baton, for the release, or for the work that a kick has brought.
 */
void baton__visit_end(struct baton_resource *resource);
void baton__visit_go_on(struct baton_resource *resource);

/*
 * Ends a visit. `generation`: from baton__future_visit(). True: the visit was counted, and
 * baton__visit_end() was called for it.
 */
bool baton__visit_leave(struct baton_future *future, struct baton_resource *resource,
                        uint32_t generation);

/* A visitor has pushed a kick: if the runner has left, the visitor continues in its place. */
void baton__visit_look(struct baton_resource *resource);

#endif
