/* SPDX-License-Identifier: MIT */
/* baton_batch_flush, the hooks of nested resources, and batches while other threads submit. */
#include "ledger.h"

struct flusher {
	struct ledger *ledger;
	struct baton_future *before; /* of the task before, whose completion is held back */
	int begin_status;            /* what batch_begin answers from now on */
	int end_status;
	int result; /* of the flush */
	enum baton_future_state seen[2];
};

static void flush(void *arg)
{
	struct flusher *flusher = arg;

	flusher->seen[0] = baton_future_state(flusher->before);
	flusher->ledger->begin_status = flusher->begin_status;
	flusher->ledger->end_status = flusher->end_status;
	flusher->result = baton_batch_flush();
	flusher->seen[1] = baton_future_state(flusher->before);
	flusher->ledger->end_status = 0;
}

static void flush_in_the_middle(struct flusher *flusher, struct ledger *ledger,
                                struct entry entries[4])
{
	ledger_init(ledger, NULL);
	entries_init(entries, 4, ledger);
	flusher->ledger = ledger;
	flusher->before = &entries[1].future;
	entries[2].body = flush;
	entries[2].arg = flusher;
	entries_submit(entries, 4);
}

Test(flush, it_ends_the_batch_and_begins_another, .timeout = 10)
{
	struct flusher flusher = {.result = 1};
	struct ledger ledger;
	struct entry entries[4];

	flush_in_the_middle(&flusher, &ledger, entries);
	cr_assert_eq(flusher.result, 0);
	cr_assert_eq(flusher.seen[0], BATON_RUNNING);
	cr_assert_eq(flusher.seen[1], BATON_DONE);
	cr_assert_eq(ledger.begun, 2);
	cr_assert(ledger_balanced(&ledger));
	/* The task's own result is what it was. */
	cr_assert_eq(baton_future_value(&entries[2].future), &entries[2]);
	cr_assert_eq(baton_future_state(&entries[3].future), BATON_DONE);
	resource_end(&ledger.resource);
}

Test(flush, a_task_fails_with_the_batch_that_it_ends, .timeout = 10)
{
	struct flusher flusher = {.end_status = -EIO};
	struct ledger ledger;
	struct entry entries[4];

	flush_in_the_middle(&flusher, &ledger, entries);
	cr_assert_eq(flusher.result, -EIO);
	cr_assert_eq(baton_future_status(&entries[0].future), -EIO);
	cr_assert_eq(baton_future_status(&entries[1].future), -EIO);
	cr_assert_eq(baton_future_status(&entries[2].future), -EIO);
	cr_assert_eq(baton_future_value(&entries[2].future), NULL);
	cr_assert_eq(baton_future_status(&entries[3].future), 0);
	cr_assert(ledger_balanced(&ledger));
	resource_end(&ledger.resource);
}

static void flush_in_hook(void *arg)
{
	*(int *)arg = baton_batch_flush();
}

Test(flush, a_hook_cannot_flush_the_batch_that_it_ends, .timeout = 10)
{
	struct flusher flusher = {.result = 1};
	struct ledger ledger;
	struct entry entries[2];
	int result = 0;

	ledger_init(&ledger, NULL);
	ledger.on_end = flush_in_hook;
	ledger.arg = &result;
	flusher.ledger = &ledger;
	flusher.before = &entries[0].future;
	entries_init(entries, 2, &ledger);
	entries[1].body = flush;
	entries[1].arg = &flusher;
	entries_submit(entries, 2);
	cr_assert_eq(result, -EBUSY);
	cr_assert_eq(flusher.result, 0);
	cr_assert(ledger_balanced(&ledger));
	resource_end(&ledger.resource);
}

static void note_request(void *seen)
{
	*(bool *)seen |= baton_cancel_requested();
}

static void cancel_itself_and_flush(void *arg)
{
	MUST(baton_future_cancel(arg) == -EINPROGRESS && baton_cancel_requested());
	MUST(baton_batch_flush() == 0 && baton_cancel_requested());
}

Test(flush, a_hook_sees_nothing_of_the_task_that_flushes, .timeout = 10)
{
	struct ledger ledger;
	struct entry entry;
	bool seen = false;

	ledger_init(&ledger, NULL);
	ledger.on_end = note_request;
	ledger.arg = &seen;
	entry_init(&entry, &ledger, true);
	entry.body = cancel_itself_and_flush;
	entry.arg = &entry.future;
	cr_assert_eq(baton_submit(&ledger.resource, &entry.task), 0);
	cr_assert_not(seen);
	cr_assert_eq(ledger.ended, 2);
	resource_end(&ledger.resource);
}

