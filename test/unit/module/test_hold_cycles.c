/* SPDX-License-Identifier: MIT */
/*
 * Random programs of threads that wait inside what they hold: by holds, calls, tasks with futures
 * and awaits, none with a deadline. Where each waits only for higher resources than it holds, no
 * wait is refused. Where the order is random, a wait may be refused, and no program hangs.
 * BATON_TEST_PROGRAMS=100000 sets how many.
 */
#include "support.h"

#include <baton/hold.h>

#define THREADS 3
#define RESOURCES 5
#define DEPTH 4

enum way { HOLD, HOLD_TWO, CALL, TASK, AWAIT, WAYS };

struct program;

struct stage {
	struct baton_task task;
	struct baton_future future;
	struct program *program;
	int level;
	enum way way;
	int resource;
	bool submitted;
};

/* What one thread does in a round; parts of it run on other threads. */
struct program {
	struct stage stages[DEPTH];
	int depth;
	atomic_int refused;
	atomic_int failed; /* with another error */
};

struct world {
	struct baton_resource resources[RESOURCES];
	struct program programs[THREADS];
	uint64_t random[THREADS];
	pthread_barrier_t barrier;
	int rounds;
	bool ordered;
};

static struct world world;

static void enter(struct program *program, int level);

static bool note(struct program *program, int status)
{
	if (status == -EDEADLK)
		atomic_fetch_add(&program->refused, 1);
	else if (status)
		atomic_fetch_add(&program->failed, 1);
	return status == 0;
}

static void hold(struct program *program, const struct stage *stage, size_t count)
{
	struct baton_hold holds[2] = {BATON_HOLD_INIT, BATON_HOLD_INIT};
	struct baton_resource *const both[2] = {
		&world.resources[stage->resource],
		&world.resources[(stage->resource + 1) % RESOURCES]};

	if (!note(program, count == 1 ? baton_hold(both[0], &holds[0])
	                              : baton_hold_many(both, count, holds)))
		return;
	enter(program, stage->level + 1);
	for (size_t i = 0; i < count; i++)
		MUST(baton_release(&holds[i]) == 0);
}

static void *called(void *arg)
{
	struct stage *stage = arg;

	enter(stage->program, stage->level + 1);
	return NULL;
}

static int task_run(struct baton_task *task)
{
	(void)called(baton_container_of(task, struct stage, task));
	return 0;
}

static void wait_for_task(struct stage *stage)
{
	baton_task_init(&stage->task, task_run, &stage->future);
	MUST(baton_submit(&world.resources[stage->resource], &stage->task) == 0);
	stage->submitted = true;
	note(stage->program, baton_future_wait(&stage->future));
}

static void enter(struct program *program, int level)
{
	struct stage *stage = &program->stages[level];

	if (level >= program->depth)
		return;
	switch (stage->way) {
	case HOLD:
		hold(program, stage, 1);
		break;
	case HOLD_TWO:
		hold(program, stage, 2);
		break;
	case CALL:
		note(program, baton_call(&world.resources[stage->resource], called, stage, NULL));
		break;
	case TASK:
		wait_for_task(stage);
		break;
	default:
		if (note(program, baton_resource_await(&world.resources[stage->resource])))
			enter(program, level + 1);
	}
}

/* Draws a program; with an order, the resources rise. */
static void draw(struct program *program, uint64_t *random)
{
	int least = 0;

	*program = (struct program){.depth = 1 + (int)rng_below(random, DEPTH)};
	for (int i = 0; i < program->depth; i++) {
		struct stage *stage = &program->stages[i];
		int width;

		stage->program = program;
		stage->level = i;
		stage->way = (enum way)rng_below(random, WAYS);
		width = stage->way == HOLD_TWO ? 2 : 1;
		baton_future_init(&stage->future);
		if (!world.ordered) {
			stage->resource = (int)rng_below(random, RESOURCES);
			continue;
		}
		if (least + width > RESOURCES) {
			program->depth = i;
			return;
		}
		stage->resource =
			least + (int)rng_below(random, (uint32_t)(RESOURCES - least - width + 1));
		least = stage->resource + (stage->way == AWAIT ? 1 : width);
	}
}

static void *thread_main(void *arg)
{
	const size_t own = (size_t)arg;
	struct program *program = &world.programs[own];

	for (int i = 0; i < world.rounds; i++) {
		int refused = atomic_load(&program->refused);
		int failed = atomic_load(&program->failed);

		draw(program, &world.random[own]);
		atomic_store(&program->refused, refused);
		atomic_store(&program->failed, failed);
		(void)pthread_barrier_wait(&world.barrier);
		enter(program, 0);
		/* A task whose wait was refused is still queued, or runs. */
		for (int j = 0; j < program->depth; j++)
			if (program->stages[j].submitted)
				MUST(baton_future_wait(&program->stages[j].future) == 0);
		(void)pthread_barrier_wait(&world.barrier);
	}
	return NULL;
}

static int run_world(bool ordered, int rounds)
{
	const char *given = getenv("BATON_TEST_PROGRAMS");
	uint64_t seed = test_seed();
	pthread_t threads[THREADS];
	int refused = 0;

	world.rounds = given ? atoi(given) : scaled(rounds);
	world.ordered = ordered;
	MUST(pthread_barrier_init(&world.barrier, NULL, THREADS) == 0);
	for (int i = 0; i < RESOURCES; i++)
		baton_resource_init(&world.resources[i], NULL);
	for (size_t i = 0; i < THREADS; i++) {
		atomic_store(&world.programs[i].refused, 0);
		atomic_store(&world.programs[i].failed, 0);
		world.random[i] = rng_fork(seed, i);
		threads[i] = thread_start(thread_main, (void *)i);
	}
	for (int i = 0; i < THREADS; i++) {
		thread_join(threads[i]);
		refused += atomic_load(&world.programs[i].refused);
		cr_expect_eq(atomic_load(&world.programs[i].failed), 0);
	}
	for (int i = 0; i < RESOURCES; i++)
		resource_end(&world.resources[i]);
	fprintf(stderr, "%d programs of %d threads: %d waits refused\n", world.rounds, THREADS,
	        refused);
	return refused;
}

Test(hold_cycles, no_wait_of_an_acyclic_program_is_refused, .timeout = 600)
{
	cr_assert_eq(run_world(true, 4000), 0);
}

Test(hold_cycles, no_program_hangs_and_some_waits_are_refused, .timeout = 600)
{
	cr_assert_gt(run_world(false, 4000), 0);
}
