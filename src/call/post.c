/* SPDX-License-Identifier: MIT */
/* post and async: functions that run as tasks in the library's memory. */
#include "call/call.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "thread/node.h"
#include "core/bracket.h"
#include "core/label.h"
#include "core/submit.h"

#include <errno.h>

struct post {
	struct baton_task task;
	baton_call_fn fn;
	baton_post_cancelled_fn cancelled; /* may be NULL */
	void *arg;
	struct baton_stamp stamp; /* only with a label, or a carried value */
};

_Static_assert(offsetof(struct post, stamp) <= BATON__NODE_SMALL_SIZE, "fits a node of one line");
_Static_assert(sizeof(struct post) <= BATON__NODE_BODY_SIZE, "fits a node");
_Static_assert(sizeof(struct baton__async) <= BATON__NODE_BODY_SIZE, "fits a node");
_Static_assert(offsetof(struct baton__async, counted) == 0, "unref frees the node by its future");

/* ---- Posts ---- */

static int post_run(struct baton_task *task)
{
	struct post *post = baton_container_of(task, struct post, task);
	baton_call_fn fn = post->fn;
	void *arg = post->arg;

	baton__node_free(post);
	(void)fn(arg);
	return 0;
}

static void post_cancelled(struct baton_task *task)
{
	struct post *post = baton_container_of(task, struct post, task);
	baton_post_cancelled_fn cancelled = post->cancelled;
	void *arg = post->arg;

	baton__node_free(post);
	if (cancelled)
		cancelled(arg);
}

static const struct baton_task_type post_type = {
	.run = post_run,
	.cancelled = post_cancelled,
	.function = BATON_TASK_PLACE(struct post, task, fn),
};

static const struct baton_task_type stamped_post_type = {
	.run = post_run,
	.cancelled = post_cancelled,
	.stamp = BATON_TASK_PLACE(struct post, task, stamp),
	.function = BATON_TASK_PLACE(struct post, task, fn),
};

/* A post that the short path has not run: queues the post, unless the resource is idle. */
static BATON_NOINLINE int post_slow(struct baton_resource *resource,
                                    const struct baton_call_options *options)
{
	const struct baton_label *label = options->label;
	void *carried;
	bool stamped;
	struct post *post;
	int error = 0;

	if (BATON_UNLIKELY(!baton__has_record(baton__self))) {
		error = baton__thread_attach();
		if (error)
			return error;
		if (!options->later &&
		    baton__bracket_bare(resource, options->fn, options->arg, NULL))
			return 0;
	}
	if (!options->later &&
	    baton__bracket_other(resource, options->fn, options->arg, NULL, 0, BATON_NESTING_MAX))
		return 0;
	/* Without a label and a value there is no stamp, and the node is one cache line. */
	carried = baton__carried();
	stamped = label || carried;
	post = baton__node_alloc(stamped ? sizeof(*post) : offsetof(struct post, stamp));
	if (!post)
		return -ENOMEM;
	baton__type_set(&post->task, stamped ? &stamped_post_type : &post_type);
	post->fn = options->fn;
	post->cancelled = options->cancelled;
	post->arg = options->arg;
	if (stamped)
		post->stamp = (struct baton_stamp){._carried = carried};
	if (label)
		baton_stamp_set(&post->stamp, label);
	error = options->later ? baton__submit(resource, &post->task, BATON__SUBMIT_LATER)
	                       : baton__submit_busy(resource, &post->task);
	if (error) {
		if (label)
			baton__stamp_let_go(&post->stamp);
		baton__node_free(post);
	}
	return error;
}

/* Not inlined: the options stay off the stack of the short path. */
static BATON_NOINLINE int post_plain(struct baton_resource *resource, baton_call_fn fn, void *arg)
{
	return post_slow(resource, &(struct baton_call_options){.fn = fn, .arg = arg});
}

/*
 * A function that runs at once needs neither node nor stamp: its tag cannot be cancelled between
 * the stamping and the entry.
 */
