/* SPDX-License-Identifier: MIT */
/* Drain hooks: where a batch begins and ends, and which tasks go through it. */
#include "ledger.h"
#include "stash.h"

struct sleeper {
	struct entry entry;
	pthread_t thread;
	atomic_int tid;
	int result;
};

static void *sleeper_main(void *arg)
{
	struct sleeper *sleeper = arg;

	atomic_store(&sleeper->tid, thread_id());
	sleeper->result = baton_future_wait(&sleeper->entry.future);
	return NULL;
}

Test(hooks, a_task_by_itself_is_a_batch, .timeout = 10)
{
	struct ledger ledger;
	struct entry entry;

	ledger_init(&ledger, NULL);
	entry_init(&entry, &ledger, false);
	cr_assert_eq(baton_submit(&ledger.resource, &entry.task), 0);
	cr_assert(ledger_balanced(&ledger));
	cr_assert_eq(ledger.begun, 1);
	cr_assert_eq(ledger.sizes[0], 1);
	resource_end(&ledger.resource);
	cr_assert_eq(ledger.begun, 1);
}

Test(hooks, what_is_queued_is_one_batch, .timeout = 10)
{
	struct ledger ledger;
	struct entry entries[6];

	ledger_init(&ledger, NULL);
	entries_init(entries, 6, &ledger);
	entries_submit(entries, 6);
	cr_assert(ledger_balanced(&ledger));
	cr_assert_eq(ledger.begun, 1);
	cr_assert_eq(ledger.sizes[0], 6);
	resource_end(&ledger.resource);
}

Test(hooks, a_batch_ends_before_the_hand_off, .timeout = 10)
{
	struct ledger ledger;
	struct entry entries[6];
	struct stash stash;

	stash_init(&stash);
	ledger_init(&ledger, &stash.executor);
	ledger.config.capture_max = 3;
	ledger.config.quantum = 2;
	entries_init(entries, 6, &ledger);
	entries_submit(entries, 6);
	cr_assert_eq(atomic_load(&stash.count), 1);
	cr_assert(ledger_balanced(&ledger));
	cr_assert_eq(ledger.sizes[0], 3);
	cr_assert(baton_future_is_complete(&entries[2].future));
	cr_assert(!baton_future_is_complete(&entries[3].future));
	cr_assert(stash_run_one(&stash));
	cr_assert(ledger_balanced(&ledger));
	cr_assert_eq(ledger.sizes[1], 2);
	stash_run(&stash);
	cr_assert_eq(ledger.sizes[2], 1);
	cr_assert_eq(ledger.begun, 3);
	resource_end(&ledger.resource);
}

Test(hooks, a_refused_hand_off_is_drained_in_batches_too, .timeout = 10)
{
	struct ledger ledger;
	struct entry entries[5];
	struct stash stash;

	stash_init(&stash);
	atomic_store(&stash.answer, -ESHUTDOWN);
	ledger_init(&ledger, &stash.executor);
	ledger.config.capture_max = 2;
	entries_init(entries, 5, &ledger);
	entries_submit(entries, 5);
	cr_assert(ledger_balanced(&ledger));
	cr_assert_eq(ledger.sizes[0], 2);
	cr_assert_eq(ledger.sizes[1], 3);
	cr_assert_eq(atomic_load(&ledger.committed), 5);
	resource_end(&ledger.resource);
}

Test(hooks, batch_max_bounds_a_batch, .timeout = 10)
{
	struct ledger ledger;
	struct entry entries[7];

	ledger_init(&ledger, NULL);
	ledger.config.batch_max = 3;
	entries_init(entries, 7, &ledger);
	entries_submit(entries, 7);
	cr_assert(ledger_balanced(&ledger));
	cr_assert_eq(ledger.begun, 3);
	cr_assert_eq(ledger.sizes[0], 3);
	cr_assert_eq(ledger.sizes[1], 3);
	cr_assert_eq(ledger.sizes[2], 1);
	resource_end(&ledger.resource);
}

static void work_a_while(void *arg)
{
	work_for_ns(2000);
}

Test(hooks, a_batch_ends_when_its_time_is_over, .timeout = 10)
{
	struct ledger ledger;
	struct entry entries[4];

	ledger_init(&ledger, NULL);
	ledger.config.batch_ns = 1000;
	entries_init(entries, 4, &ledger);
	for (int i = 0; i < 4; i++)
		entries[i].body = work_a_while;
	entries_submit(entries, 3);
	cr_assert(ledger_balanced(&ledger));
	/* The first one may be fast: it only submits. */
	cr_assert_geq(ledger.begun, 2);
	cr_assert_leq(ledger.sizes[0], 2);
	ledger.config.batch_ns = 3600000000000U;
	baton_resource_init(&ledger.resource, &ledger.config);
	entries_init(entries, 4, &ledger);
	entries_submit(entries, 4);
	cr_assert_eq(ledger.sizes[ledger.begun - 1], 4);
	resource_end(&ledger.resource);
}

struct awaiting {
	struct ledger *ledger;
	sem_t over;
	int committed;
};

