/* SPDX-License-Identifier: MIT */
/*
 * Calls: a thread runs a function under the baton, and gets the function's value.
 */
#include "call/call.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "base/futex.h"
#include "base/refused.h"
#include "thread/node.h"
#include "core/backlog.h"
#include "core/contention.h"
#include "core/batching.h"
#include "core/bracket.h"
#include "core/cancel.h"
#include "core/handoff.h"
#include "core/label.h"
#include "core/place.h"
#include "core/run.h"
#include "core/submit.h"
#include "wait/cycle.h"
#include "wait/wait.h"

#include <errno.h>

/* A waiting call, on the caller's stack. The caller returns after the future is complete. */
struct call {
	struct baton_task task;
	struct baton_future future;
	baton_call_fn fn;
	void *arg;
	const struct baton__caller *caller; /* NULL: holds nothing */
	struct baton_stamp stamp;
};

static int call_run(struct baton_task *task)
{
	struct call *call = baton_container_of(task, struct call, task);

	baton__stats_show(baton__top(baton__self)->resource, (uintptr_t)call->fn);
	baton_set_result(baton__run_called(call->caller, call->fn, call->arg));
	return 0;
}

static const struct baton_task_type stamped_call_type = {
	.run = call_run,
	.function = BATON_TASK_PLACE(struct call, task, fn),
	.future = BATON_TASK_PLACE(struct call, task, future),
	.stamp = BATON_TASK_PLACE(struct call, task, stamp),
	._flags = BATON__KIND_HAS_FUTURE,
};

static void call_init(struct call *call, const struct baton_label *label)
{
	baton_task_init(&call->task, call_run, &call->future);
	call->stamp._carried = baton__carried();
	if (BATON_LIKELY(!label && !call->stamp._carried))
		return;
	if (label)
		baton_stamp_set(&call->stamp, label);
	baton__type_set(&call->task, &stamped_call_type);
}

/* The wait can never end: withdraws the call. */
static int withdraw(struct baton_future *future)
{
	int error;

	(void)baton_future_cancel(future);
	/* Ends: the resource's holder meets the cancelled task, or this thread unlinks the task
	 * when the resource is queued. */
	do {
		baton__cancel_visit(future);
		error = baton__wait_for_call(future, BATON_FOREVER, BATON__ABORT_NEVER, false);
	} while (error && !baton__future_final(future));
	return baton_future_state(future) == BATON_CANCELLED ? -EDEADLK : future->_status;
}

int baton__call_end(struct baton_future *future, bool later)
{
	int error = baton__wait_for_call(future, BATON_FOREVER, BATON__ABORT_NEVER, later);

	return error ? withdraw(future) : future->_status;
}

/* What a call returns. A drain hook's own -EINVAL refuses no argument, and says so. */
static int call_outcome(int status)
{
	return status == -EINVAL
	               ? baton__refused("baton_*call*: a drain hook has returned this error")
	               : status;
}

/*
 * The wait of a counted call has failed. True: its task has been entered, and the caller waits on.
 * False: the task will never be entered, or is over.
 */
static bool must_wait_on(struct baton_future *future)
{
	/* -EALREADY: the call is complete, or was cancelled in the step that refused the wait. */
	return baton_future_cancel(future) == -EINPROGRESS;
}

static bool has_run(const struct baton_future *future)
{
	const enum baton_future_state state = baton_future_state(future);

	return state == BATON_DONE || state == BATON_FAILED;
}

int baton__call_end_counted(struct baton_future *future, uint64_t deadline_ns, bool later)
{
	int error;

	/* Ends: once the task has been entered the deadline no longer counts, and the wait ends
	 * with the task. */
	do {
		error = baton__wait_for_call(future, deadline_ns, BATON__ABORT_UNLESS_RUNNING,
		                             later);
		deadline_ns = BATON_FOREVER;
	} while (error && !baton__forked() && must_wait_on(future));
	/* A function that has run has a status, even if the wait failed as the function ended. */
	if (!error || (!baton__forked() && has_run(future)))
		return future->_status;
	return error != -ETIMEDOUT && !baton__forked() ? -EDEADLK : error;
}

/*
 * A call whose task does not lie on this stack. A thread that holds batons makes such a call: when
 * its wait would close a cycle (cycle.h) the call is refused, and the task stays in the inbox of a
 * resource whose holder sleeps. A call with a deadline is such a call, too: when the deadline has
 * passed the call is withdrawn, and the task may still be queued.
 */
