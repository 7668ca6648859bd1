/* SPDX-License-Identifier: MIT */
/*
 * Random programs of threads that wait inside what they hold: by holds, calls, tasks and readers
 * with futures, and awaits, none with a deadline. Where each waits only for higher resources than
 * it holds, no wait is refused. Where the order is random, a wait may be refused, and no program
 * hangs; what a refused wait says of its cycle is so.
 * BATON_TEST_PROGRAMS=100000 sets how many.
 */
#include "support.h"

#include <baton/hold.h>
#include <baton/reader.h>

#include "../../parts.h"

#define THREADS 3
#define RESOURCES 5
#define DEPTH 4

enum way { HOLD, HOLD_TWO, CALL, TASK, READ, AWAIT, WAYS };

struct program;

struct stage {
	struct read_task read; /* or its task alone */
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
	atomic_int inside[RESOURCES]; /* how many of its stages hold it, or run there */
	atomic_int refused;
	atomic_int unnamed; /* refused, but the cycle that was named is none of this program's */
	atomic_int failed;  /* with another error */
};

struct world {
	struct baton_resource resources[RESOURCES];
	struct baton_readers readers[RESOURCES];
	struct program programs[THREADS];
	uint64_t random[THREADS];
	pthread_barrier_t barrier;
	int rounds;
	bool ordered;
};

static struct world world;

static void enter(struct program *program, int level);

static bool is_one_of(const struct stage *stage, size_t resource)
{
	return resource == (size_t)stage->resource ||
	       (stage->way == HOLD_TWO && resource == (size_t)(stage->resource + 1) % RESOURCES);
}

/* The first resource is what the wait was for, the last one is held by this thread or a caller. */
static bool is_named(const struct program *program, const struct stage *stage)
{
	struct baton_deadlock_link links[BATON_DEADLOCK_MAX];
	const size_t length = baton_deadlock_cycle(links, BATON_DEADLOCK_MAX);
	size_t first;
	size_t last;

	if (length == 0 || length > BATON_DEADLOCK_MAX)
		return false;
	first = (size_t)(links[0].resource - world.resources);
	last = (size_t)(links[length - 1].resource - world.resources);
	return is_one_of(stage, first) && last < RESOURCES &&
	       (atomic_load(&program->inside[last]) || baton_held(&world.resources[last]) ||
	        baton_reading(&world.resources[last]) || is_one_of(stage, last));
}

static bool note(struct program *program, const struct stage *stage, int status)
{
	if (status == -EDEADLK) {
		atomic_fetch_add(&program->refused, 1);
		atomic_fetch_add(&program->unnamed, !is_named(program, stage));
	} else if (status)
		atomic_fetch_add(&program->failed, 1);
	return status == 0;
}

/* The next stage, inside the resources of this one. */
static void enter_inside(struct stage *stage, size_t count)
{
	struct program *program = stage->program;

	for (size_t i = 0; i < count; i++)
		atomic_fetch_add(&program->inside[((size_t)stage->resource + i) % RESOURCES], 1);
	enter(program, stage->level + 1);
	for (size_t i = 0; i < count; i++)
		atomic_fetch_sub(&program->inside[((size_t)stage->resource + i) % RESOURCES], 1);
}

static void hold(struct program *program, struct stage *stage, size_t count)
{
	struct baton_hold holds[2] = {BATON_HOLD_INIT, BATON_HOLD_INIT};
	struct baton_resource *const both[2] = {
		&world.resources[stage->resource],
		&world.resources[(stage->resource + 1) % RESOURCES]};

	if (!note(program, stage,
	          count == 1 ? baton_hold(both[0], &holds[0])
	                     : baton_hold_many(both, count, holds)))
		return;
	enter_inside(stage, count);
	for (size_t i = 0; i < count; i++)
		MUST(baton_release(&holds[i]) == 0);
}

static void *called(void *arg)
{
	enter_inside(arg, 1);
	return NULL;
}

static int task_run(struct baton_task *task)
{
	(void)called(baton_container_of(task, struct stage, read.task));
	return 0;
}

static void wait_for_task(struct stage *stage)
{
	if (stage->way == READ)
		read_task_init(&stage->read, &world.readers[stage->resource], task_run,
		               &stage->future);
	else
		baton_task_init(&stage->read.task, task_run, &stage->future);
	MUST(baton_submit(&world.resources[stage->resource], &stage->read.task) == 0);
	stage->submitted = true;
	note(stage->program, stage, baton_future_wait(&stage->future));
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
		note(program, stage,
		     baton_call(&world.resources[stage->resource], called, stage, NULL));
		break;
	case TASK:
	case READ:
		wait_for_task(stage);
		break;
	default:
		if (note(program, stage, baton_resource_await(&world.resources[stage->resource])))
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
		int unnamed = atomic_load(&program->unnamed);
		int failed = atomic_load(&program->failed);

		draw(program, &world.random[own]);
		atomic_store(&program->refused, refused);
		atomic_store(&program->unnamed, unnamed);
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
	for (int i = 0; i < RESOURCES; i++) {
		baton_resource_init(&world.resources[i], NULL);
		baton_readers_init(&world.readers[i], &world.resources[i]);
	}
	for (size_t i = 0; i < THREADS; i++) {
		atomic_store(&world.programs[i].refused, 0);
		atomic_store(&world.programs[i].unnamed, 0);
		atomic_store(&world.programs[i].failed, 0);
		world.random[i] = rng_fork(seed, i);
		threads[i] = thread_start(thread_main, (void *)i);
	}
	for (int i = 0; i < THREADS; i++) {
		thread_join(threads[i]);
		refused += atomic_load(&world.programs[i].refused);
		cr_expect_eq(atomic_load(&world.programs[i].failed), 0);
		cr_expect_eq(atomic_load(&world.programs[i].unnamed), 0);
	}
	for (int i = 0; i < RESOURCES; i++) {
		resource_end(&world.resources[i]);
		baton_readers_deinit(&world.readers[i]);
	}
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
