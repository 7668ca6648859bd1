/* SPDX-License-Identifier: MIT */
/*
 * The order in which a worker's jobs run. FIFO: one queue. YIELDS: two queues; a job that has come
 * back many times waits in the second queue, `hot`. A thief moves jobs from one queue of its victim
 * into its own queue of the same sort.
 *
 * The job itself counts how often it has come back, so the count goes with the job to thieves and
 * through the injection queue. The count is in bits of `_kind`. Only the thread that has taken the
 * job, or submits it, changes these bits. Other threads change other bits of `_kind`, so each
 * change is an addition.
 *
 * Invariant order.bound: when a job is pushed, its queue has at most a ring of jobs before it, and
 * at most hot_share hot jobs run before each cold job. So at most SLOTS * (1 + hot_share) jobs from
 * the two queues run before it. (Jobs from the LIFO slot and from outside have bounds of their own:
 * LIFO_MAX, and the policy's interval.)
 */
#ifndef BATON_SRC_ORDER_H
#define BATON_SRC_ORDER_H

#include <baton/pool.h>

#include "base/atomic.h"
#include "base/platform.h"
#include "core/executor.h"
#include "queue/runqueue.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A worker's queues: the worker pushes and pops, any thread takes. */
struct baton__order {
	const struct baton_pool_policy *policy;
	struct baton__runqueue *hot; /* NULL: the order is FIFO */
	uint32_t hot_streak;         /* the worker's: hot jobs in a row since the last cold one */
	struct baton__runqueue queue;
};

BATON_INLINE uint32_t baton__returns(const struct baton_job *job)
{
	/* Relaxed: the queue has published the job. */
	return load_relaxed(&job->_kind) / BATON__JOB_RETURNS;
}

/* The job comes back once more. */
BATON_INLINE void baton__returns_count(struct baton_job *job)
{
	if (baton__returns(job) < BATON__RETURNS_MAX)
		(void)add_relaxed(&job->_kind, BATON__JOB_RETURNS); /* published by the push */
}

/* The job has not come back: its count is 0 again. */
BATON_INLINE void baton__returns_reset(struct baton_job *job)
{
	uint32_t returns = baton__returns(job);

	if (returns) /* relaxed: as above */
		(void)sub_relaxed(&job->_kind, returns * BATON__JOB_RETURNS);
}

/* The queue in which the job waits: that of hot jobs, if it is hot. */
BATON_INLINE struct baton__runqueue *baton__order_queue(struct baton__order *order,
                                                        const struct baton_job *job)
{
	if (BATON_LIKELY(!order->hot) || baton__returns(job) < order->policy->hot_from)
		return &order->queue;
	return order->hot;
}

/* The jobs in both queues: a hint to all but the owner. */
BATON_INLINE size_t baton__order_length(const struct baton__order *order)
{
	return baton__runqueue_length(&order->queue) +
	       (order->hot ? baton__runqueue_length(order->hot) : 0);
}

/* Are both queues empty? Sequentially consistent, as baton__runqueue_is_empty. */
BATON_INLINE bool baton__order_is_empty(const struct baton__order *order)
{
	return baton__runqueue_is_empty(&order->queue) &&
	       (!order->hot || baton__runqueue_is_empty(order->hot));
}

/* Takes the oldest cold job of a worker, or else a hot one. Any thread. */
BATON_INLINE struct baton_job *baton__order_take(struct baton__order *order)
{
	struct baton_job *job = baton__runqueue_take(&order->queue);

	return job || !order->hot ? job : baton__runqueue_take(order->hot);
}

/* Steals from one queue of the victim into the thief's queue of the same sort. */
BATON_INLINE struct baton_job *baton__order_steal(struct baton__order *order,
                                                  struct baton__order *victim, size_t *stolen)
{
	uint32_t share = order->policy->steal_max;
	struct baton_job *job = baton__runqueue_steal(&victim->queue, &order->queue, share, stolen);

	return job || !order->hot ? job
	                          : baton__runqueue_steal(victim->hot, order->hot, share, stolen);
}

/* Takes the next job of the worker's own queues. YIELDS: the oldest hot job, but after hot_share
 * hot jobs the oldest cold job. */
BATON_INLINE struct baton_job *baton__order_pop(struct baton__order *order)
{
	struct baton_job *job = NULL;

	if (BATON_LIKELY(!order->hot))
		return baton__runqueue_pop(&order->queue);
	if (order->hot_streak < order->policy->hot_share)
		job = baton__runqueue_pop(order->hot);
	if (job) {
		order->hot_streak++;
		return job;
	}
	order->hot_streak = 0;
	job = baton__runqueue_pop(&order->queue);
	return job ? job : baton__runqueue_pop(order->hot);
}

#endif
