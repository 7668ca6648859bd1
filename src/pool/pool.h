/* SPDX-License-Identifier: MIT */
/*
 * The pool's shared state, as workers see it.
 */
#ifndef BATON_SRC_POOL_H
#define BATON_SRC_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/pool.h>

#include "base/atomic.h"
#include "pool/crew.h"
#include "pool/idle.h"
#include "queue/injection.h"
#include "base/platform.h"
#include "pool/worker.h"

/*
 * state's bits; set by any thread, never cleared but for ENDING:
 *   SHUTDOWN  plain jobs are refused; ends when everything accepted has run
 *   STOP      everything is refused; workers end with what they have
 *   ENDED     after SHUTDOWN: everything has run, the injection queue is closed
 *   ENDING    the last worker awake tries to close the injection queue; cleared by it if it cannot
 */
#define BATON__POOL_SHUTDOWN 1U
#define BATON__POOL_STOP 2U
#define BATON__POOL_ENDED 4U
#define BATON__POOL_ENDING 8U

#define BATON__POOL_NAME_MAX 10

struct baton_pool {
	struct baton_executor executor; /* first: the pool is found from it */
	size_t worker_count;
	struct baton__worker *workers;
	size_t mate_count; /* places for threads */
	struct baton__mate *mates;
	uint32_t threads_max; /* workers and spares */
	uint64_t spare_keep_ns;
	size_t stack_size;
	int *cpus; /* NULL: not pinned */
	size_t cpu_count;
	char name[BATON__POOL_NAME_MAX + 1];
	bool is_default; /* default_pool.c's: baton_pool_destroy refuses it */
	/* Above: immutable once threads run. */
	uint32_t state BATON_CACHE_ALIGNED;
	uint64_t staff;      /* who is where; see crew.c */
	/* threads from outside that withdraw a job just now; pool.in_hands in pool.c */
	uint32_t hands;
	uint32_t starting;   /* threads that have not said how they started; futex word */
	int32_t start_error; /* of one of them */
	uint32_t live;       /* threads that have not ended; futex word */
	uint32_t calls;      /* spares called and not yet up; futex word; see crew.c */
	uint32_t threads;    /* as live, but retired ones are out, and failed ones never in */
	uint32_t haste;      /* brackets last; 0: they are short; see vacancy.c */
	uint32_t retired;    /* a mate that has retired and is to be joined: index + 1; 0: none */
	struct baton__crew_counts crew_counts;
	struct baton__idle idle;
	struct baton__injection injection;
};

/* Shut down, and nobody is inside a job without a place? Sequentially consistent; crew.c,
 * crew.not_ending. */
bool baton__pool_may_end(const struct baton_pool *pool);

/* Is there a job that some worker could take? Sequentially consistent. */
bool baton__pool_has_work(const struct baton_pool *pool);

/*
 * There may be work: wakes a worker, or, if all sleep inside jobs, the threads that may help. 1:
 * all workers are in jobs; 0: one will look.
 */
int baton__pool_notify(struct baton_pool *pool);

/* Takes the job out of the pool's queues: true if it was there. Any thread, as `worker` or NULL. */
bool baton__pool_withdraw(struct baton_pool *pool, struct baton__worker *worker,
                          struct baton_job *job);

/* Does a thread from outside have jobs in its hands? pool.in_hands; the state says already what
 * for. */
BATON_INLINE bool baton__pool_in_hands(const struct baton_pool *pool)
{
	/* [pool.hands] seq_cst: after the state was set. acquire: they have been put back. Pairs
	 * with [pool.hands] in withdraw.c. */
	return load_seq_cst(&pool->hands) != 0;
}

/* Shuts the pool down and waits until its threads have ended; all that is left is its memory. */
void baton__pool_end(struct baton_pool *pool);

/* Sets bits of the state; true if one of them was not set. */
bool baton__pool_set_state(struct baton_pool *pool, uint32_t bits);

#endif
