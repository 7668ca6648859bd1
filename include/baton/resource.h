/* SPDX-License-Identifier: MIT */
/*
 * A resource is the unit of serialisation: its tasks never overlap, and run in the order in which
 * they were submitted. On an idle resource a submit, post, async or call runs the function on this
 * thread, before it returns. On a busy resource the function runs on the runner's thread, or, after
 * a hand-off, on the executor's thread. A call waits until the function has returned. submit_later
 * runs nothing on this thread. With BATON_CAPTURE_NONE all functions run on the executor's thread.
 *
 *   call                        | may run beside                 | from
 *   submit*, call, post, async  | everything but init, deinit    | any thread, also inside tasks
 *   close, cancel_pending       | everything but init, deinit    | any thread, also inside tasks
 *   close_then                  | everything but init, deinit    | any thread, also inside tasks
 *   await                       | everything but init, deinit    | any thread, not in an own task
 *   is_*, name                  | everything but init, deinit    | any thread, also inside tasks
 *   init, deinit                | nothing                        | the owner
 *
 * What holds for all calls of a thread (its first call, -ENOMEM and -ECHILD, fork, signal handlers)
 * is said once, in thread.h.
 *
 * Corner cases. A post whose node cache is empty may call mmap, and is lock-free as far as mmap is.
 *
 * Progress: submit, submit_later, submit_batch and post are lock-free: a thread stopped inside one
 * of them, outside any task, delays no other thread.
 * Source: the inbox is a Treiber stack that the runner takes whole (as in Hendler et al., flat
 * combining); state and inbox share one word, as in Oyama, Taura and Yonezawa's delegation lock.
 */
#ifndef BATON_RESOURCE_H
#define BATON_RESOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/executor.h>
#include <baton/future.h>
#include <baton/task.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton__backlog;
struct baton__gauge;
struct baton_resource_stats;

/*
 * Growth, of this struct and all others whose name ends in _config, _options, _policy or _ops.
 * Initialise such a struct by `{0}`, by its macro or by designated initialisers. A member that is
 * 0, or not named, has its default. A later version may take a new member from `_reserved`: a word
 * there that is not zero is refused by -EINVAL, or asserted where no error is returned. The size of
 * the struct does not change, nor do a member's place and default. So a program that was compiled
 * against an older header of the same soname works as before.
 *
 * A config is shared, and is read as long as a resource uses it. Options are read during the call
 * that they are given to.
 */

/*
 * Settings that many resources share. A config must outlive its resources, and must not change.
 * Its functions run on the runner's thread, under the baton; `cancelled` of a refused or dropped
 * task, on this thread, which has submitted the task; and `name_of`, on any thread.
 */
