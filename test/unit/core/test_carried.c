/* SPDX-License-Identifier: MIT */
/* The carried value: what a function finds, in whatever way it was submitted. */
#include "fixture.h"
#include "pool_support.h"
#include "timer_support.h"

#include <baton/all.h>

#include "../parts.h"

#include "thread/thread.h"

static int values[4];
static void *const submitters = &values[0];
static void *const other = &values[1];

static void *found[10];
static size_t runs;

static void note(void)
{
	MUST(runs < sizeof(found) / sizeof(*found));
	found[runs++] = baton_carried();
}

static int run(struct baton_task *task)
{
	note();
	return 0;
}

static void *call(void *arg)
{
	note();
	return arg;
}

static void told(void *arg)
{
	note();
}

/* ---- The ways: each submits one function ---- */

static struct stamped stamped;
static struct windowed windowed;
static struct baton_window window;
static struct baton_task plain;
static struct baton_trigger trigger;
static struct baton_future *future;

static int put_stamped(void)
{
	stamped_init(&stamped, run, NULL);
	return baton_submit(&fix.resource, &stamped.task);
}

static int put_later(void)
{
	stamped_init(&stamped, run, NULL);
	return baton_submit_later(&fix.resource, &stamped.task);
}

static int put_batch(void)
{
	struct baton_task *const batch[] = {&stamped.task};

	stamped_init(&stamped, run, NULL);
	return baton_submit_batch(&fix.resource, batch, 1);
}

static int put_windowed(void)
{
	baton_window_init(&window, &fix.resource, 1);
	windowed_init(&windowed, &window, run, NULL);
	return baton_submit(&fix.resource, &windowed.task);
}

static int put_plain(void)
{
	baton_task_init(&plain, run, NULL);
	return baton_submit(&fix.resource, &plain);
}

static int put_plain_batch(void)
{
	struct baton_task *const batch[] = {&plain};

	baton_task_init(&plain, run, NULL);
	return baton_submit_batch(&fix.resource, batch, 1);
}

static int put_plain_with_future(void)
{
	static struct baton_future own;

	baton_future_init(&own);
	baton_task_init(&plain, run, &own);
	return baton_submit(&fix.resource, &plain);
}

static int put_post(void)
{
	return baton_post(&fix.resource, call, NULL);
}

static int put_post_later(void)
{
	return baton_post_with(&fix.resource,
	                       &(struct baton_call_options){.fn = call, .later = true});
}

static int put_async(void)
{
	int error = baton_async(&fix.resource, call, NULL, &future);

	if (!error)
		baton_future_unref(future);
	return error;
}

static int put_told_async(void)
{
	const struct baton_call_options options = {.fn = call, .cancelled = told};
	int error = baton_async_with(&fix.resource, &options, &future);

	if (!error)
		baton_future_unref(future);
	return error;
}

static int fired(struct baton_trigger *fires, uint64_t count)
{
	note();
	return 0;
}

static int put_trigger(void)
{
	baton_trigger_init(&trigger, &fix.resource, fired);
	return baton_trigger_fire(&trigger);
}

static int item(struct baton_resource *resource, void *arg, size_t index)
{
	note();
	return 0;
}

static int put_fan_out(void)
{
	struct baton_resource *const resources[] = {&fix.resource};
	const struct baton_fan_out_options options = {.fn = item};

	return baton_fan_out_submit(resources, 1, &options, NULL);
}

static const struct way {
	const char *name;
	int (*put)(void);
	bool carries;
} ways[] = {
	{"stamped", put_stamped, true},
	{"later", put_later, true},
	{"batch", put_batch, true},
	{"windowed", put_windowed, true},
	{"plain", put_plain, false},
	{"plain batch", put_plain_batch, false},
	{"plain with a future", put_plain_with_future, false},
	{"post", put_post, true},
	{"post later", put_post_later, true},
	{"async", put_async, true},
	{"told async", put_told_async, true},
	{"trigger", put_trigger, true},
	{"fan-out", put_fan_out, true},
};

#define WAYS (sizeof(ways) / sizeof(*ways))

static void expect_way(const struct way *way, const char *where)
{
	cr_assert_eq(runs, 1, "%s, %s: ran %zu times", way->name, where, runs);
	cr_expect_eq(found[0], way->carries ? submitters : NULL, "%s, %s", way->name, where);
	cr_expect_eq(baton_carried(), submitters, "%s, %s: the submitter's is as before", way->name,
	             where);
}

static void put(const struct way *way)
{
	runs = 0;
	cr_assert_eq(way->put(), 0, "%s", way->name);
}

Test(carried, is_found_where_it_runs_at_once, .timeout = 10)
{
	fixture_stash();
	cr_assert_eq(baton_set_carried(submitters), 0);
	for (const struct way *way = ways; way < ways + WAYS; way++) {
		put(way);
		stash_run(&fix.stash);
		expect_way(way, "idle");
	}
	fixture_end();
}

