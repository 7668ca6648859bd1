/* SPDX-License-Identifier: MIT */
/*
 * Functions instead of tasks: call (run and return the value), post and async (library's memory).
 */
#include "core/call.h"

#include "base/atomic.h"
#include "core/backlog.h"
#include "core/barge.h"
#include "core/cycle.h"
#include "core/guard.h"
#include "thread/node.h"
#include "core/stats.h"

#include <errno.h>

/* A waiting call: on the caller's stack, which it does not leave before the future is complete. */
struct call {
	struct baton_task task;
	struct baton_future future;
	baton_call_fn fn;
	void *arg;
};

struct post {
	struct baton_task task;
	baton_call_fn fn;
	baton_post_cancelled_fn cancelled; /* NULL: nobody is told */
	void *arg;
};

struct async {
	struct baton__counted counted;
	struct baton_task task;
	baton_call_fn fn;
	void *arg;
};

_Static_assert(sizeof(struct post) <= BATON__NODE_SMALL_SIZE, "fits a node of one cache line");
_Static_assert(sizeof(struct async) <= BATON__NODE_BODY_SIZE, "fits a node");
_Static_assert(offsetof(struct async, counted) == 0, "unref frees the node by its future");

static int call_run(struct baton_task *task)
{
	struct call *call = baton_container_of(task, struct call, task);

	baton_set_result(call->fn(call->arg));
	return 0;
}

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
};

static int async_run(struct baton_task *task)
{
	struct async *async = baton_container_of(task, struct async, task);

	baton_set_result(async->fn(async->arg));
	return 0;
}

/* The function of a call that baton__stats_call has counted has returned. */
static void count_executed(const struct baton_resource *resource)
{
	struct baton_resource_stats *stats = baton__stats(resource);

	if (stats)
		baton__count(&stats->executed, 1);
}

/*
 * Captures a resource whose idle word is `word`, and runs fn at once, without a task. False: it is
 * not idle.
 *
 * Many resources do not fit the caches, and then the processor should get as far ahead as it can
 * while it waits for this one's line, to the next call's. What ends that are stores: so the short
 * paths keep little across fn that would have to be saved first.
 */
BATON_INLINE bool call_in_mode(struct baton_resource *resource, uintptr_t word, uintptr_t mode,
                               baton_call_fn fn, void *arg, void **value)
{
	struct baton__thread *self = baton__self;
	struct baton__frame frame;
	void *result;

	if (!baton__word_capture(resource, word, mode))
		return false;
	baton__frame_enter(self, &frame, resource);
	BATON_GUARD(guard, resource);
	/* A SPECIAL resource with a limit above 0 and without hooks has statistics, an extension or
	 * config->failed. */
	if (mode != BATON__NORMAL)
		baton__stats_call(resource);
	result = fn(arg);
	guard = NULL;
	if (value)
		*value = result;
	if (mode != BATON__NORMAL)
		count_executed(resource);
	if (BATON_LIKELY(baton__word_release_at_once(resource, mode)))
		baton__frame_exit(self, &frame);
	else
		baton__run_on(1, 1);
	return true;
}

/* With statistics or an extension; or just initialised, and then NORMAL from now on. */
static BATON_NOINLINE bool call_special(struct baton_resource *resource, baton_call_fn fn,
                                        void *arg, void **value)
{
	return baton__capture_limit(resource) && !baton__hooked(resource) &&
	       call_in_mode(resource, BATON__SPECIAL, baton__mode(resource), fn, arg, value);
}

/* Captures an idle resource and runs fn at once. False: it is not idle. */
BATON_INLINE bool call_at_once(struct baton_resource *resource, baton_call_fn fn, void *arg,
                               void **value)
{
	uintptr_t word = baton__word(resource);

	if (BATON_LIKELY(word == BATON__NORMAL))
		return call_in_mode(resource, BATON__NORMAL, BATON__NORMAL, fn, arg, value);
	return word == BATON__SPECIAL && call_special(resource, fn, arg, value);
}

bool baton__call_at_once(struct baton_resource *resource, baton_call_fn fn, void *arg)
{
	return call_at_once(resource, fn, arg, NULL);
}

