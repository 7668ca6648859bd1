/* SPDX-License-Identifier: MIT */
/*
 * The pool's crew: its threads, and the places that they hold. A worker is a place with queues. A
 * mate is a thread: it holds a place, or rests, or is inside a job without a place. A spare is a
 * mate that begins without a place.
 */
#ifndef BATON_SRC_CREW_H
#define BATON_SRC_CREW_H

#include "base/atomic.h"
#include "base/platform.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct baton_executor;
struct baton_pool;
struct baton__worker;

/* As in struct baton_pool_stats. Any thread adds; all accesses are relaxed. */
struct baton__crew_counts {
	uint64_t started;
	uint64_t retired;
	uint64_t refused;
	uint64_t failed;
};

/* One thread of the pool. The members belong to that thread, except `used`. */
struct baton__mate {
	struct baton_pool *pool;
	struct baton__worker *first; /* the place in which the thread begins; NULL: a spare */
	/* its place before it blocked; NULL: it had none */
	struct baton__worker *left;
	struct baton_job *running; /* `running` of the worker in `left` */
	pthread_t thread;          /* read by the thread that joins this one */
	uint32_t index;
	uint32_t blocked; /* calls of crew_blocks without their crew_unblocks */
	bool lasts;       /* `lasts` of the outermost crew_blocks */
	uint32_t used;    /* a thread has this mate: set by CAS, cleared by the thread that joins */
};

/* Units of the fields of pool->staff, see crew.c. */
#define BATON__STAFF_VACANT UINT64_C(1)
#define BATON__STAFF_AWAY (UINT64_C(1) << 16)
#define BATON__STAFF_COMING (UINT64_C(1) << 32)
#define BATON__STAFF_RESTING (UINT64_C(1) << 48)

BATON_INLINE uint32_t baton__staff(uint64_t staff, uint64_t unit)
{
	return (uint32_t)(staff / unit & 0xFFFF);
}

/* The mate of the calling thread; NULL: the thread belongs to no pool. */
struct baton__mate *baton__mate_current(void);

BATON_INLINE void baton__crew_add(uint64_t *counter)
{
	(void)add_relaxed(counter, 1); /* a counter orders nothing */
}

/*
 * The calling thread, this mate, calls blocks before a sleep inside a job, and unblocks after the
 * sleep. Calls nest; only the outermost pair has an effect. `lasts` (vacancy.h): true for a wait,
 * which has gone on for a while before the thread sleeps; false for a bracket, which only begins.
 */
void baton__crew_blocks(struct baton__mate *mate, bool lasts);
void baton__crew_unblocks(struct baton__mate *mate);

/*
 * There may be work, and a place is vacant. `busy`: no worker is free for the work. Calls a spare
 * if `busy`. If no spare comes, and all places are vacant, nudges the threads that sleep in waits.
 * Returns what baton__pool_notify returns. Any thread; lock-free, except that it may start a
 * thread.
 */
int baton__crew_call(struct baton_pool *pool, bool busy);

/* The pool's operation `alone`: do the threads of all places sleep inside jobs, while no spare can
 * be had? If a spare can be had, this function calls that spare. Any thread, as
 * baton__crew_call. */
bool baton__crew_stuck(struct baton_executor *executor);

/* The main function of a mate's thread: returns when the pool has ended, or the mate has
 * retired. */
void baton__crew_serve(struct baton__mate *mate);

/* A spare that is COMING could not be started. */
void baton__crew_missing(struct baton_pool *pool);

/* Wakes all mates that rest, or watch vacancies. Called after the state that ends the pool was
 * set. */
void baton__crew_wake_all(struct baton_pool *pool);

#endif
