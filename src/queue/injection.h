/* SPDX-License-Identifier: MIT */
/*
 * The injection queue: how jobs come into the pool from outside. Unbounded, intrusive,
 * many producers and many consumers (mpmc), lock-free, nothing allocated.
 *
 *                                  | from
 *   push, push_list, fetch,        | any thread, beside each other
 *   close_if_empty, is_empty,      |
 *   length                         |
 *   init                           | before all others
 */
#ifndef BATON_SRC_INJECTION_H
#define BATON_SRC_INJECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "queue/joblist.h"
#include "base/platform.h"

/* Slots of the ring, a power of two, at least 2. Tests make it small to see it wrap. */
#ifndef BATON_INJECTION_SLOTS
#define BATON_INJECTION_SLOTS 8192
#endif

/* Most jobs that pushes put into one slot, at most 8: what a consumer claims at a time. */
#ifndef BATON_INJECTION_BATCH
#define BATON_INJECTION_BATCH 8
#endif

_Static_assert(BATON_INJECTION_SLOTS >= 2 &&
                       (BATON_INJECTION_SLOTS & (BATON_INJECTION_SLOTS - 1)) == 0,
               "the ring's size is a power of two");
_Static_assert(BATON_INJECTION_BATCH >= 1 && BATON_INJECTION_BATCH <= 8,
               "a slot counts its jobs in three bits");

struct baton__injection {
	uint64_t tail BATON_CACHE_ALIGNED; /* the position that pushes go to */
	uint64_t spill;                    /* jobs that found no room, newest first; or shut */
	uint64_t head BATON_CACHE_ALIGNED; /* the oldest position not claimed */
	uint64_t slots[BATON_INJECTION_SLOTS] BATON_CACHE_ALIGNED;
};

void baton__injection_init(struct baton__injection *queue);

/*
 * Puts a job last. 0, or -ESHUTDOWN: the queue is closed, the job untouched but for its link.
 * Progress: lock-free; a thread stopped in here delays its own job only.
 * Ordering: sequentially consistent before what the caller reads next (Dekker with parking).
 */
int baton__injection_push(struct baton__injection *queue, struct baton_job *job);

/* Puts all of the list last. On -ESHUTDOWN `list` holds what was not taken, else nothing. */
int baton__injection_push_list(struct baton__injection *queue, struct baton__joblist *list);

/*
 * Appends about `share_max` of the oldest jobs to `list`, whole batches; none if there are none.
 * Progress: lock-free; a thread stopped in here delays what it has claimed only: a batch (and
 * pushes onto it that had begun before the claim), or, after more than BATON_INJECTION_SLOTS full
 * batches had been waiting, the jobs beyond those.
 */
void baton__injection_fetch(struct baton__injection *queue, size_t share_max,
                            struct baton__joblist *list);

/*
 * Closes the queue if it is empty, at one moment; from then on every push returns -ESHUTDOWN. True
 * if it is closed now. False: not empty, or a consumer is still clearing a slot that is needed.
 */
bool baton__injection_close_if_empty(struct baton__injection *queue);

/* Sequentially consistent: a push that came before in that order is seen, or has been claimed. */
bool baton__injection_is_empty(const struct baton__injection *queue);

/* About how many jobs are waiting. */
size_t baton__injection_length(const struct baton__injection *queue);

#endif
