/* SPDX-License-Identifier: MIT */
/*
 * Functions that are told of an end (baton_continuation_function): each kind of future, each way in
 * which it ends, registered before and after the end, and freed inside the function.
 * (test_told_inside.c is about what a function may do.)
 */
#include "fixture.h"

#include <baton/detach.h>
#include <baton/fan_out.h>
#include <baton/group.h>

/* ---- Kinds of future, and their ends ---- */

struct ending {
	struct baton_task task;
	struct baton_future *future;
	struct baton_continuation *continuation;
	struct baton_detached token;
	struct baton_fan_out *fan_out;
	pthread_t ender;
	bool frees;   /* the function frees future and continuation */
	bool counted; /* the future is freed by unref */
	atomic_int told;
	enum baton_future_state state; /* as the function found it */
	bool by_ender;
	bool held; /* the function found that its thread holds the resource */
	bool current;
};

static void set_free(struct ending *ending)
{
	if (ending->counted)
		baton_future_unref(ending->future);
	else
		free(ending->future);
	free(ending->continuation);
}

static void on_end(void *arg)
{
	struct ending *ending = arg;

	ending->state = baton_future_state(ending->future);
	ending->by_ender = pthread_equal(ending->ender, pthread_self());
	ending->held = baton_held(&fix.resource);
	ending->current = baton_current() != NULL;
	if (ending->frees)
		set_free(ending);
	atomic_fetch_add(&ending->told, 1);
}

static int returns_0(struct baton_task *task)
{
	return 0;
}

static int returns_5(struct baton_task *task)
{
	return 5;
}

static void *returns_arg(void *arg)
{
	return arg;
}

static int detaches(struct baton_task *task)
{
	struct ending *ending = baton_container_of(task, struct ending, task);

	return baton_detach(&ending->token, 0);
}

static int item_returns(struct baton_resource *resource, void *arg, size_t index)
{
	return *(int *)arg;
}

static void make_future(struct ending *ending, baton_task_fn run)
{
	ending->future = malloc(sizeof(*ending->future));
	MUST(ending->future);
	baton_future_init(ending->future);
	baton_task_init(&ending->task, run, ending->future);
}

static void make_promise(struct ending *ending)
{
	make_future(ending, returns_0);
	baton_promise_init(ending->future);
}

static void make_task(struct ending *ending)
{
	make_future(ending, returns_0);
}

static void make_failing(struct ending *ending)
{
	make_future(ending, returns_5);
}

/* The task waits behind the occupant. */
static void make_queued(struct ending *ending)
{
	make_task(ending);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &ending->task), 0);
	ending->ender = fix.occupant.thread;
}

static void make_refused(struct ending *ending)
{
	struct baton_resource closed = BATON_RESOURCE_INIT(NULL);

	make_task(ending);
	cr_assert_eq(baton_resource_close(&closed), 0);
	cr_assert_eq(baton_submit(&closed, &ending->task), -EPIPE);
}

static void make_detached(struct ending *ending)
{
	make_future(ending, detaches);
	baton_detached_init(&ending->token);
	cr_assert_eq(baton_submit(&fix.resource, &ending->task), 0);
}

static void make_async(struct ending *ending)
{
	ending->counted = true;
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_async(&fix.resource, returns_arg, NULL, &ending->future), 0);
	ending->ender = fix.occupant.thread;
}

static void fan_out(struct ending *ending, int status)
{
	static int answer;
	struct baton_resource *const resources[] = {&fix.resource};
	struct baton_fan_out_options options = {.fn = item_returns, .arg = &answer};

	answer = status;
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_fan_out_submit(resources, 1, &options, &ending->fan_out), 0);
	ending->future = baton_fan_out_future(ending->fan_out);
	ending->ender = fix.occupant.thread;
}

static void make_fan_out(struct ending *ending)
{
	fan_out(ending, 0);
}

static void make_failing_fan_out(struct ending *ending)
{
	fan_out(ending, 5);
}

static void complete(struct ending *ending)
{
	cr_assert_eq(baton_future_complete(ending->future, 0, NULL), 0);
}

static void fail(struct ending *ending)
{
	cr_assert_eq(baton_future_complete(ending->future, 5, NULL), 0);
}

static void cancel(struct ending *ending)
{
	cr_assert_eq(baton_future_cancel(ending->future), 0);
}

static void submit(struct ending *ending)
{
	cr_assert_eq(baton_submit(&fix.resource, &ending->task), 0);
}

static void leave(struct ending *ending)
{
	release(&fix.occupant);
}

static void cancel_and_leave(struct ending *ending)
{
	cancel(ending);
	release(&fix.occupant);
}