BATON_EXPORT int baton_post(struct baton_resource *resource, baton_call_fn fn, void *arg)
{
	BATON__CHECKED(call(resource, fn, __func__));
	if (BATON_LIKELY(baton__bracket_bare(resource, fn, arg, NULL)))
		return 0;
	return BATON__ANSWER(resource, post_plain(resource, fn, arg));
}

BATON_EXPORT int baton_post_with(struct baton_resource *resource,
                                 const struct baton_call_options *options)
{
	BATON__CHECKED(call_with(resource, options != NULL, __func__));

	int error = baton__options_refused(options);

	if (error)
		return BATON__ANSWER(resource, error);
	if (!options->later && baton__bracket_bare(resource, options->fn, options->arg, NULL))
		return 0;
	return BATON__ANSWER(resource, post_slow(resource, options));
}

/* ---- Asyncs ---- */

static void run_async(struct baton__async *async, baton_call_fn fn)
{
	const struct baton__frame *frame = baton__top(baton__self);
	void *value;

	baton__stats_show(frame->resource, (uintptr_t)fn);
	value = fn(async->arg);
	baton__guard_frame(baton__self, frame);
	baton_set_result(value);
}

static int async_run(struct baton_task *task)
{
	struct baton__async *async = baton_container_of(task, struct baton__async, task);

	run_async(async, async->fn);
	return 0;
}

/* The user's function of a task that has a type. */
static baton_call_fn typed_fn(const struct baton__async *async)
{
	return (baton_call_fn)(uintptr_t)async->task._run;
}

static int typed_async_run(struct baton_task *task)
{
	struct baton__async *async = baton_container_of(task, struct baton__async, task);

	run_async(async, typed_fn(async));
	return 0;
}

/* The task has a reference of the future, for async_told: gives it back. The node lives until the
 * future is complete. */
static int told_async_run(struct baton_task *task)
{
	baton_future_unref(&baton_container_of(task, struct baton__async, task)->counted.future);
	return typed_async_run(task);
}

static void async_told(struct baton_task *task)
{
	struct baton__async *async = baton_container_of(task, struct baton__async, task);
	baton_post_cancelled_fn cancelled = async->cancelled;
	void *arg = async->arg;

	baton_future_unref(&async->counted.future);
	cancelled(arg);
}

static const struct baton_task_type stamped_async_type = {
	.run = typed_async_run,
	.future = BATON_TASK_PLACE(struct baton__async, task, counted.future),
	.stamp = BATON_TASK_PLACE(struct baton__async, task, stamp),
	.function = BATON_TASK_PLACE(struct baton__async, task, task._run),
	._flags = BATON__KIND_HAS_FUTURE,
};

static const struct baton_task_type told_async_type = {
	.run = told_async_run,
	.cancelled = async_told,
	.future = BATON_TASK_PLACE(struct baton__async, task, counted.future),
	.stamp = BATON_TASK_PLACE(struct baton__async, task, stamp),
	.function = BATON_TASK_PLACE(struct baton__async, task, task._run),
	._flags = BATON__KIND_HAS_FUTURE | BATON__KIND_TELLS,
};

void baton__async_init(struct baton__async *async, const struct baton_call_options *options,
                       baton_post_cancelled_fn cancelled)
{
	void *carried = baton__carried();

	async->counted = (struct baton__counted){.references = cancelled ? 2 : 1};
	/* unshared: not submitted yet */
	async->counted.future._state = BATON__FUTURE_COUNTED;
	async->arg = options->arg;
	if (BATON_LIKELY(!options->label && !cancelled && !carried)) {
		async->fn = options->fn;
		baton_task_init(&async->task, async_run, &async->counted.future);
		return;
	}
	async->cancelled = cancelled;
	async->stamp = (struct baton_stamp){._carried = carried};
	if (options->label)
		baton_stamp_set(&async->stamp, options->label);
	baton__type_set(&async->task, cancelled ? &told_async_type : &stamped_async_type);
	async->task._run = (baton_task_fn)(uintptr_t)options->fn;
}