static void *awaiting_main(void *arg)
{
	struct awaiting *awaiting = arg;

	MUST(baton_resource_await(&awaiting->ledger->resource) == 0);
	awaiting->committed = atomic_load(&awaiting->ledger->committed);
	gate_open(&awaiting->over);
	return NULL;
}

static void pass_gate(void *arg)
{
	gate_pass(arg);
}

/* A batch that has its first task open; the others are queued behind it. */
static void *submit_main(void *arg)
{
	struct entry *entry = arg;

	MUST(baton_submit(&entry->ledger->resource, &entry->task) == 0);
	return NULL;
}

Test(hooks, a_batch_ends_before_an_awaiter_is_told, .timeout = 10)
{
	struct awaiting awaiting;
	struct ledger ledger;
	struct entry entries[2];
	pthread_t threads[2];
	sem_t go;

	gate_init(&go);
	gate_init(&awaiting.over);
	ledger_init(&ledger, NULL);
	awaiting.ledger = &ledger;
	entries_init(entries, 2, &ledger);
	entries[0].body = pass_gate;
	entries[0].arg = &go;
	/* The second one waits for the awaiter, which is told before it, and after the batch. */
	entries[1].body = pass_gate;
	entries[1].arg = &awaiting.over;
	threads[0] = thread_start(submit_main, &entries[0]);
	while (baton_future_state(&entries[0].future) != BATON_RUNNING)
		sched_yield();
	threads[1] = thread_start(awaiting_main, &awaiting);
	while (!(__atomic_load_n(&ledger.resource._word, __ATOMIC_RELAXED) & ~(uintptr_t)7))
		sched_yield();
	cr_assert_eq(baton_submit(&ledger.resource, &entries[1].task), 0);
	gate_open(&go);
	thread_join(threads[0]);
	thread_join(threads[1]);
	cr_assert_eq(awaiting.committed, 1);
	cr_assert_eq(ledger.begun, 2);
	cr_assert(ledger_balanced(&ledger));
	resource_end(&ledger.resource);
}

struct last_words {
	struct baton_task task;
	struct ledger *ledger;
	bool balanced;
	int committed;
};

static int last_words_run(struct baton_task *task)
{
	struct last_words *words = baton_container_of(task, struct last_words, task);

	words->balanced = ledger_balanced(words->ledger);
	words->committed = atomic_load(&words->ledger->committed);
	return 0;
}

static void close_inside(void *arg)
{
	struct last_words *words = arg;

	MUST(baton_resource_close_then(&words->ledger->resource, &words->task) == 0);
}

Test(hooks, a_batch_ends_before_the_finaliser, .timeout = 10)
{
	struct last_words words = {.balanced = false};
	struct ledger ledger;
	struct entry entry;

	ledger_init(&ledger, NULL);
	words.ledger = &ledger;
	baton_task_init(&words.task, last_words_run, NULL);
	entry_init(&entry, &ledger, true);
	entry.body = close_inside;
	entry.arg = &words;
	cr_assert_eq(baton_submit(&ledger.resource, &entry.task), 0);
	cr_assert(words.balanced);
	cr_assert_eq(words.committed, 1);
	cr_assert_eq(baton_future_state(&entry.future), BATON_DONE);
}

Test(hooks, a_helper_shares_one_batch_with_those_behind, .timeout = 10)
{
	struct ledger ledger;
	struct entry entries[5];
	struct stash stash;

	stash_init(&stash);
	ledger_init(&ledger, &stash.executor);
	ledger.config.quantum = 3; /* counts from its own task on */
	entries_init(entries, 5, &ledger);
	for (int i = 0; i < 5; i++)
		cr_assert_eq(baton_submit_later(&ledger.resource, &entries[i].task), 0);
	cr_assert_eq(baton_future_wait(&entries[1].future), 0);
	cr_assert(ledger_balanced(&ledger));
	cr_assert_eq(ledger.begun, 1);
	cr_assert_eq(ledger.sizes[0], 5);
	cr_assert_eq(baton_future_state(&entries[4].future), BATON_DONE);
	stash_run(&stash);
	resource_end(&ledger.resource);
}

Test(hooks, a_helper_stays_for_a_quantum_and_no_longer_than_its_batch, .timeout = 10)
{
	struct ledger ledger;
	struct entry entries[9];
	struct stash stash;

	stash_init(&stash);
	ledger_init(&ledger, &stash.executor);
	ledger.config.quantum = 3;
	entries_init(entries, 9, &ledger);
	for (int i = 0; i < 9; i++)
		cr_assert_eq(baton_submit_later(&ledger.resource, &entries[i].task), 0);
	cr_assert_eq(baton_future_wait(&entries[0].future), 0);
	cr_assert(ledger_balanced(&ledger));
	cr_assert_eq(ledger.entered, 4);
	ledger.config.batch_max = 2;
	cr_assert_eq(baton_future_wait(&entries[5].future), 0);
	cr_assert_eq(ledger.entered, 6);
	cr_assert_eq(ledger.begun, 2);
	cr_assert(ledger_balanced(&ledger));
	stash_run(&stash);
	cr_assert_eq(atomic_load(&ledger.committed), 9);
	resource_end(&ledger.resource);
}

