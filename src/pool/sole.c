/* SPDX-License-Identifier: MIT */
/*
 * The turn word: 0, or the number of the process that has a thread with the turn.
 *
 *   0 -> process           begin
 *   other process -> own   begin, in a fork's child: it inherits the number, not the thread
 *   process -> 0           end
 */
#include "pool/sole.h"

#include "base/atomic.h"
#include "base/futex.h"

#include <limits.h>
#include <unistd.h>

void baton__sole_begin(uint32_t *turn)
{
	const uint32_t self = (uint32_t)getpid();
	uint32_t found = load_relaxed(turn); /* validated by the CAS */

	/* Ends with the thread that has the turn. */
	for (;;) {
		struct baton__futex_watch watch = {turn, self};

		/* [sole.turn] acquire: what the last thread with the turn made or ended; pairs with
		 * [sole.turn] in baton__sole_end */
		if (found != self && cas_acquire(turn, &found, self))
			return;
		if (found == self)
			(void)baton__futex_wait(&watch, 1, NULL);
		found = load_relaxed(turn);
	}
}

void baton__sole_end(uint32_t *turn)
{
	/* [sole.turn] release: what this thread made or ended; pairs with [sole.turn] in
	 * baton__sole_begin */
	store_release(turn, 0);
	baton__futex_wake(turn, INT_MAX);
}
