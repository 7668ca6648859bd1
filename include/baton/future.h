/* SPDX-License-Identifier: MIT */
/*
 * A future is where a task's outcome appears. A future can be looked at, waited for, chained and
 * cancelled. It lives in the caller's memory (a struct, the stack), or comes reference-counted from
 * baton_async(). A promise is a future without a task: somebody fulfils it by hand.
 *
 *                        | may run beside                        | from
 *   state, status, value | everything                            | any thread
 *   wait                 | everything; any number of waiters     | any thread; see -EDEADLK
 *   then                 | everything                            | any thread
 *   cancel               | everything                            | any thread
 *   complete             | everything (promises only)            | any thread
 *   init                 | nothing                               | the owner
 *
 * Lifetime: baton touches the memory of a complete future no more. A thread that has seen it
 * complete (by its state, a wait, a continuation) may reuse it, provided that no other call on it
 * is still under way (then() included: a continuation that frees the future is registered before
 * the submit).
 */
#ifndef BATON_FUTURE_H
#define BATON_FUTURE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <baton/task.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_resource;
struct baton_executor;
struct baton_job;
struct baton_continuation;

enum baton_future_state {
	BATON_PENDING = 0,   /* not started; also when it was cancelled but is not yet unlinked */
	BATON_RUNNING = 1,   /* the task's function has been entered */
	BATON_DONE = 2,      /* complete: the function returned 0, or a promise was fulfilled */
	BATON_FAILED = 3,    /* complete: the function returned another status; or see hooks.h */
	BATON_CANCELLED = 4, /* complete: the function never ran and never will */
};

struct baton_future {
	uint32_t _state;
	int32_t _status;
	void *_value;
	struct baton_resource *_resource;
	struct baton_continuation *_continuations;
};

/* A future for a task (BATON_TASK_INIT), and a promise, which baton_future_complete() fulfils. */
#define BATON_FUTURE_INIT                                                                          \
	{                                                                                          \
		0, 0, NULL, NULL, NULL                                                             \
	}
#define BATON_PROMISE_INIT                                                                         \
	{                                                                                          \
		0x40, 0, NULL, NULL, NULL                                                          \
	}

/* Makes (again) a fresh future or promise. A future serves one submit between two of these. */
void baton_future_init(struct baton_future *future);
void baton_promise_init(struct baton_future *future);

/*
 * Where the future stands. A complete state is final, and everything that the task did is visible
 * to whoever has seen it.
 *
 * Thread safety: any thread. Blocking: never.
 */
enum baton_future_state baton_future_state(const struct baton_future *future);

/* Is it complete (done, failed or cancelled)? */
static inline bool baton_future_is_complete(const struct baton_future *future)
{
	return baton_future_state(future) >= BATON_DONE;
}

/*
 * Of a complete future: 0 (done), the task's status (failed), -ECANCELED (cancelled); and the
 * value from baton_set_result(), of a failed task, too, NULL unless there was one (of a promise or
 * a detached task: what it was completed with). Before completion: -EAGAIN and NULL.
 */
int baton_future_status(const struct baton_future *future);
void *baton_future_value(const struct baton_future *future);

/*
 * Waits until the future is complete. The waiter does not only sleep: if the task's resource is
 * queued for an executor, the waiter takes its baton and runs its tasks up to the awaited one
 * (helping); if the task's executor is one that only this thread drives, it drives it. Otherwise it
 * pauses about 100 times, yields, then sleeps on a futex. (A waiter that was asleep already when
 * the task was submitted leaves that to the executor; but a pool's worker helps, unless the
 * resource was queued before. And a thread drives its executor for that executor's tasks only: not
 * while it waits for one that runs elsewhere and waits for them in its turn.)
 *
 * Helping never makes a wait fail or last longer that would have ended without helping. A helper
 * enters no task after the end of its wait. A wait that can end before the awaited task is complete
 * leaves the tasks before that task to the executor: a wait with a deadline always does; a wait for
 * any of several futures does unless no other thread would run those tasks (all workers of the pool
 * wait, and no spare can be had). So give a pool spares where its tasks wait with deadlines. If
 * this thread drives an executor, it runs that executor's tasks in any wait, and looks at the
 * deadline before each task. One exception remains: a task that completes the helper's future
 * before the task itself returns (by its own token, by baton_batch_flush()), and then waits for the
 * helper's thread.
 *
 * `deadline` is absolute, CLOCK_MONOTONIC; NULL: none. So it is in all waits of the library. A wait
 * that times out gives nothing back: task and future remain baton's.
 *
 * Blocking: yes, that is its purpose. May be called inside a task for another resource's future.
 * Errors: -EDEADLK: it can never end, since this very thread holds the task's resource (further
 * down its stack, or it is the running task itself; with a deadline, in a task that a helper has
 * entered, what the helper holds below does not count, and the deadline passes); or a task waits
 * for a task that waits, and so on, and this thread would have to drive an executor at a depth of
 * BATON_NESTING_MAX, or to help at one of BATON_HELPING_MAX, where nobody else has come to the
 * resource meanwhile; or a cycle of waits, see below. -ETIMEDOUT.
 * -EINVAL: a malformed deadline.
 * Signals do not end a wait.
 */
int baton_future_wait(struct baton_future *future, const struct timespec *deadline);

