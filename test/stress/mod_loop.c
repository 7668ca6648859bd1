/* SPDX-License-Identifier: MIT */
/* Parallel loops on the default pool, whose chunks post to grounds, fail, and call loops. */
#include "mod.h"

#include <string.h>

#include "actor.h"
#include "cell.h"
#include "random.h"
#include "report.h"

#define INDICES_MAX 256
#define NESTED_MAX 2
#define LOOP_FAILS 81

struct loop {
	_Atomic uint32_t ran[INDICES_MAX / 32]; /* a bit for each index */
	_Atomic uint32_t failed;
	uint32_t depth;
	bool may_fail;
};

static void run_loop(uint64_t *random, uint32_t depth);

static int run_chunk(void *arg, size_t begin, size_t end)
{
	struct loop *loop = arg;
	uint64_t *random = &actor_self()->random;

	for (size_t i = begin; i < end; i++)
		if (atomic_fetch_or(&loop->ran[i / 32], 1U << i % 32) >> i % 32 & 1)
			report(NULL, NULL, "L3: index %zu of a loop runs twice", i);
	if (random_one_in(random, 4))
		mod_nested(NULL, NULL);
	if (loop->depth < NESTED_MAX && random_one_in(random, 16))
		run_loop(random, loop->depth + 1);
	if (!loop->may_fail || !random_one_in(random, 16))
		return 0;
	atomic_fetch_add(&loop->failed, 1);
	return LOOP_FAILS;
}

static void run_loop(uint64_t *random, uint32_t depth)
{
	struct loop *loop = cell_take();
	size_t count = random_below(random, INDICES_MAX + 1);
	size_t ran = 0;
	int status;

	memset(loop, 0, sizeof(*loop));
	loop->depth = depth;
	loop->may_fail = random_one_in(random, 2);
	status = baton_parallel_for(NULL, count, random_below(random, 20), run_chunk, loop);
	for (size_t i = 0; i < INDICES_MAX / 32; i++)
		ran += (size_t)__builtin_popcount(atomic_load(&loop->ran[i]));
	if (status ? status != LOOP_FAILS || !atomic_load(&loop->failed)
	           : ran != count || atomic_load(&loop->failed))
		report(NULL, NULL, "a loop of %zu: %zu ran, %u failed, status %d", count, ran,
		       atomic_load(&loop->failed), status);
	cell_give(loop);
}

void loop_run(uint64_t *random)
{
	actor_busy("a parallel loop", 0);
	run_loop(random, 0);
	actor_idle();
}
