/* SPDX-License-Identifier: MIT */
/*
 * Looks at a pool: its executor, its size, its counters. Each value of the counters is exact, but
 * the values are not of one moment.
 */
#include "base/atomic.h"
#include "base/checked.h"
#include "base/futex.h"
#include "base/refused.h"
#include "pool/awake.h"
#include "pool/pool.h"

#include <errno.h>

BATON_EXPORT struct baton_executor *baton_pool_executor(struct baton_pool *pool)
{
	BATON__CHECKED(owned(pool, __func__));
	return &pool->executor;
}

BATON_EXPORT size_t baton_pool_workers(const struct baton_pool *pool)
{
	BATON__CHECKED(owned(pool, __func__));
	return pool->worker_count;
}

BATON_EXPORT int baton_pool_worker_stats_read(const struct baton_pool *pool, size_t worker,
                                              struct baton_pool_stats *copy)
{
	BATON__CHECKED(owned(pool, __func__));

	const struct baton__worker_counts *counts;

	if (worker >= pool->worker_count)
		return BATON__ANSWER(NULL, baton__refused("baton_pool_worker_stats_read: worker is "
		                                          "not below the number of workers"));
	counts = &pool->workers[worker].counts;
	*copy = (struct baton_pool_stats){0};
	/* Relaxed: counters. A thread that has waited for a job sees what was counted before. */
	copy->executed = load_relaxed(&counts->executed);
	copy->stolen = load_relaxed(&counts->stolen);
	copy->parked = load_relaxed(&counts->parked);
	copy->woken = load_relaxed(&counts->woken);
	copy->lifo_hits = load_relaxed(&counts->lifo_hits);
	copy->injection_batches = load_relaxed(&counts->injection_batches);
	copy->steals = load_relaxed(&counts->steals);
	copy->hot = load_relaxed(&counts->hot);
	copy->accepted = load_relaxed(&counts->accepted);
	copy->interval = load_relaxed(&counts->interval);
	copy->awake_ns = baton__awake_read(&counts->awake, baton__now_ns());
	return 0;
}

BATON_EXPORT void baton_pool_stats_read(const struct baton_pool *pool,
                                        struct baton_pool_stats *copy)
{
	BATON__CHECKED(owned(pool, __func__));

	const struct baton__crew_counts *crew = &pool->crew_counts;
	uint32_t threads = load_relaxed(&pool->threads);
	struct baton_pool_stats sum = {0};
	struct baton_pool_stats one;

	for (size_t i = 0; i < pool->worker_count; i++) {
		BATON_IGNORE(baton_pool_worker_stats_read(pool, i, &one));
		sum.executed += one.executed;
		sum.stolen += one.stolen;
		sum.parked += one.parked;
		sum.woken += one.woken;
		sum.lifo_hits += one.lifo_hits;
		sum.injection_batches += one.injection_batches;
		sum.steals += one.steals;
		sum.hot += one.hot;
		sum.accepted += one.accepted;
		sum.awake_ns += one.awake_ns;
		if (sum.interval < one.interval)
			sum.interval = one.interval;
	}
	sum.accepted += load_relaxed(&pool->accepted);
	sum.waiting = load_relaxed(&pool->room.waiting);
	/* While the pool ends, threads end one by one: `threads` may be less than the number of
	 * workers. */
	sum.spares = threads > pool->worker_count ? threads - pool->worker_count : 0;
	sum.spares_started = load_relaxed(&crew->started);
	sum.spares_retired = load_relaxed(&crew->retired);
	sum.spares_refused = load_relaxed(&crew->refused);
	sum.spares_failed = load_relaxed(&crew->failed);
	*copy = sum;
}