Test(flush, what_does_not_begin_anew_runs_nothing_more, .timeout = 10)
{
	struct flusher flusher = {.begin_status = -EBUSY};
	struct ledger ledger;
	struct entry entries[4];

	flush_in_the_middle(&flusher, &ledger, entries);
	cr_assert_eq(flusher.result, -EBUSY);
	cr_assert_eq(baton_future_status(&entries[1].future), 0);
	cr_assert_eq(baton_future_status(&entries[2].future), -EBUSY);
	cr_assert_eq(baton_future_status(&entries[3].future), -EBUSY);
	cr_assert_eq(entries[3].number, 0);
	cr_assert_eq(ledger.begun, 1);
	cr_assert(ledger_balanced(&ledger));
	ledger.begin_status = 0;
	resource_end(&ledger.resource);
}

static void flush_twice(void *arg)
{
	struct flusher *flusher = arg;

	flusher->ledger->begin_status = -EBUSY;
	MUST(baton_batch_flush() == -EBUSY);
	flusher->ledger->begin_status = 0;
	flusher->result = baton_batch_flush();
}

Test(flush, a_second_one_begins_where_the_first_could_not, .timeout = 10)
{
	struct flusher flusher = {.result = 1};
	struct ledger ledger;
	struct entry entries[2];

	ledger_init(&ledger, NULL);
	flusher.ledger = &ledger;
	entries_init(entries, 2, &ledger);
	entries[1].body = flush_twice;
	entries[1].arg = &flusher;
	entries_submit(entries, 2);
	cr_assert_eq(flusher.result, 0);
	cr_assert_eq(ledger.begun, 2);
	cr_assert(ledger_balanced(&ledger));
	/* It was outside of any batch for a while. */
	cr_assert_eq(baton_future_status(&entries[1].future), -EBUSY);
	resource_end(&ledger.resource);
}

static void *flush_call(void *arg)
{
	*(int *)arg = baton_batch_flush();
	return NULL;
}

Test(flush, it_is_for_tasks_of_resources_with_hooks, .timeout = 10)
{
	struct baton_resource plain = BATON_RESOURCE_INIT(NULL);
	struct ledger ledger;
	struct entry entry;
	int result = 1;

	ledger_init(&ledger, NULL);
	entry_init(&entry, &ledger, true);
	ledger.on_end = flush_in_hook;
	ledger.arg = &result;
	cr_assert_eq(baton_submit(&ledger.resource, &entry.task), 0);
	cr_assert_eq(result, -EBUSY);
	cr_assert_eq(baton_call(&plain, flush_call, &result, NULL), 0);
	cr_assert_eq(result, 0);
	resource_end(&ledger.resource);
	resource_end(&plain);
}

struct outer {
	struct ledger *inner;
	struct entry *entry;
	bool committed_inside;
	bool still_open;
	struct ledger *ledger;
};

static void submit_nested(void *arg)
{
	struct outer *outer = arg;

	MUST(baton_submit(&outer->inner->resource, &outer->entry->task) == 0);
	outer->committed_inside = baton_future_state(&outer->entry->future) == BATON_DONE &&
	                          atomic_load(&outer->inner->committed) == 1;
	outer->still_open = outer->ledger->open;
}

Test(flush, a_nested_batch_ends_in_its_own_submit, .timeout = 10)
{
	struct ledger ledgers[2];
	struct entry entries[2];
	struct outer outer = {&ledgers[1], &entries[1], false, false, &ledgers[0]};

	ledger_init(&ledgers[0], NULL);
	ledger_init(&ledgers[1], NULL);
	entry_init(&entries[0], &ledgers[0], true);
	entry_init(&entries[1], &ledgers[1], true);
	entries[0].body = submit_nested;
	entries[0].arg = &outer;
	cr_assert_eq(baton_submit(&ledgers[0].resource, &entries[0].task), 0);
	cr_assert(outer.committed_inside);
	cr_assert(outer.still_open);
	for (int i = 0; i < 2; i++) {
		cr_assert(ledger_balanced(&ledgers[i]));
		resource_end(&ledgers[i].resource);
	}
}

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

