/* SPDX-License-Identifier: MIT */
/*
 * W4: what a pool whose jobs are the user's memory does with them; compiled into each such pool's
 * file, so that each submits directly. Before the include, that file defines W4_MEMBER, the member
 * of struct w4_job that is the pool's; W4_TYPE, its type; and entry_submit(entry, run).
 */
#ifndef BATON_BENCH_W4_WAYS_H
#define BATON_BENCH_W4_WAYS_H

#include "w4_pool.h"

static void leaf_run(W4_TYPE *entry)
{
	w4_count(w4_tally());
}

static void outside(const struct w4_pool *self, struct w4_job *jobs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		entry_submit(&jobs[i].W4_MEMBER, leaf_run);
}

static void tree_run(W4_TYPE *entry);

static inline void tree_spawn(struct w4_job *job)
{
	entry_submit(&job->W4_MEMBER, tree_run);
}

static void tree_run(W4_TYPE *entry)
{
	w4_tree_run(baton_container_of(entry, struct w4_job, W4_MEMBER), tree_spawn);
}

static void tree(const struct w4_pool *self, unsigned depth)
{
	struct w4_job *root = w4_new_job(w4_tally());
	uint64_t expected = w4_total() + (UINT64_C(1) << depth) - 1;

	root->n = (uint16_t)depth;
	tree_spawn(root);
	w4_await_total(expected);
}

/* A job of the tree whose memory is malloc's, and given back when the job is entered. */
struct loose_job {
	W4_TYPE entry;
	unsigned depth;
};

static void loose_run(W4_TYPE *entry);

static void loose_spawn(unsigned depth)
{
	struct loose_job *job = malloc(sizeof(*job));

	if (!job)
		abort();
	job->depth = depth;
	entry_submit(&job->entry, loose_run);
}

static void loose_run(W4_TYPE *entry)
{
	struct loose_job *job = baton_container_of(entry, struct loose_job, entry);
	unsigned depth = job->depth;

	free(job);
	if (depth > 1) {
		loose_spawn(depth - 1);
		loose_spawn(depth - 1);
	}
	w4_count(w4_tally());
}

static void tree_of_malloc(const struct w4_pool *self, unsigned depth)
{
	uint64_t expected = w4_total() + (UINT64_C(1) << depth) - 1;

	(void)self;
	loose_spawn(depth);
	w4_await_total(expected);
}

static void fib_run(W4_TYPE *entry);

static inline void fib_spawn(struct w4_job *frame)
{
	entry_submit(&frame->W4_MEMBER, fib_run);
}

static void fib_run(W4_TYPE *entry)
{
	w4_fib_run(baton_container_of(entry, struct w4_job, W4_MEMBER), fib_spawn);
}

static unsigned long fib(const struct w4_pool *self, unsigned n)
{
	w4_fib_begin();
	fib_spawn(w4_frame(w4_tally(), NULL, 0, n, 1));
	return w4_fib_await();
}

struct spreader {
	W4_TYPE entry;
	struct w4_job *jobs;
	size_t count;
	unsigned rounds;
};

static void spreader_run(W4_TYPE *entry)
{
	struct spreader *spreader = baton_container_of(entry, struct spreader, entry);
	uint64_t expected = w4_total();

	for (unsigned round = 0; round < spreader->rounds; round++) {
		for (size_t i = 0; i < spreader->count; i++)
			entry_submit(&spreader->jobs[i].W4_MEMBER, leaf_run);
		expected += spreader->count;
		w4_pause_until_total(expected);
	}
	w4_count(w4_tally()); /* itself */
}

static void spread(const struct w4_pool *self, unsigned rounds, struct w4_job *jobs, size_t count)
{
	struct spreader spreader = {.jobs = jobs, .count = count, .rounds = rounds};
	uint64_t expected = w4_total() + rounds * count + 1;

	entry_submit(&spreader.entry, spreader_run);
	w4_await_total(expected);
}

#define W4_WAYS                                                                                    \
	.outside = outside, .tree = tree, .tree_of_malloc = tree_of_malloc, .fib = fib,            \
	.spread = spread

#endif
