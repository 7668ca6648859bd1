/* SPDX-License-Identifier: MIT */
/*
 * Does a thread meet with contention at one resource only? A thread that waits for a moment before
 * it touches a contended cache line again should wait long where this line is all that it works on,
 * and for a short time where it has other resources to submit to.
 */
#ifndef BATON_SRC_STREAK_H
#define BATON_SRC_STREAK_H

#include "thread/thread.h"

#define BATON__STREAK_LONG 8U

/* Counts one event at the resource. True: BATON__STREAK_LONG events before it, or more, were all at
 * this resource. */
BATON_INLINE bool baton__streak(struct baton__streak *streak, const struct baton_resource *resource)
{
	if (streak->at != resource)
		*streak = (struct baton__streak){resource, 0};
	if (streak->times == BATON__STREAK_LONG)
		return true;
	streak->times++;
	return false;
}

#endif