static int call_counted(struct baton_resource *resource, struct baton__async *async,
                        const struct baton_call_options *options, uint64_t deadline_ns,
                        void **value)
{
	struct baton_future *future = &async->counted.future;
	struct baton__thread *self = baton__self;
	const struct baton__in_time in_time = {&async->task, deadline_ns};
	const struct baton__in_time *outer = self->in_time;
	int error;

	/* A bound may have the submit wait for room. */
	if (deadline_ns != BATON_FOREVER)
		self->in_time = &in_time;
	error = baton__async_submit(resource, async, baton__call_how(options));
	self->in_time = outer;
	if (error)
		return error;
	error = baton__call_end_counted(future, deadline_ns, options->later);
	if (!error && value)
		*value = future->_value;
	baton_future_unref(future);
	return error;
}

/* `caller`: of this thread; NULL: it holds nothing. */
static int call_of(struct baton_resource *resource, const struct baton_call_options *options,
                   uint64_t deadline_ns, struct baton__caller *caller, void **value)
{
	struct call call = {.future = BATON_FUTURE_INIT,
	                    .fn = options->fn,
	                    .arg = options->arg,
	                    .caller = caller};
	int error;

	if (caller || deadline_ns != BATON_FOREVER) {
		struct baton__async *async = baton__node_alloc(sizeof(*async));

		if (async) {
			baton__async_init(async, options, NULL);
			if (caller)
				baton__async_of_caller(async, caller);
			return call_counted(resource, async, options, deadline_ns, value);
		}
		if (deadline_ns != BATON_FOREVER)
			return -ENOMEM;
	}
	call_init(&call, options->label);
	error = baton__submit(resource, &call.task, baton__call_how(options));
	if (error) {
		baton__entry_dropped(&call.task);
		return error;
	}
	error = baton__call_end(&call.future, options->later);
	if (!error && value)
		*value = call.future._value;
	return error;
}

static BATON_NOINLINE int call_and_wait(struct baton_resource *resource,
                                        const struct baton_call_options *options,
                                        uint64_t deadline_ns, void **value)
{
	struct baton__caller caller;
	bool holds;
	int error = baton__cycle_if_held(baton__self->called, resource, false);

	if (error)
		return error;
	holds = baton__caller_begin(&caller);
	error = call_of(resource, options, deadline_ns, holds ? &caller : NULL, value);
	if (holds)
		baton__caller_end(&caller);
	return error;
}

/*
 * With drain hooks, a call that runs at once is a batch of its own. The drain looks at the inbox
 * only after this batch: a suspend, or a cancel of all that waits, comes too late for the call, and
 * the call never waits.
 */
static BATON_NOINLINE int try_call_hooked(struct baton_resource *resource, baton_call_fn fn,
                                          void *arg, void **value)
{
	struct call call = {.future = BATON_FUTURE_INIT, .fn = fn, .arg = arg};
	struct baton__stay stay;
	uint32_t calling_max;

	/* An idle, open resource with hooks is SPECIAL. */
	if (!baton__capture_max(resource) ||
	    !baton__word_capture(resource, BATON__SPECIAL, BATON__SPECIAL))
		return -EAGAIN;
	call_init(&call, NULL);
	BATON_ASSERT(baton__ready(resource, &call.task));
	if (baton__has_extras(resource))
		baton__backlog_captured(resource, &call.task);
	baton__frame_push(&stay.frame, resource);
	baton__stay_spent(&stay);
	calling_max = baton__weigh(baton__self, 1);
	BATON_GUARD(guard);
	baton__batching.run_alone(&stay, &call.task);
	guard = false;
	baton__self->calling_max = calling_max;
	BATON_ASSERT(baton__future_final(&call.future));
	baton__run_captured(&stay, 1, 1);
	if (!call.future._status && value)
		*value = call.future._value;
	return call_outcome(call.future._status);
}

/* Calls at once, if the resource is idle and has no drain hooks. */
static BATON_NOINLINE bool call_idle(struct baton_resource *resource, baton_call_fn fn, void *arg,
                                     void **value)
{
	return baton__bracket_idle(resource, fn, arg, value, baton__self->calling_max);
}

/* Calls at once. The caller stands back from a busy resource until the resource is idle. False: the
 * resource did not become idle soon. */
