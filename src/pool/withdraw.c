/* SPDX-License-Identifier: MIT */
/*
 * Takes one job out of the pool's queues, for a waiter that goes on in its place. Rare,
 * and dear: everything that can be reached is taken, and all but the job put back, by a worker into
 * its run queue, by others into the injection queue.
 */
#include "pool/pool.h"

#include "base/atomic.h"
#include "queue/injection.h"
#include "queue/joblist.h"
#include "thread/thread.h"
#include "pool/worker.h"

/* False: the pool is about to end, and a thread from outside could not put the jobs back. */
static bool take_in_hand(struct baton_pool *pool)
{
	/* [pool.hands] seq_cst: counted before the look at the state; pairs with [pool.hands] in
	 * set_state, in_hands, try_end */
	(void)add_seq_cst(&pool->hands, 1);
	if (!(load_seq_cst(&pool->state) &
	      (BATON__POOL_STOP | BATON__POOL_ENDED | BATON__POOL_ENDING)))
		return true;
	(void)sub_seq_cst(&pool->hands, 1);
	return false;
}

bool baton__pool_withdraw(struct baton_pool *pool, struct baton__worker *worker,
                          struct baton_job *job)
{
	struct baton__joblist list = BATON__JOBLIST_INIT;
	bool found = false;

	/* ENDING is no answer for good: if there is a job after all, the worker that has set it
	 * comes to the job, or tells the sleepers of it. */
	if (!worker && !take_in_hand(pool))
		return false;
	baton__injection_fetch(&pool->injection, SIZE_MAX, &list);
	for (size_t i = 0; i < pool->worker_count; i++)
		baton__worker_collect(&pool->workers[i], &list);
	while (list.count) {
		struct baton_job *other = baton__joblist_pop(&list);
		int error = 0;

		if (other == job)
			found = true;
		else if (worker)
			baton__worker_put_back(worker, other);
		else
			error = baton__injection_push(&pool->injection, other);
		BATON_ASSERT(!error); /* pool.in_hands */
	}
	if (baton__pool_notify(pool))
		baton__thread_nudge_all();
	/* [pool.hands] release: they are back; pairs with [pool.hands] in in_hands. Last touch of
	 * the pool. */
	if (!worker)
		(void)sub_seq_cst(&pool->hands, 1);
	return found;
}
