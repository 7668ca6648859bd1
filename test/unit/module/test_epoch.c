/* SPDX-License-Identifier: MIT */
/*
 * Epochs: an object that was retired into a limbo is reclaimed after all sections that may read
 * it have ended, and not before.
 */
#include "support.h"

#include <baton/epoch.h>

#include <signal.h>

struct thing {
	struct baton_retired retired;
	atomic_bool *gone;
	atomic_int value;
};

static void thing_reclaim(struct baton_retired *retired)
{
	struct thing *thing = baton_container_of(retired, struct thing, retired);

	if (thing->gone)
		atomic_store(thing->gone, true);
	atomic_store(&thing->value, -1);
	free(thing);
}

static struct thing *thing_new(atomic_bool *gone)
{
	struct thing *thing = calloc(1, sizeof(*thing));

	MUST(thing != NULL);
	thing->gone = gone;
	return thing;
}

static struct baton_limbo *limbo_new(void)
{
	struct baton_limbo *limbo = NULL;

	MUST(baton_limbo_create(&limbo) == 0);
	return limbo;
}

Test(epoch, what_nobody_can_read_goes_at_the_next_poll, .timeout = 5)
{
	struct baton_limbo *limbo = limbo_new();
	atomic_bool gone = false;

	cr_assert_eq(baton_limbo_poll(limbo), 0);
	baton_limbo_retire(limbo, &thing_new(&gone)->retired, thing_reclaim);
	cr_assert_not(atomic_load(&gone));
	cr_assert_eq(baton_limbo_poll(limbo), 0);
	cr_assert(atomic_load(&gone));
	baton_limbo_destroy(limbo);
}

Test(epoch, a_section_holds_what_is_retired_in_it, .timeout = 5)
{
	struct baton_limbo *limbo = limbo_new();
	atomic_bool gone = false;

	cr_assert_not(baton_epoch_inside());
	cr_assert_eq(baton_epoch_enter(), 0);
	cr_assert_eq(baton_epoch_enter(), 0);
	baton_limbo_retire(limbo, &thing_new(&gone)->retired, thing_reclaim);
	for (int i = 0; i < 10; i++)
		cr_assert_eq(baton_limbo_poll(limbo), 1);
	baton_epoch_leave();
	cr_assert(baton_epoch_inside());
	for (int i = 0; i < 10; i++)
		cr_assert_eq(baton_limbo_poll(limbo), 1);
	baton_epoch_leave();
	cr_assert_not(baton_epoch_inside());
	cr_assert_eq(baton_limbo_poll(limbo), 0);
	cr_assert(atomic_load(&gone));
	baton_limbo_destroy(limbo);
}

struct sitter {
	sem_t entered, leave;
};

static void *sit(void *arg)
{
	struct sitter *sitter = arg;

	MUST(baton_epoch_enter() == 0);
	gate_open(&sitter->entered);
	gate_pass(&sitter->leave);
	baton_epoch_leave();
	return NULL;
}

Test(epoch, garbage_is_bounded_when_sections_come_and_go, .timeout = 10)
{
	struct baton_limbo *limbo = limbo_new();
	struct sitter sitters[2];
	pthread_t threads[2];
	size_t left = 0;

	/* There is always somebody inside, but nobody for long. */
	for (int i = 0; i < 2; i++) {
		gate_init(&sitters[i].entered);
		gate_init(&sitters[i].leave);
	}
	threads[0] = thread_start(sit, &sitters[0]);
	gate_pass(&sitters[0].entered);
	for (int i = 1; i < scaled(500); i++) {
		struct sitter *sitter = &sitters[i % 2];

		threads[i % 2] = thread_start(sit, sitter);
		gate_pass(&sitter->entered);
		gate_open(&sitters[(i + 1) % 2].leave);
		thread_join(threads[(i + 1) % 2]);
		baton_limbo_retire(limbo, &thing_new(NULL)->retired, thing_reclaim);
		left = baton_limbo_poll(limbo);
		cr_assert_leq(left, 4);
	}
	gate_open(&sitters[(scaled(500) - 1) % 2].leave);
	thread_join(threads[(scaled(500) - 1) % 2]);
	baton_limbo_destroy(limbo);
}

static struct thing *current;
static atomic_bool stop;
static atomic_int wrong;

static void *read_things(void *arg)
{
	while (!atomic_load(&stop)) {
		struct thing *thing;

		MUST(baton_epoch_enter() == 0);
		thing = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
		for (int i = 0; i < 10; i++)
			if (atomic_load(&thing->value) != 0)
				atomic_fetch_add(&wrong, 1);
		baton_epoch_leave();
	}
	return NULL;
}

Test(epoch, readers_never_see_what_was_reclaimed, .timeout = 20)
{
	struct baton_limbo *limbo = limbo_new();
	pthread_t readers[3];

	current = thing_new(NULL);
	for (int i = 0; i < 3; i++)
		readers[i] = thread_start(read_things, NULL);
	for (int i = 0; i < scaled(20000); i++) {
		struct thing *old = current;

		__atomic_store_n(&current, thing_new(NULL), __ATOMIC_RELEASE);
		baton_limbo_retire(limbo, &old->retired, thing_reclaim);
		baton_limbo_poll(limbo);
		if (i % 64 == 0)
			sched_yield();
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 3; i++)
		thread_join(readers[i]);
	cr_assert_eq(atomic_load(&wrong), 0);
	cr_assert_eq(baton_limbo_poll(limbo), 0);
	baton_limbo_destroy(limbo);
	free(current);
}

static void *enter_once(void *arg)
{
	MUST(baton_epoch_enter() == 0);
	baton_epoch_leave();
	return NULL;
}

Test(epoch, threads_that_have_ended_hold_up_nothing, .timeout = 10)
{
	struct baton_limbo *limbo = limbo_new();

	for (int i = 0; i < scaled(200); i++) {
		thread_join(thread_start(enter_once, NULL));
		baton_limbo_retire(limbo, &thing_new(NULL)->retired, thing_reclaim);
		cr_assert_eq(baton_limbo_poll(limbo), 0);
	}
	baton_limbo_destroy(limbo);
}

Test(epoch, a_limbo_waits_at_its_end_for_sections, .timeout = 10)
{
	struct baton_limbo *limbo = limbo_new();
	struct sitter sitter;
	atomic_bool gone = false;
	pthread_t thread;

	gate_init(&sitter.entered);
	gate_init(&sitter.leave);
	thread = thread_start(sit, &sitter);
	gate_pass(&sitter.entered);
	baton_limbo_retire(limbo, &thing_new(&gone)->retired, thing_reclaim);
	cr_assert_eq(baton_limbo_poll(limbo), 1);
	gate_open(&sitter.leave);
	baton_limbo_destroy(limbo);
	cr_assert(atomic_load(&gone));
	thread_join(thread);
}

static void *enter_and_end(void *arg)
{
	MUST(baton_epoch_enter() == 0);
	return NULL;
}

Test(epoch, a_thread_that_ends_in_a_section_is_stopped, .timeout = 10, .signal = SIGABRT)
{
	thread_join(thread_start(enter_and_end, NULL));
}
