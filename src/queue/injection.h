/* SPDX-License-Identifier: MIT */
/*
 * The injection queue: jobs from outside enter the pool here. Unbounded, intrusive, many producers
 * and many consumers (mpmc), lock-free; it allocates nothing.
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

/* Slots of each ring, a power of two, at least 2. Tests use small rings, which wrap soon. */
#ifndef BATON_INJECTION_SLOTS
#define BATON_INJECTION_SLOTS 8192
#endif

/* Pushes put at most this many jobs into one slot of the near ring; at most 8. A consumer claims
 * one slot at a time. */
#ifndef BATON_INJECTION_BATCH
#define BATON_INJECTION_BATCH 8
#endif

/* A slot of the far ring takes about BATCH * PORTION jobs: so the rings take 16 million. A consumer
 * that moves them into the near ring puts PIECE jobs into one slot. */
#ifndef BATON_INJECTION_PORTION
#define BATON_INJECTION_PORTION 256
#define BATON_INJECTION_PIECE 32
#endif

_Static_assert(BATON_INJECTION_SLOTS >= 2 &&
                       (BATON_INJECTION_SLOTS & (BATON_INJECTION_SLOTS - 1)) == 0,
               "the ring's size is a power of two");
_Static_assert(BATON_INJECTION_BATCH >= 1 && BATON_INJECTION_BATCH <= 8,
               "a slot counts its jobs in three bits");

struct baton__injection_ring {
	uint64_t tail BATON_CACHE_ALIGNED; /* the position that pushes go to */
	uint64_t head BATON_CACHE_ALIGNED; /* the oldest position not claimed */
	uint64_t slots[BATON_INJECTION_SLOTS] BATON_CACHE_ALIGNED;
};

struct baton__injection {
	struct baton__injection_ring near;   /* consumers take jobs from here */
	struct baton__injection_ring far;    /* jobs that found no room there */
	uint64_t beyond BATON_CACHE_ALIGNED; /* how many jobs are not in the near ring */
	uint64_t spill;                      /* jobs beyond both rings, newest first; or shut */
};

void baton__injection_init(struct baton__injection *queue);

/*
 * Puts a job last. 0, or -ESHUTDOWN: the queue is closed; of the job only the link has changed.
 * Progress: lock-free; a thread stopped in here delays its own job only.
 * Ordering: sequentially consistent before what the caller reads next (Dekker with parking).
 */
int baton__injection_push(struct baton__injection *queue, struct baton_job *job);

/* Puts the whole list last. On -ESHUTDOWN `list` holds the jobs that were not taken, else none. */
int baton__injection_push_list(struct baton__injection *queue, struct baton__joblist *list);

/*
 * Appends about `share_max` of the oldest jobs to `list`, in whole batches; none if the queue is
 * empty.
 * Progress: lock-free. A thread that is stopped in here delays only the jobs that it has claimed:
 * one batch of either ring (and pushes onto it that had begun before the claim), or the whole
 * spill, if the rings had no room.
 * Cost: a job is moved at most once more after its push, as long as the rings have room for all
 * (injection.moves, injection.c).
 */
void baton__injection_fetch(struct baton__injection *queue, size_t share_max,
                            struct baton__joblist *list);

/*
 * Closes the queue, atomically, if the queue is empty. Every later push returns -ESHUTDOWN. True:
 * the queue is closed now. False: the queue holds jobs, or a consumer has not yet cleared a slot
 * that the close needs.
 */
bool baton__injection_close_if_empty(struct baton__injection *queue);

/* Sequentially consistent: the jobs of a push that is earlier in the total order make the answer
 * false, unless they have been claimed. */
bool baton__injection_is_empty(const struct baton__injection *queue);

/* The approximate number of jobs that wait. */
size_t baton__injection_length(const struct baton__injection *queue);

#endif