static bool call_when_idle(struct baton_resource *resource,
                           const struct baton_call_options *options, void **value)
{
	struct baton__stand_back_call looks;

	if (!baton__stand_back_call_begin(resource, &looks))
		return call_idle(resource, options->fn, options->arg, value);
	while (baton__stand_back_call_look(resource, &looks)) {
		if (call_idle(resource, options->fn, options->arg, value)) {
			baton__stand_back_call_learn(baton__self, false);
			return true;
		}
	}
	return false;
}

/* The long way: for a thread's first call, a busy resource, and options. */
static BATON_NOINLINE int call_slow(struct baton_resource *resource,
                                    const struct baton_call_options *options, void **value)
{
	uint64_t deadline_ns = BATON_FOREVER;
	uint32_t given;
	int error;

	if (BATON_UNLIKELY(!baton__has_record(baton__self))) {
		error = baton__thread_attach();
		if (error)
			return error;
	}
	if (options->timeout_ns)
		deadline_ns = baton_after(options->timeout_ns);
	if (!options->later && call_when_idle(resource, options, value))
		return 0;
	given = baton__self->learnt.cpu_given;
	error = call_and_wait(resource, options, deadline_ns, value);
	if (baton__self->learnt.cpu_given != given)
		baton__stand_back_call_learn(baton__self, true);
	return call_outcome(error);
}

/* A call that the bracket with BARE alone has not run. */
static BATON_NOINLINE int call_other(struct baton_resource *resource, baton_call_fn fn, void *arg,
                                     void **value)
{
	struct baton__thread *self = baton__self;

	if (baton__bracket_other(resource, fn, arg, value, 0, self->calling_max))
		return 0;
	if (BATON_UNLIKELY(baton__too_deep_to_call(self)))
		return baton__cycle_of_one(NULL);
	return call_slow(resource, &(struct baton_call_options){.fn = fn, .arg = arg}, value);
}

BATON_EXPORT int baton_call(struct baton_resource *resource, baton_call_fn fn, void *arg,
                            void **value)
{
	BATON__CHECKED(call(resource, fn, __func__));
	BATON__CHECKED(may_wait(__func__));
	if (BATON_LIKELY(baton__bracket_bare(resource, fn, arg, value)))
		return 0;
	return BATON__ANSWER(resource, call_other(resource, fn, arg, value));
}

int baton__options_refused(const struct baton_call_options *options)
{
	if (!options->fn)
		return baton__refused("baton_*_with: fn is NULL");
	if (options->label && options->label->lane >= BATON_LANES_MAX)
		return baton__refused("baton_*_with: the label's lane is not below "
		                      "BATON_LANES_MAX");
	if (BATON__UNKNOWN(options))
		return baton__refused("baton_*_with: a word of _reserved is not zero");
	return 0;
}

BATON_EXPORT int baton_call_with(struct baton_resource *resource,
                                 const struct baton_call_options *options, void **value)
{
	BATON__CHECKED(call_with(resource, options != NULL, __func__));
	BATON__CHECKED(may_wait(__func__));

	int error = baton__options_refused(options);

	if (error)
		return BATON__ANSWER(resource, error);
	if (baton__too_deep_to_call(baton__self))
		return BATON__ANSWER(resource, baton__cycle_of_one(NULL));
	return BATON__ANSWER(resource, call_slow(resource, options, value));
}

static BATON_NOINLINE int try_call_other(struct baton_resource *resource, baton_call_fn fn,
                                         void *arg, void **value)
{
	int error = !baton__has_record(baton__self) ? baton__thread_attach() : 0;

	if (error)
		return error;
	if (baton__too_deep_to_call(baton__self))
		return baton__cycle_of_one(NULL);
	if (call_idle(resource, fn, arg, value))
		return 0;
	if (baton__word_is_closed(baton__word(resource)))
		return -EPIPE;
	error = baton__cycle_if_held(baton__self->called, resource, false);
	if (error)
		return error;
	return baton__hooked(resource) ? try_call_hooked(resource, fn, arg, value) : -EAGAIN;
}

BATON_EXPORT int baton_try_call(struct baton_resource *resource, baton_call_fn fn, void *arg,
                                void **value)
{
	BATON__CHECKED(call(resource, fn, __func__));

	int error;

	if (BATON_LIKELY(baton__bracket_bare(resource, fn, arg, value)))
		return 0;
	error = try_call_other(resource, fn, arg, value);
	return error == -EAGAIN ? error : BATON__ANSWER(resource, error);
}
