/* SPDX-License-Identifier: MIT */
/*
 * A resource is the unit of serialisation: its tasks never overlap and run in the order in which
 * they were submitted. Whoever submits to an idle resource runs the task at once, on its own
 * thread; whoever submits to a busy one leaves the task behind and goes on.
 *
 *                               | may run beside                 | from
 *   submit*, call, post, async  | everything but init, deinit    | any thread, also inside tasks
 *   close, cancel_pending       | everything but init, deinit    | any thread, also inside tasks
 *   close_then                  | everything but init, deinit    | any thread, also inside tasks
 *   await                       | everything but init, deinit    | any thread, not in an own task
 *   init, deinit                | nothing                        | the owner
 *
 * Progress: submit, submit_later, submit_batch and post are lock-free: a thread stopped inside one
 * of them, outside any task, delays nobody. (post: as far as malloc is, when its cache is empty.)
 * Source: the inbox is a Treiber stack that the runner takes whole (as in Hendler et al., flat
 * combining); state and inbox share one word, as in Oyama, Taura and Yonezawa's delegation lock.
 */
#ifndef BATON_RESOURCE_H
#define BATON_RESOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <baton/executor.h>
#include <baton/future.h>
#include <baton/task.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton__backlog;
struct baton_resource_stats;

/*
 * Growth, of this struct and of all others whose name ends in _config, _options or _ops: they are
 * initialised by their macro or by designated initialisers, and a member that is 0, or not named,
 * has its default. A later version may take a new member from `_reserved`, which must be zero; it
 * does not change the size of the struct, nor the place or the default of a member that exists. So
 * a program that was compiled against an older header of the same soname goes on as it was.
 *
 * A config is shared, and read as long as a resource uses it; options are read during the call
 * that they are given to.
 */

/* Settings that many resources share. Must outlive them and not change. */
struct baton_resource_config {
	/*
	 * Tasks that a submitter which captured the resource runs before it hands off; its own
	 * count. A submitter that finds the resource waiting in the executor's queue runs up to as
	 * many of the tasks that wait (at least as many as it submits): so the threads that make a
	 * queue grow also work it off. The submitter runs them at once, or, from inside a task,
	 * when the outermost task of its thread has returned.
	 *
	 * 0: tasks run only on the executor's threads (no capture, no inline call, no help from
	 * other threads), except when the executor ends: a thread whose hand-off is refused, or
	 * which cancels the resource's job, runs the tasks that other threads submit meanwhile, as
	 * no other thread is left.
	 */
	uint32_t capture_limit;
	/*
	 * Tasks that a worker runs before it puts the resource behind the others. 0:
	 * BATON_QUANTUM.
	 */
	uint32_t quantum;
	/* The same in nanoseconds, looked at between tasks; 0: no limit in time. */
	uint64_t capture_limit_ns;
	uint64_t quantum_ns;
	/* Who drains after a hand-off. NULL: the default pool, created on first need. */
	struct baton_executor *executor;
	/*
	 * Called for each cancelled task that has no future, so that its memory can be freed: under
	 * the baton, save for a continuation that the resource refuses and a task that a bound
	 * drops when it is submitted. (Where calls have nested BATON_NESTING_MAX deep, those two
	 * are told later: when this thread's stack is unwound, or before the thread sleeps in a
	 * wait.) Only called for tasks of yours: a labelled or windowed one is given as
	 * its `task`. Not called for a task whose type has a `cancelled` of its own (task_type.h),
	 * nor for the library's tasks (posts, timers, triggers, fan-outs): each
	 * of these has a way of its own to tell. NULL: nobody is told.
	 */
	void (*cancelled)(struct baton_task *task);
	/*
	 * Called for each task that has no future and whose function has returned a status: under
	 * the baton, after the function and before the next task. `task` is a name: its memory is
	 * as the function has left it, so the callback may follow the pointer only where no
	 * function of the resource's tasks frees or submits its task before it returns a status.
	 * The callback may then free the task itself. Not for a task that is detached. NULL: the
	 * statistics alone count the failure.
	 */
	void (*failed)(struct baton_resource *resource, struct baton_task *task, int status);
	/*
	 * Drain hooks, see hooks.h: called around each run of consecutive tasks: 0, or a status.
	 * Both NULL, and hold_completions false: none.
	 */
	int (*batch_begin)(struct baton_resource *resource);
	int (*batch_end)(struct baton_resource *resource);
	uint64_t batch_ns;     /* a batch ends after so long, looked at between tasks; 0: none */
	uint32_t batch_max;    /* and after so many tasks; 0: when the runner's stay is over */
	bool hold_completions; /* until batch_end has succeeded */
	uint64_t _reserved[4];
};

