/* SPDX-License-Identifier: MIT */
/*
 * The word of a lock: 0, or the number of the process that has a thread with the lock.
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

void baton__sole_begin(uint32_t *lock)
{
	const uint32_t self = (uint32_t)getpid();
	uint32_t found = load_relaxed(lock); /* validated by the CAS */

	/* Ends with the thread that has the lock. */
	for (;;) {
		struct baton__futex_watch watch = {lock, self};

		/* [sole.lock] acquire: what the last thread with the lock made or ended; pairs with
		 * [sole.lock] in baton__sole_end */
		if (found != self && cas_acquire(lock, &found, self))
			return;
		if (found == self)
			(void)baton__futex_wait(&watch, 1, BATON_FOREVER);
		found = load_relaxed(lock);
	}
}

void baton__sole_end(uint32_t *lock)
{
	/* [sole.lock] release: what this thread made or ended; pairs with [sole.lock] in
	 * baton__sole_begin */
	store_release(lock, 0);
	baton__futex_wake(lock, INT_MAX);
}
