/* SPDX-License-Identifier: MIT */
/*
 * Takes one job out of the pool's queues, for a thread that runs the rest of the resource itself.
 * The caller takes other jobs, too, and puts them back in their order. A worker puts jobs into its
 * own run queue until that is half full, and the rest into the injection queue. Any other thread
 * puts all into the injection queue. A withdrawal, rare and expensive, takes all jobs that can be
 * reached: its cost grows with their number. A recall takes those from outside, if they are few.
 */
#include "pool/pool.h"

#include "base/atomic.h"
#include "thread/thread.h"
#include "queue/injection.h"
#include "queue/joblist.h"
#include "pool/worker.h"

/* A recall takes about this many jobs: a slot of the injection queue holds as many. */
#define RECALL_MAX 8

/* Counts the calling thread, from outside, in `hands`. False: the pool is about to end, and the
 * thread could not put jobs back. */
static bool take_in_hand(struct baton_pool *pool)
{
	/* [pool.hands] seq_cst: counted before the look at the state; pairs with [pool.hands] in
	 * set_state, in_hands, try_end */
	(void)add_seq_cst(&pool->hands, 1);
	if (!(load_seq_cst(&pool->state) &
	      (BATON__POOL_STOP | BATON__POOL_ENDED | BATON__POOL_ENDING)))
		return true;
	/* Relaxed is enough: as in put_others_back. */
	(void)sub_seq_cst(&pool->hands, 1);
	return false;
}

/*
 * Drops `job` from the list and puts the other jobs back, in their order. True: the job was there.
 * Ends what take_in_hand() has begun: the last touch of the pool.
 */
static bool put_others_back(struct baton_pool *pool, struct baton__worker *worker,
                            struct baton__joblist *list, const struct baton_job *job)
{
	struct baton__joblist others = BATON__JOBLIST_INIT;
	const size_t taken = list->count;
	bool found = false;
	int error = 0;

	while (list->count) {
		struct baton_job *other = baton__joblist_pop(list);

		if (other == job)
			found = true;
		else if (worker && baton__order_length(&worker->order) < BATON_RUNQUEUE_SLOTS / 2)
			baton__worker_put_back(worker, other);
		else
			baton__joblist_append(&others, other);
	}
	if (others.count)
		error = baton__injection_push_list(&pool->injection, &others);
	BATON_ASSERT(!error || worker); /* pool.in_hands */
	if (worker) /* shutdown_now has closed the queue: this worker runs the jobs */
		baton__joblist_join(&worker->kept, &others);
	if (taken > (size_t)found && baton__pool_notify(pool))
		baton__thread_nudge_all();
	/* [pool.hands] release: the jobs are back; pairs with [pool.hands] in in_hands. Relaxed is
	 * enough: the compare-and-swaps that close the queue find what was put back, whatever the
	 * count says. */
	if (!worker)
		(void)sub_seq_cst(&pool->hands, 1);
	return found;
}

bool baton__pool_withdraw(struct baton_pool *pool, struct baton__worker *worker,
                          struct baton_job *job)
{
	struct baton__joblist list = BATON__JOBLIST_INIT;

	/* ENDING may be cleared again: if there is a job, the worker that has set ENDING runs the
	 * job, or announces it to the sleepers. */
	if (!worker && !take_in_hand(pool))
		return false;
	baton__injection_fetch(&pool->injection, SIZE_MAX, &list);
	for (size_t i = 0; i < pool->worker_count; i++)
		baton__worker_collect(&pool->workers[i], &list);
	return put_others_back(pool, worker, &list, job);
}

bool baton__pool_recall(struct baton_pool *pool, struct baton__worker *worker,
                        struct baton_job *job)
{
	struct baton__joblist list = BATON__JOBLIST_INIT;
	size_t length = baton__injection_length(&pool->injection); /* a hint */

	if (length == 0 || length > RECALL_MAX)
		return false;
	if (!worker && !take_in_hand(pool))
		return false;
	baton__injection_fetch(&pool->injection, RECALL_MAX, &list);
	return put_others_back(pool, worker, &list, job);
}
