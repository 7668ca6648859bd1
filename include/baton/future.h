/* SPDX-License-Identifier: MIT */
/*
 * A future is where a task's outcome appears. A future can be looked at, waited for, chained and
 * cancelled. A future lives in the caller's memory (a struct, the stack), or comes
 * reference-counted from baton_async(). A promise is a future without a task: a thread fulfils it
 * by baton_future_complete().
 *
 *                        | may run beside                        | from
 *   state, status, value | everything                            | any thread
 *   wait                 | everything; any number of waiters     | any thread; see -EDEADLK
 *   then                 | everything                            | any thread
 *   cancel               | everything                            | any thread
 *   complete             | everything (promises only)            | any thread
 *   init                 | nothing                               | the owner
 *
 * Lifetime: baton does not touch the memory of a complete future any more. A thread that has seen
 * the future complete (by its state, a wait, a continuation) may reuse the memory, provided that no
 * other call on the future is still under way. A then() is such a call: so, before the submit,
 * register a continuation that frees the future. The complete() of a promise is no such call: when
 * another thread sees the promise complete, complete() no longer touches the promise.
 */
#ifndef BATON_FUTURE_H
#define BATON_FUTURE_H

#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/task.h>
#include <baton/time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_resource;
struct baton_executor;
struct baton_job;
struct baton_continuation;

/* Where a future stands. DONE, FAILED and CANCELLED are complete, and final. */
enum baton_future_state {
	BATON_PENDING = 0,   /* the task has not started; perhaps cancelled, but not yet unlinked */
	BATON_RUNNING = 1,   /* the task's function has been entered */
	BATON_DONE = 2,      /* complete: the function returned 0, or a promise was fulfilled */
	BATON_FAILED = 3,    /* complete: the function returned another status; or see hooks.h */
	BATON_CANCELLED = 4, /* complete: the function never ran and never will */
};

/*
 * A future, or a promise. Its members are private: see baton_future_state() and so on.
 *
 * Ownership: the caller's memory; baton's from the accepted submit of its task until it is
 * complete. A promise is baton's while another call than complete() on it is under way.
 */
struct baton_future {
	uint32_t _state;
	int32_t _status;
	void *_value;
	struct baton_resource *_resource;
	struct baton_continuation *_continuations;
};

/* A future for a task (BATON_TASK_INIT); a promise, which baton_future_complete() fulfils. */
#define BATON_FUTURE_INIT                                                                          \
	{                                                                                          \
		0, 0, NULL, NULL, NULL                                                             \
	}
#define BATON_PROMISE_INIT                                                                         \
	{                                                                                          \
		0x40, 0, NULL, NULL, NULL                                                          \
	}

/*
 * Makes a fresh future or promise, also out of a used one. A fresh future serves one submit.
 *
 * Thread safety: the owner.
 *
 * Corner cases. baton-top, the watchdog and gdb name the thread that has called
 * baton_promise_init() as the maker of a promise that another thread waits for. A promise of
 * BATON_PROMISE_INIT has no maker that they could name, since no code runs there.
 */
void baton_future_init(struct baton_future *future) BATON_NONNULL;
void baton_promise_init(struct baton_future *future) BATON_NONNULL;

/*
 * The state of the future. A complete state is final. Everything that the task did is visible to a
 * thread that has seen a complete state.
 *
 * Thread safety: any thread. Blocking: never.
 */
enum baton_future_state baton_future_state(const struct baton_future *future) BATON_NONNULL;

/*
 * Is the future complete (done, failed or cancelled)?
 *
 * Thread safety: any thread. Blocking: never.
 */
static inline bool baton_future_is_complete(const struct baton_future *future)
{
	return baton_future_state(future) >= BATON_DONE;
}

/*
 * The status and the value of a complete future. The value is that of baton_set_result(), also of a
 * failed task; NULL if there was none. A promise and a detached task have the value with which they
 * were completed. Before completion the value is NULL.
 *
 * Returns: status: 0: done. Another status: failed. -ECANCELED: the task was cancelled. -EAGAIN:
 * the future is not complete.
 *
 * Thread safety: any thread. Blocking: never.
 */
