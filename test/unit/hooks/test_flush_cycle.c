/* SPDX-License-Identifier: MIT */
/* Cycles of waits that a flush breaks, or that its hooks close. */
#include "ledger.h"

/* Two resources whose tasks wait for each other's, which only a flush makes possible (L9). */
struct cycle {
	struct ledger *ledgers;
	struct entry *entries;
	int status;
};

static void wait_for_held_back(void *arg)
{
	struct cycle *cycle = arg;

	cycle->status = baton_future_wait(&cycle->entries[0].future);
}

static void flush_and_wait(void *arg)
{
	struct cycle *cycle = arg;

	MUST(baton_batch_flush() == 0);
	MUST(baton_submit_later(&cycle->ledgers[1].resource, &cycle->entries[2].task) == 0);
	MUST(baton_future_wait(&cycle->entries[2].future) == 0);
}

Test(flush_cycle, it_breaks_a_cycle_of_held_back_completions, .timeout = 20)
{
	struct baton_pool *pool = pool_of(2);
	struct ledger ledgers[2];
	struct entry entries[3];
	struct cycle cycle = {ledgers, entries, 1};

	ledger_init(&ledgers[0], NULL);
	ledger_init(&ledgers[1], baton_pool_executor(pool));
	entries_init(entries, 2, &ledgers[0]);
	entry_init(&entries[2], &ledgers[1], true);
	entries[1].body = flush_and_wait;
	entries[2].body = wait_for_held_back;
	entries[1].arg = entries[2].arg = &cycle;
	entries_submit(entries, 2);
	cr_assert_eq(cycle.status, 0);
	for (int i = 0; i < 2; i++)
		resource_end(&ledgers[i].resource);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* So many completions are held back, in two nodes, while their runner waits. */
#define HELD 16

struct closed_cycle {
	struct ledger *other;
	struct entry *waiter; /* waits for one of those that are held back */
	struct baton_future *held;
	atomic_bool begun;
	int status[2];
};

static void wait_for_the_waiter(void *arg)
{
	struct closed_cycle *cycle = arg;

	MUST(baton_submit_later(&cycle->other->resource, &cycle->waiter->task) == 0);
	while (!atomic_load(&cycle->begun)) /* this thread must not help */
		sched_yield();
	cycle->status[0] = baton_future_wait(&cycle->waiter->future);
}

static void wait_for_one_held(void *arg)
{
	struct closed_cycle *cycle = arg;

	atomic_store(&cycle->begun, true);
	cycle->status[1] = baton_future_wait(cycle->held);
}

/* Either wait, not both. */
Test(flush_cycle, without_it_a_wait_for_any_held_back_completion_ends, .timeout = 20)
{
	struct baton_pool *pool = pool_of(2);

	for (int i = 0; i < HELD; i++) {
		struct ledger ledgers[2];
		struct entry entries[HELD + 2];
		struct closed_cycle cycle = {.other = &ledgers[1], .waiter = &entries[HELD + 1]};

		cycle.held = &entries[i].future;
		ledger_init(&ledgers[0], NULL);
		ledger_init(&ledgers[1], baton_pool_executor(pool));
		entries_init(entries, HELD + 1, &ledgers[0]);
		entry_init(&entries[HELD + 1], &ledgers[1], true);
		entries[HELD].body = wait_for_the_waiter;
		entries[HELD + 1].body = wait_for_one_held;
		entries[HELD].arg = entries[HELD + 1].arg = &cycle;
		entries_submit(entries, HELD + 1);
		for (int j = 0; j < 2; j++)
			resource_end(&ledgers[j].resource);
		cr_assert_eq(cycle.status[0] + cycle.status[1], -EDEADLK);
	}
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* A hook that a flush calls is inside the flushing task: its wait for a thread that waits for that
 * task closes a cycle. */
struct hooked_cycle {
	struct ledger ledger;
	struct entry entry;
	struct baton_resource other; /* whose task waits for the entry */
	int waiter;
	atomic_bool begun;
	int status[2];
};

static void *leave_arg(void *arg)
{
	return arg;
}

static void call_other_in_hook(void *arg)
{
	struct hooked_cycle *cycle = arg;

	cycle->ledger.on_end = NULL;
	cycle->status[1] = baton_call(&cycle->other, leave_arg, NULL, NULL);
}

static void flush_when_awaited(void *arg)
{
	struct hooked_cycle *cycle = arg;

	atomic_store(&cycle->begun, true);
	until_asleep(cycle->waiter);
	cycle->ledger.on_end = call_other_in_hook;
	cycle->ledger.arg = cycle;
	MUST(baton_batch_flush() == 0);
}

static void *wait_for_the_flusher(void *arg)
{
	struct hooked_cycle *cycle = arg;

	MUST(baton_submit_later(&cycle->ledger.resource, &cycle->entry.task) == 0);
	while (!atomic_load(&cycle->begun)) /* this thread must not help */
		sched_yield();
	cycle->status[0] = baton_future_wait(&cycle->entry.future);
	return NULL;
}

Test(flush_cycle, a_wait_of_its_hooks_for_a_thread_that_waits_for_its_task_ends, .timeout = 20)
{
	struct baton_pool *pool = pool_of(1);
	struct hooked_cycle cycle = {.waiter = thread_id()};

	ledger_init(&cycle.ledger, baton_pool_executor(pool));
	baton_resource_init(&cycle.other, NULL);
	entry_init(&cycle.entry, &cycle.ledger, true);
	cycle.entry.body = flush_when_awaited;
	cycle.entry.arg = &cycle;
	cr_assert_eq(baton_call(&cycle.other, wait_for_the_flusher, &cycle, NULL), 0);
	cr_assert_eq(cycle.status[0], 0);
	cr_assert_eq(cycle.status[1], -EDEADLK);
	resource_end(&cycle.ledger.resource);
	resource_end(&cycle.other);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}
