/* SPDX-License-Identifier: MIT */
/* Several resources at once: all or none, in the order of their addresses. */
#include "support.h"

#include <baton/hold.h>

#include <sys/wait.h>

#define COUNT 4

static struct baton_resource resources[BATON_HOLD_MANY_MAX + 1];
static struct baton_resource *pointers[BATON_HOLD_MANY_MAX + 1];
static struct baton_hold holds[BATON_HOLD_MANY_MAX + 1];

/* The pointers are in no order of the addresses. */
static void begin(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		baton_resource_init(&resources[i], NULL);
		pointers[i] = &resources[(i * 37 + 2) % count];
		holds[i] = (struct baton_hold)BATON_HOLD_INIT;
	}
}

static void end(size_t count)
{
	for (size_t i = 0; i < count; i++)
		resource_end(&resources[i]);
}

static void expect_all_idle(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		cr_expect(baton_resource_is_idle(&resources[i]), "%zu", i);
		cr_expect_not(baton_held(&resources[i]), "%zu", i);
		cr_expect_eq(baton_release(&holds[i]), -EINVAL);
	}
	expect_thread_is_free();
}

Test(hold_many, each_hold_is_that_of_its_resource, .timeout = 10)
{
	begin(BATON_HOLD_MANY_MAX);
	cr_assert_eq(baton_hold_many(pointers, BATON_HOLD_MANY_MAX, holds), 0);
	for (size_t i = 0; i < BATON_HOLD_MANY_MAX; i++) {
		cr_assert(baton_held(pointers[i]));
		cr_assert_eq(baton_release(&holds[i]), 0);
		cr_assert_not(baton_held(pointers[i]));
	}
	expect_all_idle(BATON_HOLD_MANY_MAX);
	end(BATON_HOLD_MANY_MAX);
}

Test(hold_many, bad_input_is_an_error_and_takes_nothing, .timeout = 10)
{
	begin(BATON_HOLD_MANY_MAX + 1);
	cr_assert_eq(baton_hold_many(pointers, 0, holds), -EINVAL);
	cr_assert_eq(baton_hold_many(pointers, BATON_HOLD_MANY_MAX + 1, holds), -EINVAL);
	cr_assert_eq(baton_hold_many(pointers, SIZE_MAX, holds), -EINVAL);
	for (size_t i = 1; i < COUNT; i++) {
		struct baton_resource *twice[COUNT];

		memcpy(twice, pointers, sizeof(twice));
		twice[i] = twice[0];
		cr_assert_eq(baton_hold_many(twice, COUNT, holds), -EINVAL);
		expect_all_idle(COUNT);
	}
	cr_assert_eq(baton_hold(pointers[0], &holds[3]), 0);
	cr_assert_eq(baton_hold_many(pointers + 1, COUNT, holds), -EALREADY);
	for (size_t i = 1; i < COUNT; i++)
		cr_assert(baton_resource_is_idle(pointers[i]));
	/* Held by this thread already. */
	cr_assert_eq(baton_hold_many(pointers, COUNT, holds + 4), -EDEADLK);
	for (size_t i = 1; i < COUNT; i++)
		cr_assert(baton_resource_is_idle(pointers[i]));
	cr_assert_eq(baton_release(&holds[3]), 0);
	expect_all_idle(COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		cr_assert_eq(baton_resource_close(pointers[i]), 0);
		cr_assert_eq(baton_hold_many(pointers, COUNT, holds), -EPIPE);
		cr_assert_eq(baton_hold_many_until(pointers, COUNT, holds, 0), -EPIPE);
		expect_all_idle(COUNT);
		cr_assert_eq(baton_resource_await(pointers[i]), 0);
		baton_resource_deinit(pointers[i]);
		baton_resource_init(pointers[i], NULL);
	}
	end(BATON_HOLD_MANY_MAX + 1);
}

Test(hold_many, a_deadline_gives_back_what_was_taken, .timeout = 10)
{
	struct occupant occupant;

	for (size_t i = 0; i < COUNT; i++) {
		begin(COUNT);
		occupy(&occupant, pointers[i]);
		cr_assert_eq(baton_hold_many_until(pointers, COUNT, holds, 0), -ETIMEDOUT);
		cr_assert_eq(baton_hold_many_until(pointers, COUNT, holds, deadline_in_ms(5)),
		             -ETIMEDOUT);
		release(&occupant);
		expect_all_idle(COUNT);
		end(COUNT);
	}
}

