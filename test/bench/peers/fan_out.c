/* SPDX-License-Identifier: MIT */
/*
 * The tree of jobs for peers that have no fork and join of their own.
 */
#include "fan_out.h"

#include <semaphore.h>
#include <stdint.h>

struct tree;

/* What a job is told: all jobs of one depth are told the same, so nothing is allocated. */
struct level {
	struct tree *tree;
	unsigned depth;
};

struct tree {
	struct level levels[FAN_OUT_MAX + 1];
	fan_out_submit submit;
	peer_fn run;
	void *argument;
	sem_t done;
	uint64_t leaves __attribute__((aligned(64)));
};

static void node_run(void *argument)
{
	struct level *level = argument;
	struct tree *tree = level->tree;

	tree->run(tree->argument);
	if (level->depth > 1) {
		tree->submit(node_run, level - 1);
		tree->submit(node_run, level - 1);
	} else if (__atomic_sub_fetch(&tree->leaves, 1, __ATOMIC_ACQ_REL) == 0) {
		(void)sem_post(&tree->done);
	}
}

void fan_out_by(fan_out_submit outside, fan_out_submit inside, unsigned depth, peer_fn run,
                void *argument)
{
	struct tree tree = {.submit = inside, .run = run, .argument = argument};

	for (unsigned i = 0; i <= FAN_OUT_MAX; i++)
		tree.levels[i] = (struct level){&tree, i};
	tree.leaves = UINT64_C(1) << (depth - 1);
	(void)sem_init(&tree.done, 0, 0);
	outside(node_run, &tree.levels[depth]);
	while (sem_wait(&tree.done))
		;
	(void)sem_destroy(&tree.done);
}
