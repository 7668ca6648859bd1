/* SPDX-License-Identifier: MIT */
/*
 * The explorer's own test: well-known small programs whose failure it must find, and, beside each,
 * the right form, in which there is none.
 */
#include "sim.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/futex.h"

static uint32_t x;
static uint32_t y;
static uint32_t seen[2];
static int data;

/* ---- Message passing ---- */

static void write_relaxed(void *argument)
{
	data = 1;
	store_relaxed(&x, 1);
}

static void write_release(void *argument)
{
	data = 1;
	store_release(&x, 1);
}

static void read_message(void *argument)
{
	if (load_acquire(&x))
		sim_require(data == 1);
}

SIM_SCENARIO(litmus_message, "what was stored before a release is seen after an acquire")
{
	sim_start(write_release, NULL);
	sim_start(read_message, NULL);
}

SIM_SCENARIO(litmus_message_relaxed, "a relaxed store publishes nothing", .fails = true)
{
	sim_start(write_relaxed, NULL);
	sim_start(read_message, NULL);
}

/* ---- Store buffering ---- */

static void store_load_release(void *argument)
{
	uint32_t *words[] = {&x, &y};
	unsigned me = argument != NULL;

	store_release(words[me], 1);
	seen[me] = load_acquire(words[!me]);
}

static void store_load_seq_cst(void *argument)
{
	uint32_t *words[] = {&x, &y};
	unsigned me = argument != NULL;

	store_seq_cst(words[me], 1);
	seen[me] = load_seq_cst(words[!me]);
}

static void swap_load_acq_rel(void *argument)
{
	uint32_t *words[] = {&x, &y};
	unsigned me = argument != NULL;

	(void)swap_acq_rel(words[me], 1);
	seen[me] = load_seq_cst(words[!me]);
}

SIM_SCENARIO(litmus_dekker, "one of two sees the other's sequentially consistent store")
{
	sim_start(store_load_seq_cst, NULL);
	sim_start(store_load_seq_cst, &x);
	sim_join_all();
	sim_require(seen[0] || seen[1]);
}

SIM_SCENARIO(litmus_dekker_release, "release and acquire are not enough", .fails = true,
             .weak_only = true)
{
	sim_start(store_load_release, NULL);
	sim_start(store_load_release, &x);
	sim_join_all();
	sim_require(seen[0] || seen[1]);
}

SIM_SCENARIO(litmus_dekker_swap, "nor are acq_rel exchanges", .fails = true, .weak_only = true)
{
	sim_start(swap_load_acq_rel, NULL);
	sim_start(swap_load_acq_rel, &x);
	sim_join_all();
	sim_require(seen[0] || seen[1]);
}

/* ---- Coherence, lost updates ---- */

static void add_one(void *argument)
{
	(void)add_relaxed(&x, 1);
}

static void add_one_split(void *argument)
{
	store_relaxed(&x, load_relaxed(&x) + 1);
}

SIM_SCENARIO(litmus_add, "additions are not lost")
{
	sim_start(add_one, NULL);
	sim_start(add_one, NULL);
	sim_join_all();
	sim_require(load_relaxed(&x) == 2);
}

SIM_SCENARIO(litmus_add_split, "a load and a store are no addition", .fails = true)
{
	sim_start(add_one_split, NULL);
	sim_start(add_one_split, NULL);
	sim_join_all();
	sim_require(load_relaxed(&x) == 2);
}

/* ---- Sleep ---- */

static void sleep_until_set(void *argument)
{
	struct baton__futex_watch watch = {&x, 0};

	while (!load_acquire(&x))
		(void)baton__futex_wait(&watch, 1, BATON_FOREVER);
}

static void set_and_wake(void *argument)
{
	store_release(&x, 1);
	baton__futex_wake(&x, 1);
}

static void wake_and_set(void *argument)
{
	baton__futex_wake(&x, 1);
	store_release(&x, 1);
}

SIM_SCENARIO(litmus_wake, "a sleeper whose word is set and woken wakes")
{
	sim_start(sleep_until_set, NULL);
	sim_start(set_and_wake, NULL);
}

SIM_SCENARIO(litmus_wake_first, "a wake before the store is lost", .fails = true)
{
	sim_start(sleep_until_set, NULL);
	sim_start(wake_and_set, NULL);
}

static void sleep_in_time(void *argument)
{
	uint64_t deadline = sim_in(5000);
	struct baton__futex_watch watch = {&x, 0};

	while (!load_acquire(&x))
		if (baton__futex_wait(&watch, 1, deadline) == -ETIMEDOUT)
			break;
	sim_require(load_acquire(&x) || sim_now() >= deadline);
}

SIM_SCENARIO(litmus_deadline, "a sleep with a deadline ends, also when nobody wakes")
{
	sim_start(sleep_in_time, NULL);
	sim_start(wake_and_set, NULL);
}

/* ---- A frozen thread ---- */

static void lock_and_add(void *argument)
{
	uint32_t found = 0;

	while (!cas_acquire(&y, &found, 1)) {
		struct baton__futex_watch watch = {&y, 1};

		(void)baton__futex_wait(&watch, 1, BATON_FOREVER);
		found = 0;
	}
	data++;
	store_release(&y, 0);
	baton__futex_wake(&y, 2);
	seen[sim_thread() - 1] = 1;
}

static void add_without_lock(void *argument)
{
	(void)add_relaxed(&x, 1);
	seen[sim_thread() - 1] = 1;
}

__attribute__((no_sanitize("thread"))) static void other_has_added(void)
{
	sim_require(seen[1]);
}

SIM_SCENARIO(litmus_frozen, "nobody waits for a thread that is frozen before an addition",
             .freeze = 1, .frozen = other_has_added)
{
	sim_start(add_without_lock, NULL);
	sim_start(add_without_lock, NULL);
}

SIM_SCENARIO(litmus_frozen_lock, "but for one that is frozen in a lock", .freeze = 1,
             .frozen = other_has_added, .fails = true)
{
	sim_start(lock_and_add, NULL);
	sim_start(lock_and_add, NULL);
}

/* ---- Memory ---- */

static uint32_t *shared;

static void touch_after_release(void *argument)
{
	store_release(&x, 1);
	store_relaxed(shared, 2);
}

static void touch_before_release(void *argument)
{
	store_relaxed(shared, 2);
	store_release(&x, 1);
}

static void give_back(void)
{
	while (!load_acquire(&x))
		sim_yield();
	sim_retire(shared, sizeof(*shared));
}

SIM_SCENARIO(litmus_give_back, "memory is given back after the last touch")
{
	shared = sim_alloc(sizeof(*shared));
	sim_start(touch_before_release, NULL);
	give_back();
}

SIM_SCENARIO(litmus_give_back_early, "a touch after that is found", .fails = true)
{
	shared = sim_alloc(sizeof(*shared));
	sim_start(touch_after_release, NULL);
	give_back();
}