/* ---- Threads that hold overlapping sets never wait in a circle ---- */

struct mover {
	uint64_t random;
	int rounds;
	int failed;
	pthread_t thread;
};

static int balances[COUNT];

static void *move_at_random(void *arg)
{
	struct mover *mover = arg;

	for (int i = 0; i < mover->rounds; i++) {
		struct baton_hold two[2] = {BATON_HOLD_INIT, BATON_HOLD_INIT};
		uint32_t from = rng_below(&mover->random, COUNT);
		uint32_t to = (from + 1 + rng_below(&mover->random, COUNT - 1)) % COUNT;
		struct baton_resource *const pair[2] = {&resources[from], &resources[to]};

		if (baton_hold_many(pair, 2, two)) {
			mover->failed++;
			continue;
		}
		balances[from]--;
		balances[to]++;
		MUST(baton_release(&two[i & 1]) == 0 && baton_release(&two[!(i & 1)]) == 0);
	}
	return NULL;
}

Test(hold_many, threads_that_hold_overlapping_sets_never_wait_in_a_circle, .timeout = 60)
{
	struct mover movers[8];
	uint64_t seed = test_seed();
	int sum = 0;

	begin(COUNT);
	for (size_t i = 0; i < 8; i++) {
		movers[i] = (struct mover){.random = rng_fork(seed, i), .rounds = scaled(5000)};
		movers[i].thread = thread_start(move_at_random, &movers[i]);
	}
	for (size_t i = 0; i < 8; i++) {
		thread_join(movers[i].thread);
		cr_assert_eq(movers[i].failed, 0);
	}
	for (size_t i = 0; i < COUNT; i++)
		sum += balances[i];
	cr_assert_eq(sum, 0);
	end(COUNT);
}

/* ---- One resource, and many threads ---- */

struct crowd {
	struct baton_resource resource;
	pthread_barrier_t barrier;
	int rounds;
	int count; /* protected by the resource */
	int most;
	int inside;
};

static void *crowd_main(void *arg)
{
	struct crowd *crowd = arg;
	struct baton_hold hold = BATON_HOLD_INIT;

	(void)pthread_barrier_wait(&crowd->barrier);
	for (int i = 0; i < crowd->rounds; i++) {
		MUST(baton_hold(&crowd->resource, &hold) == 0);
		crowd->inside++;
		crowd->most = crowd->inside > crowd->most ? crowd->inside : crowd->most;
		crowd->count++;
		crowd->inside--;
		MUST(baton_release(&hold) == 0);
	}
	return NULL;
}

Test(hold_many, many_threads_hold_one_after_the_other, .timeout = 30)
{
	enum { THREADS = 8 };
	struct crowd crowd = {.resource = BATON_RESOURCE_INIT(NULL), .rounds = scaled(20000)};
	pthread_t threads[THREADS];

	MUST(pthread_barrier_init(&crowd.barrier, NULL, THREADS) == 0);
	for (int i = 0; i < THREADS; i++)
		threads[i] = thread_start(crowd_main, &crowd);
	for (int i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	cr_assert_eq(crowd.count, THREADS * crowd.rounds);
	cr_assert_eq(crowd.most, 1);
	resource_end(&crowd.resource);
}

/* ---- A fork ---- */

static int in_child(void)
{
	pid_t child = fork();
	int status = -1;

	MUST(child >= 0);
	if (child == 0) {
		struct baton_hold hold = BATON_HOLD_INIT;
		struct baton_resource before[2];

		memcpy(before, resources, sizeof(before));
		alarm(5);
		if (baton_release(&holds[1]) || baton_release(&holds[0]))
			_exit(1);
		if (baton_release(&holds[0]) != -EINVAL)
			_exit(2);
		if (baton_hold(&resources[2], &hold) != -ECHILD)
			_exit(3);
		_exit(memcmp(before, resources, sizeof(before)) ? 4 : 0);
	}
	MUST(waitpid(child, &status, 0) == child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(hold_many, in_a_forks_child_a_release_is_silent, .timeout = 20)
{
	begin(COUNT);
	cr_assert_eq(baton_hold(&resources[0], &holds[0]), 0);
	cr_assert_eq(baton_hold(&resources[1], &holds[1]), 0);
	cr_assert_eq(in_child(), 0);
	cr_assert_eq(baton_release(&holds[0]), 0);
	cr_assert_eq(baton_release(&holds[1]), 0);
	end(COUNT);
}