Test(flush, it_breaks_a_cycle_of_held_back_completions, .timeout = 20)
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
Test(flush, without_it_a_wait_for_any_held_back_completion_ends, .timeout = 20)
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

/* Callers who look whether what they are told has been committed. */
#define CALLERS 4
#define CALLS 2000

struct caller {
	struct ledger *ledger;
	int early;
	int failed;
};

static void *number_call(void *arg)
{
	struct ledger *ledger = arg;

	ledger_note(ledger);
	return (void *)(intptr_t)ledger->entered;
}

static void *caller_main(void *arg)
{
	struct caller *caller = arg;
	int calls = scaled(CALLS);

	for (int i = 0; i < calls; i++) {
		struct baton_future *future = NULL;
		void *value = NULL;

		if (i % 3) {
			caller->failed += baton_call(&caller->ledger->resource, number_call,
			                             caller->ledger, &value) != 0;
		} else {
			MUST(baton_async(&caller->ledger->resource, number_call, caller->ledger,
			                 &future) == 0);
			MUST(baton_future_wait(future) == 0);
			value = baton_future_value(future);
			caller->failed += baton_future_status(future) != 0;
			baton_future_unref(future);
		}
		caller->early += atomic_load(&caller->ledger->committed) < (int)(intptr_t)value;
	}
	return NULL;
}

static void call_from_everywhere(uint32_t limit)
{
	struct baton_pool *pool = pool_of(2);
	struct caller callers[CALLERS];
	pthread_t threads[CALLERS];
	struct ledger ledger;

	ledger_init(&ledger, baton_pool_executor(pool));
	ledger.config.capture_max = limit;
	for (int i = 0; i < CALLERS; i++) {
		callers[i] = (struct caller){&ledger, 0, 0};
		threads[i] = thread_start(caller_main, &callers[i]);
	}
	for (int i = 0; i < CALLERS; i++) {
		thread_join(threads[i]);
		cr_assert_eq(callers[i].early, 0);
		cr_assert_eq(callers[i].failed, 0);
	}
	cr_assert_eq(baton_resource_await(&ledger.resource), 0);
	cr_assert(ledger_balanced(&ledger));
	cr_assert_eq(ledger.entered, CALLERS * scaled(CALLS));
	resource_end(&ledger.resource);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(flush, nobody_is_told_before_the_batch_has_ended, .timeout = 60)
{
	call_from_everywhere(10);
}

Test(flush, nor_with_everything_on_the_executors_threads, .timeout = 60)
{
	call_from_everywhere(BATON_CAPTURE_NONE);
}

Test(flush, shutdown_now_leaves_no_batch_open, .timeout = 30)
{
	static struct entry entries[500];
	int counts[5] = {0};

	for (int round = 0; round < scaled(40); round++) {
		struct baton_pool *pool = pool_of(2);
		struct baton_job *jobs = NULL;
		struct ledger ledger;
		int entered;

		ledger_init(&ledger, baton_pool_executor(pool));
		ledger.config.capture_max = 1;
		ledger.config.quantum = 5;
		entries_init(entries, 500, &ledger);
		entries_submit(entries, 500);
		MUST(baton_pool_shutdown_now(pool, &jobs) == 0);
		while (jobs) {
			struct baton_job *next = baton_job_next(jobs);

			baton_job_cancel(jobs);
			jobs = next;
		}
		for (int i = 0; i < 500; i++)
			MUST(baton_future_wait(&entries[i].future) == 0);
		cr_assert_eq(baton_resource_await(&ledger.resource), 0);
		entered = 0;
		for (int i = 0; i < 500; i++) {
			entered += baton_future_state(&entries[i].future) == BATON_DONE;
			counts[baton_future_state(&entries[i].future)]++;
		}
		cr_assert_eq(ledger.entered, entered);
		cr_assert(ledger_balanced(&ledger));
		cr_assert_eq(atomic_load(&ledger.committed), entered);
		resource_end(&ledger.resource);
		cr_assert_eq(baton_pool_destroy(pool), 0);
	}
	cr_assert_eq(counts[BATON_FAILED], 0);
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

Test(flush, a_wait_of_its_hooks_for_a_thread_that_waits_for_its_task_ends, .timeout = 20)
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
