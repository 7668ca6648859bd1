/* SPDX-License-Identifier: MIT */
/*
 * baton/inline.h: the macros do what the functions do, in the caller. Each test is also a test of
 * the way into the library, which the inlined code takes for all but an idle, plain resource.
 */
#include <baton/inline.h> /* first: what the fixture submits is inlined, too */

#include "fixture.h"

#include "thread/thread.h"

TestSuite(inlined, .timeout = 10);

static void *increment(void *arg)
{
	int *counter = arg;

	++*counter;
	return counter;
}

Test(inlined, the_library_serves_this_version)
{
	cr_assert(baton_inline_served());
	cr_assert_eq(sizeof(struct baton__thread_head), 24);
	fixture_end();
}

/* What makes a resource special, and the ways to submit: the counts are right in each case. */
static int failures_told;

static void on_failure(struct baton_resource *resource, struct baton_task *task, int status)
{
	failures_told += status == 7;
}

static int fail_with_seven(struct baton_task *task)
{
	return 7;
}

Test(inlined, a_special_resource_goes_through_the_library)
{
	struct baton_task failing = BATON_TASK_INIT(fail_with_seven, NULL);
	int counter = 0;

	fix.config.failed = on_failure;
	fix.counted = true;
	fixture_config();
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(baton_submit(&fix.resource, &failing), 0);
		cr_assert_eq(baton_call(&fix.resource, increment, &counter, NULL), 0);
	}
	cr_assert_eq(failures_told, 3);
	cr_assert_eq(resource_counts(&fix.stats).executed, 6);
	cr_assert_eq(fix.stats.failed, 3);
	fixture_end();
}

Test(inlined, limit_0_runs_nothing_here)
{
	int counter = 0;

	fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_manual();
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(baton_manual_run(fix.manual, 0), 1);
	cr_assert_eq(fix.journal.count, 1);
	cr_assert_eq(baton_try_call(&fix.resource, increment, &counter, NULL), -EAGAIN);
	fixture_end();
}

Test(inlined, a_future_is_completed)
{
	struct baton_future future = BATON_FUTURE_INIT;

	fix.steps[0].task._future = &future;
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert(baton_future_is_complete(&future));
	fixture_end();
}

static void *inside(void *arg)
{
	int *counter = arg;

	cr_assert(baton_held(&fix.resource));
	cr_assert_eq(baton_current(), &fix.resource);
	cr_assert_eq(baton_call(&fix.resource, increment, counter, NULL), -EDEADLK);
	steps_submit(0, 3);
	cr_assert_eq(fix.journal.count, 0);
	return arg;
}

Test(inlined, a_nested_submit_goes_behind_and_a_nested_call_is_refused)
{
	int counter = 0;
	void *value = NULL;

	cr_assert_eq(baton_call(&fix.resource, inside, &counter, &value), 0);
	cr_assert_eq(value, &counter);
	cr_assert_eq(counter, 0);
	cr_assert_eq(fix.journal.count, 3);
	cr_assert_not(baton_held(&fix.resource));
	cr_assert_null(baton_current());
	cr_assert_eq(baton__self->top, 0);
	cr_assert_eq(baton__depth(baton__self), 0);
	fixture_end();
}

static int sets_result(struct baton_task *task)
{
	baton_set_result(task);
	return 0;
}

static void *looks_at_its_frame(void *arg)
{
	const struct baton__frame *frame = baton__top(baton__self);

	cr_assert_eq(frame->resource, &fix.resource);
	cr_assert_null(frame->future);
	cr_assert_null(frame->value);
	cr_assert_eq(frame->depth, 1);
	return arg;
}

