/* SPDX-License-Identifier: MIT */
/*
 * The drain: a runner takes the inbox of the resource that it holds, and runs the tasks in order.
 */
#ifndef BATON_SRC_DRAIN_H
#define BATON_SRC_DRAIN_H

#include "core/resource.h"

/* How far a drain goes. */
struct baton__budget {
	uint32_t tasks;                   /* left to run */
	uint64_t limit_ns;                /* 0: none */
	uint64_t until_ns;                /* 0: the clock has not been read yet */
	bool ran;                         /* false: the first entry needs no look at the clock */
	const struct baton_future *until; /* stop when complete, or not bound here; or NULL */
	bool borrowed;                    /* a helper's: stop when empty, never release */
	const struct baton__frame *frame; /* of a drain with a time limit */
};

/* Is the time of the stay over? The first call reads the clock and begins it: false. `limit_ns` is
 * not 0. */
bool baton__out_of_time(struct baton__budget *budget);

/*
 * Runs tasks of the resource that this thread holds, beginning with _list. True: the resource was
 * released, left to its last visitors, or shelved: the caller touches it no more, pops the frame,
 * and calls baton__after(). False: the stay is over, and the baton is still held.
 */
bool baton__drain(struct baton__frame *frame, struct baton_resource *resource,
                  struct baton__budget *budget);

#endif
