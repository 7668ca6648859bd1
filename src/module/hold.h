/* SPDX-License-Identifier: MIT */
/* What the parts of a hold share. See hold.c. `readers`: a shared hold's; NULL: a hold alone. */
#ifndef BATON_SRC_HOLD_H
#define BATON_SRC_HOLD_H

#include <baton/hold.h>
#include <baton/reader.h>

/* Takes the baton, or joins readers at work, or waits. As baton_hold_until(). */
int baton__hold_take(struct baton_resource *resource, struct baton_hold *hold, uint64_t deadline_ns,
                     struct baton_readers *readers);

/*
 * Waits for the baton in the thread's place among the tasks. 0: the baton is on the shelf, for this
 * thread to unshelve, or the thread is counted as a reader. Else nothing is held: an error of
 * baton_hold_until().
 */
int baton__hold_await(struct baton_resource *resource, uint64_t deadline_ns,
                      struct baton_readers *readers);

/* Gives back what a hold in use has. */
int baton__hold_release(struct baton_hold *hold, struct baton_readers *readers);

#endif
