/* SPDX-License-Identifier: MIT */
/*
 * A worker of the pool: its queues and its loop.
 */
#ifndef BATON_SRC_WORKER_H
#define BATON_SRC_WORKER_H

#include "base/atomic.h"
#include "base/count.h"
#include "base/platform.h"
#include "queue/joblist.h"
#include "pool/order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct baton_pool;

/* A worker looks around before it sleeps: at most LOOKS times, LOOK_NS apart. */
#ifndef BATON_WORKER_LOOKS /* tests make it small */
#define BATON_WORKER_LOOKS 16
#endif
#define BATON__LOOK_NS 2000

/* What a worker has published, and must announce when it has taken its next job. */
enum baton__unannounced {
	BATON__NOTHING_UNANNOUNCED = 0,
	/* a push to its run queue (put_behind), or a deadline (take_alarm, next_job) */
	BATON__WORK_UNANNOUNCED,
	/* its next job, the wheel's, sets a deadline: the value is WORK after that job */
	BATON__WHEEL_UNANNOUNCED,
};

/* As in struct baton_pool_stats. Written by the worker alone, read by any thread, all relaxed. */
struct baton__worker_counts {
	uint64_t executed;
	uint64_t stolen;
	uint64_t parked;
	uint64_t woken;
	uint64_t lifo_hits;
	uint64_t injection_batches;
	uint64_t steals;
	uint64_t accepted; /* scheduled by this worker itself, if the pool counts that */
	uint64_t interval;
	uint64_t hot;
	uint64_t awake; /* see awake.h */
};

struct baton__worker {
	/* These members belong to the worker. */
	struct baton_pool *pool BATON_CACHE_ALIGNED;
	/* the resource's job that runs; only compared: may be gone */
	struct baton_job *running;
	struct baton__joblist kept; /* jobs that the closed injection queue has refused */
	uint64_t random;
	uint32_t index;
	uint32_t to_injection; /* jobs until the next one comes from the injection queue */
	uint32_t interval;     /* the value that `to_injection` began with */
	uint64_t mean;         /* what a job takes, in 256ths of a nanosecond; see policy.h */
	uint64_t tuned_ns;     /* when `to_injection` was set */
	uint64_t evened_ns;    /* when even_out was last called */
	uint32_t lifo_streak;  /* jobs from the LIFO slot in a row */
	uint32_t looks;        /* how often it looks around after a job; see learn_looks */
	bool searching;        /* it is counted as searching in the idle set */
	bool fresh;            /* it was woken, and has run no job since */
	/* YIELDS: the job that runs. Only compared, since the job may be gone. */
	const struct baton_job *entered;
	enum baton__unannounced unannounced;
	/* Shared: the mate that is this worker: index + 1; 0: the place is vacant (crew.holding,
	 * crew.c). */
	uint32_t holder BATON_CACHE_ALIGNED;
	uint64_t vacant_ns; /* since when the place is vacant; see vacancy.c */
	/* Shared: jobs from outside for which the run queue had no room, oldest first; slot.h. */
	struct baton_job *fetched;
	/* Shared: the newest job of this worker; see slot.h. */
	struct baton_job *lifo BATON_CACHE_ALIGNED;
	struct baton__order order;
	struct baton__worker_counts counts BATON_CACHE_ALIGNED;
};

/* `hot`: the second queue, or NULL. */
void baton__worker_init(struct baton__worker *worker, struct baton_pool *pool, size_t index,
                        struct baton__runqueue *hot);

/*
 * The worker's loop. True: the pool has ended. False: the thread has blocked inside its last job,
 * and is no longer this worker.
 */
bool baton__worker_loop(struct baton__worker *worker);

/* The calling thread is this worker from now on; NULL: it is no worker. */
void baton__worker_become(struct baton__worker *worker);

/* There is work, and this worker is about to enter a job: wakes another worker. If all workers are
 * in jobs, nudges the threads that sleep in waits and may help, and the sentry watches the
 * alarm. */
void baton__worker_announce(struct baton_pool *pool);

/*
 * The worker has got a job from elsewhere. `more`: it may also have put jobs into its own run
 * queue. Workers that searched while these jobs were on their way have missed them (worker.looks).
 */
void baton__worker_got_work(struct baton__worker *worker, bool more);

/* Tries to steal once from each other worker, a random one first. The caller's own queue is
 * empty. */
struct baton_job *baton__worker_steal(struct baton__worker *worker, bool lifo_too);

/*
 * Evens out the run queues of this worker and of a random other worker: a clearly longer queue of
 * the other worker gives half of the difference. Only idle workers steal. So while no worker is
 * idle, and without this function, the only job of one worker would run as often as all the jobs of
 * another worker together.
 */
void baton__worker_even_out(struct baton__worker *worker);

/* Does the pool end, so that workers stop looking for jobs? */
bool baton__worker_is_ending(const struct baton_pool *pool);

/* Sleeps until there may be work, and is then searching; or returns because the pool ends. Called
 * by the worker. */
void baton__worker_park(struct baton__worker *worker);

/* The worker that the calling thread is; NULL: none. */
struct baton__worker *baton__worker_current(void);

/*
 * Queues a job that the calling thread, this worker, schedules. The pool is not stopped. 0; 1: no
 * worker is free for the job now.
 */
int baton__worker_schedule(struct baton__worker *worker, struct baton_job *job);

/* Puts a job last in the queue of the calling thread, this worker; the older half of a full queue
 * goes to the injection queue first. The caller notifies afterwards. */
void baton__worker_put_back(struct baton__worker *worker, struct baton_job *job);

/* The calling thread, this worker, is about to sleep inside a job. */
void baton__worker_blocks(struct baton__worker *worker);

/* Takes the jobs out of the worker's queues, and appends them to `list`. Any thread. */
void baton__worker_collect(struct baton__worker *worker, struct baton__joblist *list);

/* Does the worker have jobs besides the job that runs? A hint, for the worker itself. */
bool baton__worker_holds_jobs(const struct baton__worker *worker);

/* Is there a job in the worker's queues? Any thread; sequentially consistent. */
bool baton__worker_has_work(const struct baton__worker *worker);

#endif
