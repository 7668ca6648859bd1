/* SPDX-License-Identifier: MIT */
/*
 * As litmus.c: the one order of sequentially consistent operations, and compare-and-swaps that
 * fail.
 */
#include "sim.h"

#include "base/atomic.h"

static uint32_t x;
static uint32_t y;
static uint32_t seen[4];

/* ---- One side looks by a read-modify-write: the queues' consumers do ---- */

static void push_and_look(void *argument)
{
	(void)add_seq_cst(&y, 1);
	seen[0] = load_seq_cst(&x);
}

static void push_acquire_and_look(void *argument)
{
	(void)swap_acquire(&y, 1);
	seen[0] = load_relaxed(&x);
}

SIM_SCENARIO(litmus_look_rmw, "acquire and release will do where both are read-modify-writes")
{
	sim_start(push_acquire_and_look, NULL);
	store_relaxed(&x, 1);
	seen[1] = swap_acq_rel(&y, 2);
	sim_join_all();
	sim_require(seen[0] || seen[1]);
}

SIM_SCENARIO(litmus_look_rmw_acquire, "not if the looking one does not release", .fails = true,
             .weak_only = true)
{
	sim_start(push_and_look, NULL);
	store_seq_cst(&x, 1);
	seen[1] = swap_acquire(&y, 2);
	sim_join_all();
	sim_require(seen[0] || seen[1]);
}

/* ---- Two who read what two write ---- */

static void write_x(void *argument)
{
	store_seq_cst(&x, 1);
}

static void write_y(void *argument)
{
	store_seq_cst(&y, 1);
}

static void read_x_y(void *argument)
{
	seen[0] = load_seq_cst(&x);
	seen[1] = load_seq_cst(&y);
}

static void read_y_x(void *argument)
{
	seen[2] = load_seq_cst(&y);
	seen[3] = load_seq_cst(&x);
}

static void read_y_x_acquire(void *argument)
{
	seen[2] = load_acquire(&y);
	seen[3] = load_acquire(&x);
}

SIM_SCENARIO(litmus_iriw, "all agree on the order of sequentially consistent stores")
{
	sim_start(write_x, NULL);
	sim_start(write_y, NULL);
	sim_start(read_x_y, NULL);
	sim_start(read_y_x, NULL);
	sim_join_all();
	sim_require(!(seen[0] && !seen[1] && seen[2] && !seen[3]));
}

SIM_SCENARIO(litmus_iriw_acquire, "who only acquires need not agree", .fails = true,
             .weak_only = true)
{
	sim_start(write_x, NULL);
	sim_start(write_y, NULL);
	sim_start(read_x_y, NULL);
	sim_start(read_y_x_acquire, NULL);
	sim_join_all();
	sim_require(!(seen[0] && !seen[1] && seen[2] && !seen[3]));
}

/* ---- A compare-and-swap that fails is a relaxed load ---- */

static void step_twice(void *argument)
{
	store_release(&y, 1);
	store_release(&y, 2);
	store_relaxed(&x, 1);
}

SIM_SCENARIO(litmus_cas_fails, "a compare-and-swap that fails may have read an old value",
             .fails = true, .weak_only = true)
{
	uint32_t expected = 0;

	sim_start(step_twice, NULL);
	while (!load_relaxed(&x))
		sim_yield();
	if (!cas_relaxed(&y, &expected, 3))
		sim_require(expected == 2);
}

SIM_SCENARIO(litmus_cas_coherence, "but none older than what was seen before")
{
	uint32_t first;
	uint32_t expected = 3;

	sim_start(step_twice, NULL);
	first = load_relaxed(&y);
	(void)cas_relaxed(&y, &expected, 4);
	sim_require(expected >= first);
}

SIM_SCENARIO(litmus_cas_succeeds, "and one that succeeds has read the newest")
{
	uint32_t expected = 2;

	sim_start(step_twice, NULL);
	if (cas_relaxed(&y, &expected, 3)) {
		sim_join_all();
		sim_require(load_relaxed(&y) == 3);
	}
}

/* ---- Coherence of two threads' reads ---- */

static void tell_what_was_read(void *argument)
{
	uint32_t expected = 2;

	/* Fails, and reads. */
	(void)cas_relaxed(&x, &expected, 3);
	if (expected != 1)
		return;
	if (argument)
		store_release(&y, 1);
	else
		store_relaxed(&y, 1);
}

static void write_x_relaxed(void *argument)
{
	store_relaxed(&x, 1);
}

SIM_SCENARIO(litmus_read_coherence, "what one thread has read is not older for whom it tells so")
{
	sim_start(write_x_relaxed, NULL);
	sim_start(tell_what_was_read, &x);
	if (load_acquire(&y))
		sim_require(load_relaxed(&x) == 1);
}

SIM_SCENARIO(litmus_read_coherence_relaxed, "a relaxed store tells nothing", .fails = true,
             .weak_only = true)
{
	sim_start(write_x_relaxed, NULL);
	sim_start(tell_what_was_read, NULL);
	if (load_acquire(&y))
		sim_require(load_relaxed(&x) == 1);
}
