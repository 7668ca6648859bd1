/* SPDX-License-Identifier: MIT */
/*
 * The pool's crew: which thread is which worker, and spare threads. A worker is a place
 * with queues; a mate is a thread, which holds a place, or rests, or is inside a job without one.
 */
#ifndef BATON_SRC_CREW_H
#define BATON_SRC_CREW_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/platform.h"

struct baton_executor;
struct baton_pool;
struct baton__worker;

/* As struct baton_pool_stats; any thread adds, all relaxed. */
struct baton__crew_counts {
	uint64_t started;
	uint64_t retired;
	uint64_t refused;
	uint64_t failed;
};

/* One thread of the pool's: its own, but for `used`. */
struct baton__mate {
	struct baton_pool *pool;
	struct baton__worker *first; /* the place that it begins in; NULL: a spare */
	struct baton__worker *left;  /* when it blocked; NULL: it had none then */
	struct baton_job *running;   /* the worker's `running` then */
	pthread_t thread;            /* read by who joins it */
	uint32_t index;
	uint32_t blocked; /* how often it has said so: they nest */
	bool lasts;       /* what vacancy_begin was told then */
	uint32_t used;    /* a thread has this; taken by CAS, given back by who joins the thread */
};

/* Fields of pool->staff, see crew.c. */
#define BATON__STAFF_VACANT UINT64_C(1)
#define BATON__STAFF_AWAY (UINT64_C(1) << 16)
#define BATON__STAFF_COMING (UINT64_C(1) << 32)
#define BATON__STAFF_RESTING (UINT64_C(1) << 48)

BATON_INLINE uint32_t baton__staff(uint64_t staff, uint64_t unit)
{
	return (uint32_t)(staff / unit & 0xFFFF);
}

/* The mate that the calling thread is, NULL if none. */
struct baton__mate *baton__mate_current(void);

BATON_INLINE void baton__crew_add(uint64_t *counter)
{
	(void)add_relaxed(counter, 1); /* nothing hangs on it */
}

/*
 * Called by the calling thread, this mate, around a sleep inside a job. `lasts`: see vacancy.h:
 * true for a wait, which has lasted before it sleeps; false for a bracket, which has only begun.
 * Nests; the outermost one counts.
 */
void baton__crew_blocks(struct baton__mate *mate, bool lasts);
void baton__crew_unblocks(struct baton__mate *mate);

/*
 * There may be work, and some place is vacant; `busy`: no worker is free for the work. Sees to it
 * that a spare comes, or else that the threads that may help are nudged if all places are vacant.
 * As baton__pool_notify. Any thread; lock-free, but that it may start a thread.
 */
int baton__crew_call(struct baton_pool *pool, bool busy);

/* The pool's `alone`: do the threads of all places sleep inside jobs, and is no spare to be had?
 * Calls a spare, if there is one. As crew_call. */
bool baton__crew_stuck(struct baton_executor *executor);

/* What a mate's thread does until the pool ends, or it retires. */
void baton__crew_serve(struct baton__mate *mate);

/* A spare could not begin. */
void baton__crew_missing(struct baton_pool *pool);

/* Wakes all who rest: the state says that it is the end. */
void baton__crew_wake_all(struct baton_pool *pool);

#endif