#define BATON_CAPTURE_LIMIT 10
#define BATON_QUANTUM 64
#define BATON_RESOURCE_CONFIG_INIT                                                                 \
	{                                                                                          \
		BATON_CAPTURE_LIMIT, BATON_QUANTUM, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, 0,      \
			false,                                                                     \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

/* What a resource has beyond its one cache line begins with this. Zeroed in statistics. */
struct baton_backlog {
	const struct baton__backlog *_table;
	struct baton_resource_stats *_stats;
};

/*
 * Counts of a resource's past and waiting tasks. In the caller's memory, zeroed, one per resource.
 * Read a copy made by baton_resource_stats_read(): some members are only set in the copy. The
 * runner counts without atomics; a submit that finds the resource busy pays one atomic operation
 * more. Balanced (submitted = executed + cancelled, outstanding and waiting 0) when the resource is
 * idle.
 */
struct baton_resource_stats {
	struct baton_backlog _backlog;
	uint64_t submitted; /* tasks accepted; one whose submit is under way may count already */
	uint64_t executed;  /* of these, run to the end of their function */
	uint64_t cancelled; /* of these, never to run */
	uint64_t captures;  /* submits that ran inline */
	uint64_t _left;
	uint64_t _passed_ns;
	uint64_t failed;      /* executed tasks that returned a status, or whose batch_end did */
	uint64_t outstanding; /* submitted tasks that are not executed nor cancelled yet */
	uint64_t waiting;     /* of these, not begun: in the inbox, a lane or a window */
	/*
	 * The time since which the oldest of these waits (CLOCK_MONOTONIC): the time of its submit,
	 * or earlier, by at most the time that a task before it took through the queue. 0: no task
	 * waits. Where tasks overtake each other (lanes, windows) the oldest may have waited for
	 * longer. Also 0 (not known) after a close beside many submits has refused the submit that
	 * had stored the time.
	 */
	uint64_t oldest_ns;
	uint64_t handoffs;    /* times the resource was given to its executor */
	uint64_t helped;      /* times a waiter or submitter took the queued baton */
	uint64_t refused;     /* hand-offs that the executor refused: the runner went on */
	uint64_t backlog_max; /* most tasks found when a runner took the inbox */
	/* Submitters' words, on another cache line than the runner's. */
	uint64_t _pushed;
	uint64_t _marked_ns;
	const struct baton_task *_marked;
};

struct baton_resource {
	uintptr_t _word;
	struct baton_task *_list;
	struct baton_job _job;
	void *_user;
	const char *_name;
	const struct baton_resource_config *_config;
	struct baton_resource_stats *_stats;
};

/*
 * Constant initialisers. `user`: yours, for baton_resource_user(). `name`: for statistics and
 * messages, must outlive the resource, may be NULL. `config`, `stats`: may be NULL (defaults; not
 * counted). All-zero memory (calloc, a static variable) is an idle resource, too: one for which all
 * four are NULL.
 */
#define BATON_RESOURCE_INIT(user, name, config, stats)                                             \
	{                                                                                          \
		2, NULL, {NULL, 0, 0}, (user), (name), (config), (stats)                           \
	}

/* The same at run time. Errors: none. */
void baton_resource_init(struct baton_resource *resource, void *user, const char *name,
                         const struct baton_resource_config *config,
                         struct baton_resource_stats *stats);

/* Asserts that the resource is closed and idle, so that its memory may go. */
void baton_resource_deinit(struct baton_resource *resource);

void *baton_resource_user(const struct baton_resource *resource);
const char *baton_resource_name(const struct baton_resource *resource);

/*
 * A copy of the counters, each read atomically; `waiting` is a number that was right at one moment
 * of the call, unless tasks go on leaving the queue (then it is too large by some of those).
 *
 * Thread safety: any thread, at any time. Blocking: never.
 */
void baton_resource_stats_read(const struct baton_resource_stats *stats,
                               struct baton_resource_stats *copy);

/*
 * Submits a task. If the resource is idle the task runs now, inside this call, and then whatever
 * other threads have submitted meanwhile, up to the capture limit; what is left goes to the
 * executor. If it is busy the task is left for the runner.
 *
 * Inside a task the capture is nested: only this task runs here, others' tasks go to the executor;
 * at a depth of BATON_NESTING_MAX captures the resource goes to the executor untouched.
 *
 * Thread safety: any thread. Blocking: never (the tasks run here take what they take). Outside of
 * tasks a thread that finds the resource busy may look again three times within about two
 * microseconds, and capture, before it leaves the task; the less often, the less that has helped
 * it (src/core/barge.c). A batch, post, async and call do the same.
 * Ownership: see struct baton_task. The resource must live until the task is accepted, whereupon
 * the task itself may end it (close_then), or is refused; for how it is given back then see await.
 * Ordering: what the submitter did before is visible to the task; one submitter's tasks run in
 * program order. Who has waited for an earlier task, by its future or by await, may still find the
 * resource busy for a moment: count on a task having run when its future says so, not on return.
 * Errors: the task is untouched: -EPIPE: the resource is closed. -ESHUTDOWN: its limit is 0 (or
 * this is submit_later) and its executor has ended, or it is the default pool and could not be
 * created (the next submit tries again). -EINVAL: the task's future is not fresh.
 * -EAGAIN: its bound is reached (baton/bound.h). -ENOMEM, -ECHILD: see thread.h, here as in all
 * other calls.
 * -ECANCELED: -EPIPE, -ESHUTDOWN or -EAGAIN, and somebody has cancelled the future during this very
 * call: it is complete, as cancelled.
 */
int baton_submit(struct baton_resource *resource, struct baton_task *task);

/* As baton_submit, but runs nothing on this thread: an idle resource goes to its executor. */
int baton_submit_later(struct baton_resource *resource, struct baton_task *task);

/*
 * Submits `count` tasks in this order with one publication: no other submitter's task comes between
 * them, and together they cost one atomic operation. All or none are accepted; refused ones are
 * untouched, save that a future which somebody has cancelled during this call is complete.
 */
int baton_submit_batch(struct baton_resource *resource, struct baton_task *const *tasks,
                       size_t count);

#define BATON_NESTING_MAX 8

/* A function for the calls below, which need no task of the caller's. */
typedef void *(*baton_call_fn)(void *arg);

/*
 * Runs fn(arg) under the resource's baton and returns its value through `*value` (may be NULL).
 * Inline if the resource is idle, else it waits its turn as baton_future_wait() does.
 *
 * Errors: fn has not run and *value is untouched: -EPIPE, -ESHUTDOWN as for
 * baton_submit; -EDEADLK: this thread holds the resource's baton already, or the wait would
 * close a cycle of waits (future.h). try_call: -EAGAIN instead
 * of waiting.
 * -EAGAIN: it would have to wait, and the resource's bound is reached.
 * -ECANCELED: a cancel_pending, or a shutdown_now of its executor, met the waiting call; or its
 * bound dropped it.
 * With drain hooks (hooks.h) also the status of a batch_begin, or, after fn has run, a batch_end
 * (*value is untouched then, too).
 */
int baton_call(struct baton_resource *resource, baton_call_fn fn, void *arg, void **value);
int baton_try_call(struct baton_resource *resource, baton_call_fn fn, void *arg, void **value);

/*
 * As baton_submit, with a task that the library allocates (per-thread cache). post: fire and
 * forget. async: `*future` is set to a reference-counted future, whose value is fn's; end it with
 * baton_future_unref().
 *
 * post_or: as post, for an `arg` that somebody must give back. If the post is accepted and then
 * cancelled (cancel_pending, a bound that drops, the shutdown of its executor, a failing
 * batch_begin), `cancelled(arg)` is called instead of fn(arg): exactly one of the two, once. It is
 * called as config->cancelled is. A labelled post has the same as an option (baton_post_with,
 * labelled.h). A cancelled post without such a function only counts in the statistics.
 * Errors: as for baton_submit, and -ENOMEM. No function has been called, `arg` is the caller's, and
 * *future is untouched.
 */
int baton_post(struct baton_resource *resource, baton_call_fn fn, void *arg);
typedef void (*baton_post_cancelled_fn)(void *arg);
int baton_post_or(struct baton_resource *resource, baton_call_fn fn,
                  baton_post_cancelled_fn cancelled, void *arg);
int baton_async(struct baton_resource *resource, baton_call_fn fn, void *arg,
                struct baton_future **future);

/*
 * Closes: new submits are refused, what was accepted still runs. 0, or -EALREADY.
 */
int baton_resource_close(struct baton_resource *resource);

/*
 * Closes (if it is not yet closed) and has `finaliser` called exactly once: after the last accepted
 * task, its completion and the release, on the last runner's thread, which then holds no baton of
 * this resource; where that thread is nested BATON_NESTING_MAX deep, later on it (see cancelled).
 * The finaliser may free the resource, in which it may lie itself: a session that ends itself in
 * its own task; but not beside a submit that may be refused, see await. The finaliser has no
 * future; its return value is ignored.
 *
 * Errors: nothing happens: -EALREADY: there is a finaliser already.
 */
int baton_resource_close_then(struct baton_resource *resource, struct baton_task *finaliser);

/*
 * Cancels what has been accepted so far. Marks and returns: at the runner's next look (before its
 * next task) whatever was accepted before the mark and has not started completes as cancelled;
 * later submits are unaffected. Errors: see thread.h.
 */
int baton_resource_cancel_pending(struct baton_resource *resource);

/*
 * Waits until everything accepted before this call has run or was cancelled and the runner has let
 * go. On a closed resource its memory then belongs to the caller again (unless there is a
 * finaliser, to which it belongs); not on an open one, whose entry may still lie in its executor's
 * queue: do not free it, nor initialise it anew, without a close. Closed before the call, that is,
 * and with no submit to it under way: one that is refused may leave behind, for a moment, a thread
 * that was about to help with its task or to cancel it, and only an await that begins afterwards
 * waits for that thread too. The waiter helps as baton_future_wait() does; but when there is no
 * task left, only the entry in its executor's queue, it can take that from a pool, not from a
 * manual or loop executor, whose thread has to come to it. A wait that times out leaves about 100
 * bytes in the resource until its runner comes to them.
 * `deadline` as for baton_future_wait().
 *
 * Errors: -EDEADLK from inside an own task. -ETIMEDOUT. -EINVAL.
 */
int baton_resource_await(struct baton_resource *resource, const struct timespec *deadline);

/*
 * is_closed: is the resource closed? An answer of true stays true; after false another thread may
 * close the resource at any time, so that a submit must deal with -EPIPE all the same. For loops
 * that end with their resource, and for messages.
 *
 * is_idle: does no thread hold the baton, and is no task queued? The answer is true of one moment
 * of the call: another thread may submit at once. For assertions, tests and statistics. It is no
 * licence to free the resource: that is what close and await are for. A suspended resource and one
 * whose entry lies in its executor's queue are not idle; tasks that wait in a window (window.h) and
 * tokens (detach.h) do not keep a resource from being idle.
 *
 * Thread safety: any thread, also inside tasks. Blocking: never. Progress: wait-free.
 * Ordering: when is_idle returns true, all that the resource's tasks did before is visible.
 */
bool baton_resource_is_closed(const struct baton_resource *resource);
bool baton_resource_is_idle(const struct baton_resource *resource);

/* The resource of the innermost running task of this thread, or NULL. */
struct baton_resource *baton_current(void);

/* Does this thread hold the resource's baton? And the same as an assertion. */
bool baton_held(const struct baton_resource *resource);
void baton_assert_held(const struct baton_resource *resource);

#ifdef __cplusplus
}
#endif

#endif