int baton_future_status(const struct baton_future *future) BATON_NONNULL;
void *baton_future_value(const struct baton_future *future) BATON_NONNULL;

/*
 * Waits until the future is complete; wait_until: or until `deadline_ns` (time.h). The waiter helps
 * before it sleeps: if the task's resource is queued for an executor, the resource's tasks up to
 * the awaited task run on this thread. Signals do not end a wait.
 *
 * Thread safety: any thread, also inside a task, for another resource's future. Blocking: yes.
 * Ownership: the task and the future are the caller's when the future is complete. A wait that
 * times out gives nothing back: both remain baton's.
 * Ordering: everything that the task did is visible to the waiter.
 * Errors: none says how the task has ended: a wait succeeds whatever the status of the complete
 * future (baton_future_status()).
 *   -EDEADLK    the wait can never end: this thread, or a caller for which it runs, holds the
 *               task's resource.
 *   -EDEADLK    the wait would close a cycle of waits, see baton_deadlock_cycle().
 *   -EDEADLK    waits inside tasks have nested too deep, and no other thread is there to come to
 *               the resource.
 *   -EDEADLK    calls have nested BATON_CALLING_MAX deep, and this thread has put off a function
 *               or has still to fire a continuation (see then()): the wait may be for that.
 *   -ETIMEDOUT  the deadline has passed.
 *
 * Corner cases. If only this thread drives the task's executor, the waiter drives the executor. A
 * waiter that can neither help nor drive pauses about 100 times, yields, then sleeps on a futex.
 *
 * -EDEADLK. This thread holds the resource further down its stack, or in the running task itself.
 * Or a caller holds it, and sleeps in the baton_call() whose function this thread runs; a wait
 * whose deadline has not passed returns this at once, too. Nested too deep: the wait can never end,
 * since this thread would have to drive an executor at a depth of BATON_NESTING_MAX, or to help at
 * a depth of BATON_HELPING_MAX (or where calls have nested BATON_CALLING_MAX deep).
 *
 * Limits of helping. A wait that would end without helping never fails, and never lasts longer,
 * because of helping (but see the last paragraph). A helper enters no task after the end of its
 * wait. A wait that can end before the awaited task is complete leaves the tasks before that task
 * to the executor. Such waits are those with a deadline, and those for any of several futures. One
 * exception: a wait for any of several futures runs these tasks if no other thread would (all
 * workers of the pool wait, and no spare can be had). So give a pool spares where its tasks wait
 * with deadlines. If this thread drives an executor, the thread runs that executor's tasks in any
 * wait, and looks at the deadline before each task.
 *
 * If the waiter sleeps already when the task is submitted, it leaves the task to the executor; but
 * a pool's worker is woken to help, unless the resource was queued before the submit.
 *
 * A thread drives its executor only while it waits for a task of that executor that no thread has
 * begun. It does not while it waits for a task that another thread runs, or for a task of another
 * executor, even if that task waits for a task of the thread's executor.
 *
 * If a wait with a deadline is made inside a task that a helper has entered, the resources that the
 * helper holds further down the stack do not count as held by this thread: the wait never returns
 * -EDEADLK for them, but lasts until its deadline. In one case helping makes a wait last longer:
 * the entered task completes the helper's future before the task itself returns (by its own token,
 * by baton_batch_flush()), and then waits for the helper's thread.
 */
#define BATON_HELPING_MAX 32
BATON_MUST_USE int baton_future_wait(struct baton_future *future) BATON_NONNULL;
BATON_MUST_USE int baton_future_wait_until(struct baton_future *future,
                                           uint64_t deadline_ns) BATON_NONNULL;

/* One resource on a cycle of waits. */
struct baton_deadlock_link {
	const struct baton_resource *resource; /* freed by now, maybe: compare the pointer */
	char name[24];                         /* cut off; empty if the resource has none */
};

