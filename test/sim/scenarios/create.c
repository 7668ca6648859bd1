/* SPDX-License-Identifier: MIT */
/*
 * Pools that come to be, or not: no memory, no threads; the default pool, which two want at once.
 */
#include "jobs.h"

static struct sim_item items[2];
static struct baton_pool *pools[2];
static int statuses[2];

SIM_SCENARIO(create_no_memory, "an allocation fails: -ENOMEM, and nothing is left")
{
	struct baton_pool_options options = {.workers = 2};
	unsigned nth = sim_pick(4) + 1;
	int status;

	sim_fail_allocation(nth); /* two records, the pool, two records: one of its threads' */
	status = baton_pool_create(&options, &pools[0]);
	sim_require(status == -ENOMEM);
	/* Records stay: the creator's, and those of threads that had started. */
	sim_require(sim_allocated() == (nth <= 2 ? nth - 1 : 2));
	sim_fail_allocation(0);
	sim_calm(true);
	sim_require(baton_pool_create(&options, &pools[0]) == 0);
	sim_require(baton_pool_destroy(pools[0]) == 0);
}

SIM_SCENARIO(create_no_thread, "a thread cannot be started: -EAGAIN, and nothing is left")
{
	struct baton_pool_options options = {.workers = 2};
	unsigned nth = sim_pick(2) + 1;

	sim_fail_thread(nth);
	sim_require(baton_pool_create(&options, &pools[0]) == -EAGAIN);
	sim_require(sim_allocated() == nth); /* the creator's record, and the first worker's */
	sim_calm(true);
	sim_require(baton_pool_create(&options, &pools[0]) == 0);
	sim_require(baton_pool_destroy(pools[0]) == 0);
}

/* ---- The default pool: never torn down ---- */

static void use_default(void *argument)
{
	unsigned number = argument != NULL;

	statuses[number] = baton_pool_default(&pools[number]);
	if (statuses[number])
		return;
	sim_item_init(&items[number], NULL);
	sim_require(sim_item_submit(&items[number], pools[number]) == 0);
	sim_item_wait(&items[number]);
}

SIM_SCENARIO(default_twice, "two threads want the default pool: there is one", .daemons = true,
             .bound = 1)
{
	sim_start(use_default, items);
	use_default(NULL);
	sim_join_started();
	sim_require(statuses[0] == 0);
	sim_require(statuses[1] == 0);
	sim_require(pools[0] == pools[1]);
	sim_items_settled(items, 2);
}

SIM_SCENARIO(default_fails, "the first to create it fails: the other tries again", .daemons = true,
             .bound = 1)
{
	sim_fail_thread(1 + sim_pick(2));
	sim_start(use_default, items);
	use_default(NULL);
	sim_join_started();
	/* Whoever has failed says why; the other one has it. */
	sim_require(statuses[0] + statuses[1] == -EAGAIN);
}
