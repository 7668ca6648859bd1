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
	(void)self;
	pool = bench_pool_create(workers, true);
}

static void stop(const struct w4_pool *self)
{
	(void)self;
	(void)baton_pool_destroy(pool);
}

static inline void submit(struct w4_job *job, baton_job_fn run)
{
	baton_plain_job_init(&job->plain, run, NULL);
	if (baton_pool_submit(pool, &job->plain))
		abort();
}

static void leaf_run(struct baton_plain_job *plain)
{
	(void)plain;
	w4_count(w4_tally());
}

static void outside(const struct w4_pool *self, struct w4_job *jobs, size_t count)
{
	(void)self;
	for (size_t i = 0; i < count; i++)
		submit(&jobs[i], leaf_run);
}

static void tree_run(struct baton_plain_job *plain);

static inline void tree_spawn(struct w4_job *job)
{
	submit(job, tree_run);
}

static void tree_run(struct baton_plain_job *plain)
{
	w4_tree_run(baton_container_of(plain, struct w4_job, plain), tree_spawn);
}

static void tree(const struct w4_pool *self, unsigned depth)
{
	struct w4_job *root = w4_new_job(w4_tally());
	uint64_t expected = w4_total() + (UINT64_C(1) << depth) - 1;

	(void)self;
	root->n = (uint16_t)depth;
	tree_spawn(root);
	w4_await_total(expected);
}

static void fib_run(struct baton_plain_job *plain);

static inline void fib_spawn(struct w4_job *frame)
{
	submit(frame, fib_run);
}

static void fib_run(struct baton_plain_job *plain)
{
	w4_fib_run(baton_container_of(plain, struct w4_job, plain), fib_spawn);
}

static unsigned long fib(const struct w4_pool *self, unsigned n)
{
	(void)self;
	w4_fib_begin();
	fib_spawn(w4_frame(w4_tally(), NULL, 0, n, 1));
	return w4_fib_await();
}

struct spreader {
	struct baton_plain_job plain;
	struct w4_job *jobs;
	size_t count;
	unsigned rounds;
};

static void spreader_run(struct baton_plain_job *plain)
{
	struct spreader *spreader = baton_container_of(plain, struct spreader, plain);
	uint64_t expected = w4_total();

	for (unsigned round = 0; round < spreader->rounds; round++) {
		for (size_t i = 0; i < spreader->count; i++)
			submit(&spreader->jobs[i], leaf_run);
		expected += spreader->count;
		w4_pause_until_total(expected);
	}
	w4_count(w4_tally()); /* itself */
}

static void spread(const struct w4_pool *self, unsigned rounds, struct w4_job *jobs, size_t count)
{
	struct spreader spreader = {.jobs = jobs, .count = count, .rounds = rounds};
	uint64_t expected = w4_total() + rounds * count + 1;

	(void)self;
	baton_plain_job_init(&spreader.plain, spreader_run, NULL);
	if (baton_pool_submit(pool, &spreader.plain))
		abort();
	w4_await_total(expected);
}

static uint64_t stolen(const struct w4_pool *self)
{
	struct baton_pool_stats stats;

	(void)self;
	baton_pool_stats_read(pool, &stats);
	return stats.stolen;
}

const struct w4_pool w4_baton = {
	.name = "baton pool",
	.start = start,
	.stop = stop,
	.outside = outside,
	.tree = tree,
	.fib = fib,
	.spread = spread,
	.stolen = stolen,
};