/*
 * Tells, after -EDEADLK, which resources are on the cycle of waits that the refused wait would have
 * closed. The call returns the number of resources, and copies the first `links_max` of them, at
 * most BATON_DEADLOCK_MAX. 0: the reason was no cycle, but the depth of the waits or calls, or the
 * executor.
 *
 * The first is the resource that this thread waited for; each is held (in a quiesce: suspended) by
 * the thread that waits for the next; this thread holds the last. A cycle of one names a single
 * resource.
 *
 * Thread safety: any thread; concerns the calling thread's last -EDEADLK. Blocking: never.
 * Ownership: the resources may have been freed by now: only compare the pointers.
 *
 * Corner cases. A thread that holds batons and is about to sleep in a wait gets -EDEADLK if that
 * wait would close a cycle: the resource that the thread waits for is held by a thread that sleeps
 * for a resource that is held ... by this thread. A cycle may have any number of resources and
 * threads. A wait for any of several futures closes a cycle if all of them do; a wait for all, if
 * one of them does.
 *
 * Exactly one of the waits on a cycle gets the error: the last wait; or, if that wait is a
 * baton_call() whose function has been entered by then, another wait on the cycle. The awaited task
 * is as it was: still queued, its future pending. A baton_call() is withdrawn.
 *
 * Which waits the search for cycles sees:
 *
 *   the thread waits for                            | seen?
 *   a resource that another thread holds, or has    | yes: by the future of its task, a call, a
 *     suspended in a quiesce that is under way      |   hold, an await, a suspension, a quiesce, a
 *                                                   |   fan-out, room in a bound,
 *                                                   |   baton_registry_acquire()
 *   the same, where a wait of the cycle has a       | no: that wait ends with -ETIMEDOUT
 *     deadline                                      |
 *   a suspended resource or lower lane              | no: any thread may resume it
 *   a promise, a detached completion, a group; a    | no: any thread may complete it
 *     task in a full window, or behind a task that  |
 *     was detached with BATON_DETACH_EXCLUSIVE      |
 *   a resource that is queued for an executor, all  | no
 *     of whose threads wait for something else      |
 *   anything, outside a task, a quiesce and a hold  | no: the thread holds nothing
 *   a mutex, a join, the end of a pool, of a wheel  | no: these are not baton's waits for futures
 *     or of a watch of descriptors                  |
 *
 * A wait that is not seen lasts until what it waits for comes: give it a deadline. A completion
 * that drain hooks hold back is held by the resource's holder. A future whose submit is still under
 * way counts as accepted.
 *
 * A long name is cut off; a resource without a name has an empty one.
 *
 * Cost: a wait that sleeps inside a task takes a lock for the search.
 * Source: the wait-for graph of Chandy, Misra and Haas, 1983, searched centrally.
 */
#define BATON_DEADLOCK_MAX 16

size_t baton_deadlock_cycle(struct baton_deadlock_link *links, size_t links_max);

#define BATON_WAIT_ANY_MAX 127
/*
 * any: waits until one of `count` futures (at most BATON_WAIT_ANY_MAX) is complete, and puts the
 * index of the first complete future in the array into `*index`. all: waits until all of them are
 * complete. As in baton_future_wait(), tasks may run on this thread.
 *
 * Thread safety: any thread. Blocking: yes.
 * Ownership: the memory of a complete future is the caller's. The memory of an incomplete future
 * remains baton's.
 * Errors: as baton_future_wait(). -EDEADLK: of the incomplete futures none (any), or not all (all),
 * can ever complete. -EINVAL: count is 0 or too large (any). -ETIMEDOUT.
 */
#define BATON_WAIT_ANY_MAX 127
BATON_MUST_USE int baton_future_wait_any(struct baton_future *const *futures, size_t count,
                                         size_t *index);
BATON_MUST_USE int baton_future_wait_any_until(struct baton_future *const *futures, size_t count,
                                               uint64_t deadline_ns, size_t *index);
