/* SPDX-License-Identifier: MIT */
/*
 * baton_call, try_call, post and async: functions under a resource's baton without a task of one's
 * own; and what a task can ask about itself: current, held, set_result.
 */
#include "fixture.h"

#include <baton/call.h>
#include <baton/label.h>

#include <signal.h>

static void *increment(void *arg)
{
	int *counter = arg;

	++*counter;
	return counter;
}

Test(call, on_an_idle_resource_it_runs_here_and_returns_the_value, .timeout = 10)
{
	void *value = NULL;
	int counter = 0;

	cr_assert_eq(baton_call(&fix.resource, increment, &counter, &value), 0);
	cr_assert_eq(value, &counter);
	cr_assert_eq(baton_call(&fix.resource, increment, &counter, NULL), 0);
	cr_assert_eq(baton_try_call(&fix.resource, increment, &counter, &value), 0);
	cr_assert_eq(counter, 3);
	fixture_end();
}

struct caller {
	struct baton_resource *resource;
	int calls;
	int *counter;
	int errors;
};

static void *caller_main(void *arg)
{
	struct caller *caller = arg;

	for (int i = 0; i < caller->calls; i++) {
		void *value = NULL;

		caller->errors +=
			baton_call(caller->resource, increment, caller->counter, &value) != 0;
		caller->errors += value != caller->counter;
	}
	return NULL;
}

Test(call, calls_of_many_threads_are_serialised, .timeout = 10)
{
	struct caller callers[4];
	pthread_t threads[4];
	int counter = 0;

	fix.config.capture_max = 2;
	fixture_pool(2);
	for (int i = 0; i < 4; i++) {
		callers[i] = (struct caller){&fix.resource, scaled(5000), &counter, 0};
		threads[i] = thread_start(caller_main, &callers[i]);
	}
	for (int i = 0; i < 4; i++) {
		thread_join(threads[i]);
		cr_assert_eq(callers[i].errors, 0);
	}
	resource_end(&fix.resource);
	cr_assert_eq(counter, 4 * scaled(5000));
	cr_assert_eq(baton_pool_destroy(fix.pool), 0);
}

Test(call, on_a_busy_resource_it_waits_its_turn, .timeout = 10)
{
	int counter = 0;
	struct caller caller = {&fix.resource, 1, &counter, 0};
	pthread_t thread;

	occupy(&fix.occupant, &fix.resource);
	thread = thread_start(caller_main, &caller);
	release(&fix.occupant);
	thread_join(thread);
	cr_assert_eq(caller.errors, 0);
	cr_assert_eq(counter, 1);
	fixture_end();
}

/* A call that waits: alone, inside a task of another resource, with a label, with a deadline. */
struct waiting_call {
	enum { PLAIN, INSIDE, LABELLED, IN_TIME, WAITING_CALLS } how;
	atomic_int tid;
	int counter;
	int error;
	void *value;
};

static void *call_and_note(void *arg)
{
	static const struct baton_label label = {.lane = 1};
	struct waiting_call *call = arg;
	struct baton_call_options options = {.fn = increment, .arg = &call->counter};

	atomic_store(&call->tid, thread_id());
	if (call->how == LABELLED)
		options.label = &label;
	if (call->how == IN_TIME)
		options.timeout_ns = 100 * BATON_SECOND;
	call->error = call->how == LABELLED || call->how == IN_TIME
	                      ? baton_call_with(&fix.resource, &options, &call->value)
	                      : baton_call(&fix.resource, increment, &call->counter, &call->value);
	return NULL;
}

static void *waiting_call_main(void *arg)
{
	struct baton_resource outer = BATON_RESOURCE_INIT(NAMED("outer"));
	struct waiting_call *call = arg;

	if (call->how != INSIDE)
		return call_and_note(call);
	MUST(baton_call(&outer, call_and_note, call, NULL) == 0);
	return NULL;
}

Test(call, one_that_waits_returns_the_value_as_well, .timeout = 10)
{
	for (int how = 0; how < WAITING_CALLS; how++) {
		struct waiting_call call = {.how = how};
		pthread_t thread;

		occupy(&fix.occupant, &fix.resource);
		thread = thread_start(waiting_call_main, &call);
		until_at_least(&call.tid, 1);
		until_asleep(atomic_load(&call.tid));
		release(&fix.occupant);
		thread_join(thread);
		cr_assert_eq(call.error, 0);
		cr_assert_eq(call.value, &call.counter, "%d", how);
		cr_assert_eq(call.counter, 1);
	}
	fixture_end();
}

