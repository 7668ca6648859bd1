/* SPDX-License-Identifier: MIT */
/* The options of posts, asyncs and calls: who is told of a cancel, and what never runs here. */
#include "fixture.h"

#include <baton/bound.h>
#include <baton/call.h>
#include <baton/label.h>

static struct {
	int ran;
	int told;
	pthread_t on;
	int status;
} seen;

static void *run(void *arg)
{
	seen.ran++;
	seen.on = pthread_self();
	return arg;
}

static void tell(void *arg)
{
	MUST(arg == &seen);
	seen.told++;
}

static const struct baton_call_options told = {.fn = run, .arg = &seen, .cancelled = tell};

/* Queued behind nothing: the stash has the resource, and runs nothing by itself. */
static void queue_async(const struct baton_call_options *options, struct baton_future **future)
{
	fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_stash();
	cr_assert_eq(baton_async_with(&fix.resource, options, future), 0);
	cr_assert_eq(seen.ran, 0);
}

Test(call_options, an_async_that_is_cancelled_by_its_future_tells_once, .timeout = 5)
{
	struct baton_future *future;

	queue_async(&told, &future);
	cr_assert_eq(baton_future_cancel(future), 0);
	stash_run(&fix.stash);
	cr_assert_eq(baton_future_state(future), BATON_CANCELLED);
	cr_assert_eq(seen.told, 1);
	cr_assert_eq(seen.ran, 0);
	baton_future_unref(future);
	fixture_end();
}

Test(call_options, an_async_tells_after_its_future_was_dropped, .timeout = 5)
{
	struct baton_future *future;

	queue_async(&told, &future);
	baton_future_unref(future);
	cr_assert_eq(baton_resource_cancel_pending(&fix.resource), 0);
	stash_run(&fix.stash);
	cr_assert_eq(seen.told, 1);
	fixture_end();
}

Test(call_options, an_async_that_runs_tells_nothing, .timeout = 5)
{
	struct baton_future *futures[2];

	queue_async(&told, &futures[0]);
	cr_assert_eq(baton_async_with(&fix.resource, &told, &futures[1]), 0);
	baton_future_unref(futures[1]);
	stash_run(&fix.stash);
	cr_assert_eq(seen.ran, 2);
	cr_assert_eq(seen.told, 0);
	cr_assert_eq(baton_future_value(futures[0]), &seen);
	baton_future_unref(futures[0]);
	fixture_end();
}

Test(call_options, an_async_that_is_refused_tells_nothing, .timeout = 5)
{
	struct baton_future *future = NULL;

	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert_eq(baton_async_with(&fix.resource, &told, &future), -EPIPE);
	cr_assert_eq(seen.told, 0);
	cr_assert_null(future);
	fixture_end();
}

Test(call_options, an_async_that_a_bound_drops_tells, .timeout = 5)
{
	static const struct baton_bound_config config = {.tasks_max = 1,
	                                                 .policy = BATON_BOUND_DROP_NEWEST};
	struct baton_bound bound = BATON_BOUND_INIT(&config);
	struct baton_future *futures[2];

	fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_stash();
	baton_resource_set_bound(&fix.resource, &bound);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(baton_async_with(&fix.resource, &told, &futures[i]), 0);
	cr_assert_eq(seen.told, 1);
	cr_assert_eq(baton_future_state(futures[1]), BATON_CANCELLED);
	stash_run(&fix.stash);
	cr_assert_eq(seen.ran, 1);
	for (int i = 0; i < 2; i++)
		baton_future_unref(futures[i]);
	fixture_end();
}

static int fails(struct baton_resource *resource)
{
	return -EIO;
}

Test(call_options, an_async_whose_batch_cannot_begin_tells, .timeout = 5)
{
	struct baton_future *future;

	fix.config.batch_begin = fails;
	queue_async(&told, &future);
	stash_run(&fix.stash);
	cr_assert_eq(seen.told, 1);
	cr_assert_eq(baton_future_status(future), -EIO);
	baton_future_unref(future);
	fixture_end();
}

Test(call_options, with_a_label_and_cancelled_a_tag_tells, .timeout = 5)
{
	struct baton_tag tag = BATON_TAG_INIT;
	const struct baton_label label = {.tag = &tag, .hold = true};
	struct baton_call_options options = told;
	struct baton_future *future;

	options.label = &label;
	queue_async(&options, &future);
	baton_tag_cancel(&tag);
	stash_run(&fix.stash);
	cr_assert_eq(seen.told, 1);
	cr_assert_eq(baton_tag_held(&tag), 0);
	baton_future_unref(future);
	fixture_end();
}

/* ---- later ---- */

static const struct baton_call_options later = {.fn = run, .arg = &seen, .later = true};

