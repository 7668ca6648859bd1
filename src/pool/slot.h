/* SPDX-License-Identifier: MIT */
/*
 * A word beside a worker's run queue that holds jobs: the LIFO slot, with at most one job, and the
 * list of fetched jobs. The worker puts jobs there; the worker and thieves take all of them by a
 * swap.
 */
#ifndef BATON_SRC_SLOT_H
#define BATON_SRC_SLOT_H

#include "base/atomic.h"
#include "base/platform.h"

#include <baton/executor.h>

/* Takes what is there, linked from the oldest job on; NULL: nothing. Any thread. */
BATON_INLINE struct baton_job *baton__slot_take(struct baton_job **slot)
{
	/* [idle.work] seq_cst: the caller may be about to sleep, and has changed the idle set
	 * before. A hint: the swap decides. Relaxed is seldom noticed: as in unspill
	 * (injection.c). */
	if (!load_seq_cst(slot))
		return NULL;
	/* [worker.slot] acquire: the jobs; pairs with [worker.slot] in schedule, fetch, steal. */
	return swap_acquire(slot, NULL);
}

#endif
