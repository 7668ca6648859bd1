/* SPDX-License-Identifier: MIT */
/*
 * The lists of the lanes, and an index of them, by which a task that is cancelled by its future is
 * unlinked in a time that does not depend on the other tasks. The holder's alone.
 *
 * The index is written when a first task is to be unlinked, for all tasks at once, and kept until
 * the lanes are empty. So it costs nothing where no task is unlinked, and O(1) for each task
 * otherwise. It lies in members of the tasks' futures that have no other use before the futures are
 * complete.
 *
 * Invariants (L1 to L4: lane.h):
 * L5 While the lanes are _indexed, the _value of a future whose task is in a lane is the task
 *    before that one in the lane, or NULL for the first one, with bit 0 set. The _value of any
 *    other incomplete future has bit 0 clear, or its task is _picked or has been entered.
 * L6 While the lanes are _indexed, the _status of such a future is the lanes' _epoch if the task
 *    came to its lane after the last stamp, that is, if it is none of the first _older. Otherwise
 *    the _status is another number.
 */
#ifndef BATON_SRC_LANE_LIST_H
#define BATON_SRC_LANE_LIST_H

#include <baton/lane.h>

struct baton_future;

/* Puts a task last into a lane, or first, where it was before; `older`: it is one of _older. */
void baton__lane_append(struct baton_lanes *lanes, unsigned index, struct baton_task *task);
void baton__lane_prepend(struct baton_lanes *lanes, unsigned index, struct baton_task *task,
                         bool older);

/* Takes the first task out of a lane that has one. */
struct baton_task *baton__lane_take_first(struct baton_lanes *lanes, unsigned index);

/* Takes the future's task out of its lane. NULL: the task is in no lane. */
struct baton_task *baton__lane_take(struct baton_lanes *lanes, struct baton_future *future);

/* All tasks in the lanes are now the older ones, for which the first marks wait. */
void baton__lanes_stamp(struct baton_lanes *lanes);

#endif
