/* SPDX-License-Identifier: MIT */
/* Tasks that block inside a batch: a spare thread does what they wait for; the batch goes on. */
#include "ledger.h"

#include <baton/blocking.h>
#include <baton/group.h>

struct blocker {
	struct ledger ledger;
	struct entry entries[3];
	struct baton_resource other;
	struct baton_group group;
	sem_t gate;
	int waited;
};

static void *open_gate(void *arg)
{
	gate_open(&((struct blocker *)arg)->gate);
	return NULL;
}

static void *leave_group(void *arg)
{
	baton_group_leave(&((struct blocker *)arg)->group);
	return NULL;
}

static void block_in_bracket(void *arg)
{
	struct blocker *blocker = arg;

	baton_blocking_begin();
	MUST(baton_post(&blocker->other, open_gate, blocker) == 0);
	gate_pass(&blocker->gate);
	baton_blocking_end();
}

static void wait_for_group(void *arg)
{
	struct blocker *blocker = arg;

	baton_group_enter(&blocker->group);
	MUST(baton_post(&blocker->other, leave_group, blocker) == 0);
	blocker->waited = baton_group_wait(&blocker->group);
}

Test(combos_block, a_batch_with_a_bracket_and_a_group_wait_goes_on, .timeout = 10)
{
	static struct blocker blocker;
	static struct heap rest = {blocker.entries + 1, 2};
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	struct baton_pool *pool;
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;

	options.workers = 1;
	cr_assert_eq(baton_pool_create(&options, &pool), 0);
	config.capture_max = BATON_CAPTURE_NONE;
	config.executor = baton_pool_executor(pool);
	baton_resource_init(&blocker.other, &config);
	ledger_init(&blocker.ledger, baton_pool_executor(pool));
	blocker.ledger.config.capture_max = BATON_CAPTURE_NONE;
	/* It counts as a resource that runs only on the pool's threads. */
	baton_resource_init(&blocker.ledger.resource, &blocker.ledger.config);
	memset(&blocker.ledger.stats, 0, sizeof(blocker.ledger.stats));
	baton_resource_set_stats(&blocker.ledger.resource, &blocker.ledger.stats);
	baton_group_init(&blocker.group);
	gate_init(&blocker.gate);
	blocker.waited = 1;
	entries_init(blocker.entries, 3, &blocker.ledger);
	blocker.entries[1].body = block_in_bracket;
	blocker.entries[1].arg = &blocker;
	blocker.entries[2].body = wait_for_group;
	blocker.entries[2].arg = &blocker;
	blocker.entries[0].body = heap_submit;
	blocker.entries[0].arg = &rest;
	MUST(baton_submit(&blocker.ledger.resource, &blocker.entries[0].task) == 0);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_future_wait(&blocker.entries[i].future), 0);
	cr_assert_eq(blocker.waited, 0);
	resource_end(&blocker.ledger.resource);
	resource_end(&blocker.other);
	cr_assert(ledger_balanced(&blocker.ledger));
	cr_assert_eq(atomic_load(&blocker.ledger.committed), 3);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}