/*
 * Cycles. A thread that holds batons and is about to sleep in a wait (for any of the futures: in
 * all of them; for all: in one) gets -EDEADLK, too, if that would close a cycle: what it waits for
 * is held by a thread that sleeps for a resource that is held ... by this one. Any number of
 * resources and threads; exactly one of the waits gets the error (the last; or, if that is a
 * baton_call whose function has been entered by then, another one on the cycle). What it waited for
 * is as it was: the task is still queued, the future pending; a baton_call is withdrawn. What can
 * be helped or ends by itself is no cycle: a queued resource, a promise, a detached completion, a
 * suspended resource, a wait with a deadline (a cycle with one in it ends when that has passed; it
 * is told -ETIMEDOUT). A completion that drain hooks hold back is its holder's. A future whose
 * submit is still under way counts as accepted. Not seen: waits that are not baton's (mutexes,
 * joins), and baton_pool_await_termination().
 *
 * baton_deadlock_cycle: after -EDEADLK, the resources on the cycle, beginning with the one that was
 * waited for, each held by the thread that waits for the next one, and ending with one that this
 * thread holds; a single one if that is the same. Returns their number, and copies the first
 * `links_max` of them, at most BATON_DEADLOCK_MAX. 0: it was no cycle, but the depth or the
 * executor. The resources may be gone by now: the pointers are to be compared only; a name is cut
 * off, and empty if there is none.
 *
 * Thread safety: the calling thread's last one. Blocking: never; a wait that sleeps inside a task
 * takes a lock for the search.
 * Source: the wait-for graph of Chandy, Misra and Haas, 1983, searched centrally.
 */
#define BATON_DEADLOCK_MAX 16

struct baton_deadlock_link {
	const struct baton_resource *resource;
	char name[24];
};

size_t baton_deadlock_cycle(struct baton_deadlock_link *links, size_t links_max);

#define BATON_WAIT_ANY_MAX 127
#define BATON_HELPING_MAX 32

/*
 * Waits until one of `count` futures (at most BATON_WAIT_ANY_MAX) is complete and puts the index of
 * the first such into `*index`; until all are. Deadline and errors as above; -EDEADLK only if none
 * (any) or one (all) of the incomplete ones can ever end; -EINVAL: count is 0 or too large (any).
 */
int baton_future_wait_any(struct baton_future *const *futures, size_t count,
                          const struct timespec *deadline, size_t *index);
int baton_future_wait_all(struct baton_future *const *futures, size_t count,
                          const struct timespec *deadline);

/*
 * As baton_future_wait_all; but a wait that times out cancels the futures that are not complete, as
 * baton_future_cancel() does: tasks that have not started will not run, running ones are told. It
 * does not wait for these: their memory is the caller's when another wait, without a deadline, has
 * returned. Other errors cancel nothing.
 */
int baton_future_wait_all_or_cancel(struct baton_future *const *futures, size_t count,
                                    const struct timespec *deadline);

/*
 * Cancels. A task that has not started will not run: that is decided, and said, at once; the future
 * completes as cancelled when the task has been unlinked, by the resource's runner, or by this call
 * if it can take the baton of a queued resource. Until then the memory is baton's. A running task
 * is told (baton_cancel_requested). A pending promise completes as cancelled at once.
 *
 * Returns: 0: it will never run. -EINPROGRESS: it runs now and has been told. -EALREADY: it is
 * complete (a promise: or is being completed just now), or was cancelled before. -EINVAL: it has
 * not been submitted yet.
 * Blocking: never. Completing runs continuations on this thread.
 */
int baton_future_cancel(struct baton_future *future);

/*
 * Fulfils a promise with `value`: done if status is 0, else failed with `status`.
 *
 * Returns: 0; -EALREADY: it is complete, or just becoming so (once only); -EINVAL: the future is a
 * task's.
 * Ordering: what the caller did before is visible to whoever sees the promise complete.
 */
int baton_future_complete(struct baton_future *future, int status, void *value);

/*
 * What happens next: a task for a resource, or a job for an executor. Caller's memory, baton's from
 * then() until the task or job is entered.
 */
struct baton_continuation {
	struct baton_continuation *_next;
	void (*_fire)(struct baton_continuation *continuation);
	void *_target;
	void *_subject;
};

void baton_continuation_task(struct baton_continuation *continuation,
                             struct baton_resource *resource, struct baton_task *task);
void baton_continuation_job(struct baton_continuation *continuation,
                            struct baton_executor *executor, struct baton_job *job);

/*
 * When the future is complete (at once, if it already is), the continuation's task is submitted to
 * its resource, or its job scheduled. Those registered before the completion fire in the order of
 * registration, after the sleepers were woken, on the completing thread; one that finds the future
 * complete fires in then() itself, maybe before these. A task that its resource refuses is
 * cancelled, a job that its executor refuses likewise (on the completing thread, without the
 * target's baton): nothing is dropped silently. Where callbacks have nested BATON_NESTING_MAX deep,
 * the function that is told of the refusal is called later on this thread: when its stack is
 * unwound, or before it sleeps in a wait. The target must live until then. (A task whose own
 * future is not fresh is a programming error: it is not run.) A submit that is refused changes
 * nothing here: the future is still fresh, the continuation still registered; submit again, or give
 * up the memory of both.
 *
 * Thread safety: any thread. Blocking: never. Ordering: all that the first task did
 * happens-before the continuation.
 */
void baton_future_then(struct baton_future *future, struct baton_continuation *continuation);

/*
 * For futures that baton_async() returned: another reference; and the end of one. Dropping the
 * last one does not cancel the task.
 */
struct baton_future *baton_future_ref(struct baton_future *future);
void baton_future_unref(struct baton_future *future);

#ifdef __cplusplus
}
#endif

#endif
