/* SPDX-License-Identifier: MIT */
/*
 * The drain: a runner takes the inbox of the resource that it holds, and runs the tasks in order.
 */
#ifndef BATON_SRC_DRAIN_H
#define BATON_SRC_DRAIN_H

#include "core/stay.h"

struct baton__batch;

/* Is the time of the stay over? The first call begins that time, and returns false. `limit_ns` is
 * not 0. */
bool baton__out_of_time(struct baton__stay *stay);

/*
 * Called by the holder before it runs the next task, or queues the job. True: the baton is on the
 * shelf (turn.h), or left to a submitter (lend.h), and the holder touches the resource no more.
 *
 * put: for a holder without a stay. The shelf is WANTED or CALLED.
 */
bool baton__shelf_leave(struct baton__stay *stay);
bool baton__shelf_put(struct baton_resource *resource);

/*
 * Runs tasks of the resource that this thread holds, beginning with _list. True: the resource was
 * released, left to its last visitors or to a submitter, or shelved, or rests: the caller touches
 * it no more, pops the frame, and calls baton__after(). False: the stay is over, and the baton is
 * still held.
 */
bool baton__drain(struct baton__stay *stay);

/* The same in batches. Called by hooks.c, which baton__drain() calls if there are hooks. */
bool baton__drain_batched(struct baton__stay *stay, struct baton__batch *batch);

#endif
