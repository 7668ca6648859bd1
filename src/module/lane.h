/* SPDX-License-Identifier: MIT */
/*
 * The lanes of a resource, which stand between its inbox and its _list. Everything here is
 * the holder's alone (R2), save the counts, which anybody may read.
 *
 * Invariants:
 * L1 _list holds what is next: one picked task, or marks whose turn has come, or tasks that their
 *    window has admitted, or, on a resource just captured, the captured task or mark. _picked is
 *    in it, or was entered, and forgotten before _list is filled again. It is refilled when it is
 *    empty, and after the inbox was looked at.
 * L2 Everything in the lanes is older than the inbox; _unsorted is older than what is taken later.
 * L3 The first _older tasks of each lane were accepted before the marks in _marks; their sum is
 *    the lanes' _older. It is taken when the first of these marks is sorted, or, for _marks_later,
 *    when the marks before them have gone: so no mark waits for what is sorted after that.
 * L4 Bit n of _busy: lane n has tasks.
 *
 * These are functions of a table (core/backlog.h), for resources that have lanes.
 */
#ifndef BATON_SRC_LANE_H
#define BATON_SRC_LANE_H

#include <baton/lane.h>

#include "core/backlog.h"
#include "module/extension.h"
#include "core/label.h"
#include "base/platform.h"

/* The lane in which the resource has the task. */
BATON_INLINE unsigned baton__lane_of(const struct baton_lanes *lanes, const struct baton_task *task)
{
	const struct baton_stamp *stamp = baton__stamp(task);
	unsigned lane = stamp ? stamp->_lane : 0;

	return lanes && lane >= lanes->_count ? lanes->_count - 1 : lane;
}

/* Sorts what was taken from the inbox, oldest first; if `cancel`, cancel marks are obeyed. */
void baton__lanes_take(struct baton_resource *resource, struct baton_task *oldest, bool cancel);

/* Keeps a chain that was accepted with the capture; NULL: gives it back, nobody having seen it. */
void baton__lanes_keep(struct baton_resource *resource, struct baton_task *oldest);

/* Puts what is next into the empty _list, the inbox having been looked at. False: nothing is. */
bool baton__lanes_next(struct baton_resource *resource);

/* Puts a picked task back, whose turn does not come in this stay after all. */
void baton__lanes_put_back(struct baton_resource *resource);

/* What is there besides the tasks in _list? */
enum baton__backlog_has baton__lanes_has(const struct baton_resource *resource);

/* Cancels all tasks; marks stay. */
void baton__lanes_cancel(struct baton_resource *resource);

/* Unlinks the task of that future. NULL: it is not here. */
struct baton_task *baton__lanes_unlink(struct baton_resource *resource,
                                       struct baton_future *future);

#endif