Test(call, try_call_does_not_wait_for_a_busy_resource, .timeout = 10)
{
	int counter = 0;
	void *value = &fix.occupant;

	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_try_call(&fix.resource, increment, &counter, &value), -EAGAIN);
	release(&fix.occupant);
	fixture_end();
	cr_assert_eq(counter, 0, "it must not run later either");
	cr_assert_eq(value, &fix.occupant);
}

struct inner {
	struct baton_task task;
	struct baton_resource *resource; /* to call from inside */
	struct baton_resource *through;  /* from inside a task of this one, if there is one */
	int counter;
	int result;
	int try_result;
	void *value;
};

static int calls_inside(struct baton_task *task)
{
	struct inner *inner = baton_container_of(task, struct inner, task);

	inner->result = baton_call(inner->resource, increment, &inner->counter, &inner->value);
	inner->try_result =
		baton_try_call(inner->resource, increment, &inner->counter, &inner->value);
	return 0;
}

static int calls_through(struct baton_task *task)
{
	struct inner *inner = baton_container_of(task, struct inner, task);

	baton_task_init(task, calls_inside, NULL);
	return baton_submit(inner->through, task);
}

Test(call, a_resource_that_this_thread_holds_is_a_deadlock, .timeout = 10)
{
	struct inner inner = {
		BATON_TASK_INIT(calls_inside, NULL), &fix.resource, NULL, 0, 0, 0, &inner};

	cr_assert_eq(baton_submit(&fix.resource, &inner.task), 0);
	fixture_end();
	cr_assert_eq(inner.result, -EDEADLK);
	cr_assert_eq(inner.try_result, -EDEADLK);
	cr_assert_eq(inner.counter, 0, "it must not run later either");
	cr_assert_eq(inner.value, &inner);
}

Test(call, so_is_one_that_it_holds_further_down, .timeout = 10)
{
	struct baton_resource outer = BATON_RESOURCE_INIT(NULL);
	struct baton_resource middle = BATON_RESOURCE_INIT(NULL);
	struct inner inner = {
		BATON_TASK_INIT(calls_through, NULL), &outer, &middle, 0, 0, 0, &inner};

	cr_assert_eq(baton_submit(&outer, &inner.task), 0);
	resource_end(&outer);
	resource_end(&middle);
	cr_assert_eq(inner.result, -EDEADLK);
	cr_assert_eq(inner.try_result, -EDEADLK);
	cr_assert_eq(inner.counter, 0);
}

Test(call, inside_a_task_another_resource_is_called_inline, .timeout = 10)
{
	struct baton_resource outer = BATON_RESOURCE_INIT(NULL);
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct inner inner = {BATON_TASK_INIT(calls_inside, NULL), &other, NULL, 0, -1, -1, NULL};

	cr_assert_eq(baton_submit(&outer, &inner.task), 0);
	cr_assert_eq(inner.result, 0);
	cr_assert_eq(inner.try_result, 0);
	cr_assert_eq(inner.counter, 2);
	cr_assert_eq(inner.value, &inner.counter);
	resource_end(&outer);
	resource_end(&other);
}

static atomic_int caller_tid;

static void *caller_once(void *arg)
{
	struct inner *inner = arg;

	atomic_store(&caller_tid, thread_id());
	inner->result = baton_call(inner->resource, increment, &inner->counter, &inner->value);
	return NULL;
}

Test(call, a_cancel_pending_that_meets_the_waiting_call_cancels_it, .timeout = 10)
{
	struct inner inner = {BATON_TASK_INIT(NULL, NULL), &fix.resource, NULL, 0, 0, 0, &inner};
	pthread_t thread;

	occupy(&fix.occupant, &fix.resource);
	thread = thread_start(caller_once, &inner);
	until_at_least(&caller_tid, 1);
	until_asleep(atomic_load(&caller_tid));
	cr_assert_eq(baton_resource_cancel_pending(&fix.resource), 0);
	release(&fix.occupant);
	thread_join(thread);
	fixture_end();
	cr_assert_eq(inner.result, -ECANCELED);
	cr_assert_eq(inner.counter, 0);
	cr_assert_eq(inner.value, &inner);
}