static void cancel_pending(struct ending *ending)
{
	cr_assert_eq(baton_resource_cancel_pending(&fix.resource), 0);
	release(&fix.occupant);
}

static void complete_token(struct ending *ending)
{
	cr_assert_eq(baton_detached_complete(&ending->token, 0, NULL), 0);
}

static void fail_token(struct ending *ending)
{
	cr_assert_eq(baton_detached_complete(&ending->token, 5, NULL), 0);
}

/* The promise is cancelled at once; the items go on. */
static void cancel_fan_out(struct ending *ending)
{
	ending->ender = pthread_self();
	cancel(ending);
	release(&fix.occupant);
}

static const struct way {
	const char *name;
	void (*make)(struct ending *ending);
	void (*end)(struct ending *ending);
	enum baton_future_state state;
	bool held; /* the completer holds the resource */
} ways[] = {
	{"a promise that is fulfilled", make_promise, complete, BATON_DONE, false},
	{"a promise that fails", make_promise, fail, BATON_FAILED, false},
	{"a promise that is cancelled", make_promise, cancel, BATON_CANCELLED, false},
	{"a task that runs at once", make_task, submit, BATON_DONE, true},
	{"a task that fails at once", make_failing, submit, BATON_FAILED, true},
	{"a task that was refused once", make_refused, submit, BATON_DONE, true},
	{"a queued task", make_queued, leave, BATON_DONE, true},
	{"a queued task that is cancelled", make_queued, cancel_and_leave, BATON_CANCELLED, true},
	{"a queued task, and cancel_pending", make_queued, cancel_pending, BATON_CANCELLED, true},
	{"a detached task", make_detached, complete_token, BATON_DONE, false},
	{"a detached task that fails", make_detached, fail_token, BATON_FAILED, false},
	{"an async", make_async, leave, BATON_DONE, true},
	{"an async that is cancelled", make_async, cancel_and_leave, BATON_CANCELLED, true},
	{"a fan-out", make_fan_out, leave, BATON_DONE, true},
	{"a fan-out that fails", make_failing_fan_out, leave, BATON_FAILED, true},
	{"a fan-out that is cancelled", make_fan_out, cancel_fan_out, BATON_CANCELLED, false},
};

/* Each way, three times: registered before the end, the same and freed inside, after the end. */
static void try_way(const struct way *way, bool before, bool frees)
{
	struct ending ending = {.ender = pthread_self()};

	ending.continuation = malloc(sizeof(*ending.continuation));
	MUST(ending.continuation);
	way->make(&ending);
	/* A fan-out owns its future. */
	ending.frees = frees && !ending.fan_out;
	baton_continuation_function(ending.continuation, on_end, &ending);
	if (before)
		baton_future_then(ending.future, ending.continuation);
	cr_assert_eq(atomic_load(&ending.told), 0, "%s", way->name);
	way->end(&ending);
	if (!before) {
		cr_assert_eq(atomic_load(&ending.told), 0, "%s", way->name);
		ending.ender = pthread_self();
		baton_future_then(ending.future, ending.continuation);
	}
	cr_assert_eq(atomic_load(&ending.told), 1, "%s", way->name);
	cr_assert_eq(ending.state, way->state, "%s", way->name);
	cr_assert(ending.by_ender, "%s", way->name);
	cr_assert_eq(ending.held, before && way->held, "%s", way->name);
	cr_assert(!ending.current, "%s", way->name);
	if (ending.fan_out) {
		baton_fan_out_unref(ending.fan_out);
		free(ending.continuation);
	} else if (!ending.frees) {
		set_free(&ending);
	}
}

Test(told, each_way_of_each_end_tells_once_on_the_completing_thread, .timeout = 30)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		try_way(&ways[i], true, false);
		try_way(&ways[i], true, true);
		try_way(&ways[i], false, false);
		try_way(&ways[i], false, true);
	}
	fixture_end();
}

static void count(void *arg)
{
	++*(int *)arg;
}

Test(told, a_group_tells_when_it_is_empty, .timeout = 10)
{
	struct baton_group group = BATON_GROUP_INIT;
	struct baton_continuation continuation;
	int told = 0;

	baton_continuation_function(&continuation, count, &told);
	baton_group_enter(&group);
	baton_group_then(&group, &continuation);
	cr_assert_eq(told, 0);
	baton_group_leave(&group);
	cr_assert_eq(told, 1);
	baton_continuation_function(&continuation, count, &told);
	baton_group_then(&group, &continuation);
	cr_assert_eq(told, 2, "an empty group tells at once");
}