/* The wait can never end: the call is withdrawn, which ends it. */
static int withdraw(struct call *call)
{
	int error;

	(void)baton_future_cancel(&call->future);
	/* Ended by the holder of the resource, which meets the cancelled task, or by us when it is
	 * queued. */
	do {
		baton__cancel_visit(&call->future);
		error = baton__wait_for_call(&call->future, BATON__ABORT_NEVER);
	} while (error && !baton__future_final(&call->future));
	return baton_future_status(&call->future) ? -EDEADLK : 0;
}

/* It has been submitted: waits for it. */
static int end_call(struct call *call, void **value)
{
	int error = baton__wait_for_call(&call->future, BATON__ABORT_NEVER);

	error = error ? withdraw(call) : call->future._status;
	if (!error && value)
		*value = call->future._value;
	return error;
}

/*
 * The wait of a counted call has failed. True: its task has been entered, and is to be waited for
 * after all; false: it never will be, or is over.
 */
static bool must_wait_on(struct baton_future *future)
{
	/* -EALREADY: complete, or cancelled in the step that refused the wait. */
	return baton_future_cancel(future) == -EINPROGRESS;
}

/*
 * A call of a thread that holds batons may be refused when it closes a cycle (cycle.h), and then
 * its task stays where it is, in the inbox of a resource whose holder sleeps: so it is no part of
 * this stack.
 */
static int call_counted(struct baton_resource *resource, struct async *async, baton_call_fn fn,
                        void *arg, void **value)
{
	struct baton_future *future = &async->counted.future;
	int error;

	*async = (struct async){.counted = {.references = 1}, .fn = fn, .arg = arg};
	/* unshared: not submitted yet */
	future->_state = BATON__FUTURE_COUNTED;
	baton_task_init(&async->task, async_run, future);
	error = baton__submit(resource, &async->task, 0);
	if (error) {
		baton__node_free(async);
		return error;
	}
	/* Ended by the task's end, once it has been entered. */
	do
		error = baton__wait_for_call(future, BATON__ABORT_UNLESS_RUNNING);
	while (error && !baton__forked() && must_wait_on(future));
	if (error && !baton__forked())
		error = baton_future_status(future) ? -EDEADLK : 0;
	else if (!error)
		error = future->_status;
	if (!error && value)
		*value = future->_value;
	baton_future_unref(future);
	return error;
}

static BATON_NOINLINE int call_and_wait(struct baton_resource *resource, baton_call_fn fn,
                                        void *arg, void **value)
{
	struct call call = {.future = BATON_FUTURE_INIT, .fn = fn, .arg = arg};
	int error;

	if (baton__thread_holds(baton__self, resource))
		return baton__cycle_of_one(resource);
	if (baton__self->top) {
		struct async *async = baton__node_alloc(sizeof(*async));

		if (async)
			return call_counted(resource, async, fn, arg, value);
	}
	baton_task_init(&call.task, call_run, &call.future);
	error = baton__submit(resource, &call.task, 0);
	if (error)
		return error;
	return end_call(&call, value);
}

/* With drain hooks what runs at once is a batch, too: its end, which may fail, comes before the
 * release, and so before the wait. */
static BATON_NOINLINE int try_call_hooked(struct baton_resource *resource, baton_call_fn fn,
                                          void *arg, void **value)
{
	struct call call = {.future = BATON_FUTURE_INIT, .fn = fn, .arg = arg};
	struct baton__frame frame;

	/* With hooks an idle, open resource is SPECIAL. */
	if (!baton__capture_limit(resource) ||
	    !baton__word_capture(resource, BATON__SPECIAL, BATON__SPECIAL))
		return -EAGAIN;
	baton_task_init(&call.task, call_run, &call.future);
	BATON_ASSERT(baton__ready(resource, &call.task));
	baton__index_forget(resource);
	resource->_list = &call.task;
	if (resource->_stats)
		baton__backlog_captured(resource, &call.task);
	baton__frame_push(&frame, resource);
	baton__run_captured(&frame, resource, 0, 1);
	return end_call(&call, value);
}

