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