/* The outermost frame's memory is the same for all tasks of a thread. */
Test(inlined, a_task_without_a_future_has_nothing_of_the_one_before)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task task = BATON_TASK_INIT(sets_result, &future);

	cr_assert_eq(baton_submit(&fix.resource, &task), 0); /* the first: the long way */
	baton_future_init(&future);
	baton_task_init(&task, sets_result, &future);
	cr_assert_eq(baton_submit(&fix.resource, &task), 0);
	cr_assert_eq(baton_future_value(&future), &task);
	cr_assert_eq(baton_call(&fix.resource, looks_at_its_frame, NULL, NULL), 0);
	cr_assert_eq(baton__self->top, 0);
	fixture_end();
}

/* ---- Too deep ---- */

struct level {
	struct baton_task task;
	struct baton_resource resource;
	struct baton_resource_stats stats;
	unsigned number;
};

#define LEVELS (BATON_NESTING_MAX + 3)

static struct level levels[LEVELS];
static unsigned deepest;
static unsigned entered;

static int descend(struct baton_task *task)
{
	struct level *level = baton_container_of(task, struct level, task);

	entered++;
	if (baton__depth(baton__self) > deepest)
		deepest = baton__depth(baton__self);
	baton__self->wary = BATON_INLINE_WARY; /* looks at the resource, and at `top` afterwards */
	if (level->number + 1 < LEVELS)
		cr_assert_eq(baton_submit(&level[1].resource, &level[1].task), 0);
	return 0;
}

static void nest(bool counted)
{
	fixture_pool(1);
	for (unsigned i = 0; i < LEVELS; i++) {
		levels[i] = (struct level){.number = i};
		baton_task_init(&levels[i].task, descend, NULL);
		baton_resource_init(&levels[i].resource, &fix.config);
		if (counted)
			baton_resource_set_stats(&levels[i].resource, &levels[i].stats);
	}
	cr_assert_eq(baton_submit(&levels[0].resource, &levels[0].task), 0);
	for (unsigned i = 0; i < LEVELS; i++)
		resource_end(&levels[i].resource);
	cr_assert_eq(entered, LEVELS);
	cr_assert_eq(deepest, BATON_NESTING_MAX);
	fixture_end();
}

Test(inlined, nests_no_deeper_than_the_library)
{
	nest(false);
}

Test(inlined, nests_no_deeper_with_statistics)
{
	nest(true);
}

/* ---- Beside others ---- */

struct worker {
	int calls;
	int *counter;
};

static void *work(void *arg)
{
	struct worker *worker = arg;
	int errors = 0;

	for (int i = 0; i < worker->calls; i++)
		errors += baton_call(&fix.resource, increment, worker->counter, NULL) != 0;
	return (void *)(intptr_t)errors;
}

Test(inlined, calls_of_many_threads_are_serialised)
{
	struct worker workers[4];
	pthread_t threads[4];
	int counter = 0;

	fix.config.capture_max = 2;
	fixture_pool(2);
	for (int i = 0; i < 4; i++) {
		workers[i] = (struct worker){scaled(5000), &counter};
		threads[i] = thread_start(work, &workers[i]);
	}
	for (int i = 0; i < 4; i++)
		cr_assert_null(thread_join(threads[i]));
	resource_end(&fix.resource);
	cr_assert_eq(counter, 4 * scaled(5000));
	cr_assert_eq(baton_pool_destroy(fix.pool), 0);
}

/* ---- Wary ---- */

Test(inlined, after_a_busy_resource_a_thread_looks_before_it_tries)
{
	int counter = 0;

	cr_assert_eq(baton_call(&fix.resource, increment, &counter, NULL), 0);
	baton__self->wary = 0;
	cr_assert_eq(baton_call(&fix.resource, increment, &counter, NULL), 0);
	cr_assert_eq(baton__self->wary, 0);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton__self->wary, BATON_INLINE_WARY);
	release(&fix.occupant);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	cr_assert_eq(baton_call(&fix.resource, increment, &counter, NULL), 0);
	cr_assert_eq(baton__self->wary, BATON_INLINE_WARY - 1);
	fixture_end();
}