struct baton_resource_config {
	/*
	 * How many tasks a submitter that has captured the resource runs before it hands the
	 * resource off; its own task counts. 0: BATON_CAPTURE_MAX. A batch of its own is not cut
	 * (except by capture_ns): the batch runs as a whole, and others' tasks run within what the
	 * batch has left of the limit.
	 *
	 * A submitter that finds the resource in its executor's queue may run waiting tasks, up to
	 * the same number (at least as many as it submits). So the threads that make a queue grow
	 * also shorten it. The submitter runs these tasks immediately, or, from inside a task, when
	 * the outermost task of its thread has returned.
	 *
	 * BATON_CAPTURE_NONE: tasks run only on the executor's threads (no capture, no inline call,
	 * no help from other threads), except when the executor shuts down: a thread whose hand-off
	 * is refused, or which cancels the resource's job, runs the tasks that other threads submit
	 * meanwhile, as no other thread is left. If that thread is inside a task of another
	 * resource, threads that wait for the resource's tasks run them, too.
	 */
	uint32_t capture_max;
	/*
	 * How many tasks a worker runs before it puts the resource behind the worker's other jobs.
	 * 0: BATON_QUANTUM.
	 */
	uint32_t quantum;
	/*
	 * Both limits in nanoseconds, looked at between tasks, and by baton_should_yield(); 0: no
	 * limit in time. With a capture_ns a submit takes a longer way, as with statistics.
	 */
	uint64_t capture_ns;
	uint64_t quantum_ns;
	/* Drains the resource after a hand-off. NULL: the default pool, created on first need. */
	struct baton_executor *executor;
	/*
	 * Called for each cancelled task that has no future, so that its memory can be freed.
	 * Called under the baton, except for a continuation that the resource refuses, and a task
	 * that a bound drops during a submit (bound.h).
	 *
	 * Not called for a task whose type has a `cancelled` of its own (task.h), nor for the
	 * library's tasks (posts, timers, triggers, fan-outs): each of these tells in another way.
	 * NULL: no function is called.
	 *
	 * Where calls have nested BATON_NESTING_MAX deep, calls without the baton are made
	 * later: when this thread's stack is unwound, or before the thread sleeps in a wait.
	 */
	void (*cancelled)(struct baton_task *task);
	/*
	 * Called for each task that has no future and whose function has returned a status: under
	 * the baton, after the function and before the next task. Not called for a task that is
	 * detached. NULL: only the statistics count the failure.
	 *
	 * `task` only identifies the task: its memory is as the function has left it, perhaps
	 * freed. The callback may follow the pointer only where no function of the resource's tasks
	 * frees or submits its own task before it returns a status; the callback may then free the
	 * task itself.
	 */
	void (*failed)(struct baton_resource *resource, struct baton_task *task, int status);
	/*
	 * Drain hooks, see hooks.h: called around each run of consecutive tasks. Each returns 0, or
	 * a status. Both NULL, and delay_completions false: no hooks.
	 */
	int (*batch_begin)(struct baton_resource *resource);
	int (*batch_end)(struct baton_resource *resource);
	uint64_t batch_ns;      /* a batch ends after so long, looked at between tasks; 0: none */
	uint32_t batch_max;     /* and after so many tasks; 0: when the runner's stay is over */
	bool delay_completions; /* until batch_end has returned */
	/*
	 * Context: `enter` is called before, and `leave` after, each function of the program's that
	 * runs under the resource's baton, on the runner's thread: for thread-locals, fields of log
	 * lines, tracing spans. Either may be NULL. A task's future completes after `leave`.
	 *
	 *   between enter and leave          | not
	 *   the functions of tasks, calls,   | `cancelled`, a timer's `dropped`: also called by
	 *     posts, asyncs, timers, ...     |   threads without the baton
	 *   `failed`: in its task's pair     | finalisers: the resource may be gone
	 *   batch_begin, batch_end: a pair   | what is told of a future's end: after `leave`
	 *     each, unless a task flushes    |
	 *   a bound's `high` and `low`       | name_of
	 *
	 * Pairs nest on a thread: a task that submits or waits may run tasks of other resources. A
	 * resource is in one pair at a time: so `enter` keeps what the thread had before in a
	 * member beside the resource, and `leave` puts it back. The carried value (carried.h) is
	 * the function's: `enter` and `leave` find NULL. Both may submit. They must not wait,
	 * detach, flush or set a result. A pair may be empty: the timer, say, was stopped as the
	 * runner came to it. A submit takes a longer way, as with statistics.
	 */
	void (*enter)(struct baton_resource *resource);
	void (*leave)(struct baton_resource *resource);
	/*
	 * For messages, boards and debuggers. `name_of` returns the name of one resource: mostly a
	 * member of the struct that the resource lies in (baton_container_of). Where name_of is
	 * NULL, or returns NULL, all resources of the config have the name `name`, or none.
	 *
	 * name_of is called on any thread, also on one that is about to end the process because of
	 * a mistake, from the initialiser of the resource until its end. It must only read memory,
	 * and always return the same string.
	 */
	const char *name;
	const char *(*name_of)(const struct baton_resource *resource);
	uint64_t _reserved[4];
};

#define BATON_CAPTURE_MAX 10
#define BATON_CAPTURE_NONE (UINT32_MAX - 1)
#define BATON_QUANTUM 64
#define BATON_RESOURCE_CONFIG_INIT BATON_RESOURCE_CONFIG_NAMED(NULL)

