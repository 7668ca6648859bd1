/* SPDX-License-Identifier: MIT */
/*
 * How a worker goes to sleep, what it learns from that, and how the last one awake ends
 * the pool. The invariants are worker.c's and pool.c's.
 */
#include "pool/worker.h"

#include "base/atomic.h"
#include "base/futex.h"
#include "pool/idle.h"
#include "queue/injection.h"
#include "pool/pool.h"

bool baton__worker_is_ending(const struct baton_pool *pool)
{
	/* [pool.state] acquire: pairs with [pool.state] in set_state. */
	return load_acquire(&pool->state) & (BATON__POOL_STOP | BATON__POOL_ENDED);
}

/* The last one awake after a shutdown, with nothing in its hands: ends the pool if all has run. */
static void try_end(struct baton_pool *pool)
{
	if (!baton__pool_set_state(pool, BATON__POOL_ENDING))
		return;
	/* All others sleep, and nobody wakes them while we search: worker.has_nothing, so what
	 * there is is in the injection queue, or in hands from which it comes there
	 * (pool.in_hands), and at the moment when it closes there is nothing. */
	if (!baton__pool_in_hands(pool) && baton__injection_close_if_empty(&pool->injection)) {
		(void)baton__pool_set_state(pool, BATON__POOL_ENDED);
		baton__idle_wake_all(&pool->idle);
		baton__crew_wake_all(pool);
	} else {
		/* Clears the bit, which nobody else sets or clears. [pool.hands] seq_cst: who has
		 * not withdrawn because of it is asleep for those whom we tell of the jobs now. */
		(void)sub_seq_cst(&pool->state, BATON__POOL_ENDING);
	}
}

/*
 * How long to look around after a job: long, if that would have saved this sleep; else less. Mostly
 * the next job comes later, and then looking burns the time of a submitter on the same CPU; and who
 * has burnt time is let in late by the kernel when he is woken: milliseconds.
 */
static void learn(struct baton__worker *worker, uint64_t slept_ns)
{
	if (slept_ns < (uint64_t)BATON_WORKER_LOOKS * BATON__LOOK_NS)
		worker->looks = BATON_WORKER_LOOKS;
	else
		worker->looks = (worker->looks + 1) / 2;
	worker->fresh = true;
}

/* Sleeps until there may be work; then the worker is searching. Or finds the end. */
void baton__worker_park(struct baton__worker *worker)
{
	struct baton_pool *pool = worker->pool;
	bool shutdown = baton__pool_may_end(pool);
	enum baton__idle_entered entered =
		baton__idle_enter(&pool->idle, worker->index, worker->searching, shutdown);
	uint64_t since;
	uint32_t state;

	if (entered == BATON__IDLE_ALONE) {
		/* Without being counted as searching, others could be woken: search first. */
		if (worker->searching)
			try_end(pool);
		return;
	}
	worker->searching = false;
	/* [idle.ending] seq_cst: after our 0 in the wake word. [pool.last] seq_cst: after we have
	 * entered; shutdown sets the state, then looks for sleepers: either it finds us, or we see
	 * it. */
	state = load_seq_cst(&pool->state);
	if (state & (BATON__POOL_STOP | BATON__POOL_ENDED))
		return;
	/* idle.no_work_overlooked. Not if it could end before: then another one is awake, and the
	 * last one ends it. */
	if (entered == BATON__IDLE_LOOK &&
	    ((!shutdown && baton__pool_may_end(pool)) || baton__pool_has_work(pool)))
		(void)baton__idle_notify(&pool->idle); /* wakes anyone, perhaps this one */
	baton__worker_count(&worker->counts.parked, 1);
	since = baton__now_ns();
	baton__idle_wait(&pool->idle, worker->index);
	learn(worker, baton__now_ns() - since);
	baton__worker_count(&worker->counts.woken, 1);
	worker->searching = true; /* or the end: then it does not matter */
}
