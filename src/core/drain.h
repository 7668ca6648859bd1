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
	bool ran;                         /* a first task, before which the clock is not read */
	const struct baton_future *until; /* stop when it is complete or not bound here; or NULL */
	bool borrowed;                    /* a helper: stop when empty, never release */
};

/*
 * Runs tasks of the resource that this thread holds, beginning with _list. True: there was nothing
 * left and it was released, or it was shelved: touch it no more, pop the frame and call
 * baton__after(). False: the budget is spent; the baton is still held.
 */
bool baton__drain(struct baton__frame *frame, struct baton_resource *resource,
                  struct baton__budget *budget);

/* Takes the inbox and puts it behind _list, cancel marks obeyed. The holder. */
void baton__take(struct baton_resource *resource);

#endif
