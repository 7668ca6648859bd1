/* SPDX-License-Identifier: MIT */
/*
 * How long a worker's place stands vacant before a spare takes it.
 *
 * A thread that sleeps in a wait inside a job has waited for a while already: its place is taken at
 * once. A thread that opens a bracket (blocking.h) leaves its place, too, but often comes back
 * within some microseconds. If a spare took the place in that time, the spare's wake-up, and the
 * thread's way to another place, would cost some ten times as much as the blocking call. So such a
 * place is not taken before it has been vacant for VACANCY_NS. A spare that is called earlier stays
 * COMING (crew.c) and watches. The spare goes on watching as long as new brackets begin, and no
 * thread has to call that spare again. The spare's sleeps double up to VACANCY_SPAN_MAX_NS, so that
 * many short brackets cost one wake-up in that time.
 *
 * Where brackets last, waiting for VACANCY_NS is only a delay. So a spare that has seen a bracket
 * last for VACANCY_NS puts its pool in haste: spares take places at once, until HASTE threads have
 * come back to their places before a spare did.
 *
 * Invariant: vacancy.hint: the values that are learnt and read here decide when a spare takes a
 * place, never whether: a spare that ceases to watch looks for vacant places of any age afterwards
 * (crew.spare).
 *
 * Source: Go's sysmon, which retakes the P of a thread in a system call after 20 us at the earliest
 * and sleeps longer and longer while there is nothing to retake.
 */
#include "pool/vacancy.h"

#include "base/atomic.h"
#include "base/futex.h"
#include "pool/pool.h"
#include "pool/worker.h"

#define VACANCY_NS 50000U
#define VACANCY_SPAN_MAX_NS 1600000U
#define HASTE 4U

void baton__vacancy_begin(struct baton__worker *worker, bool lasts)
{
	/* Relaxed: published by the release that makes the place vacant, [crew.place]. */
	store_relaxed(&worker->vacant_ns, lasts ? 0 : baton__now_ns());
}

void baton__vacancy_short(struct baton_pool *pool)
{
	uint32_t haste = load_relaxed(&pool->haste); /* a hint */

	if (haste)
		store_relaxed(&pool->haste, haste - 1);
}

bool baton__vacancy_lasts(struct baton__worker *worker, uint64_t now_ns)
{
	struct baton_pool *pool = worker->pool;
	/* Relaxed: as in begin, since the caller has found the place vacant. */
	uint64_t vacant_ns = load_relaxed(&worker->vacant_ns);

	if (!vacant_ns || load_relaxed(&pool->haste) || baton__worker_is_ending(pool))
		return true;
	if (now_ns - vacant_ns < VACANCY_NS)
		return false;
	store_relaxed(&pool->haste, HASTE);
	return true;
}

static bool any_since(const struct baton_pool *pool, uint64_t since_ns)
{
	for (size_t i = 0; i < pool->worker_count; i++)
		/* Relaxed: a hint. */
		if (load_relaxed(&pool->workers[i].vacant_ns) > since_ns)
			return true;
	return false;
}

bool baton__vacancy_watch(const struct baton_pool *pool, struct baton__watch *watch)
{
	struct baton__futex_watch state = {&pool->state, load_relaxed(&pool->state)};

	if (load_relaxed(&pool->haste) || baton__worker_is_ending(pool) ||
	    !any_since(pool, watch->since_ns))
		return false;
	if (!watch->span_ns)
		watch->span_ns = VACANCY_NS;
	else if (watch->span_ns < VACANCY_SPAN_MAX_NS)
		watch->span_ns *= 2;
	watch->since_ns = baton__now_ns();
	/* Ended by the deadline, or by the end of the pool. */
	(void)baton__futex_wait(&state, 1, watch->since_ns + watch->span_ns);
	return true;
}
