/* SPDX-License-Identifier: MIT */
/* What the parts of a hold share. See hold.c. */
#ifndef BATON_SRC_HOLD_H
#define BATON_SRC_HOLD_H

#include <baton/hold.h>

/*
 * Waits for the baton in the thread's place among the tasks. 0: the baton is on the shelf, for this
 * thread to unshelve. Else nothing is held: an error of baton_hold_until().
 */
int baton__hold_await(struct baton_resource *resource, uint64_t deadline_ns);

#endif
