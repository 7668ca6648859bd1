/* SPDX-License-Identifier: MIT */
/*
 * W4: baton's pool. Jobs are the user's memory.
 */
#include "w4_pool.h"

#include "baton_pool.h"

#include <stdlib.h>

static struct baton_pool *pool;

static void start(const struct w4_pool *self, unsigned workers)
{
	pool = bench_pool_create(workers, true);
}

static void stop(const struct w4_pool *self)
{
	BATON_IGNORE(baton_pool_destroy(pool));
}

#define W4_MEMBER plain
#define W4_TYPE struct baton_plain_job

static inline void entry_submit(W4_TYPE *entry, baton_job_fn run)
{
	baton_plain_job_init(entry, run, NULL);
	if (baton_pool_submit(pool, entry))
		abort();
}

#include "w4_ways.h"

static uint64_t stolen(const struct w4_pool *self)
{
	struct baton_pool_stats stats;

	baton_pool_stats_read(pool, &stats);
	return stats.stolen;
}

const struct w4_pool w4_baton = {
	.name = "baton pool",
	.start = start,
	.stop = stop,
	W4_WAYS,
	.stolen = stolen,
};
