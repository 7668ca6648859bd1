/* SPDX-License-Identifier: MIT */
/*
 * W4: a list with a mutex and a condition; jobs as for baton.
 */
#include "w4_pool.h"

#include <stdlib.h>

static struct queue_pool *pool;

static void start(const struct w4_pool *self, unsigned workers)
{
	(void)self;
	pool = queue_pool_create(workers, true);
}

static void stop(const struct w4_pool *self)
{
	(void)self;
	queue_pool_destroy(pool);
}

static inline void submit(struct w4_job *job, void (*run)(struct queue_job *))
{
	job->queued.run = run;
	queue_pool_submit(pool, &job->queued);
}

static void leaf_run(struct queue_job *queued)
{
	(void)queued;
	w4_count(w4_tally());
}

static void outside(const struct w4_pool *self, struct w4_job *jobs, size_t count)
{
	(void)self;
	for (size_t i = 0; i < count; i++)
		submit(&jobs[i], leaf_run);
}

static void tree_run(struct queue_job *queued);

static inline void tree_spawn(struct w4_job *job)
{
	submit(job, tree_run);
}

static void tree_run(struct queue_job *queued)
{
	w4_tree_run(baton_container_of(queued, struct w4_job, queued), tree_spawn);
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

static void fib_run(struct queue_job *queued);

static inline void fib_spawn(struct w4_job *frame)
{
	submit(frame, fib_run);
}

static void fib_run(struct queue_job *queued)
{
	w4_fib_run(baton_container_of(queued, struct w4_job, queued), fib_spawn);
}

static unsigned long fib(const struct w4_pool *self, unsigned n)
{
	(void)self;
	w4_fib_begin();
	fib_spawn(w4_frame(w4_tally(), NULL, 0, n, 1));
	return w4_fib_await();
}

struct spreader {
	struct queue_job queued;
	struct w4_job *jobs;
	size_t count;
	unsigned rounds;
};

static void spreader_run(struct queue_job *queued)
{
	struct spreader *spreader = baton_container_of(queued, struct spreader, queued);
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
	struct spreader spreader = {{NULL, spreader_run}, jobs, count, rounds};
	uint64_t expected = w4_total() + rounds * count + 1;

	(void)self;
	queue_pool_submit(pool, &spreader.queued);
	w4_await_total(expected);
}

const struct w4_pool w4_queue = {
	.name = "mutex, condition, list",
	.start = start,
	.stop = stop,
	.outside = outside,
	.tree = tree,
	.fib = fib,
	.spread = spread,
};
