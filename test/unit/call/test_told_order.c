/* SPDX-License-Identifier: MIT */
/* Functions that are told of an end complete further futures: in which order, on which stack. */
#include "fixture.h"

static atomic_int ran;

static int returns_0(struct baton_task *task)
{
	return 0;
}

static void count(void *arg)
{
	++*(int *)arg;
}

static void notes_1_and_completes(void *arg)
{
	journal_add(&fix.journal, 1);
	MUST(baton_future_complete(arg, 0, NULL) == 0);
	MUST(baton_future_is_complete(arg));
	journal_add(&fix.journal, 2);
}

static void notes(void *arg)
{
	journal_add(&fix.journal, *(int *)arg);
}

Test(told_order, what_it_completes_is_told_after_it_has_returned_and_before_the_rest, .timeout = 10)
{
	struct baton_future first = BATON_PROMISE_INIT;
	struct baton_future second = BATON_PROMISE_INIT;
	struct baton_continuation of_first[2];
	struct baton_continuation of_second[2];
	int numbers[] = {3, 4, 5};

	baton_continuation_function(&of_first[0], notes_1_and_completes, &second);
	baton_continuation_function(&of_second[0], notes, &numbers[0]);
	baton_continuation_function(&of_second[1], notes, &numbers[1]);
	baton_continuation_function(&of_first[1], notes, &numbers[2]);
	for (int i = 0; i < 2; i++) {
		baton_future_then(&first, &of_first[i]);
		baton_future_then(&second, &of_second[i]);
	}
	cr_assert_eq(baton_future_complete(&first, 0, NULL), 0);
	cr_assert(journal_counts_up(&fix.journal, 1, 5));
}

static int notes_task(struct baton_task *task)
{
	journal_add(&fix.journal, 6);
	return 0;
}

/* Two tasks are queued; the first one's end tells a function, which tells another, and so on. */
Test(told_order, what_it_completes_is_told_before_the_runners_next_task, .timeout = 10)
{
	struct baton_future first = BATON_FUTURE_INIT;
	struct baton_future second = BATON_PROMISE_INIT;
	struct baton_continuation of_first;
	struct baton_continuation of_second;
	struct baton_task tasks[] = {BATON_TASK_INIT(returns_0, &first),
	                             BATON_TASK_INIT(notes_task, NULL)};
	int number = 3;

	baton_continuation_function(&of_first, notes_1_and_completes, &second);
	baton_continuation_function(&of_second, notes, &number);
	baton_future_then(&first, &of_first);
	baton_future_then(&second, &of_second);
	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(baton_submit(&fix.resource, &tasks[i]), 0);
	release(&fix.occupant);
	fixture_end();
	cr_assert_eq(fix.journal.count, 4);
	cr_assert_eq(fix.journal.number[2], 3);
	cr_assert_eq(fix.journal.number[3], 6);
}

struct domino {
	struct baton_future promise;
	struct baton_continuation continuation;
	struct domino *next;
};

static void falls(void *arg)
{
	struct domino *domino = arg;
	struct domino *next = domino->next;

	free(domino);
	if (next)
		MUST(baton_future_complete(&next->promise, 0, NULL) == 0);
	else
		atomic_fetch_add(&ran, 1);
}

static struct domino *dominoes(size_t count)
{
	struct domino *next = NULL;

	for (size_t i = 0; i < count; i++) {
		struct domino *domino = malloc(sizeof(*domino));

		MUST(domino);
		domino->next = next;
		baton_promise_init(&domino->promise);
		baton_continuation_function(&domino->continuation, falls, domino);
		baton_future_then(&domino->promise, &domino->continuation);
		next = domino;
	}
	return next;
}

static void *topple(void *arg)
{
	struct domino *first = arg;

	MUST(baton_future_complete(&first->promise, 0, NULL) == 0);
	return NULL;
}

static struct baton_resource nest[BATON_NESTING_MAX + 2];

/* As deep as calls nest: there a function is told late. */
static void *topple_deep(void *arg)
{
	static int depth;

	if (depth == BATON_NESTING_MAX + 1)
		return topple(arg);
	depth++;
	MUST(baton_call(&nest[depth], topple_deep, arg, NULL) == 0);
	return NULL;
}

Test(told_order, a_million_that_tell_one_another_fit_on_64_kib, .timeout = 30)
{
	thread_run_on(small_stack(), topple, dominoes(1000000));
	cr_assert_eq(atomic_load(&ran), 1);
	for (size_t i = 0; i < sizeof(nest) / sizeof(*nest); i++)
		baton_resource_init(&nest[i], NULL);
	thread_run_on(small_stack(), topple_deep, dominoes(1000000));
	cr_assert_eq(atomic_load(&ran), 2);
}

/* A continuation that waits runs in a frame of its own: it may wait for what it has completed. */
static void *waits_for_a_task(void *arg)
{
	struct baton_future promise = BATON_PROMISE_INIT;
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task task = BATON_TASK_INIT(returns_0, &future);
	struct baton_continuation continuation;

	baton_continuation_task(&continuation, arg, &task);
	baton_future_then(&promise, &continuation);
	MUST(baton_future_complete(&promise, 0, NULL) == 0);
	MUST(baton_future_wait(&future) == 0);
	return NULL;
}

static int task_waits(struct baton_task *task)
{
	(void)waits_for_a_task(&fix.resource);
	atomic_fetch_add(&ran, 1);
	return 0;
}

Test(told_order, a_task_that_follows_a_function_may_wait_again, .timeout = 10)
{
	struct baton_resource idle = BATON_RESOURCE_INIT(NULL);
	struct baton_task task = BATON_TASK_INIT(task_waits, NULL);
	struct baton_future promise = BATON_PROMISE_INIT;
	struct baton_continuation continuations[2];
	int told = 0;

	baton_continuation_function(&continuations[0], count, &told);
	baton_continuation_task(&continuations[1], &idle, &task);
	for (int i = 0; i < 2; i++)
		baton_future_then(&promise, &continuations[i]);
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	cr_assert_eq(told, 1);
	cr_assert_eq(atomic_load(&ran), 1);
	resource_end(&idle);
	fixture_end();
}
