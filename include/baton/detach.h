/* SPDX-License-Identifier: MIT */
/*
 * Detached completion: a task's function returns, but the task is not over: its future completes
 * when somebody calls baton_detached_complete() with the token that the function has left (the
 * acknowledgement came), or when a deadline passes.
 *
 *	static int publish_run(struct baton_task *task)
 *	{
 *		struct publish *publish = baton_container_of(task, struct publish, task);
 *
 *		// First detach, then send: the answer may come at once. After that: hands off.
 *		baton_detach_within(&publish->token, 0, BATON_SECOND, &publish->deadline);
 *		send_to_client(publish);
 *		return 0; // ignored
 *	}
 *
 *	baton_detached_complete(&publish->token, 0, NULL); // any thread, at the answer
 *
 *                              | may run beside             | from
 *   detach, detach_within      | -                          | a running task
 *   complete, cancel_requested | everything but init        | any thread; see Lifetime
 *   init                       | nothing                    | the owner
 *
 * Lifetime: the token (and the deadline) are baton's from the detach until the task's future is
 * complete; without a future: until complete() has returned 0. Who may still be about to call
 * complete() needs the token's memory, too: let the one who answers find it in a table that belongs
 * to the resource, and take it out there before the memory goes.
 *
 * The resource: by default a token that is outstanding does not concern it: await() does not wait
 * for it, close() changes nothing, the finaliser may come first, and the token may be completed
 * when the resource is long gone. With BATON_DETACH_COUNTED it is as a task that has not ended,
 * once the resource is closed: await() and the finaliser wait for it. A HOLD keeps the resource
 * busy: everything waits for it. cancel_pending and shutdown_now do not touch tokens: their tasks
 * have started.
 *
 * Progress: complete is lock-free up to the completion itself (waking, continuations).
 * Source: Akka's and Erlang's deferred replies (gen_server:reply/2), io_uring's async completions;
 * who is second of completer and timer, and therefore finishes, as in Go's timer and context.
 */
#ifndef BATON_DETACH_H
#define BATON_DETACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/future.h>
#include <baton/resource.h>
#include <baton/task.h>
#include <baton/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_window;
struct baton_deadline;

/* The resource runs nothing else until the token is complete; its queue is held. */
#define BATON_DETACH_HOLD 1U
/* On a closed resource await, and the finaliser, wait for the token. */
#define BATON_DETACH_COUNTED 2U

/* What is to be completed. Embeddable; serves one detach after the other. */
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
void baton_detached_init(struct baton_detached *token);

/*
 * A token's deadline: embeddable; of the wheel `timers` (NULL: the default one). It passes in a
 * resource of its own, so that neither a held nor a closed resource keeps it.
 */
struct baton_deadline {
	struct baton_timers *_timers;
	struct baton_detached *_token;
	struct baton_timer _timer;
	struct baton_resource _resource;
	struct baton_future _gone;
	struct baton_continuation _when_gone;
	struct baton_task _last;
};

#define BATON_DEADLINE_INIT(timers)                                                                \
	{                                                                                          \
		(timers), NULL, BATON_TIMER_INIT(NULL, NULL, NULL),                                \
			BATON_RESOURCE_INIT(NULL, NULL, NULL, NULL), BATON_PROMISE_INIT,           \
			{NULL, NULL, NULL, NULL}, BATON_TASK_INIT(NULL, NULL)                      \
	}
void baton_deadline_init(struct baton_deadline *deadline, struct baton_timers *timers);

/*
 * The running task (the innermost one of this thread) will be complete when the token is: its
 * future, if it has one, stays in state RUNNING until then. What the function returns, and what it
 * gives to baton_set_result(), is ignored; if the task has no future, only the completer of the
 * token knows the token's status. From this call on the task may complete at any moment, and its
 * memory be gone: so detach before the token is known to those who complete it, and touch nothing
 * of the task's afterwards that is not known to live. A second detach in the same task makes a
 * token without a future.
 *
 * Not in the function of a baton_call(), try_call(), async() or a fan-out, which do not always have
 * a task. A task with an undo log ends that when its function returns.
 *
 * detach_within: unless the token is complete within `timeout_ns`, its future fails with
 * -ETIMEDOUT; exactly one of the two happens. The deadline passes on a thread of the default pool
 * (of a wheel that submits inline: on that which drives it). If its wheel is closed, or the default
 * pool cannot be created, it never passes.
 *
 * Thread safety: inside a task only (asserted).
 * Errors: nothing has happened, and the task ends as any other: -EINVAL: unknown flags; the token
 * is a windowed task's (window.h), and this is not that task; a deadline, but the task has no
 * future (nobody would be told).
 * -EBUSY: the token is outstanding; BATON_DETACH_HOLD, and this task has held the resource (or
 * suspended it) already.
 * detach_within: as baton_timer_arm_after().
 */
int baton_detach(struct baton_detached *token, unsigned flags);
int baton_detach_within(struct baton_detached *token, unsigned flags, uint64_t timeout_ns,
                        struct baton_deadline *deadline);

/*
 * Completes what was detached with `value`: done if status is 0, else failed with `status`.
 * Sleepers are woken, and continuations run, on this thread (if a deadline is just passing: on the
 * one where it passes, perhaps after this call). A held resource goes on, on this thread within its
 * capture limit, or on its executor's.
 *
 * Returns: 0, to one caller; -EALREADY: it was completed before, or its deadline has passed.
 * -EINVAL: it was never detached.
 * Thread safety: any thread, also inside tasks. Blocking: never, but for what continuations do, and
 * as baton_timer_stop(). Ordering: what the caller did before is visible to whoever sees the future
 * complete, and, with HOLD, to the resource's next task.
 */
int baton_detached_complete(struct baton_detached *token, int status, void *value);

/*
 * Has somebody called baton_future_cancel() on the future of the detached task? That call has
 * returned -EINPROGRESS; to obey is the completer's affair (complete with -ECANCELED, say).
 * False without a future. A hint; any thread that may call complete().
 */
bool baton_detached_cancel_requested(const struct baton_detached *token);

#ifdef __cplusplus
}
#endif

#endif