/* Not at once: this thread's first call, or the resource is busy. */
static BATON_NOINLINE int call_slow(struct baton_resource *resource, baton_call_fn fn, void *arg,
                                    void **value)
{
	if (BATON_UNLIKELY(baton__self->depth >= BATON__DEPTH_NONE)) {
		int error = baton__thread_attach();

		if (error)
			return error;
	}
	baton__stand_back(resource);
	if (call_at_once(resource, fn, arg, value))
		return 0;
	return call_and_wait(resource, fn, arg, value);
}

BATON_EXPORT int baton_call(struct baton_resource *resource, baton_call_fn fn, void *arg,
                            void **value)
{
	if (BATON_LIKELY(baton__self->depth < BATON__DEPTH_NONE) &&
	    BATON_LIKELY(call_at_once(resource, fn, arg, value)))
		return 0;
	return call_slow(resource, fn, arg, value);
}

BATON_EXPORT int baton_try_call(struct baton_resource *resource, baton_call_fn fn, void *arg,
                                void **value)
{
	if (BATON_UNLIKELY(baton__self->depth >= BATON__DEPTH_NONE)) {
		int error = baton__thread_attach();

		if (error)
			return error;
	}
	if (BATON_LIKELY(call_at_once(resource, fn, arg, value)))
		return 0;
	if (baton__word_is_closed(baton__word(resource)))
		return -EPIPE;
	if (baton__thread_holds(baton__self, resource))
		return baton__cycle_of_one(resource);
	return baton__hooked(resource) ? try_call_hooked(resource, fn, arg, value) : -EAGAIN;
}

BATON_INLINE int post(struct baton_resource *resource, baton_call_fn fn,
                      baton_post_cancelled_fn cancelled, void *arg)
{
	struct post *post;
	int error = 0;

	if (BATON_UNLIKELY(baton__self->depth >= BATON__DEPTH_NONE))
		error = baton__thread_attach();
	if (error)
		return error;
	/* Run at once it needs no node. */
	if (baton__self->depth < BATON_NESTING_MAX && call_at_once(resource, fn, arg, NULL))
		return 0;
	post = baton__node_alloc(sizeof(*post));
	if (!post)
		return -ENOMEM;
	baton_task_init_typed(&post->task, &post_type);
	post->fn = fn;
	post->cancelled = cancelled;
	post->arg = arg;
	error = baton__submit_busy(resource, &post->task);
	if (error)
		baton__node_free(post);
	return error;
}

BATON_EXPORT int baton_post(struct baton_resource *resource, baton_call_fn fn, void *arg)
{
	return post(resource, fn, NULL, arg);
}

BATON_EXPORT int baton_post_or(struct baton_resource *resource, baton_call_fn fn,
                               baton_post_cancelled_fn cancelled, void *arg)
{
	return post(resource, fn, cancelled, arg);
}

BATON_EXPORT int baton_async(struct baton_resource *resource, baton_call_fn fn, void *arg,
                             struct baton_future **future)
{
	struct async *async;
	int error = 0;

	if (BATON_UNLIKELY(baton__self->depth >= BATON__DEPTH_NONE))
		error = baton__thread_attach();
	if (error)
		return error;
	async = baton__node_alloc(sizeof(*async));
	if (!async)
		return -ENOMEM;
	async->counted = (struct baton__counted){.references = 1};
	if (baton__self->depth < BATON_NESTING_MAX &&
	    call_at_once(resource, fn, arg, &async->counted.future._value)) {
		/* unshared: nobody else has seen it yet */
		async->counted.future._state = BATON__FUTURE_DONE | BATON__FUTURE_COUNTED;
		*future = &async->counted.future;
		return 0;
	}
	/* unshared: not submitted yet */
	async->counted.future._state = BATON__FUTURE_COUNTED;
	async->fn = fn;
	async->arg = arg;
	baton_task_init(&async->task, async_run, &async->counted.future);
	error = baton_submit(resource, &async->task);
	if (error)
		baton__node_free(async);
	else
		*future = &async->counted.future;
	return error;
}
