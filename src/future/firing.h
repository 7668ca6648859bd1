/* SPDX-License-Identifier: MIT */
/*
 * A loop that fires continuations. A continuation may complete futures that have continuations in
 * their turn, without end (a chain of tasks for closed resources). The running loop fires the new
 * continuations before the rest of its own list: a nested loop for each future would need stack
 * (L7). If a function of the user's runs in between, a new loop begins: the function may wait for
 * the futures that it completes. Such a function always has a frame. A function that is told of an
 * end has a frame, too, but cannot wait: the loop that has called it fires what it has completed.
 *
 * A function that waits may wait for what a later continuation of a loop does. No other thread
 * fires that continuation, so the waiter does (baton__wait_put_off, wait.c).
 */
#ifndef BATON_SRC_FIRING_H
#define BATON_SRC_FIRING_H

#include <stdbool.h>

#include <baton/future.h>

struct baton__frame;

/*
 * Fires a list of continuations, which may be empty. Call it after all wakes. If it is called by a
 * continuation, with no function of the user's in between that may wait, it only puts the new
 * continuations in front of those that the outer loop has left.
 */
void baton__future_fire(struct baton_continuation *continuation);

/* The continuation that is being fired is about to call a function of the user's that waits for
 * nothing, and has pushed `frame` for it. */
void baton__future_call_from(struct baton__frame *frame);

/*
 * For a thread that waits. has_unfired: is there a continuation that a loop further down its stack
 * has still to fire? fire_one: fires the next one, of the innermost such loop; false: there is
 * none.
 */
bool baton__future_has_unfired(void);
bool baton__future_fire_one(void);

#endif
