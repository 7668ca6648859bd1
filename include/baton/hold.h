/* SPDX-License-Identifier: MIT */
/*
 * A hold is a bracket instead of a function: between baton_hold() and baton_release() the calling
 * thread has the resource's baton. This is the step from a mutex to baton that needs no rewriting.
 *
 *	struct baton_hold hold = BATON_HOLD_INIT;
 *
 *	if (baton_hold(&account->resource, &hold))
 *		return 1;
 *	account->balance += amount;         (on this thread; no task of the resource runs)
 *	return baton_release(&hold);
 *
 * The code between the two runs on this thread, always.
 *
 * Ownership: the hold is the caller's memory, mostly on its stack, until it is released.
 *
 *                            | may run beside                   | from
 *   hold, hold_until,        | everything but the resource's    | any thread, also inside tasks;
 *   hold_many                | init, deinit                     | see -EDEADLK, -EPERM
 *   release                  | the same; nothing on this hold   | the thread that holds
 *
 * Rules. A hold ends where it began: in the same function of a task, hook or callback, and on the
 * same thread. A function that returns inside a hold that it has taken ends the program, with a
 * line that says so. Holds without a function between them may be released in any order. (With
 * config-> enter or leave: in the reverse order, as these pairs nest.) Inside a hold everything may
 * be called that a task may call: a submit to the held resource queues, a call of it returns
 * -EDEADLK. A C++ guard must not live across co_await. A thread that runs an event loop should not
 * hold: it calls, or submits.
 *
 * Corner cases. A hold of an idle resource costs what an idle baton_call() costs: two atomics
 * (baton/inline.h: without a function call). Where many threads want one resource, baton_call() is
 * the better choice: the runner runs the functions of those who wait, while a hold has to wake its
 * thread.
 *
 * Order. A hold takes effect when it is granted: until then tasks that other threads submit later
 * may run before it. Between hold and release no task of the resource runs. What the resource's
 * tasks and earlier holds did is visible to the hold, and what the hold did to the next ones.
 *
 * Several resources. baton_hold_many() takes all or none, in the order of their addresses: threads
 * that take all they need by one baton_hold_many() never wait in a circle. Holds may also be taken
 * one by one, in one order everywhere.
 *
 * Executor-bound resources. With BATON_CAPTURE_NONE only a member of the executor may
 * hold (a worker of the pool, the thread that drives the loop): other threads get -EPERM, since
 * such a resource's state may be touched by the loop's thread without the baton.
 *
 * Inside tasks. baton_current() is the held resource, baton_held() is true of it.
 * baton_set_result(), baton_cancel_requested(), baton_detach(), baton_batch_flush(),
 * baton_should_yield() and the carried value are those of the task in which the thread holds. A
 * hold uses no stack, and does not count for BATON_NESTING_MAX.
 *
 * Release. The hold counts as one task: the outermost release runs what the capture limit leaves of
 * the tasks that have come meanwhile, then hands off. Inside a task or another hold the waiting
 * tasks go to the executor.
 *
 * Waiting. A hold waits as a baton_call() without a label does: in its place among the tasks,
 * behind a bound and suspensions, in lane 0. Before it sleeps the thread may drain the resource up
 * to its own place, if the resource is queued: as every wait without a deadline, this enters tasks
 * here. A wait with a deadline enters none. Whichever comes first decides between grant and
 * deadline: after a grant the result is 0. A function that runs here in the wait (one that this
 * thread has put off, or a task of an executor that this thread alone drives) finds the resource as
 * if this thread held it: each wait for it returns -EDEADLK, with a deadline too, and so does
 * baton_try_call(). That holds also for the future of a task that comes before the hold: the baton
 * may become this thread's before the function looks. Submits queue, as ever.
 *
 * Hooks, context. A hold is a batch of its own: the hold calls config->enter and batch_begin, the
 * release batch_end and leave, all on this thread.
 *
 * Statistics. One executed task. A hold that has waited is shown as a suspension by its thread.
 */
#ifndef BATON_HOLD_H
#define BATON_HOLD_H

#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/future.h>
#include <baton/resource.h>
#include <baton/time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In C++ the function baton_hold() hides the name of its struct, as stat() does: say `struct`. */
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

struct baton__batch;

