/* SPDX-License-Identifier: MIT */
/*
 * Marks: entries that lie among the tasks and are no tasks. Here are those of cancel and await;
 * close.c has the finaliser, shelf.c and suspends.c the suspend marks, kick.c the kicks. Only the
 * holder meets a mark.
 *
 * Invariants:
 * marks.many: Any number of awaits may wait for the release of one closed resource for good, since
 *    an await that times out leaves its mark behind. Each stay postpones these marks, and puts them
 *    back into _list if the stay ends before the release. For this to take O(1), one of the marks
 *    carries the other marks in its list `others`. A mark that carries others is in one stay's
 *    `after`, or before all other marks of _list that are FOR_GOOD, so that the next stay meets
 *    this mark first. A stay's `after` has three FOR_GOOD marks at most, the finaliser included.
 *    Only the claims (marks.claimed) cost a step for each thread that still waits.
 * marks.claimed: Before the runner releases the resource for good, it claims the futures of the
 *    awaits, so that no thread becomes a visitor any more. If the resource may be queued instead,
 *    the holder takes the claims back: a thread that waits may be the one that has to drive the
 *    executor, to help, or to withdraw the job. So a mark is claimed only in a stay's `after`, and
 *    while the resource is left to visitors; in `others`, claimed marks come last. A helper does
 *    not claim the marks of a closed resource, since a helper's stay releases nothing.
 */
#ifndef BATON_SRC_MARKS_H
#define BATON_SRC_MARKS_H

#include "core/awaiter.h"
#include "core/stay.h"

/*
 * Fires the marks that waited for the release: awaits, then the finaliser. Called after the frame
 * is popped.
 */
void baton__after(struct baton_task *after);

/*
 * cancel: the memory of the mark is a node's body. await, await_closed: a struct baton__awaiter,
 * for an open and for a closed resource.
 */
extern const struct baton__kind baton__cancel_kind;
extern const struct baton__kind baton__await_kind;
extern const struct baton__kind baton__await_closed_kind;

/* The runner has reached a mark: appends the mark to those that wait for the release. */
enum baton__met baton__postpone(struct baton__stay *stay, struct baton_task *mark);

/*
 * Cancels all tasks before the last cancel mark of the list, and frees the cancel marks. Marks of
 * other kinds stay. Returns the list.
 */
struct baton_task *baton__obey_cancel_marks(struct baton_resource *resource,
                                            struct baton_task *list);

/* Completes an unlinked mark, which has a future, as cancelled. Called by the holder. */
void baton__mark_cancelled(struct baton_resource *resource, struct baton_task *mark);

/*
 * The postponed marks are in the stay, in `after`: first those that wait until the tasks
 * before them are over, then those that are FOR_GOOD.
 */

/* Are there postponed awaits that must be fired before the next task? */
BATON_INLINE bool baton__awaits_are_due(const struct baton__stay *stay)
{
	return BATON_UNLIKELY(stay->after != NULL) &&
	       !baton__kind_is(stay->after, BATON__KIND_FOR_GOOD);
}

/* Fires the awaits that are due. Called when the tasks before them are over, without a release. */
void baton__fire_awaits(struct baton__stay *stay);

/* The stay ends without a release: puts the remaining postponed marks to the front of _list. */
void baton__marks_put_back(struct baton__stay *stay);

/* Takes the claims of these postponed marks back (marks.claimed). Called by the holder. */
void baton__marks_unclaim(const struct baton_resource *resource, struct baton_task *marks);

#endif
