/* SPDX-License-Identifier: MIT */
/*
 * Held-back completions: the futures of a batch complete after batch_end, with the status that
 * their tasks returned or that batch_end returned.
 */
#include "ledger.h"
#include "stash.h"

#include <baton/call.h>
#include <baton/label.h>

/* Enough for several nodes of held-back futures, and for more wakes than are gathered at once. */
#define MANY 200

struct look {
	struct entry *entries;
	size_t count;
	bool all_running;
	int cancelled; /* what a cancel of the first one returned */
};

static void look_from_end(void *arg)
{
	struct look *look = arg;

	look->all_running = true;
	for (size_t i = 0; i < look->count; i++)
		look->all_running &= baton_future_state(&look->entries[i].future) == BATON_RUNNING;
	look->cancelled = baton_future_cancel(&look->entries[0].future);
}

Test(hold, futures_run_until_the_batch_has_ended, .timeout = 10)
{
	static struct entry entries[MANY];
	struct look look = {entries, MANY, false, 0};
	struct ledger ledger;

	ledger_init(&ledger, NULL);
	ledger.on_end = look_from_end;
	ledger.arg = &look;
	entries_init(entries, MANY, &ledger);
	entries_submit(entries, MANY);
	cr_assert(look.all_running);
	cr_assert_eq(look.cancelled, -EINPROGRESS);
	for (int i = 0; i < MANY; i++) {
		cr_assert_eq(baton_future_state(&entries[i].future), BATON_DONE);
		cr_assert_eq(baton_future_value(&entries[i].future), &entries[i]);
	}
	resource_end(&ledger.resource);
}

static void flushes(void *arg)
{
	MUST(baton_batch_flush() == *(int *)arg);
}

Test(hold, a_flush_that_fails_leaves_a_tasks_own_failure, .timeout = 10)
{
	struct entry entries[3];
	struct ledger ledger;

	ledger_init(&ledger, NULL);
	ledger.end_status = -EIO;
	entries_init(entries, 3, &ledger);
	entries[1].status = -ENOENT;
	for (int i = 1; i < 3; i++) {
		entries[i].body = flushes;
		entries[i].arg = &ledger.end_status;
	}
	entries_submit(entries, 3);
	cr_assert_eq(baton_future_status(&entries[1].future), -ENOENT);
	cr_assert_eq(baton_future_value(&entries[1].future), &entries[1]);
	cr_assert_eq(baton_future_status(&entries[2].future), -EIO);
	cr_assert_eq(baton_future_value(&entries[2].future), NULL);
	cr_assert_eq(resource_counts(&ledger.stats).failed, 3);
	resource_end(&ledger.resource);
}

Test(hold, without_it_futures_complete_at_once, .timeout = 10)
{
	struct look look = {NULL, 1, true, 0};
	struct ledger ledger;
	struct entry entry;

	ledger_init(&ledger, NULL);
	ledger.config.delay_completions = false;
	ledger.end_status = -EIO;
	ledger.on_end = look_from_end;
	ledger.arg = &look;
	look.entries = &entry;
	entry_init(&entry, &ledger, true);
	cr_assert_eq(baton_submit(&ledger.resource, &entry.task), 0);
	cr_assert(!look.all_running);
	cr_assert_eq(look.cancelled, -EALREADY);
	cr_assert_eq(baton_future_state(&entry.future), BATON_DONE);
	resource_end(&ledger.resource);
}

Test(hold, a_batch_that_fails_fails_its_tasks, .timeout = 10)
{
	struct ledger ledger;
	struct entry entries[4];

	ledger_init(&ledger, NULL);
	ledger.end_status = -EIO;
	entries_init(entries, 4, &ledger);
	entries[2].status = -ENOENT;
	baton_task_init(&entries[3].task, entry_run, NULL);
	entries_submit(entries, 4);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_future_state(&entries[i].future), BATON_FAILED);
	cr_assert_eq(baton_future_status(&entries[0].future), -EIO);
	cr_assert_eq(baton_future_value(&entries[0].future), NULL);
	cr_assert_eq(baton_future_status(&entries[1].future), -EIO);
	/* Its own failure, and its value, stay. */
	cr_assert_eq(baton_future_status(&entries[2].future), -ENOENT);
	cr_assert_eq(baton_future_value(&entries[2].future), &entries[2]);
	resource_end(&ledger.resource);
}

