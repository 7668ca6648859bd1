/* SPDX-License-Identifier: MIT */
/*
 * A worker of the pool: its queues, its loop.
 */
#ifndef BATON_SRC_WORKER_H
#define BATON_SRC_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "queue/joblist.h"
#include "base/platform.h"
#include "queue/runqueue.h"

struct baton_pool;

/* Looking around before sleeping: at most so many looks, so far apart. */
#ifndef BATON_WORKER_LOOKS /* tests make it small */
#define BATON_WORKER_LOOKS 16
#endif
#define BATON__LOOK_NS 2000

/* As struct baton_pool_stats. Written by the worker alone, read by anybody, all relaxed. */
struct baton__worker_counts {
	uint64_t executed;
	uint64_t stolen;
	uint64_t parked;
	uint64_t woken;
	uint64_t lifo_hits;
	uint64_t injection_batches;
};

struct baton__worker {
	/* The worker's own. */
	struct baton_pool *pool BATON_CACHE_ALIGNED;
	struct baton_job *running;  /* the job that it is in; only compared, it may be gone */
	struct baton__joblist kept; /* what found no room when the injection queue had closed */
	uint64_t random;
	uint32_t index;
	uint32_t to_injection; /* jobs until the injection queue comes first, once */
	uint32_t interval;     /* what that number began with */
	uint64_t tuned_ns;     /* when it did */
	uint64_t evened_ns;    /* when it last looked at another worker's run queue; see even_out */
	uint32_t lifo_streak;  /* jobs from the LIFO slot in a row */
	uint32_t looks;        /* at the queues, after a job, before it sleeps; see park.c */
	bool searching;        /* it is counted so in the idle set */
	bool fresh;            /* it was woken, and has run no job since */
	bool unannounced;      /* a push to its run queue was not notified, see schedule */
	/* Shared: the thread that is this worker: mate's index + 1; 0: vacant; crew.holding in
	 * crew.c. */
	uint32_t holder BATON_CACHE_ALIGNED;
	uint64_t vacant_ns; /* since when; see vacancy.c */
	/* Shared: the newest job of this worker. The worker puts; it and thieves swap it out. */
	struct baton_job *lifo BATON_CACHE_ALIGNED;
	struct baton__runqueue queue;
	struct baton__worker_counts counts BATON_CACHE_ALIGNED;
};

BATON_INLINE void baton__worker_count(uint64_t *counter, uint64_t more)
{
	/* Relaxed: this worker alone writes it, and nothing hangs on it. */
	store_relaxed(counter, load_relaxed(counter) + more);
}

void baton__worker_init(struct baton__worker *worker, struct baton_pool *pool, size_t index);

/*
 * What the worker's thread does until the pool ends: true; false: it has blocked inside the last
 * job, and another thread has become the worker.
 */
bool baton__worker_loop(struct baton__worker *worker);

/* The calling thread is from now on this worker; NULL: none. */
void baton__worker_become(struct baton__worker *worker);

/* Has nobody anything to look for any more? */
bool baton__worker_is_ending(const struct baton_pool *pool);

/* Sleeps until there may be work; then the worker is searching. Or finds the end. Its own. */
void baton__worker_park(struct baton__worker *worker);

/* The worker that the calling thread is, NULL if it is none. */
struct baton__worker *baton__worker_current(void);

/*
 * Takes a job that this worker, the calling thread, has made. The pool is not stopped. 0; 1: no
 * worker is free for it just now.
 */
int baton__worker_schedule(struct baton__worker *worker, struct baton_job *job);

/* Puts a job behind the others of this worker, the calling thread, which then notifies. */
void baton__worker_put_back(struct baton__worker *worker, struct baton_job *job);

/* The calling thread, this worker, is about to sleep inside a job. */
void baton__worker_blocks(struct baton__worker *worker);

/* Appends to `list` what is in the worker's queues. Any thread. */
void baton__worker_collect(struct baton__worker *worker, struct baton__joblist *list);

/* Is there something in the worker's queues? Any thread; sequentially consistent. */
bool baton__worker_has_work(const struct baton__worker *worker);

#endif