Test(carried, is_found_where_it_was_queued, .timeout = 10)
{
	fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_stash();
	for (const struct way *way = ways; way < ways + WAYS; way++) {
		cr_assert_eq(baton_set_carried(submitters), 0);
		put(way);
		/* The runner carries something else. */
		cr_assert_eq(baton_set_carried(other), 0);
		stash_run(&fix.stash);
		cr_expect_eq(baton_carried(), other, "%s: the runner's is as before", way->name);
		cr_assert_eq(baton_set_carried(submitters), 0);
		expect_way(way, "queued");
	}
	fixture_end();
}

/* With statistics no call takes the short path. */
Test(carried, is_found_in_a_special_resource, .timeout = 10)
{
	fix.counted = true;
	fixture_stash();
	cr_assert_eq(baton_set_carried(submitters), 0);
	for (const struct way *way = ways; way < ways + WAYS; way++) {
		put(way);
		stash_run(&fix.stash);
		expect_way(way, "special");
	}
	fixture_end();
}

static const struct way *inner;
static struct baton_resource outer = BATON_RESOURCE_INIT(NULL);

static void *put_inner(void *arg)
{
	cr_assert_eq(baton_carried(), submitters);
	put(inner);
	cr_assert_eq(baton_carried(), submitters);
	return NULL;
}

static int put_inner_plainly(struct baton_task *task)
{
	cr_assert_null(baton_carried());
	put(inner);
	cr_assert_null(baton_carried());
	return 0;
}

Test(carried, goes_on_through_nested_functions, .timeout = 10)
{
	struct baton_task task;

	fixture_stash();
	cr_assert_eq(baton_set_carried(submitters), 0);
	for (inner = ways; inner < ways + WAYS; inner++) {
		cr_assert_eq(baton_call(&outer, put_inner, NULL, NULL), 0);
		stash_run(&fix.stash);
		expect_way(inner, "nested");
		baton_task_init(&task, put_inner_plainly, NULL);
		cr_assert_eq(baton_submit(&outer, &task), 0);
		stash_run(&fix.stash);
		cr_expect_eq(runs, 1);
		cr_expect_null(found[0], "%s: a plain task passes nothing on", inner->name);
	}
	resource_end(&outer);
	fixture_end();
}

static void *sets_another(void *arg)
{
	void *before = baton_carried();

	cr_assert_eq(baton_set_carried(other), 0);
	/* So that the outermost baton gets a frame. */
	cr_assert_eq(baton_current(), arg);
	cr_assert_eq(baton_carried(), other);
	cr_assert_eq(put_post(), 0);
	cr_assert_eq(baton_set_carried(before), 0);
	return NULL;
}

static int sets_another_plainly(struct baton_task *task)
{
	cr_assert_null(baton_carried());
	(void)sets_another(&outer);
	cr_assert_null(baton_carried());
	return 0;
}

Test(carried, a_function_sets_a_value_of_its_own, .timeout = 10)
{
	struct baton_task task;

	fixture_stash();
	for (int round = 0; round < 2; round++) {
		runs = 0;
		cr_assert_eq(baton_set_carried(round ? submitters : NULL), 0);
		cr_assert_eq(baton_call(&outer, sets_another, &outer, NULL), 0);
		cr_expect_eq(found[0], other);
		cr_expect_eq(baton_carried(), round ? submitters : NULL);
		baton_task_init(&task, sets_another_plainly, NULL);
		cr_assert_eq(baton_submit(&outer, &task), 0);
		cr_expect_eq(found[1], other);
		cr_expect_eq(baton_carried(), round ? submitters : NULL);
	}
	cr_assert_eq(baton_set_carried(NULL), 0);
	resource_end(&outer);
	fixture_end();
}

Test(carried, is_found_by_what_is_told_of_a_cancel, .timeout = 10)
{
	const struct baton_call_options options = {.fn = call, .cancelled = told};

	fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_stash();
	cr_assert_eq(baton_set_carried(submitters), 0);
	cr_assert_eq(baton_post_with(&fix.resource, &options), 0);
	cr_assert_eq(put_told_async(), 0);
	cr_assert_eq(baton_set_carried(NULL), 0);
	cr_assert_eq(baton_resource_cancel_pending(&fix.resource), 0);
	stash_run(&fix.stash);
	cr_assert_eq(runs, 2);
	cr_expect_eq(found[0], submitters);
	cr_expect_eq(found[1], submitters);
	fixture_end();
}

static int expired(struct baton_timer *timer)
{
	note();
	return 0;
}