/* One held baton, as the thread's record has it (src/thread/thread.h): not for programs. */
struct baton__frame {
	uintptr_t below;                 /* `top` as it was before */
	struct baton_resource *resource; /* NULL: a callback without a baton (core/callback.h) */
	struct baton_future *future;     /* of the running task, NULL, or BATON__HOLDING */
	void *value; /* baton_set_result, or BATON__DETACHED; a loop (firing.c); readers */
	struct baton__batch *batch; /* hooks.h: set if the resource has hooks */
	uint32_t depth; /* 1: the outermost; from BATON__DEPTH_NONE on: after a bad fork */
};

/* What a thread reads (reader.h), on its stack or in a shared hold: not for programs. */
struct baton__reading {
	const struct baton__reading *below;
	const struct baton_resource *resource;
};

/* One hold. The caller's memory; not to be copied or given back in use. Zero: not in use. */
struct baton_hold {
	struct baton_resource *_resource; /* NULL: not in use */
	uint32_t _how;
	struct baton__frame _frame;
	uint64_t _reserved[4];
};

#define BATON_HOLD_INIT                                                                            \
	{                                                                                          \
		NULL, 0, {0, NULL, NULL, NULL, NULL, 0},                                           \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

/*
 * hold: takes the resource's baton, and waits while another thread has it. hold_until: at most
 * until `deadline_ns` (time.h); a deadline in the past: takes the baton only if the resource is
 * idle. The hold was initialised, `struct baton_hold hold = BATON_HOLD_INIT;`.
 *
 * Thread safety: any thread, also inside tasks. Blocking: yes.
 * Ownership: hold and resource must live until the release.
 * Errors: nothing is held: -EALREADY: the hold is in use. -EPIPE: the resource was closed before
 * the hold began to wait. -ETIMEDOUT: the deadline has passed, or the bound's wait has lasted too
 * long (bound.h). -EAGAIN: the resource's bound is reached (bound.h). -ECANCELED: cancel_pending, a
 * bound that drops, or the shutdown of the executor. -EDEADLK: this thread holds the resource, or
 * the wait would close a cycle of waits, or as for baton_future_wait(). -EPERM: the resource is
 * executor-bound, and this thread is not the executor's. -ESHUTDOWN: the executor takes no more
 * jobs. -ENOMEM: with a deadline, or inside a task or hold, or at the thread's first use. What
 * batch_begin returned.
 */
BATON_MUST_USE int baton_hold(struct baton_resource *resource,
                              struct baton_hold *hold) BATON_NONNULL;
BATON_MUST_USE int baton_hold_until(struct baton_resource *resource, struct baton_hold *hold,
                                    uint64_t deadline_ns) BATON_NONNULL;

/*
 * Takes the batons of `count` different resources, at most BATON_HOLD_MANY_MAX, in the order of
 * their addresses: all or none. `holds`: an array of `count` holds that are not in use; holds[i] is
 * that of resources[i]. Each is released by baton_release(), in any order.
 *
 * Thread safety: any thread, also inside tasks. Blocking: yes. While the thread waits for one
 * of the resources, it holds the resources that it has taken before. Ownership: as for
 * baton_hold().
 * Errors: nothing is held: -EINVAL: a resource is named twice, `count` is 0 or above the maximum.
 * Else as for baton_hold() of one of the resources.
 */
BATON_MUST_USE int baton_hold_many(struct baton_resource *const *resources, size_t count,
                                   struct baton_hold *holds) BATON_NONNULL;
BATON_MUST_USE int baton_hold_many_until(struct baton_resource *const *resources, size_t count,
                                         struct baton_hold *holds,
                                         uint64_t deadline_ns) BATON_NONNULL;

#define BATON_HOLD_MANY_MAX 64

/*
 * Gives the baton back. Outermost, and where tasks have come meanwhile, up to the capture limit of
 * them run here.
 *
 * Thread safety: the thread that holds. Blocking: never (apart from what the tasks that run here
 * do).
 * Errors: the baton is given back in any case: what batch_end returned. -EINVAL: the hold is not in
 * use. In a fork's child: 0, and nothing is touched.
 */
BATON_MUST_USE int baton_release(struct baton_hold *hold) BATON_NONNULL;

#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#ifdef __cplusplus
}
#endif

#endif