Test(call, post_and_async_run_inline_on_an_idle_resource, .timeout = 10)
{
	struct baton_future *future = NULL;
	int counter = 0;

	cr_assert_eq(baton_post(&fix.resource, increment, &counter), 0);
	cr_assert_eq(counter, 1);
	cr_assert_eq(baton_async(&fix.resource, increment, &counter, &future), 0);
	cr_assert_eq(counter, 2);
	cr_assert_not_null(future);
	cr_assert_eq(baton_future_state(future), BATON_DONE);
	cr_assert_eq(baton_future_status(future), 0);
	cr_assert_eq(baton_future_value(future), &counter);
	baton_future_unref(future);
	fixture_end();
}

/* What a task asks about itself. */
struct asked {
	struct baton_task task;
	struct baton_resource *outer;
	struct baton_resource *inner;
	struct asked *next;
	struct baton_resource *current[3];
	bool held[3][2];
};

static void ask(struct asked *asked, int moment)
{
	asked->current[moment] = baton_current();
	asked->held[moment][0] = baton_held(asked->outer);
	asked->held[moment][1] = baton_held(asked->inner);
}

static int asked_run(struct baton_task *task)
{
	struct asked *asked = baton_container_of(task, struct asked, task);

	ask(asked, 0);
	baton_assert_held(asked->outer);
	if (asked->next)
		BATON_IGNORE(baton_submit(asked->inner, &asked->next->task));
	ask(asked, 1);
	return 0;
}

Test(call, current_and_held_follow_the_nesting, .timeout = 10)
{
	struct baton_resource a = BATON_RESOURCE_INIT(NULL);
	struct baton_resource b = BATON_RESOURCE_INIT(NULL);
	struct asked inner = {.task = BATON_TASK_INIT(asked_run, NULL), .outer = &a, .inner = &b};
	struct asked outer = {
		.task = BATON_TASK_INIT(asked_run, NULL), .outer = &a, .inner = &b, .next = &inner};

	cr_assert_null(baton_current());
	cr_assert_not(baton_held(&a));
	cr_assert_eq(baton_submit(&a, &outer.task), 0);
	cr_assert(outer.current[0] == &a && outer.held[0][0] && !outer.held[0][1]);
	cr_assert(inner.current[0] == &b && inner.held[0][0] && inner.held[0][1]);
	cr_assert(outer.current[1] == &a && outer.held[1][0] && !outer.held[1][1]);
	cr_assert_null(baton_current());
	cr_assert_not(baton_held(&a));
	resource_end(&a);
	resource_end(&b);
}

Test(call, what_another_thread_holds_this_one_does_not, .timeout = 10)
{
	bool held;

	occupy(&fix.occupant, &fix.resource);
	held = baton_held(&fix.resource);
	release(&fix.occupant);
	cr_assert_not(held);
	fixture_end();
}

Test(call, assert_held_stops_who_does_not_hold, .timeout = 10, .signal = SIGABRT)
{
	baton_assert_held(&fix.resource);
}

Test(call, set_result_outside_a_task_is_stopped, .timeout = 10, .signal = SIGABRT)
{
	baton_set_result(NULL);
}

Test(call, cancel_requested_outside_a_task_is_stopped, .timeout = 10, .signal = SIGABRT)
{
	(void)baton_cancel_requested();
}

struct result {
	struct baton_task task;
	struct baton_resource *other;
	struct result *inner;
	int place[2];
};

static int sets_results(struct baton_task *task)
{
	struct result *result = baton_container_of(task, struct result, task);

	baton_set_result(&result->place[0]);
	if (result->inner)
		BATON_IGNORE(baton_submit(result->other, &result->inner->task));
	else
		baton_set_result(&result->place[1]);
	return 0;
}

