/* SPDX-License-Identifier: MIT */
/*
 * The lists of the lanes, and an index, by which a task whose future is cancelled is unlinked in
 * O(1), whatever else is queued. Only the holder touches list and index.
 *
 * The index is written for all tasks when the first task is to be unlinked, and kept until the
 * lanes are empty. So a resource in which no task is unlinked pays nothing; otherwise each task
 * costs O(1). The index lies in members of the tasks' futures that have no other use before the
 * futures are complete.
 *
 * Invariants (others: lane.h):
 * lane.index: While the lanes are _indexed, the _value of a future whose task is in a lane is the
 *    address of the task before that task in the lane (NULL for the first task), with bit 0 set.
 *    The _value of any other incomplete future has bit 0 clear, or its task is _picked or entered.
 * lane.index_epoch: While the lanes are _indexed, the _status of such a future is the lanes' _epoch
 *    if the task came to its lane after the last stamp (it is none of the first _older tasks). Else
 *    the _status is another number.
 */
#ifndef BATON_SRC_LANE_LIST_H
#define BATON_SRC_LANE_LIST_H

#include <baton/lane.h>

#include "base/platform.h"
#include "core/label.h"

/* The lane in which the resource has the task. */
BATON_INLINE unsigned baton__lane_of(const struct baton_lanes *lanes, const struct baton_task *task)
{
	const struct baton_stamp *stamp = baton__stamp(task);
	unsigned lane = stamp ? stamp->_lane : 0;

	return lanes && lane >= lanes->_count ? lanes->_count - 1 : lane;
}

/* append: puts a task last into a lane. prepend: puts a task first, where it was before. `older`:
 * the task is one of the _older tasks. */
void baton__lane_append(struct baton_lanes *lanes, unsigned index, struct baton_task *task);
void baton__lane_prepend(struct baton_lanes *lanes, unsigned index, struct baton_task *task,
                         bool older);

/* Takes the first task out of a lane that has one. */
struct baton_task *baton__lane_take_first(struct baton_lanes *lanes, unsigned index);

/* Takes the future's task out of its lane. NULL: the task is in no lane. */
struct baton_task *baton__lane_take(struct baton_lanes *lanes, struct baton_future *future);

/* Makes all tasks in the lanes _older: the marks in _marks wait for them (lane.older). */
void baton__lanes_stamp(struct baton_lanes *lanes);

#endif