/* A helper gives the baton back after some 1,000 tasks, whatever the quantum. */
Test(hooks, a_helper_stays_no_longer_than_it_helps, .timeout = 10)
{
	static struct entry entries[4000];
	struct ledger ledger;
	struct stash stash;

	stash_init(&stash);
	ledger_init(&ledger, &stash.executor);
	ledger.config.quantum = UINT32_MAX;
	entries_init(entries, 4000, &ledger);
	for (int i = 0; i < 4000; i++)
		cr_assert_eq(baton_submit_later(&ledger.resource, &entries[i].task), 0);
	cr_assert_eq(baton_future_wait(&entries[0].future), 0);
	cr_assert(ledger_balanced(&ledger));
	cr_assert_lt(ledger.entered, 2000);
	stash_run(&stash);
	cr_assert_eq(atomic_load(&ledger.committed), 4000);
	resource_end(&ledger.resource);
}

Test(hooks, a_helper_without_held_completions_shares_no_batch, .timeout = 10)
{
	struct ledger ledger;
	struct entry entries[3];
	struct stash stash;

	stash_init(&stash);
	ledger_init(&ledger, &stash.executor);
	ledger.config.delay_completions = false;
	entries_init(entries, 3, &ledger);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_submit_later(&ledger.resource, &entries[i].task), 0);
	cr_assert_eq(baton_future_wait(&entries[0].future), 0);
	cr_assert(ledger_balanced(&ledger));
	cr_assert_eq(ledger.sizes[0], 1, "its wait is over when its task has returned");
	stash_run(&stash);
	resource_end(&ledger.resource);
}

Test(hooks, a_submitted_batch_is_in_one_batch, .timeout = 10)
{
	struct baton_task *tasks[8];
	struct ledger ledger;
	struct entry entries[8];

	ledger_init(&ledger, NULL);
	for (int i = 0; i < 8; i++) {
		entry_init(&entries[i], &ledger, false);
		tasks[i] = &entries[i].task;
	}
	cr_assert_eq(baton_submit_batch(&ledger.resource, tasks, 8), 0);
	cr_assert(ledger_balanced(&ledger));
	cr_assert_eq(ledger.begun, 1);
	cr_assert_eq(ledger.sizes[0], 8);
	resource_end(&ledger.resource);
}

Test(hooks, either_hook_may_be_missing, .timeout = 10)
{
	struct ledger ledger;
	struct entry entries[3];

	ledger_init(&ledger, NULL);
	ledger.config.batch_end = NULL;
	entries_init(entries, 3, &ledger);
	entries_submit(entries, 3);
	cr_assert_eq(ledger.begun, 1);
	ledger.config.batch_begin = NULL;
	baton_resource_init(&ledger.resource, &ledger.config);
	entries_init(entries, 3, &ledger);
	entries_submit(entries, 3);
	cr_assert_eq(ledger.begun, 1);
	cr_assert_eq(baton_future_state(&entries[2].future), BATON_DONE);
	resource_end(&ledger.resource);
}

Test(hooks, a_cancelled_task_begins_no_batch, .timeout = 10)
{
	struct ledger ledger;
	struct entry entry;
	struct stash stash;

	stash_init(&stash);
	ledger_init(&ledger, &stash.executor);
	entry_init(&entry, &ledger, true);
	cr_assert_eq(baton_submit_later(&ledger.resource, &entry.task), 0);
	cr_assert_eq(baton_future_cancel(&entry.future), 0);
	stash_run(&stash);
	cr_assert_eq(ledger.begun, 0);
	cr_assert_eq(baton_future_state(&entry.future), BATON_CANCELLED);
	resource_end(&ledger.resource);
}

/* More sleepers than are woken in one go. */
Test(hooks, a_batch_wakes_all_who_sleep, .timeout = 20)
{
	enum { SLEEPERS = 100 };
	struct ledger ledger;
	static struct sleeper sleepers[SLEEPERS];
	struct occupant occupant;

	ledger_init(&ledger, NULL);
	occupy(&occupant, &ledger.resource);
	for (int i = 0; i < SLEEPERS; i++) {
		sleepers[i] = (struct sleeper){.result = -1};
		entry_init(&sleepers[i].entry, &ledger, true);
		cr_assert_eq(baton_submit(&ledger.resource, &sleepers[i].entry.task), 0);
		sleepers[i].thread = thread_start(sleeper_main, &sleepers[i]);
	}
	for (int i = 0; i < SLEEPERS; i++) {
		until_at_least(&sleepers[i].tid, 1);
		until_asleep(atomic_load(&sleepers[i].tid));
	}
	release(&occupant);
	for (int i = 0; i < SLEEPERS; i++) {
		thread_join(sleepers[i].thread);
		cr_assert_eq(sleepers[i].result, 0);
	}
	cr_assert(ledger_balanced(&ledger));
	resource_end(&ledger.resource);
}