Test(carried, a_timer_and_a_continuation_have_that_of_their_making, .timeout = 10)
{
	struct baton_timers *timers = virtual_timers();
	struct baton_continuation continuation;
	struct baton_future promise;
	struct baton_timer timer;

	fixture_stash();
	cr_assert_eq(baton_set_carried(submitters), 0);
	baton_timer_init(&timer, timers, &fix.resource, expired);
	cr_assert_eq(baton_timer_arm_after(&timer, 1), 0);
	stamped_init(&stamped, run, NULL);
	baton_promise_init(&promise);
	baton_continuation_task(&continuation, &fix.resource, &stamped.task);
	(void)baton_future_then(&promise, &continuation);
	cr_assert_eq(baton_set_carried(other), 0);
	cr_assert_geq(baton_timers_advance(timers, 1 << 20), 0);
	stash_run(&fix.stash);
	(void)baton_future_complete(&promise, 0, NULL);
	stash_run(&fix.stash);
	cr_assert_eq(runs, 2);
	cr_expect_eq(found[0], submitters);
	cr_expect_eq(found[1], submitters);
	fixture_end();
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

/* An arm that is refused changes nothing for the run that is queued. */
Test(carried, a_timers_run_has_that_of_the_arm_that_succeeded, .timeout = 10)
{
	struct baton_timers *timers = virtual_timers();
	struct baton_timer timer;

	fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_stash();
	cr_assert_eq(baton_set_carried(submitters), 0);
	baton_timer_init(&timer, timers, &fix.resource, expired);
	cr_assert_eq(baton_timer_arm_after(&timer, 1), 0);
	cr_assert_geq(baton_timers_advance(timers, 1 << 20), 0);
	cr_assert_eq(baton_set_carried(other), 0);
	cr_assert_eq(baton_timers_close(timers, BATON_TIMERS_DROP), 0);
	cr_assert_eq(baton_timer_arm_after(&timer, 1), -ESHUTDOWN);
	stash_run(&fix.stash);
	cr_assert_eq(runs, 1);
	cr_expect_eq(found[0], submitters);
	fixture_end();
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

static void *call_and_note(void *arg)
{
	void *value;

	cr_assert_eq(baton_set_carried(submitters), 0);
	cr_assert_eq(baton_call(&fix.resource, call, NULL, &value), 0);
	return baton_carried();
}

Test(carried, goes_with_a_call_that_waits_its_turn, .timeout = 10)
{
	pthread_t thread;

	fixture_pool(1);
	occupy(&fix.occupant, &fix.resource);
	thread = thread_start(call_and_note, NULL);
	while (!__atomic_load_n(&fix.resource._word, __ATOMIC_RELAXED))
		(void)sched_yield();
	release(&fix.occupant);
	cr_assert_eq(thread_join(thread), submitters);
	cr_assert_eq(runs, 1);
	cr_expect_eq(found[0], submitters);
	fixture_end();
}

/* A start that is refused changes nothing. */
static int readable(struct baton_io *io)
{
	note();
	return 0;
}

Test(carried, a_watch_has_that_of_the_start_that_succeeded, .timeout = 10)
{
	struct baton_io io;
	int ends[2];

	MUST(pipe(ends) == 0);
	fixture_manual();
	baton_io_init(&io, &fix.resource, readable);
	cr_assert_eq(baton_set_carried(submitters), 0);
	cr_assert_eq(baton_io_start(&io, ends[0], BATON_IO_READ), 0);
	cr_assert_eq(baton_set_carried(other), 0);
	cr_assert_eq(baton_io_start(&io, ends[0], BATON_IO_READ), -EALREADY);
	MUST(write(ends[1], "", 1) == 1);
	while (!baton_manual_run(fix.manual, 1))
		sched_yield();
	cr_assert_eq(runs, 1);
	cr_assert_eq(found[0], submitters);
	cr_assert_eq(baton_io_stop_wait(&io), 0);
	cr_assert_eq(baton_io_destroy(), 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
	fixture_end();
}

/* Two threads for whose records there is no memory share nothing. */
static void *note_bare(void *unused)
{
	note();
	return NULL;
}

static void note_beside(struct baton_task *task)
{
	note();
	thread_join(thread_start(note_bare, NULL));
}

static void *complete_bare(void *promise)
{
	baton__thread_bare_begin();
	MUST(baton_future_complete(promise, 0, NULL) == 0);
	baton__thread_bare_end();
	return NULL;
}

Test(carried, is_not_that_of_another_thread_without_a_record, .timeout = 10)
{
	struct baton_continuation continuation;
	struct baton_future promise;

	fix.config.cancelled = note_beside;
	fixture_config();
	cr_assert_eq(baton_set_carried(submitters), 0);
	stamped_init(&stamped, run, NULL);
	baton_promise_init(&promise);
	baton_continuation_task(&continuation, &fix.resource, &stamped.task);
	baton_future_then(&promise, &continuation);
	thread_join(thread_start(complete_bare, &promise));
	cr_assert_eq(runs, 2);
	cr_assert_eq(found[1], NULL);
	fixture_end();
}
