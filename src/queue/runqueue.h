/* SPDX-License-Identifier: MIT */
/*
 * A worker's run queue: bounded, one owner pushes and pops, any thread steals (spmc).
 *
 *                                        | from
 *   push, pop, overflow                  | owner only
 *   steal                                | the owner of `into`, which is not `from`, beside
 *                                        | everything
 *   take                                 | any thread, beside everything
 *   is_empty, length                     | any thread, beside everything
 *   init                                 | before all others
 *
 * Source: runqput, runqget and runqgrab of Go's scheduler.
 */
#ifndef BATON_SRC_RUNQUEUE_H
#define BATON_SRC_RUNQUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "queue/joblist.h"
#include "base/platform.h"

/* A power of two, at least 2. Tests use a small ring, which wraps soon. */
#ifndef BATON_RUNQUEUE_SLOTS
#define BATON_RUNQUEUE_SLOTS 256
#endif

_Static_assert(BATON_RUNQUEUE_SLOTS >= 2 &&
                       (BATON_RUNQUEUE_SLOTS & (BATON_RUNQUEUE_SLOTS - 1)) == 0,
               "the ring's size is a power of two");

struct baton__runqueue {
	uint64_t head BATON_CACHE_ALIGNED; /* the oldest job; owner and thieves, by CAS */
	uint64_t tail BATON_CACHE_ALIGNED; /* where the owner pushes; owner only */
	struct baton_job *slots[BATON_RUNQUEUE_SLOTS];
};

void baton__runqueue_init(struct baton__runqueue *queue);

/*
 * Puts a job last; false if the queue is full.
 * Ordering: sequentially consistent before what the caller reads next (Dekker with parking).
 * Progress: wait-free.
 */
bool baton__runqueue_push(struct baton__runqueue *queue, struct baton_job *job);

/* Takes the oldest job, NULL if there is none. Progress: lock-free. */
struct baton_job *baton__runqueue_pop(struct baton__runqueue *queue);

/* Appends the older half of a full queue to `list`; does nothing if the queue is not full. */
void baton__runqueue_overflow(struct baton__runqueue *queue, struct baton__joblist *list);

/*
 * Takes the older part of `from`: `share` / BATON__WHOLE of its jobs, rounded up, at most half a
 * ring. Returns the oldest job and puts the others into `into`, which is the caller's own, and at
 * most half full. *count: the number of jobs taken; 0: the queue is empty, or other thieves were
 * faster. Progress: bounded; a thread stopped before its CAS on head has taken nothing.
 */
#define BATON__WHOLE 256U
struct baton_job *baton__runqueue_steal(struct baton__runqueue *from, struct baton__runqueue *into,
                                        uint32_t share, size_t *count);

/* Takes the oldest job, NULL if there is none. For threads other than the owner, which has pop. */
struct baton_job *baton__runqueue_take(struct baton__runqueue *queue);

/* Sequentially consistent: a job whose push is earlier in the total order makes the answer false,
 * unless the job has been taken. */
bool baton__runqueue_is_empty(const struct baton__runqueue *queue);

/* The number of jobs: for the owner an upper bound, for other threads approximate. */
size_t baton__runqueue_length(const struct baton__runqueue *queue);

#endif