Test(call_options, later_runs_nothing_here, .timeout = 5)
{
	struct baton_future *future;
	struct baton_task *batch[2] = {&fix.steps[0].task, &fix.steps[1].task};

	fixture_stash();
	cr_assert_eq(baton_post_with(&fix.resource, &later), 0);
	cr_assert_eq(seen.ran, 0, "a post");
	stash_run(&fix.stash);
	cr_assert_eq(seen.ran, 1);
	cr_assert_eq(baton_async_with(&fix.resource, &later, &future), 0);
	cr_assert_eq(seen.ran, 1, "an async");
	stash_run(&fix.stash);
	cr_assert_eq(seen.ran, 2);
	baton_future_unref(future);
	cr_assert_eq(baton_submit_batch_later(&fix.resource, batch, 2), 0);
	cr_assert_eq(fix.journal.count, 0, "a batch");
	stash_run(&fix.stash);
	cr_assert_eq(fix.journal.count, 2);
	fixture_end();
}

/* Inside a task, and with a time limit: the call goes to the executor all the same. */
static void *call_later(void *arg)
{
	struct baton_resource *inner = arg;
	void *value = NULL;

	cr_assert_eq(baton_call_with(inner, &later, &value), 0);
	return value;
}

Test(call_options, a_call_later_runs_on_the_executors_thread, .timeout = 10)
{
	struct baton_resource outer = BATON_RESOURCE_INIT(NULL);
	void *value = NULL;

	fixture_pool(1);
	cr_assert_eq(baton_call_with(&fix.resource, &later, &value), 0);
	cr_assert_eq(seen.ran, 1);
	cr_assert_not(pthread_equal(seen.on, pthread_self()));
	cr_assert_eq(value, &seen);
	value = NULL;
	cr_assert_eq(baton_call(&outer, call_later, &fix.resource, &value), 0);
	cr_assert_eq(seen.ran, 2);
	cr_assert_not(pthread_equal(seen.on, pthread_self()));
	cr_assert_eq(value, &seen);
	resource_end(&outer);
	fixture_end();
}

Test(call_options, a_call_later_drives_an_executor_that_is_this_threads_alone, .timeout = 5)
{
	fixture_manual();
	cr_assert_eq(baton_call_with(&fix.resource, &later, NULL), 0);
	cr_assert_eq(seen.ran, 1);
	fixture_end();
}

/* The caller is the only worker, and there is no spare: no other thread can. */
static int calls_later(struct baton_task *task)
{
	seen.status = baton_call_with(&fix.resource, &later, NULL);
	return 0;
}

Test(call_options, a_call_later_by_the_only_worker_runs_there, .timeout = 5)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task task = BATON_TASK_INIT(calls_later, &future);
	struct baton_resource outer;

	fixture_pool(1);
	baton_resource_init(&outer, &fix.config);
	cr_assert_eq(baton_submit_later(&outer, &task), 0);
	cr_assert_eq(baton_future_wait_until(&future, baton_after(60 * BATON_SECOND)), 0);
	cr_assert_eq(seen.ran, 1);
	cr_assert_eq(seen.status, 0);
	resource_end(&outer);
	fixture_end();
}

/* Two threads sleep for the resource, and only one of them may help. */
static struct {
	atomic_int ids[2];
	struct baton_future future; /* of the first step */
} sleepers;

static void *waits(void *unused)
{
	atomic_store(&sleepers.ids[0], thread_id());
	MUST(baton_future_wait(&sleepers.future) == 0);
	return NULL;
}

static void *calls(void *unused)
{
	atomic_store(&sleepers.ids[1], thread_id());
	MUST(baton_call_with(&fix.resource, &later, NULL) == 0);
	return NULL;
}

static pthread_t start_and_sleep(void *(*thread_main)(void *), unsigned place)
{
	pthread_t thread = thread_start(thread_main, NULL);

	while (!atomic_load(&sleepers.ids[place]))
		sched_yield();
	until_asleep(atomic_load(&sleepers.ids[place]));
	return thread;
}

Test(call_options, a_call_later_takes_no_wake_from_a_waiter_that_helps, .timeout = 5)
{
	struct baton_resource plugged;
	struct occupant worker;
	pthread_t waiter, caller;

	fix.config.capture_max = 1;
	fixture_pool(1);
	baton_resource_init(&plugged, &fix.config);
	occupy_later(&worker, &plugged); /* the only worker */
	occupy(&fix.occupant, &fix.resource);
	step_init(&fix.steps[0], &fix.journal, 0, &sleepers.future);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	waiter = start_and_sleep(waits, 0);
	caller = start_and_sleep(calls, 1);
	gate_open(&fix.occupant.leave);
	thread_join(fix.occupant.thread);
	thread_join(waiter);
	gate_open(&worker.leave);
	thread_join(caller);
	resource_end(&plugged);
	fixture_end();
}
