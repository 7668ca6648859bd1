/* SPDX-License-Identifier: MIT */
/* Statistics: each counter is read into the member that is named after it, and into no other. */
#include "module/bound.h"
#include "pool/awake.h"
#include "pool/pool.h"
#include "timer/timer.h"

#include "support.h"

#include <baton/bound.h>
#include <baton/timers.h>

/* Counters whose values tell them apart. */
#define EACH(counts, ...)                                                                          \
	*(counts) = (__typeof__(*(counts)))                                                        \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

Test(copied, a_resources, .timeout = 5)
{
	struct baton_resource_stats stats;
	struct baton_resource_stats copy;

	EACH(&stats, .submitted = 100, ._pushed = 20, .executed = 30, .cancelled = 40,
	     .captures = 5, ._left = 60, .failed = 7, .handoffs = 8, .helped = 9, .refused = 10,
	     .backlog_max = 61, ._marked_ns = 12);
	baton_resource_stats_read(&stats, &copy);
	cr_assert_eq(copy.submitted, 120);
	cr_assert_eq(copy.executed, 30);
	cr_assert_eq(copy.cancelled, 40);
	cr_assert_eq(copy.outstanding, 50);
	cr_assert_eq(copy.waiting, 60);
	cr_assert_eq(copy.oldest_ns, 12);
	cr_assert_eq(copy.captures, 5);
	cr_assert_eq(copy.failed, 7);
	cr_assert_eq(copy.handoffs, 8);
	cr_assert_eq(copy.helped, 9);
	cr_assert_eq(copy.refused, 10);
	cr_assert_eq(copy.backlog_max, 61);
	/* The time of a task that has passed the marked one is older. */
	stats._passed_ns = 6;
	baton_resource_stats_read(&stats, &copy);
	cr_assert_eq(copy.oldest_ns, 6);
	/* Four idle runs have begun, three have ended; none of them waits. */
	stats._idle_runs = 7;
	baton_resource_stats_read(&stats, &copy);
	cr_assert_eq(copy.submitted, 124);
	cr_assert_eq(copy.executed, 33);
	cr_assert_eq(copy.captures, 9);
	cr_assert_eq(copy.outstanding, 51);
	cr_assert_eq(copy.waiting, 60);
	stats._left = 120;
	baton_resource_stats_read(&stats, &copy);
	cr_assert_eq(copy.waiting, 0);
	cr_assert_eq(copy.oldest_ns, 0);
}

Test(copied, a_bounds, .timeout = 5)
{
	struct baton_bound_config config = BATON_BOUND_CONFIG_INIT;
	struct baton_bound bound = BATON_BOUND_INIT(&config);
	struct baton_bound_stats counts;

	bound._pushed = 9 * BATON__BOUND_TASK + 800;
	bound._gone = 2 * BATON__BOUND_TASK + 100;
	bound._refused = 3;
	bound._dropped = 4;
	baton_bound_stats_read(&bound, &counts);
	cr_assert_eq(counts.tasks, 7);
	cr_assert_eq(counts.bytes, 700);
	cr_assert_eq(counts.refused, 3);
	cr_assert_eq(counts.dropped, 4);
	cr_assert_eq(counts.waited, 0);
	/* Here the same members have other words. */
	config.policy = BATON_BOUND_WAIT;
	bound._waited = 5;
	baton_bound_stats_read(&bound, &counts);
	cr_assert_eq(counts.dropped, 0);
	cr_assert_eq(counts.waited, 5);
}

Test(copied, a_wheels, .timeout = 5)
{
	struct baton_timers *timers = aligned_alloc(BATON_CACHE_LINE, sizeof(*timers));
	struct baton_timers_stats copy;

	MUST(timers);
	memset(timers, 0, sizeof(*timers));
	EACH(&timers->stats, .armed = 1, .fired = 2, .cancelled = 3, .refused = 4, .dropped = 5,
	     .moved = 6, .pending = 7, .wakes = 8, .rounds = 9);
	for (unsigned i = 0; i < BATON_TIMERS_LATE_BUCKETS; i++)
		timers->stats.late[i] = 10 + i;
	baton_timers_stats_read(timers, &copy);
	cr_assert_eq(memcmp(&copy, &timers->stats, sizeof(copy)), 0);
	free(timers);
}

Test(copied, a_pools_and_its_workers, .timeout = 5)
{
	enum { WORKERS = 2 };
	struct baton_pool *pool = aligned_alloc(BATON_CACHE_LINE, sizeof(*pool));
	struct baton__worker *workers = aligned_alloc(BATON_CACHE_LINE, WORKERS * sizeof(*workers));
	struct baton_pool_stats stats;

	MUST(pool && workers);
	memset(pool, 0, sizeof(*pool));
	memset(workers, 0, WORKERS * sizeof(*workers));
	pool->workers = workers;
	pool->worker_count = WORKERS;
	EACH(&workers[0].counts, .executed = 1, .stolen = 2, .parked = 3, .woken = 4,
	     .lifo_hits = 5, .injection_batches = 6, .steals = 7, .accepted = 8, .hot = 9,
	     .interval = 60, .awake = BATON__ASLEEP | 1000);
	EACH(&workers[1].counts, .executed = 10, .stolen = 20, .parked = 30, .woken = 40,
	     .lifo_hits = 50, .injection_batches = 60, .steals = 70, .accepted = 80, .hot = 90,
	     .interval = 9, .awake = BATON__ASLEEP | 10000);
	pool->accepted = 800;
	EACH(&pool->crew_counts, .started = 7, .retired = 8, .refused = 9, .failed = 10);
	cr_assert_eq(baton_pool_worker_stats_read(pool, 1, &stats), 0);
	cr_assert_eq(stats.executed, 10);
	cr_assert_eq(stats.stolen, 20);
	cr_assert_eq(stats.parked, 30);
	cr_assert_eq(stats.woken, 40);
	cr_assert_eq(stats.lifo_hits, 50);
	cr_assert_eq(stats.injection_batches, 60);
	cr_assert_eq(stats.steals, 70);
	cr_assert_eq(stats.accepted, 80);
	cr_assert_eq(stats.hot, 90);
	cr_assert_eq(stats.interval, 9);
	cr_assert_eq(stats.awake_ns, 10000);
	cr_assert_eq(stats.spares_started, 0);
	cr_assert_eq(baton_pool_worker_stats_read(pool, WORKERS, &stats), -EINVAL);
	pool->threads = WORKERS + 3;
	baton_pool_stats_read(pool, &stats);
	cr_assert_eq(stats.executed, 11);
	cr_assert_eq(stats.stolen, 22);
	cr_assert_eq(stats.parked, 33);
	cr_assert_eq(stats.woken, 44);
	cr_assert_eq(stats.lifo_hits, 55);
	cr_assert_eq(stats.injection_batches, 66);
	cr_assert_eq(stats.steals, 77);
	cr_assert_eq(stats.accepted, 888);
	cr_assert_eq(stats.hot, 99);
	cr_assert_eq(stats.interval, 60);
	cr_assert_eq(stats.awake_ns, 11000);
	cr_assert_eq(stats.spares, 3);
	cr_assert_eq(stats.spares_started, 7);
	cr_assert_eq(stats.spares_retired, 8);
	cr_assert_eq(stats.spares_refused, 9);
	cr_assert_eq(stats.spares_failed, 10);
	pool->threads = WORKERS - 1;
	baton_pool_stats_read(pool, &stats);
	cr_assert_eq(stats.spares, 0);
	free(workers);
	free(pool);
}
