/* SPDX-License-Identifier: MIT */
/*
 * Detached completion: a task's function returns, but the task is not over. The task's future
 * completes when a thread calls baton_detached_complete() with the token that the function has left
 * (the acknowledgement came), or when a deadline passes.
 *
 *	static int publish_run(struct baton_task *task)
 *	{
 *		struct publish *publish = baton_container_of(task, struct publish, task);
 *
 *		// First detach, then send: the answer may come immediately. After that: hands off.
 *		int error = baton_detach_within(&publish->token, 0, BATON_SECOND,
 *		                                &publish->deadline);
 *
 *		if (!error)
 *			send_to_client(publish);
 *		return error; // ignored, if the task is detached
 *	}
 *
 *	error = baton_detached_complete(&publish->token, 0, NULL); // any thread, at the answer
 *
 *                              | may run beside             | from
 *   detach, detach_within      | -                          | a running task
 *   complete, cancel_requested | all but init, detach       | any thread; see Lifetime
 *   init                       | nothing                    | the owner
 *
 * Lifetime: token and deadline are baton's from the detach until the task's future is complete;
 * without a future, until complete() has returned 0. A thread that may still call complete() needs
 * the token's memory, too: let that thread find the token in a table that belongs to the resource,
 * and take the token out of the table before its memory is freed.
 *
 * Corner cases. The resource does not wait for an outstanding token by default: await() does not
 * wait for it, close() changes nothing, the finaliser may come first, and the token may be
 * completed when the resource has long been freed. With BATON_DETACH_COUNTED a closed resource
 * treats the token as a task that has not ended: await() and the finaliser wait for it. For a token
 * in a window's part they wait in any case (window.h).
 * BATON_DETACH_EXCLUSIVE keeps the resource busy: everything waits for the token. cancel_pending
 * and shutdown_now do not touch tokens, whose tasks have started.
 *
 * Progress: complete is lock-free up to the completion itself (waking, continuations).
 * Source: Akka's and Erlang's deferred replies (gen_server:reply/2), io_uring's async completions;
 * of completer and timer, the one that comes second finishes, as in Go's timer and context.
 */
#ifndef BATON_DETACH_H
#define BATON_DETACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/future.h>
#include <baton/resource.h>
#include <baton/task.h>
#include <baton/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_window;
struct baton_deadline;

/* The resource runs nothing else until the token is complete. */
#define BATON_DETACH_EXCLUSIVE 1U
/* On a closed resource await() and the finaliser wait for the token. */
#define BATON_DETACH_COUNTED 2U

/* A token: stands for the task to be completed. Embeddable; serves one detach after the other. */
struct baton_detached {
	uint32_t _state;
	int32_t _status;
	void *_value;
	struct baton_future *_future;
	struct baton_resource *_resource;
	struct baton_window *_window;
	struct baton_deadline *_deadline;
};

#define BATON_DETACHED_INIT                                                                        \
	{                                                                                          \
		0, 0, NULL, NULL, NULL, NULL, NULL                                                 \
	}
void baton_detached_init(struct baton_detached *token) BATON_NONNULL;

/*
 * A token's deadline. Embeddable. `timers`: the wheel; NULL: the default wheel. The deadline passes
 * in a resource of its own, so that neither a held nor a closed resource delays it.
 */
struct baton_deadline {
	struct baton_timers *_timers;
	struct baton_detached *_token;
	struct baton_timer _timer;
	struct baton_resource _resource;
	struct baton_task _last;
};

#define BATON_DEADLINE_INIT(timers)                                                                \
	{                                                                                          \
		(timers), NULL, BATON_TIMER_INIT(NULL, NULL, NULL), BATON_RESOURCE_INIT(NULL),     \
			BATON_TASK_INIT(NULL, NULL)                                                \
	}
void baton_deadline_init(struct baton_deadline *deadline, struct baton_timers *timers)
	BATON_NONNULL_AT(1);

/*
 * Detaches the running task, the innermost of this thread: the task will be complete when the token
 * is. Its future, if there is one, stays in state RUNNING until then. The function's return value,
 * and what it gives to baton_set_result(), are ignored. detach_within: the future fails with
 * -ETIMEDOUT unless the token is complete within `timeout_ns`; exactly one of the two happens.
 *
 * Thread safety: inside a task only (asserted).
 * Ownership: from this call on the task may complete at any moment, and its memory be freed. So
 * detach before the token is known to the threads that complete it; afterwards touch no member of
 * the task that may be freed. (Where only tasks of the same resource complete the token, the
 * function may use the task until it returns.) Token and deadline are baton's until the task is
 * complete.
 * Errors: nothing has happened, and the task ends like any other. -EINVAL: unknown flags; the token
 * is in the window part of another task than the running one (window.h); a deadline for a task
 * without a future (no thread would be told). -EBUSY: the token is outstanding; with
 * BATON_DETACH_EXCLUSIVE, this task has held the resource (or suspended it) already. -EPERM: with
 * BATON_DETACH_EXCLUSIVE, the task is a reader (reader.h). detach_within: also those of
 * baton_timer_arm_after().
 *
 * Corner cases. If the task has no future, only the completer of the token knows the token's
 * status. A second detach in the same task makes a token without a future.
 *
 * The deadline passes on a thread of the default pool (with a wheel that submits inline: on the
 * thread that drives the wheel). If the deadline's wheel is closed, or the default pool cannot be
 * created, the deadline never passes.
 *
 * Not in the function of a baton_call(), try_call(), async() or a fan-out, which do not always have
 * a task. A task with an undo log ends the log before its function returns.
 */
BATON_MUST_USE int baton_detach(struct baton_detached *token, unsigned flags) BATON_NONNULL;
BATON_MUST_USE int baton_detach_within(struct baton_detached *token, unsigned flags,
                                       uint64_t timeout_ns,
                                       struct baton_deadline *deadline) BATON_NONNULL;

/*
 * Completes the detached task with `value`: done if status is 0, else failed with `status`.
 * Sleepers are woken, and continuations run, on this thread (if a deadline is just passing: on the
 * thread where it passes, perhaps after this call). A held resource goes on: its waiting tasks,
 * also those that other threads have submitted, run on this thread within the capture limit, or on
 * the executor's thread.
 *
 * Returns: 0, to one caller; -EALREADY: the token was completed before, or its deadline has passed;
 * -EINVAL: the token was never detached.
 * Thread safety: any thread, also inside tasks.
 * Blocking: as long as the continuations and the tasks that run here, which may wait; and as
 * baton_timer_stop().
 * Ordering: what the caller did before is visible to a thread that sees the future complete, and,
 * with BATON_DETACH_EXCLUSIVE, to the resource's next task.
 *
 * Corner cases. A thread that has several exclusive tokens to complete: a task that runs here must
 * not wait for a resource whose token this thread has still to complete, since this thread would
 * wait for itself. Where tasks wait only for resources at higher addresses, complete the token of
 * the highest address first. Elsewhere close the resources first, or complete the tokens on
 * different threads.
 */
BATON_MUST_USE int baton_detached_complete(struct baton_detached *token, int status, void *value)
	BATON_NONNULL_AT(1);

/*
 * Has a thread called baton_future_cancel() on the future of the detached task? That cancel has
 * returned -EINPROGRESS. The completer decides whether it obeys (completes with -ECANCELED, say).
 * False without a future. The answer is a hint.
 *
 * Thread safety: any thread that may call complete(). Blocking: never.
 */
bool baton_detached_cancel_requested(const struct baton_detached *token) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
