/* SPDX-License-Identifier: MIT */
/*
 * Waits inside what a continuation has begun: the thread that waits is the one that fires the
 * continuations which come after.
 */
#include "fixture.h"

static struct firing {
	struct baton_future end;   /* whose continuations fire */
	struct baton_future later; /* which a later continuation completes */
	struct baton_future last;  /* which a continuation of `later` completes */
	struct baton_future *awaited;
	struct baton_continuation continuations[4];
	struct baton_task task;
	uint64_t span_ns; /* 0: for ever */
	int told;
	int status;
	int told_in_wait;
} firing;

static int waits(struct baton_task *task)
{
	firing.status = firing.span_ns ? baton_future_wait_until(firing.awaited,
	                                                         baton_after(firing.span_ns))
	                               : baton_future_wait(firing.awaited);
	firing.told_in_wait = firing.told;
	return 0;
}

static void posts(void *arg)
{
	MUST(baton_submit(&fix.resource, &firing.task) == 0);
}

static void completes(void *arg)
{
	MUST(baton_future_complete(arg, 0, NULL) == 0);
}

static void counts(void *arg)
{
	firing.told++;
}

static void set_up(struct baton_future *awaited)
{
	firing = (struct firing){.awaited = awaited};
	baton_promise_init(&firing.end);
	baton_promise_init(&firing.later);
	baton_promise_init(&firing.last);
	baton_task_init(&firing.task, waits, NULL);
}

static void then_function(struct baton_future *future, size_t index, baton_told_fn fn, void *arg)
{
	baton_continuation_function(&firing.continuations[index], fn, arg);
	baton_future_then(future, &firing.continuations[index]);
}

static void then_task(void)
{
	baton_continuation_task(&firing.continuations[0], &fix.resource, &firing.task);
	baton_future_then(&firing.end, &firing.continuations[0]);
}

static void end(void)
{
	MUST(baton_future_complete(&firing.end, 0, NULL) == 0);
}

/* The function's post runs on this thread, as soon as the function has returned. */
Test(wait_fires, what_follows_a_post_whose_executor_has_shut_down, .timeout = 10)
{
	fixture_stash();
	atomic_store(&fix.stash.answer, -ESHUTDOWN);
	set_up(&firing.later);
	then_function(&firing.end, 0, posts, NULL);
	then_function(&firing.end, 1, completes, &firing.later);
	then_function(&firing.end, 2, counts, NULL);
	end();
	cr_assert_eq(firing.status, 0);
	/* Not more than the wait needs. */
	cr_assert_eq(firing.told_in_wait, 0);
	cr_assert_eq(firing.told, 1);
	fixture_end();
}

Test(wait_fires, what_follows_a_task, .timeout = 10)
{
	fixture_stash();
	set_up(&firing.later);
	then_task();
	then_function(&firing.end, 1, counts, NULL);
	then_function(&firing.end, 2, completes, &firing.later);
	end();
	cr_assert_eq(firing.status, 0);
	cr_assert_eq(firing.told_in_wait, 1);
	cr_assert_eq(firing.told, 1);
	fixture_end();
}

Test(wait_fires, a_chain_of_continuations, .timeout = 10)
{
	fixture_stash();
	set_up(&firing.last);
	then_task();
	then_function(&firing.later, 1, completes, &firing.last);
	then_function(&firing.end, 2, completes, &firing.later);
	end();
	cr_assert_eq(firing.status, 0);
	fixture_end();
}

/* The loop that the waiting task has begun is within the loop that it is to fire for. */
static int waits_in_a_loop(struct baton_task *task)
{
	struct baton_continuation inner;
	struct baton_future done;

	baton_promise_init(&done);
	baton_continuation_task(&inner, &fix.resource, &firing.task);
	baton_future_then(&done, &inner);
	MUST(baton_future_complete(&done, 0, NULL) == 0);
	return 0;
}

Test(wait_fires, of_a_loop_further_down, .timeout = 10)
{
	struct baton_resource outer = BATON_RESOURCE_INIT(NULL);
	struct baton_task task = BATON_TASK_INIT(waits_in_a_loop, NULL);

	fixture_stash();
	set_up(&firing.later);
	baton_continuation_task(&firing.continuations[0], &outer, &task);
	baton_future_then(&firing.end, &firing.continuations[0]);
	then_function(&firing.end, 1, completes, &firing.later);
	end();
	cr_assert_eq(firing.status, 0);
	fixture_end();
	resource_end(&outer);
}

/* It may wait for what the first task does after its wait. */
Test(wait_fires, but_enters_no_other_task, .timeout = 10)
{
	struct baton_resource other;
	struct journal journal = {.count = 0};
	struct step step;

	fixture_stash();
	baton_resource_init(&other, &fix.config);
	steps_init(&step, 1, &journal, 0);
	set_up(&firing.later);
	then_task();
	baton_continuation_task(&firing.continuations[1], &other, &step.task);
	baton_future_then(&firing.end, &firing.continuations[1]);
	then_function(&firing.end, 2, completes, &firing.later);
	end();
	cr_assert_eq(firing.status, 0);
	cr_assert_eq(journal.count, 0);
	stash_run(&fix.stash);
	cr_assert_eq(journal.count, 1);
	fixture_end();
	resource_end(&other);
}

Test(wait_fires, before_a_deadline_too, .timeout = 10)
{
	fixture_stash();
	set_up(&firing.later);
	firing.span_ns = 60 * BATON_SECOND;
	then_task();
	then_function(&firing.end, 1, completes, &firing.later);
	end();
	cr_assert_eq(firing.status, 0);
	fixture_end();
}