static void *note_call(void *arg)
{
	ledger_note(arg);
	return arg;
}

Test(hold, a_call_returns_the_batchs_status, .timeout = 10)
{
	struct baton_future *future = NULL;
	struct ledger ledger;
	const struct baton_call_options options = {.fn = note_call, .arg = &ledger};
	void *value = &future;

	ledger_init(&ledger, NULL);
	ledger.end_status = -EIO;
	cr_assert_eq(baton_call(&ledger.resource, note_call, &ledger, &value), -EIO);
	cr_assert_eq(value, &future, "untouched");
	cr_assert_eq(baton_try_call(&ledger.resource, note_call, &ledger, &value), -EIO);
	cr_assert_eq(value, &future, "untouched");
	cr_assert_eq(baton_call_with(&ledger.resource, &options, &value), -EIO);
	cr_assert_eq(value, &future, "untouched");
	cr_assert_eq(baton_async(&ledger.resource, note_call, &ledger, &future), 0);
	cr_assert_eq(baton_future_status(future), -EIO);
	baton_future_unref(future);
	cr_assert_eq(ledger.entered, 4);
	cr_assert(ledger_balanced(&ledger));
	resource_end(&ledger.resource);
}

Test(hold, a_batch_that_does_not_begin_runs_nothing, .timeout = 10)
{
	struct ledger ledger;
	struct entry entries[4];
	struct stash stash;

	stash_init(&stash);
	ledger_init(&ledger, &stash.executor);
	ledger.begin_status = -EBUSY;
	ledger.config.batch_max = 3;
	entries_init(entries, 4, &ledger);
	baton_task_init(&entries[2].task, entry_run, NULL);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(baton_submit_later(&ledger.resource, &entries[i].task), 0);
	cr_assert_eq(baton_post(&ledger.resource, note_call, &ledger), 0);
	stash_run(&stash);
	/* Three, and two: as the batches would have been. */
	cr_assert_eq(ledger.refused, 2);
	cr_assert_eq(ledger.begun + ledger.ended, 0);
	cr_assert_eq(ledger.entered, 0);
	cr_assert_eq(ledger.cancelled, 1);
	cr_assert_eq(ledger.stats.cancelled, 5);
	for (int i = 0; i < 4; i++)
		if (i != 2)
			cr_assert_eq(baton_future_status(&entries[i].future), -EBUSY);
	cr_assert_eq(baton_future_state(&entries[0].future), BATON_FAILED);
	/* And the next one may begin. */
	ledger.begin_status = 0;
	cr_assert_eq(baton_post(&ledger.resource, note_call, &ledger), 0);
	cr_assert_eq(ledger.entered, 1);
	cr_assert(ledger_balanced(&ledger));
	resource_end(&ledger.resource);
}

struct chained {
	struct baton_continuation continuation;
	struct step step;
};

Test(hold, completions_are_in_order_and_all_after_the_batch, .timeout = 10)
{
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	static struct chained chained[MANY];
	static struct entry entries[MANY];
	static struct journal journal;
	struct ledger ledger;

	ledger_init(&ledger, NULL);
	entries_init(entries, MANY, &ledger);
	for (int i = 0; i < MANY; i++) {
		step_init(&chained[i].step, &journal, i, NULL);
		baton_continuation_task(&chained[i].continuation, &other, &chained[i].step.task);
		baton_future_then(&entries[i].future, &chained[i].continuation);
	}
	entries_submit(entries, MANY);
	cr_assert(journal_counts_up(&journal, 0, MANY));
	resource_end(&ledger.resource);
	resource_end(&other);
}

