/* SPDX-License-Identifier: MIT */
/*
 * The LIFO slot of a worker. The worker puts a job there; the worker and thieves take it by a swap.
 */
#ifndef BATON_SRC_SLOT_H
#define BATON_SRC_SLOT_H

#include "base/atomic.h"
#include "base/platform.h"

#include <baton/executor.h>

/* Takes what is there; NULL: nothing. Any thread. */
BATON_INLINE struct baton_job *baton__slot_take(struct baton_job **slot)
{
	/* [idle.work] seq_cst: the caller may be about to sleep, and has changed the idle set
	 * before. A hint: the swap decides. */
	if (!load_seq_cst(slot))
		return NULL;
	/* [worker.slot] acquire: the job; pairs with [worker.slot] in schedule. */
	return swap_acquire(slot, NULL);
}

#endif
