/* SPDX-License-Identifier: MIT */
/* The search for cycles of waits sees a completion that drain hooks hold back. */
#include "ledger.h"

struct ring {
	struct baton_resource plain;
	struct ledger ledger;
	struct entry entries[2];
	struct baton_task wanted;
	struct baton_future wanted_future;
	sem_t entered;
	sem_t go;
	atomic_int refused;
};

static void ring_wait(struct ring *ring, struct baton_future *future)
{
	int status = baton_future_wait(future);

	MUST(status == 0 || status == -EDEADLK);
	atomic_fetch_add(&ring->refused, status != 0);
}

static void *wait_for_held_back(void *arg)
{
	struct ring *ring = arg;

	gate_open(&ring->entered);
	gate_pass(&ring->go);
	ring_wait(ring, &ring->entries[0].future);
	return NULL;
}

static void *ring_main(void *arg)
{
	struct ring *ring = arg;

	MUST(baton_call(&ring->plain, wait_for_held_back, ring, NULL) == 0);
	return NULL;
}

static void wait_for_wanted(void *arg)
{
	struct ring *ring = arg;

	MUST(baton_submit(&ring->plain, &ring->wanted) == 0);
	gate_open(&ring->go);
	ring_wait(ring, &ring->wanted_future);
}

static int nothing(struct baton_task *task)
{
	return 0;
}

Test(combos_cycle, a_cycle_through_a_held_back_completion_is_told, .timeout = 10)
{
	struct ring ring = {.plain = BATON_RESOURCE_INIT(NULL)};
	pthread_t thread;

	gate_init(&ring.entered);
	gate_init(&ring.go);
	ledger_init(&ring.ledger, NULL);
	entries_init(ring.entries, 2, &ring.ledger);
	ring.entries[1].body = wait_for_wanted;
	ring.entries[1].arg = &ring;
	baton_future_init(&ring.wanted_future);
	baton_task_init(&ring.wanted, nothing, &ring.wanted_future);
	thread = thread_start(ring_main, &ring);
	gate_pass(&ring.entered);
	entries_submit(ring.entries, 2);
	thread_join(thread);
	cr_assert_eq(atomic_load(&ring.refused), 1);
	cr_assert_eq(baton_future_wait(&ring.wanted_future), 0);
	cr_assert_eq(ring.ledger.sizes[0], 2);
	resource_end(&ring.ledger.resource);
	resource_end(&ring.plain);
}