struct sleeper {
	struct baton_future *future;
	struct ledger *ledger;
	atomic_int tid;
	int committed;
};

static void *sleeper_main(void *arg)
{
	struct sleeper *sleeper = arg;

	atomic_store(&sleeper->tid, thread_id());
	MUST(baton_future_wait(sleeper->future) == 0);
	sleeper->committed = atomic_load(&sleeper->ledger->committed);
	return NULL;
}

static void until_all_asleep(void *arg)
{
	struct sleeper *sleepers = arg;

	for (int i = 0; i < 3; i++) {
		while (!atomic_load(&sleepers[i].tid))
			sched_yield();
		until_asleep(atomic_load(&sleepers[i].tid));
	}
}

Test(hold, sleepers_are_woken_after_the_batch, .timeout = 20)
{
	struct sleeper sleepers[3];
	struct ledger ledger;
	struct entry entries[3];
	pthread_t threads[3];

	ledger_init(&ledger, NULL);
	entries_init(entries, 3, &ledger);
	for (int i = 0; i < 3; i++) {
		sleepers[i].future = &entries[i].future;
		sleepers[i].ledger = &ledger;
		atomic_init(&sleepers[i].tid, 0);
		threads[i] = thread_start(sleeper_main, &sleepers[i]);
	}
	ledger.on_end = until_all_asleep;
	ledger.arg = sleepers;
	entries_submit(entries, 3);
	for (int i = 0; i < 3; i++) {
		thread_join(threads[i]);
		cr_assert_eq(sleepers[i].committed, 3);
	}
	resource_end(&ledger.resource);
}

static void wait_for_first(void *arg)
{
	struct sleeper *sleeper = arg;

	sleeper->committed = baton_future_wait(sleeper->future);
}

Test(hold, a_wait_for_the_own_batch_never_ends, .timeout = 10)
{
	struct ledger ledger;
	struct entry entries[2];
	struct sleeper sleeper = {&entries[0].future, &ledger, 0, 0};

	ledger_init(&ledger, NULL);
	entries_init(entries, 2, &ledger);
	entries[1].body = wait_for_first;
	entries[1].arg = &sleeper;
	entries_submit(entries, 2);
	cr_assert_eq(sleeper.committed, -EDEADLK);
	cr_assert_eq(baton_future_state(&entries[0].future), BATON_DONE);
	resource_end(&ledger.resource);
}

/* Its future lies elsewhere. */
static int free_itself(struct baton_task *task)
{
	struct entry *entry = baton_container_of(task, struct entry, task);

	ledger_note(entry->ledger);
	free(entry);
	return 0;
}

Test(hold, a_task_may_free_itself, .timeout = 10)
{
	static struct baton_future futures[MANY];
	struct baton_task *tasks[MANY];
	struct ledger ledger;

	ledger_init(&ledger, NULL);
	for (int i = 0; i < MANY; i++) {
		struct entry *entry = malloc(sizeof(*entry));

		MUST(entry);
		entry_init(entry, &ledger, false);
		baton_future_init(&futures[i]);
		baton_task_init(&entry->task, free_itself, &futures[i]);
		tasks[i] = &entry->task;
	}
	cr_assert_eq(baton_submit_batch(&ledger.resource, tasks, MANY), 0);
	for (int i = 0; i < MANY; i++)
		cr_assert_eq(baton_future_state(&futures[i]), BATON_DONE);
	cr_assert_eq(ledger.begun, 1);
	resource_end(&ledger.resource);
}

Test(hold, a_dropped_future_is_freed, .timeout = 10)
{
	struct baton_future *futures[MANY];
	struct occupant occupant;
	struct ledger ledger;

	ledger_init(&ledger, NULL);
	occupy(&occupant, &ledger.resource);
	for (int i = 0; i < MANY; i++)
		cr_assert_eq(baton_async(&ledger.resource, note_call, &ledger, &futures[i]), 0);
	for (int i = 0; i < MANY; i++)
		baton_future_unref(futures[i]);
	release(&occupant);
	cr_assert_eq(ledger.entered, MANY);
	cr_assert_eq(ledger.begun, 1);
	resource_end(&ledger.resource);
}