BATON_MUST_USE int baton_future_wait_all(struct baton_future *const *futures, size_t count);
BATON_MUST_USE int baton_future_wait_all_until(struct baton_future *const *futures, size_t count,
                                               uint64_t deadline_ns);

/*
 * As baton_future_wait_all_until(), but a wait that times out cancels the futures that are not
 * complete, as baton_future_cancel() does: tasks that have not started will not run, running tasks
 * are told.
 *
 * Ownership: the call does not wait for the cancelled futures. Their memory is the caller's when
 * another wait, without a deadline, has returned.
 * Errors: as baton_future_wait_all(). Other errors than -ETIMEDOUT cancel nothing, so that the form
 * without a deadline never cancels.
 */
BATON_MUST_USE int baton_future_wait_all_or_cancel(struct baton_future *const *futures,
                                                   size_t count);
BATON_MUST_USE int baton_future_wait_all_or_cancel_until(struct baton_future *const *futures,
                                                         size_t count, uint64_t deadline_ns);

/*
 * Cancels the future's task. A task that has not started will not run: that is decided, and
 * returned, immediately. A running task is told (baton_cancel_requested()). A pending promise
 * completes as cancelled immediately. What the completion fires runs on this thread, or on the
 * runner's thread.
 *
 * Thread safety: any thread. Blocking: never.
 * Ownership: the future of a task that has not started completes as cancelled when the task has
 * been unlinked: until then the memory of both is baton's.
 * Returns: 0: the task will never run. -EINPROGRESS: the task runs now and has been told.
 * -EALREADY: the future is complete (a promise: or is being completed just now), or was cancelled
 * before. -EINVAL: the task has not been submitted yet.
 *
 * Corner cases. The task is unlinked by the resource's runner, or by this call if the call can take
 * the baton of a queued resource. While the call has the baton, a worker may come for the resource.
 * The worker then leaves the resource to the call, which goes on in its place: the call hands the
 * resource to the executor or releases it, and before that calls `cancelled` and completes futures
 * for a cancel_pending. (The call releases an idle resource itself, since a hand-off would wake a
 * thread for nothing.)
 */
int baton_future_cancel(struct baton_future *future) BATON_NONNULL;

/*
 * Fulfils a promise with `value`: done if status is 0, else failed with `status`. Its sleepers are
 * woken, and its continuations run on this thread.
 *
 * Thread safety: any thread. Blocking: never.
 * Ownership: baton does not touch the promise after the call; a waiter may have freed it before the
 * call returns. `value` goes to whoever reads it.
 * Ordering: what the caller did before is visible to a thread that sees the promise complete.
 * Returns: 0; -EALREADY: the promise is complete, or is being completed (once only); -EINVAL: the
 * future is a task's.
 */
int baton_future_complete(struct baton_future *future, int status, void *value) BATON_NONNULL_AT(1);

/*
 * A continuation is what happens when a future is complete (or a group is empty): a task is
 * submitted to its resource, a job is scheduled on its executor, or a function is called. This is
 * done on the completer's thread; inside then(), if the future is complete already, on this thread.
 *
 * Ownership: the caller's memory; baton's from then() until the task, job or function is entered.
 *
 * Corner cases. A function runs on the completer's thread; so does a task whose resource is idle,
 * unless that thread is in a wait. Other tasks run on the runner's thread, or on the executor's
 * thread, as jobs do.
 */
struct baton_continuation {
	struct baton_continuation *_next;
	void (*_fire)(struct baton_continuation *continuation);
	void *_target;
	void *_subject;
};

/*
 * Makes a continuation of a task, which is submitted to the resource, or of a job, which is
 * scheduled on the executor.
 *
 * Thread safety: the owner. Blocking: never.
 * Ownership: all of it must live until the task or job is entered; see baton_future_then().
 */
void baton_continuation_task(struct baton_continuation *continuation,
                             struct baton_resource *resource,
                             struct baton_task *task) BATON_NONNULL;