/* The node has no room for the caller: the caller, which sleeps, has the argument. */
static void run_of_caller(struct baton__async *async, baton_call_fn fn)
{
	const struct baton__caller *caller = async->arg;

	baton__stats_show(baton__top(baton__self)->resource, (uintptr_t)fn);
	baton_set_result(baton__run_called(caller, fn, caller->arg));
}

static int async_of_caller_run(struct baton_task *task)
{
	struct baton__async *async = baton_container_of(task, struct baton__async, task);

	run_of_caller(async, async->fn);
	return 0;
}

static int stamped_of_caller_run(struct baton_task *task)
{
	struct baton__async *async = baton_container_of(task, struct baton__async, task);

	run_of_caller(async, typed_fn(async));
	return 0;
}

static const struct baton_task_type stamped_of_caller_type = {
	.run = stamped_of_caller_run,
	.future = BATON_TASK_PLACE(struct baton__async, task, counted.future),
	.stamp = BATON_TASK_PLACE(struct baton__async, task, stamp),
	.function = BATON_TASK_PLACE(struct baton__async, task, task._run),
	._flags = BATON__KIND_HAS_FUTURE,
};

void baton__async_of_caller(struct baton__async *async, struct baton__caller *caller)
{
	const baton_task_fn fn = async->task._run;

	caller->arg = async->arg;
	async->arg = caller;
	if (baton__of_kind(&async->task)) {
		baton__type_set(&async->task, &stamped_of_caller_type);
		async->task._run = fn;
	} else {
		baton_task_init(&async->task, async_of_caller_run, &async->counted.future);
	}
}

int baton__async_submit(struct baton_resource *resource, struct baton__async *async, unsigned how)
{
	int error;

	if (how) {
		error = baton__submit(resource, &async->task, how);
	} else {
		BATON__CHECKED(submits_own());
		error = baton_submit(resource, &async->task);
	}
	if (error) {
		baton__entry_dropped(&async->task);
		baton__node_free(async);
	}
	return error;
}

static int async(struct baton_resource *resource, const struct baton_call_options *options,
                 struct baton_future **future)
{
	struct baton__async *async;
	int error = 0;

	if (BATON_UNLIKELY(!baton__has_record(baton__self)))
		error = baton__thread_attach();
	if (error)
		return error;
	async = baton__node_alloc(sizeof(*async));
	if (!async)
		return -ENOMEM;
	async->counted = (struct baton__counted){.references = 1};
	if (!options->later &&
	    baton__bracket_idle(resource, options->fn, options->arg, &async->counted.future._value,
	                        BATON_NESTING_MAX)) {
		/* unshared: no other thread has seen it yet */
		async->counted.future._state = BATON__FUTURE_DONE | BATON__FUTURE_COUNTED;
		*future = &async->counted.future;
		return 0;
	}
	baton__async_init(async, options, options->cancelled);
	error = baton__async_submit(resource, async, baton__call_how(options));
	if (!error)
		*future = &async->counted.future;
	return error;
}

BATON_EXPORT int baton_async(struct baton_resource *resource, baton_call_fn fn, void *arg,
                             struct baton_future **future)
{
	BATON__CHECKED(call(resource, fn, __func__));
	BATON__NEED(future, "there is no place for the future");
	return BATON__ANSWER(
		resource,
		async(resource, &(struct baton_call_options){.fn = fn, .arg = arg}, future));
}

BATON_EXPORT int baton_async_with(struct baton_resource *resource,
                                  const struct baton_call_options *options,
                                  struct baton_future **future)
{
	BATON__CHECKED(call_with(resource, options != NULL, __func__));
	BATON__NEED(future, "there is no place for the future");

	int error = baton__options_refused(options);

	if (error)
		return BATON__ANSWER(resource, error);
	return BATON__ANSWER(resource, async(resource, options, future));
}
