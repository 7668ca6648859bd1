/* SPDX-License-Identifier: MIT */
/*
 * The pool's state, which its threads share.
 */
#ifndef BATON_SRC_POOL_H
#define BATON_SRC_POOL_H

#include <baton/pool.h>

#include "base/atomic.h"
#include "base/platform.h"
#include "queue/injection.h"
#include "pool/alarm.h"
#include "pool/counting.h"
#include "pool/crew.h"
#include "pool/sentry.h"
#include "pool/idle.h"
#include "pool/policy.h"
#include "pool/worker.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The bits of `state`. Any thread sets them; none but ENDING is cleared.
 *   SHUTDOWN  plain jobs are refused; the pool ends when all accepted jobs have run
 *   STOP      all jobs are refused; workers run what they have, and end
 *   ENDED     after SHUTDOWN: all jobs have run, and the injection queue is closed
 *   ENDING    the last worker awake tries to close the injection queue; if it cannot, it clears
 *             ENDING
 */
#define BATON__POOL_SHUTDOWN 1U
#define BATON__POOL_STOP 2U
#define BATON__POOL_ENDED 4U
#define BATON__POOL_ENDING 8U

#define BATON__POOL_NAME_MAX 10

struct baton_pool {
	struct baton_executor executor; /* first: pool_of casts it to the pool */
	size_t worker_count;
	struct baton__worker *workers;
	size_t mate_count; /* workers and spares, and one more for a retired thread */
	struct baton__mate *mates;
	struct baton_pool_policy policy; /* with all its defaults filled in */
	uint32_t threads_max;            /* workers and spares */
	uint64_t spare_keep_ns;
	size_t stack_size;
	int *cpus; /* NULL: not pinned */
	size_t cpu_count;
	char name[BATON__POOL_NAME_MAX + 1];
	bool counts; /* accepted jobs, or waiting ones: see counting.h */
	bool counts_accepted;
	uint64_t waiting_max;       /* plain jobs; 0: no bound, and they are not counted */
	struct baton__alarm *alarm; /* NULL unless this is the default pool */
	bool is_default;            /* set by default_pool.c; baton_pool_destroy refuses it */
	/* The members above are immutable once threads run. */
	uint32_t state BATON_CACHE_ALIGNED;
	uint64_t staff; /* counts of places and threads; see crew.c */
	/* threads from outside that withdraw a job now: pool.in_hands, pool.c */
	uint32_t hands;
	uint32_t starting;   /* threads that have not said how they started; futex word */
	int32_t start_error; /* of one of the threads that did not start */
	uint32_t live;       /* threads that have not ended; futex word */
	uint32_t calls;      /* spares called and not yet up, CALLS_END; futex word; see crew.c */
	uint32_t threads;    /* threads counted against threads_max; see crew.c */
	uint32_t haste;      /* not 0: brackets last; 0: brackets are short; see vacancy.c */
	uint32_t retired;    /* the mate that has retired and is not joined: index + 1; 0: none */
	struct baton__crew_counts crew_counts;
	uint64_t accepted; /* jobs from outside, if counts_accepted; any thread adds, relaxed */
	struct baton__idle idle;
	struct baton__injection injection;
	struct baton__room room BATON_CACHE_ALIGNED; /* if waiting_max */
};

/* The worker of this pool that the calling thread is; NULL: none. */
BATON_INLINE struct baton__worker *baton__pool_worker(const struct baton_pool *pool)
{
	struct baton__worker *worker = baton__worker_current();

	return worker && worker->pool == pool ? worker : NULL;
}

/* A thread from outside, which is inside the pool (pool.outside), publishes the job. Returns as
 * schedule. */
int baton__pool_push(struct baton_pool *pool, struct baton_job *job);

/* As baton_pool_submit. `full`: what a pool with waiting_max does where there is no room. */
int baton__pool_submit(struct baton_pool *pool, struct baton_plain_job *job,
                       const struct baton__when_full *full);

/* Is the pool shut down, and is no thread inside a job without a place? Sequentially consistent;
 * crew.not_ending in crew.c. */
bool baton__pool_may_end(const struct baton_pool *pool);

/* Is there a job that a worker could take, or an open deadline (alarm.work)? Sequentially
 * consistent. */
bool baton__pool_has_work(const struct baton_pool *pool);

/*
 * There may be work: wakes a worker, or calls a spare, or, if the threads of all places sleep
 * inside jobs, nudges those that may help. 1: all workers are in jobs; 0: a worker, or a spare,
 * will look.
 */
int baton__pool_notify(struct baton_pool *pool);

/* A deadline may be open: if all workers are in jobs, the sentry watches it (sentry.watch in
 * sentry.c). Called after baton__pool_notify. */
BATON_INLINE void baton__pool_sentry(const struct baton_pool *pool)
{
	if (BATON_UNLIKELY(pool->alarm != NULL) && baton__idle_all_busy(&pool->idle))
		baton__sentry_call(pool->alarm);
}

/* Takes the job out of the pool's queues. True: the job was there. Any thread; `worker`: the worker
 * that the calling thread is, or NULL. */
bool baton__pool_withdraw(struct baton_pool *pool, struct baton__worker *worker,
                          struct baton_job *job);
/* As withdraw, but looks only at jobs from outside, and only if these are few. */
bool baton__pool_recall(struct baton_pool *pool, struct baton__worker *worker,
                        struct baton_job *job);

/* Does a thread from outside hold jobs (pool.in_hands)? Called after ENDING or STOP was set. */
BATON_INLINE bool baton__pool_in_hands(const struct baton_pool *pool)
{
	/* [pool.hands] seq_cst: after the state was set. acquire: the jobs have been put back.
	 * Pairs with [pool.hands] in withdraw.c. */
	return load_seq_cst(&pool->hands) != 0;
}

/* As baton_pool_create. `alarm`: the pool keeps its deadline once the alarm is open; or NULL. */
int baton__pool_create(const struct baton_pool_options *options, struct baton__alarm *alarm,
                       struct baton_pool **pool);

/* Shuts the pool down, and waits until its threads have ended. Only the memory remains. */
void baton__pool_end(struct baton_pool *pool);

/* Sets bits of the state. True: at least one of them was not set before. */
bool baton__pool_set_state(struct baton_pool *pool, uint32_t bits);

#endif