void baton_continuation_job(struct baton_continuation *continuation,
                            struct baton_executor *executor, struct baton_job *job) BATON_NONNULL;

/* A function that is told of the end of a future. See baton_continuation_function(). */
typedef void (*baton_told_fn)(void *arg);

/*
 * Makes a continuation of a function that is told of the end: fn(arg) is called on the thread that
 * completes the future; or, if the future is complete already, on this thread, inside then(). It
 * needs no resource and no job. So it is the way to free a node, to resume a coroutine, to notify
 * another library. Keep it short: the completing thread's resource waits for it.
 *
 * Thread safety: the owner. Blocking: never.
 * Ownership: fn may free the future and the continuation: baton touches neither any more. (To read
 * or free the future of an async, fn needs a reference of its own.)
 *
 * Corner cases. fn is told of every end: of a task or a promise that is done, failed or cancelled,
 * and of an empty group. A refused submit is no end.
 *
 * The completing thread may be in the middle of a task of any resource. So, inside the function:
 *   nothing runs that the function submits. A task for an idle resource goes to the resource's
 *     executor; if that has shut down, the task runs on this thread, when its stack is unwound.
 *   a call, a wait and whatever else would block returns -EDEADLK, also for an idle resource. (Not
 *     a wait for what is over already.) libbaton-checked ends the process.
 *   baton_current() is NULL.
 *   a future that the function completes, or cancels, is complete at once, and its sleepers are
 *     woken. Its continuations follow when the function has returned: a function may tell the next
 *     one, in a chain without end, on a small stack.
 *
 * Where callbacks have nested BATON_NESTING_MAX deep, the function is called later on this thread,
 * as `cancelled` of a refused task is: see then().
 */
void baton_continuation_function(struct baton_continuation *continuation, baton_told_fn fn,
                                 void *arg) BATON_NONNULL_AT(1, 2);

/*
 * When the future is complete (immediately, if it is already), the continuation's task is submitted
 * to its resource, its job is scheduled, or its function is called: on the completing thread, or on
 * this thread, if the future is complete already.
 *
 * Thread safety: any thread. Blocking: never.
 * Ownership: the continuation and its task, job or `arg` are baton's until that is entered. If the
 * submit of the future's task is refused, the future stays fresh, and the continuation stays
 * registered: submit again, or give up the memory of both.
 * Ordering: all that the first task did happens-before the continuation. Continuations registered
 * before the completion fire in the order of registration, after the sleepers were woken.
 *
 * Corner cases. A continuation that finds the future complete fires inside then(), perhaps before
 * those that were registered before. Where a continuation's task runs on the completing thread and
 * waits, the thread fires the continuations that are still to fire before it sleeps: so the task
 * may wait for what they do. Their tasks then go to the executors of their resources.
 *
 * Refusals. A task that its resource refuses is cancelled, and so is a job that its executor
 * refuses, on the completing thread, without the target's baton: no refusal is silent. Where
 * callbacks have nested BATON_NESTING_MAX deep, the function that is told of the refusal is called
 * later on this thread: when the thread's stack is unwound, or before the thread sleeps in a wait.
 * The target must live until then.
 *
 * If the resource's executor has shut down, the task runs on the completing thread, as other tasks
 * of such a resource do, also within a baton_quiesce(): no other thread would run the task, and the
 * quiesce may wait for it. (A task whose own future is not fresh is a programming error: the task
 * is not run.)
 */
void baton_future_then(struct baton_future *future,
                       struct baton_continuation *continuation) BATON_NONNULL;

/*
 * For futures that baton_async() returned. ref: one more reference; returns the future. unref:
 * gives a reference back.
 *
 * Thread safety: any thread that holds a reference. Blocking: never.
 * Ownership: the last unref frees the future. It does not cancel the task.
 */
struct baton_future *baton_future_ref(struct baton_future *future) BATON_NONNULL;
void baton_future_unref(struct baton_future *future) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
