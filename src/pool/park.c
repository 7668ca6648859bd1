/* SPDX-License-Identifier: MIT */
/*
 * How a worker goes to sleep, what it learns from the sleep, and how the last worker awake ends the
 * pool. Invariants: see idle.c, worker.c and pool.c.
 */
#include "pool/worker.h"

#include "base/atomic.h"
#include "base/probe.h"
#include "base/futex.h"
#include "queue/injection.h"
#include "pool/alarm.h"
#include "pool/awake.h"
#include "pool/idle.h"
#include "pool/pool.h"
#include "thread/trace.h"

bool baton__worker_is_ending(const struct baton_pool *pool)
{
	/* [pool.state] acquire: pairs with [pool.state] in set_state. Relaxed is enough: nothing is
	 * read because of it. */
	return load_acquire(&pool->state) & (BATON__POOL_STOP | BATON__POOL_ENDED);
}

/* Called after a shutdown by the last worker awake, which holds no job and is counted as searching.
 * Ends the pool if all jobs have run. */
static void try_end(struct baton_pool *pool)
{
	if (!baton__pool_set_state(pool, BATON__POOL_ENDING))
		return;
	/* All other workers sleep, and no thread wakes them while this worker searches. Sleeping
	 * workers hold no jobs (worker.has_nothing). So a job that is left is in the injection
	 * queue, or in the hands of a thread that will put it there (pool.in_hands). If the
	 * injection queue closes, no job is left. */
	if (!baton__pool_in_hands(pool) && baton__injection_close_if_empty(&pool->injection)) {
		(void)baton__pool_set_state(pool, BATON__POOL_ENDED);
		baton__idle_wake_all(&pool->idle);
		baton__crew_wake_all(pool);
	} else {
		/* Clears ENDING; no other thread sets or clears it. [pool.hands] seq_cst: before
		 * this worker looks for sleepers. A waiter that did not withdraw its job, since it
		 * saw ENDING, counts as a sleeper by now; this worker runs the jobs that are left,
		 * or announces them to the sleepers. Relaxed is seldom noticed: the worker that
		 * takes ENDING back could miss a sleeper that has not withdrawn because of it. */
		(void)sub_seq_cst(&pool->state, BATON__POOL_ENDING);
	}
}

/*
 * Learns how long to look around after a job. If looking for the longest time would have saved this
 * sleep, the worker looks for that long next time; otherwise for half as long as before. Long looks
 * have two costs where the next job comes late, as it usually does. They take the CPU from a
 * submitter. And the kernel lets a woken thread that has used much CPU time wait for milliseconds.
 */
static void learn_looks(struct baton__worker *worker, uint64_t slept_ns)
{
	if (slept_ns < (uint64_t)BATON_WORKER_LOOKS * BATON__LOOK_NS)
		worker->looks = BATON_WORKER_LOOKS;
	else
		worker->looks = (worker->looks + 1) / 2;
	worker->fresh = true;
}

/*
 * Sleeps until the worker is woken. The worker is in the idle set. `claimed`: the deadline that the
 * worker has claimed, or 0. When the deadline has passed, wakes a worker: perhaps itself.
 */
static void sleep_in_set(struct baton__worker *worker, uint64_t claimed)
{
	struct baton_pool *pool = worker->pool;
	bool woken;

	/* Ended by a thread that publishes work, or ends the pool. */
	do {
		woken = baton__idle_wait(&pool->idle, worker->index,
		                         claimed ? claimed : BATON_FOREVER);
		/* alarm.work: a worker that was woken is searching, and looks for work. */
		if (claimed && baton__alarm_give_up(pool->alarm, claimed) && !woken)
			(void)baton__idle_notify(&pool->idle);
		claimed = 0;
	} while (!woken);
}

/* Sleeps until there may be work, and is then searching; or returns because the pool ends. */
void baton__worker_park(struct baton__worker *worker)
{
	struct baton_pool *pool = worker->pool;
	bool shutdown = baton__pool_may_end(pool);
	enum baton__idle_entered entered =
		baton__idle_enter(&pool->idle, worker->index, worker->searching, shutdown);
	uint64_t claimed = 0;
	uint64_t since;
	uint64_t now;
	uint32_t state;

	if (entered == BATON__IDLE_ALONE) {
		/* While try_end runs no other worker may be woken: this worker must be counted as
		 * searching. If it is not, it looks for jobs again first. */
		if (worker->searching)
			try_end(pool);
		return;
	}
	worker->searching = false;
	/* [idle.ending] seq_cst: after the even number in the wake word. [pool.last] seq_cst: after
	 * this worker has entered. A shutdown sets the state, then looks for sleepers: either it
	 * finds this worker, or this worker sees the state. Relaxed is enough: an old value says
	 * "not shut down", and the look after enter corrects that. */
	state = load_seq_cst(&pool->state);
	if (state & (BATON__POOL_STOP | BATON__POOL_ENDED))
		return;
	/* alarm.work: in the idle set, and before the look for work, to which an open deadline
	 * belongs. */
	if (pool->alarm)
		claimed = baton__alarm_claim(pool->alarm);
	/* idle.no_work_overlooked. If the pool was ready to end at the first look (`shutdown`),
	 * another worker is awake, and the last one awake ends the pool. If the pool has become
	 * ready since, a worker must be woken to find that out. */
	if (entered == BATON__IDLE_LOOK &&
	    ((!shutdown && baton__pool_may_end(pool)) || baton__pool_has_work(pool)))
		(void)baton__idle_notify(&pool->idle); /* wakes any sleeper, perhaps this worker */
	baton__count(&worker->counts.parked, 1);
	BATON_PROBE(park, pool, worker);
	since = baton__now_ns();
	baton__awake_end(&worker->counts.awake, since);
	sleep_in_set(worker, claimed);
	now = baton__now_ns();
	baton__awake_begin(&worker->counts.awake, now);
	BATON_PROBE(unpark, pool, worker);
	if (baton__trace_is_on())
		baton__trace(&(struct baton__event){
			since, (uintptr_t)pool, 0,
			baton__event_word(BATON__EVENT_PARKED, now - since)});
	learn_looks(worker, now - since);
	baton__count(&worker->counts.woken, 1);
	worker->searching = true; /* if the pool ends, the value does not matter */
}