/* The defaults, and a name for all resources of the config. */
#define BATON_RESOURCE_CONFIG_NAMED(name)                                                          \
	{                                                                                          \
		0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, false, NULL, NULL, (name), NULL,   \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

/* The first member of what extends a resource: of its lanes or its bound. */
struct baton__extension_head {
	const struct baton__backlog *_table;
	const struct baton_resource_config *_config;
	struct baton_resource_stats *_stats;
};

/*
 * A resource: its inbox, its baton, its place in the executor's queue. 40 bytes, of the caller's
 * memory; a member of the struct that it guards.
 *
 * Ownership: the caller's again after an await of the closed resource, or in its finaliser. The
 * struct is not copied nor moved.
 *
 * Corner cases. A submit to an idle resource touches the last word only. So put the state that the
 * tasks change right behind the resource: mostly one cache line has both.
 */
struct baton_resource {
	struct baton_job _job;
	union {
		const struct baton_resource_config *_config;
		uintptr_t _extras; /* statistics or an extension, see src/core/extras.h */
	};
	struct baton_task *_list;
	uintptr_t _word;
};

/*
 * Constant initialisers. `config`: NULL: the defaults. All-zero memory (calloc, a static variable)
 * is an idle resource with the defaults.
 *
 * A resource has no pointer for its user: it is a member of what it guards, and
 * baton_container_of() leads from one to the other.
 *
 * What few resources have is set afterwards, between the initialiser and the first submit, in any
 * order: baton_resource_set_stats() in stats.h, baton_resource_set_lanes() in lane.h,
 * baton_resource_set_bound() in bound.h.
 */
#define BATON_RESOURCE_INIT(config)                                                                \
	{                                                                                          \
		{NULL, 0, 0}, {(config)}, NULL, 2                                                  \
	}

/*
 * Makes an idle resource, as BATON_RESOURCE_INIT does. `config`: NULL: the defaults.
 *
 * Thread safety: the owner. Errors: none.
 */
void baton_resource_init(struct baton_resource *resource,
                         const struct baton_resource_config *config) BATON_NONNULL_AT(1);

/*
 * Asserts that the resource is closed and idle, so that its memory may be freed.
 *
 * Thread safety: the owner.
 */
void baton_resource_deinit(struct baton_resource *resource) BATON_NONNULL;

/* The name that the config gives the resource; NULL: none. Thread safety: any thread. Blocking:
 * never. */
const char *baton_resource_name(const struct baton_resource *resource) BATON_NONNULL;

/*
 * Submits a task. On an idle resource the task runs on this thread, before the call returns, and
 * after it the tasks that other threads have submitted meanwhile, up to the capture limit. On a
 * busy resource the task runs on the runner's thread, or on the executor's thread.
 *
 * Thread safety: any thread, also inside tasks.
 * Blocking: never, apart from what the tasks that run here do, and the wait of a bound (bound.h).
 * Ownership: the task is baton's from here until its function is entered; with a future, until that
 * is complete. After an error it is the caller's. The resource must live until the task is accepted
 * or refused.
 * Ordering: what the submitter did before is visible to the task. One submitter's tasks run in
 * program order.
 * Errors: the task is untouched:
 *   -EPIPE      the resource is closed.
 *   -ESHUTDOWN  no thread would run the task: its executor has shut down, say.
 *   -EINVAL     the task's future is not fresh.
 *   -EAGAIN     the resource's bound is reached (bound.h).
 *   -ETIMEDOUT  the bound's wait has lasted too long.
 *   -EDEADLK    the bound's wait cannot end.
 *   -ECANCELED  another thread has cancelled the task's future during this call.
 *   -ENOMEM, -ECHILD  see thread.h, here as in all other calls.
 *
 * Corner cases. Inside a task the capture is nested: only this task runs here, and other threads'
 * tasks go to the executor. At a depth of BATON_NESTING_MAX captures the resource goes to the
 * executor untouched.
 *
 * A thread that has waited for an earlier task, by its future or by await, may still find the
 * resource busy for a moment. So do not conclude from the return of submit that the task has run:
 * its future says so.
 *
 * An accepted task may itself end the resource (close_then). For giving back the resource's memory
 * see baton_resource_await().
 *
 * -ESHUTDOWN: the executor refuses the resource, whatever its reason; and capture_max is
 * BATON_CAPTURE_NONE, or the call is submit_later. Or the executor is the default pool, and could
 * not be created; the next submit tries again. -ECANCELED: the submit was refused, also by the wait
 * of a bound, and the future is complete, as cancelled.
 *
 * A thread that is in no task, and finds the resource busy, may look a few times more whether it
 * can capture the resource: for about two microseconds, or for eight where the resource is busy
 * again and again. Where looks have seldom helped, there are fewer of them. The same holds for a
 * batch, post and async. Of several threads that submit at the same moment one
 * succeeds at once. Each other thread tries again, at most five microseconds later.
 */
BATON_MUST_USE int baton_submit(struct baton_resource *resource,
                                struct baton_task *task) BATON_NONNULL;

/*
 * As baton_submit(), but runs nothing on this thread: the task runs on the executor's thread, or on
 * the thread of a runner that holds the resource now. An idle resource goes to its executor.
 *
 * Errors: as baton_submit().
 */
BATON_MUST_USE int baton_submit_later(struct baton_resource *resource,
                                      struct baton_task *task) BATON_NONNULL;

/*
 * Submits `count` tasks in this order with one publication: no other submitter's task comes between
 * them, and together they cost one atomic operation. All tasks are accepted, or none. They run
 * where those of baton_submit() run; those of batch_later, where those of baton_submit_later() run.
 *
 * Thread safety: any thread, also inside tasks.
 * Ownership: as in baton_submit(), for each task; the array is the caller's again on return.
 * Errors: as baton_submit(): refused tasks are untouched, except that a future which another thread
 * has cancelled during this call is complete.
 */
BATON_MUST_USE int baton_submit_batch(struct baton_resource *resource,
                                      struct baton_task *const *tasks, size_t count)
	BATON_NONNULL_AT(1);
BATON_MUST_USE int baton_submit_batch_later(struct baton_resource *resource,
                                            struct baton_task *const *tasks, size_t count)
	BATON_NONNULL_AT(1);

/* How deep the tasks that submits enter may nest on one stack. A deeper task runs later on this
 * thread, or on the executor's. */
#define BATON_NESTING_MAX 8

/*
 * A limit for functions that cannot be put off, because their callers wait for them: how deep they
 * nest on one stack. At a depth of BATON_CALLING_MAX levels the next call returns -EDEADLK, for an
 * idle resource as for a busy one. One level is a baton_call() or baton_try_call(), a registry's
 * `init` or visit, or a job that the owner of a manual or loop executor runs. Two levels are such a
 * job that runs a task, a call of a resource with a capture_ns, and a baton_try_call() of a
 * resource with drain hooks. Four levels are a wait in which this thread helps, or drives an
 * executor. What the library puts on the stack for all levels fits into 64 KiB (80 on aarch64, and
 * where it was built with -fstack-protector-strong). Not counted: a program's own recursion through
 * baton_job_run(), and through the compensations of undo logs.
 */
#define BATON_CALLING_MAX 128

/* A function that runs under the baton, for calls that need no task of the caller's. */
typedef void *(*baton_call_fn)(void *arg);

/*
 * Runs fn(arg) under the resource's baton, and returns the function's value through `*value` (may
 * be NULL). On an idle resource fn runs on this thread. On a busy resource baton_try_call() returns
 * -EAGAIN, and baton_call() waits: fn runs on the runner's thread, or on the executor's thread.
 *
 * Thread safety: any thread, also inside tasks.
 * Blocking: call: yes, as baton_future_wait() does. try_call: never.
 * Ownership: `arg` and `*value` stay the caller's.
 * Ordering: as baton_submit(); what the function did is visible to the caller.
 * Errors: fn has not run and *value is untouched:
 *   -EPIPE, -ESHUTDOWN  as for baton_submit().
 *   -EDEADLK    this thread, or a caller for which it runs, holds the resource's baton; or the wait
 *               would close a cycle (future.h); or calls have nested BATON_CALLING_MAX deep.
 *   -EAGAIN     the resource is busy (try_call), or its bound is reached (call).
 *   -ETIMEDOUT  the wait of a bound has lasted too long (bound.h).
 *   -ECANCELED  a cancel_pending, or a shutdown_now of the executor, met the waiting call; or the
 *               bound dropped it.
 *
 * Corner cases. Thread-locals, errno and locks of the caller do not follow to another thread. The
 * caller's batons do: fn may touch what the calling task's resource guards (baton_held()).
 *
 * With drain hooks (hooks.h) the call may also return the status of a batch_begin, or, after fn has
 * run, of a batch_end (*value is untouched then, too).
 *
 * A call that is not inside a task looks up to nine times whether the resource is idle, within
 * about 12 microseconds, before it queues; it leaves that out where such looks were in vain.
 */
BATON_MUST_USE int baton_call(struct baton_resource *resource, baton_call_fn fn, void *arg,
                              void **value) BATON_NONNULL_AT(1, 2);
BATON_MUST_USE int baton_try_call(struct baton_resource *resource, baton_call_fn fn, void *arg,
                                  void **value) BATON_NONNULL_AT(1, 2);

/*
 * post: submits fn(arg), for which nobody waits. async: the same, and `*future` is set to a
 * reference-counted future, whose value is that of fn. On an idle resource fn runs on this thread,
 * before the call returns. On a busy one it runs on the runner's thread, or on the executor's
 * thread.
 *
 * Thread safety: any thread, also inside tasks. Blocking: as baton_submit().
 * Ownership: the library has the task (per-thread cache). `arg` goes to fn. End the reference to
 * the future with baton_future_unref(). For an `arg` that must be given back when a post is
 * cancelled see baton_post_with() (call.h).
 * Errors: as for baton_submit(), and -ENOMEM. No function has been called, `arg` is the caller's,
 * and *future is untouched.
 *
 * Corner cases. A cancelled post only counts in the statistics.
 */
BATON_MUST_USE int baton_post(struct baton_resource *resource, baton_call_fn fn, void *arg)
	BATON_NONNULL_AT(1, 2);
BATON_MUST_USE int baton_async(struct baton_resource *resource, baton_call_fn fn, void *arg,
                               struct baton_future **future) BATON_NONNULL_AT(1, 2, 4);

/*
 * Closes the resource: new submits are refused, accepted tasks still run. Where a task is complete
 * only by a later task of the same resource (an acknowledgement, say), wait until nothing is in
 * flight before the close: it refuses that later task, too, and the await would not return.
 *
 * Thread safety: any thread. Blocking: never. Returns: 0; -EALREADY: the resource is closed.
 */
int baton_resource_close(struct baton_resource *resource) BATON_NONNULL;

/*
 * Closes the resource, if it is not yet closed, and has `finaliser` called exactly once: after the
 * last accepted task, its completion and the release. It runs on the last runner's thread, which
 * then holds no baton of this resource; on this thread, if the resource is idle.
 *
 * Thread safety: any thread. Blocking: never.
 * Ownership: the finaliser may free the resource and itself. So a session can end itself in its own
 * task. When the finaliser runs, no submit that could be refused may be under way, see
 * baton_resource_await(). Another thread may still have a pointer to the resource, and submit by it
 * later: let threads find the resource in a registry (registry.h), or count references to it.
 * Errors: nothing happens: -EALREADY: there is a finaliser already.
 *
 * Corner cases. The finaliser has no future; its return value is ignored. Where the last runner's
 * thread is nested BATON_NESTING_MAX deep, the finaliser runs later on that thread, as
 * config->cancelled does.
 */
BATON_MUST_USE int baton_resource_close_then(struct baton_resource *resource,
                                             struct baton_task *finaliser) BATON_NONNULL;

/*
 * Cancels the tasks that have been accepted so far and have not started. The call marks and
 * returns: the tasks complete as cancelled, on the runner's thread, at its next look (before its
 * next task). Later submits are unaffected.
 *
 * Thread safety: any thread. Blocking: never.
 * Ownership: a cancelled task is the user's again: its future, or `cancelled` of its type or of the
 * config, says when.
 * Errors: see thread.h.
 */
int baton_resource_cancel_pending(struct baton_resource *resource) BATON_NONNULL;

/*
 * Waits until all tasks accepted before this call have run or were cancelled, and the runner has
 * let go; await_until: at most until `deadline_ns`. The waiter helps as baton_future_wait() does:
 * the tasks may run on this thread. The await does not return if a task waits for one that the
 * close has refused, see baton_resource_close().
 *
 * Thread safety: any thread. Blocking: yes.
 * Ownership: after an await on a closed resource, the resource's memory belongs to the caller again
 * (or to the finaliser, if there is one). The close must come before the await, and no submit to
 * the resource may be under way then. After an await on an open resource the resource must not be
 * freed nor initialised anew.
 * Errors: -EDEADLK: from inside an own task; or as in baton_future_wait(). -ETIMEDOUT.
 *
 * Corner cases. A submit that is under way: another thread may still be about to help with a
 * refused task or to cancel it, and only an await that begins after the refusal waits for that
 * thread too.
 *
 * When no task is left, the resource's entry may still lie in its executor's queue. The waiter
 * takes it out of a pool's queue; the thread of a manual or loop
 * executor must come to it. A thread that alone drives the resource's executor goes on to drive it
 * until the await is over, whichever thread runs the last task. A wait that times out leaves about
 * 100 bytes in the resource until its runner comes to them.
 */
BATON_MUST_USE int baton_resource_await(struct baton_resource *resource) BATON_NONNULL;
BATON_MUST_USE int baton_resource_await_until(struct baton_resource *resource,
                                              uint64_t deadline_ns) BATON_NONNULL;

/*
 * is_closed: is the resource closed? An answer of true stays true. After false another thread may
 * close the resource at any time, so that a submit must handle -EPIPE all the same.
 *
 * is_idle: does no thread hold the baton, and is no task queued? For assertions, tests and
 * statistics; to free the resource, close and await it.
 *
 * Thread safety: any thread, also inside tasks. Blocking: never.
 * Ordering: when is_idle returns true, all that the resource's tasks did before is visible.
 *
 * Corner cases. is_idle is true of one moment of the call: another thread may submit immediately
 * afterwards. A suspended resource is not idle, nor is a resource whose entry lies in its
 * executor's queue. Tasks that wait in a window (window.h) and tokens (detach.h) do not keep a
 * resource from being idle.
 *
 * Progress: wait-free.
 */
bool baton_resource_is_closed(const struct baton_resource *resource) BATON_NONNULL;
bool baton_resource_is_idle(const struct baton_resource *resource) BATON_NONNULL;

/*
 * The resource of the innermost running task of this thread, or NULL.
 *
 * Thread safety: any thread, about itself. Blocking: never.
 */
struct baton_resource *baton_current(void);

/*
 * held: does this thread hold the resource's baton, or does a caller for which it runs? True in a
 * task, and in a function that the task calls (baton_call()), on whichever thread: the caller keeps
 * its batons. assert_held: the same as an assertion.
 *
 * Thread safety: any thread, about itself. Blocking: never.
 *
 * Corner cases. A function that detaches itself (detach.h) has no callers from there on; nor has
 * what its waits run. While a caller sleeps, its batons are its function's: what the caller's own
 * thread runs in the wait does not hold them. So at most one thread is told that it holds a
 * resource.
 */
bool baton_held(const struct baton_resource *resource) BATON_NONNULL;
void baton_assert_held(const struct baton_resource *resource) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