/* For a body: begins a call of a resource whose executor runs nothing yet. */
struct beginning {
	struct baton_resource *other;
	struct baton_future *future;
};

static void *answer(void *arg)
{
	return arg;
}

static void begin_elsewhere(void *arg)
{
	struct beginning *beginning = arg;

	MUST(baton_async(beginning->other, answer, beginning, &beginning->future) == 0);
}

/* The nodes of the calls lie among those of the held-back futures. */
Test(hold, many_futures_take_no_memory_of_others, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	static struct beginning beginnings[MANY];
	static struct entry entries[MANY];
	struct baton_resource other;
	struct ledger ledger;
	struct stash stash;

	stash_init(&stash);
	config.executor = &stash.executor;
	config.capture_max = BATON_CAPTURE_NONE;
	baton_resource_init(&other, &config);
	ledger_init(&ledger, NULL);
	entries_init(entries, MANY, &ledger);
	for (int i = 1; i < MANY; i++) {
		beginnings[i].other = &other;
		entries[i].body = begin_elsewhere;
		entries[i].arg = &beginnings[i];
	}
	entries_submit(entries, MANY);
	stash_run(&stash);
	for (int i = 1; i < MANY; i++) {
		cr_assert_eq(baton_future_value(&entries[i].future), &entries[i]);
		cr_assert_eq(baton_future_value(beginnings[i].future), &beginnings[i]);
		baton_future_unref(beginnings[i].future);
	}
	resource_end(&other);
	resource_end(&ledger.resource);
}

struct cancelling {
	struct entry *entries;
	enum baton_future_state seen[3];
};

static void cancel_the_third(void *arg)
{
	struct cancelling *cancelling = arg;

	MUST(baton_future_cancel(&cancelling->entries[2].future) == 0);
}

static void see_the_third(void *arg)
{
	struct cancelling *cancelling = arg;

	for (int i = 0; i < 3; i++)
		cancelling->seen[i] = baton_future_state(&cancelling->entries[i].future);
}

Test(hold, a_cancelled_task_completes_at_once, .timeout = 10)
{
	struct ledger ledger;
	struct entry entries[4];
	struct cancelling cancelling = {entries, {0}};

	ledger_init(&ledger, NULL);
	entries_init(entries, 4, &ledger);
	entries[1].body = cancel_the_third;
	entries[3].body = see_the_third;
	entries[1].arg = entries[3].arg = &cancelling;
	entries_submit(entries, 4);
	cr_assert_eq(cancelling.seen[0], BATON_RUNNING);
	cr_assert_eq(cancelling.seen[1], BATON_RUNNING);
	cr_assert_eq(cancelling.seen[2], BATON_CANCELLED);
	cr_assert_eq(ledger.entered, 3);
	cr_assert_eq(baton_future_state(&entries[1].future), BATON_DONE);
	resource_end(&ledger.resource);
}

static void cancel_pending(void *arg)
{
	MUST(baton_resource_cancel_pending(arg) == 0);
}

Test(hold, cancel_pending_does_not_touch_what_has_run, .timeout = 10)
{
	struct ledger ledger;
	struct entry entries[4];

	ledger_init(&ledger, NULL);
	entries_init(entries, 4, &ledger);
	entries[1].body = cancel_pending;
	entries[1].arg = &ledger.resource;
	entries_submit(entries, 4);
	cr_assert_eq(baton_future_state(&entries[0].future), BATON_DONE);
	cr_assert_eq(baton_future_state(&entries[1].future), BATON_DONE);
	cr_assert_eq(baton_future_state(&entries[2].future), BATON_CANCELLED);
	cr_assert_eq(baton_future_state(&entries[3].future), BATON_CANCELLED);
	cr_assert_eq(ledger.begun, 1);
	cr_assert(ledger_balanced(&ledger));
	resource_end(&ledger.resource);
}