Test(call, the_last_set_result_of_the_innermost_task_counts, .timeout = 10)
{
	struct baton_resource a = BATON_RESOURCE_INIT(NULL);
	struct baton_resource b = BATON_RESOURCE_INIT(NULL);
	struct baton_future futures[2] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT};
	struct result inner = {BATON_TASK_INIT(sets_results, &futures[1]), NULL, NULL, {0, 0}};
	struct result outer = {BATON_TASK_INIT(sets_results, &futures[0]), &b, &inner, {0, 0}};
	struct result none = {BATON_TASK_INIT(sets_results, NULL), &b, NULL, {0, 0}};

	cr_assert_eq(baton_submit(&a, &outer.task), 0);
	cr_assert_eq(baton_future_value(&futures[1]), &inner.place[1]);
	cr_assert_eq(baton_future_value(&futures[0]), &outer.place[0]);
	cr_assert_eq(baton_submit(&a, &none.task), 0, "without a future it is ignored");
	resource_end(&a);
	resource_end(&b);
}

Test(call, withdrawn_at_its_deadline_it_never_runs, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	int counter = 0;
	struct baton_call_options options = {.fn = increment, .arg = &counter, .timeout_ns = 1};
	struct occupant occupant;
	void *value = &occupant;

	cr_assert_eq(baton_call_with(&resource, &options, NULL), 0, "idle: at once");
	occupy(&occupant, &resource);
	cr_assert_eq(baton_call_with(&resource, &options, &value), -ETIMEDOUT);
	cr_assert_eq(value, &occupant);
	release(&occupant);
	cr_assert_eq(baton_resource_close(&resource), 0);
	cr_assert_eq(baton_call_with(&resource, &options, NULL), -EPIPE);
	resource_end(&resource);
	cr_assert_eq(counter, 1);
}

/* ---- A call whose function runs cannot be withdrawn ---- */

struct late {
	struct baton_resource outer, inner;
	struct baton_future future;
	struct journal journal;
	struct step step;
	uint64_t timeout_ns;
	atomic_int tid;
	int inside;
	atomic_int outside; /* 1: the call has not returned */
};

static void *wait_for_outer(void *arg)
{
	struct late *late = arg;

	step_init(&late->step, &late->journal, 0, &late->future);
	MUST(baton_submit(&late->outer, &late->step.task) == 0);
	late->inside = baton_future_wait(&late->future);
	return NULL;
}

static void *call_inner(void *arg)
{
	struct late *late = arg;
	const struct baton_call_options options = {
		.fn = wait_for_outer, .arg = late, .timeout_ns = late->timeout_ns};

	atomic_store(&late->tid, thread_id());
	atomic_store(&late->outside, baton_call_with(&late->inner, &options, NULL));
	return NULL;
}

static void *late_main(void *arg)
{
	struct late *late = arg;

	MUST(baton_call(&late->outer, call_inner, late, NULL) == 0);
	return NULL;
}

/* False: on a busy machine the deadline has passed before the function ran. */
static bool is_late(uint64_t timeout_ns)
{
	struct late late = {.outer = BATON_RESOURCE_INIT(NAMED("outer")),
	                    .inner = BATON_RESOURCE_INIT(NAMED("inner")),
	                    .future = BATON_FUTURE_INIT,
	                    .timeout_ns = timeout_ns,
	                    .outside = 1};
	struct occupant occupant;
	pthread_t thread;
	bool ran;

	occupy(&occupant, &late.inner);
	thread = thread_start(late_main, &late);
	until_at_least(&late.tid, 1);
	for (int seen = 0; seen < 50 && atomic_load(&late.outside) == 1; sched_yield())
		seen = thread_state(atomic_load(&late.tid)) == 'S' ? seen + 1 : 0;
	release(&occupant);
	thread_join(thread);
	ran = atomic_load(&late.outside) != -ETIMEDOUT;
	if (ran) {
		cr_assert_eq(late.inside, -EDEADLK);
		cr_assert_eq(atomic_load(&late.outside), 0);
	}
	cr_assert_eq(late.journal.count, ran);
	resource_end(&late.outer);
	resource_end(&late.inner);
	return ran;
}

/* The call closes the cycle when its deadline has passed: the wait inside its function ends. */
Test(call, that_closes_a_cycle_after_its_deadline_ends_the_wait_inside_it, .timeout = 10)
{
	for (uint64_t timeout_ns = BATON_SECOND / 2; !is_late(timeout_ns); timeout_ns *= 2)
		continue;
}
