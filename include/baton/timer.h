/* SPDX-License-Identifier: MIT */
/*
 * Timers: a task is submitted to its resource after a delay, at a time, at a fixed rate, or
 * repeatedly with a fixed delay. The function runs on the runner's thread, or on the executor's
 * thread. Where a program polls the wheel, or the wheel submits inline, the function may also run
 * on this thread, the thread that polls. Timers are embeddable structs; a million of them cost a
 * million times their size, and nothing more.
 *
 *	static int keep_alive_expired(struct baton_timer *timer)
 *	{
 *		struct session *session = baton_container_of(timer, struct session, keep_alive);
 *		...                                     // runs as a task of the session's resource
 *		return 0;
 *	}
 *
 *	baton_timer_init(&session->keep_alive, NULL, &session->resource, keep_alive_expired);
 *	error = baton_timer_arm_after(&session->keep_alive, 60 * BATON_SECOND); // at each packet
 *
 *                                 | may run beside                       | from
 *   arm_*, disarm, stop, state    | everything but init, destroy         | any thread, also inside
 *                                 |                                      | tasks, own function too
 *   stop_then                     | the same, once per timer             | the same
 *   stop_wait                     | the same                             | not in a task of the
 *                                 |                                      | timer's resource
 *   set_dropped                   | nothing                              | before the first arm
 *   init, submit_after            | nothing                              | the owner
 *
 * Corner cases. Times are nanoseconds of CLOCK_MONOTONIC (time.h), or of the wheel's virtual clock.
 * A timer never runs early; it expires at the first tick of the wheel (see resolution_ns) at or
 * after its deadline. Ticks expire in order, the timers of one tick in any order. On a virtual
 * clock a tick is one nanosecond: a timer expires exactly at its deadline, and timers expire in the
 * order of their deadlines. (From 2^54 ns on, 208 days, a deadline is rounded up to a multiple of
 * 1,024 ns.) A timer that is armed at BATON_NEVER, or after this delay, never expires. A period or
 * repeated delay from 2^62 - 1 on, 146 years, counts as BATON_NEVER. A program has a wheel without
 * asking for it; for others see timers.h.
 *
 * Progress: arm_* and disarm are lock-free: a thread stopped in any call of this header delays no
 * arm. While such a thread is stopped, it may delay the expiry of its wheel's timers, and stop() on
 * other threads: an expiry and a stop change the wheel one at a time, each for a moment in which no
 * function of yours runs.
 * Source: hierarchical timing wheels, Varghese and Lauck 1987 (scheme 7); levels found by the
 * highest bit that differs, as in tokio; a later deadline is stored only, and the timer moved when
 * the wheel comes to its old place, as in Go's and nginx's timers; stop's answers follow Linux'
 * timer_delete.
 */
#ifndef BATON_TIMER_H
#define BATON_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/future.h>
#include <baton/resource.h>
#include <baton/stop.h>
#include <baton/task.h>
#include <baton/time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_timer;
struct baton_timers;

/*
 * A timer's function: runs when the timer expires, as a task of the timer's resource. The function
 * may arm and stop its own timer. Returns 0, or BATON_GONE: the function has freed the timer
 * (stop.h).
 */
typedef int (*baton_timer_fn)(struct baton_timer *timer);

/*
 * Called for a timer that will not run although no thread has stopped it. `error` says why:
 *   -EPIPE, -EAGAIN, ...  The resource refused the run, with the error of baton_submit(): it is
 *                         closed, its bound is reached, and so on.
 *   -ECANCELED            The run was cancelled in the resource's queue, or a failing batch_begin
 *                         kept it from being entered, and the timer does not repeat. Called under
 *                         the baton, save where a bound drops the newest task.
 *   -ESHUTDOWN            The wheel was closed.
 * The timer is IDLE, or DONE if the function has just returned from the run before; its memory
 * belongs to the called function. A stop of the timer on another thread waits until the called
 * function has returned. So the function must not wait for a thread or a task that may stop the
 * timer. A function that frees the timer sees to it that no other thread uses the timer meanwhile,
 * stop included. One sort of refused run is not reported: the timer's function has armed its own
 * timer, and the resource refuses the new run while that function is still running. The wheel's
 * counter `refused` counts such a run.
 */
typedef void (*baton_timer_dropped_fn)(struct baton_timer *timer, int error);

/* A place in a wheel; a member of a timer. Its members are private. */
struct baton_timer_link {
	struct baton_timer_link *_next;
	struct baton_timer_link *_prev;
};

/* A timer; a member of what it is for. Ownership: stop.h has the rule of memory. */
struct baton_timer {
	struct baton_task _task;
	uint64_t _word;
	struct baton_timer_link _link;
	struct baton_timer *_posted;
	uint64_t _repeat;
	uint64_t _scheduled;
	struct baton_timers *_timers;
	struct baton_resource *_resource;
	baton_timer_fn _fn;
	struct baton_stopping _stopping;
	baton_timer_dropped_fn _dropped;
	struct baton_stamp stamp; /* the label of its runs, see label.h; yours to set */
};

/*
 * Makes a timer, not armed. `fn` runs as a task of the resource: on the executor's thread, or on
 * the runner's thread. `timers`: the timer's wheel; NULL: the default wheel, which is created when
 * a timer of it is first armed. Wheel and resource are not touched before the first arm.
 *
 * Thread safety: the owner.
 */
#define BATON_TIMER_INIT(timers, resource, fn)                                                     \
	{                                                                                          \
		{NULL, NULL, NULL}, 0, {NULL, NULL}, NULL, 0, 0, (timers), (resource), (fn),       \
			{NULL, NULL}, NULL, BATON_STAMP_INIT                                       \
	}
void baton_timer_init(struct baton_timer *timer, struct baton_timers *timers,
                      struct baton_resource *resource, baton_timer_fn fn) BATON_NONNULL_AT(1, 3, 4);

/*
 * Sets the function that is called when this timer will not run, instead of `dropped` in its
 * wheel's options. It is called on the runner's thread, or on the thread to which the resource
 * refuses the run, or which closes the wheel. The default wheel has no such option. NULL: the
 * wheel's.
 *
 * Thread safety: the owner, before the first arm.
 */
void baton_timer_set_dropped(struct baton_timer *timer, baton_timer_dropped_fn dropped)
	BATON_NONNULL_AT(1);

/*
 * Arms the timer for one run: after a delay, or at a time. The function runs as a task of the
 * timer's resource: on the executor's thread, or on the runner's thread. A timer that is armed
 * already is armed anew, and runs once. A timer may be armed inside its own function.
 *
 * Thread safety: any thread; of several arms at once one takes effect.
 * Blocking: never (except for the creation of the default wheel).
 * Ownership: the timer's memory is baton's until stop says otherwise, or the function of a timer
 * that does not repeat has returned. The resource must live as long.
 * Ordering: what the caller did before is visible to the run.
 * Errors: the timer is as it was before:
 *   -EPIPE      the resource is closed.
 *   -ESHUTDOWN  the wheel has been closed.
 *   -EBUSY      stop_then was called, and its function was not called yet.
 *   -EINVAL     the timer has no function or no resource.
 *   -ENOMEM, -EAGAIN  the default wheel could not be created.
 *
 * Corner cases. A time that has passed means the next tick. On a virtual clock that is not being
 * moved, such a time means the clock's present time: an advance of 0 runs the timer. When a timer
 * is armed anew, the old deadline counts no more, even if it has passed and the run waits in the
 * resource's queue.
 *
 * A resource that is closed later refuses the run: see baton_timer_dropped_fn. If the arm runs
 * concurrently with the close of the wheel, a run that waits in the resource's queue may be left
 * out all the same.
 *
 * Cost: a deadline later than the one before costs one atomic operation, and the wheel is not
 * touched.
 */
BATON_MUST_USE int baton_timer_arm_after(struct baton_timer *timer,
                                         uint64_t delay_ns) BATON_NONNULL;
BATON_MUST_USE int baton_timer_arm_at(struct baton_timer *timer,
                                      uint64_t deadline_ns) BATON_NONNULL;

/*
 * Submits a task after a delay: `fn` runs as a task of the resource, on the executor's thread.
 *
 *	static int send_again(struct baton_timer *timer) { ... }
 *
 *	error = baton_submit_after(&session->resource, &message->retry, delay_ns, send_again);
 *	baton_timer_stop_then(&message->retry, free, message); // acknowledged: not to be sent again
 *
 * It is the same as baton_timer_init() for the default wheel and baton_timer_arm_after(), and is
 * stopped as every timer is (stop.h).
 *
 * Thread safety: the owner of the timer. Blocking: as baton_timer_arm_after().
 * Ownership: as for baton_timer_arm_after(); after an error the memory is the caller's. The timer
 * is not in use before: it is fresh, or its memory is the caller's again, or its function has
 * returned. In the own function of the timer call baton_timer_arm_after().
 * Ordering: what the caller did before is visible to the run.
 * Errors: as for baton_timer_arm_after().
 */
BATON_MUST_USE int baton_submit_after(struct baton_resource *resource, struct baton_timer *timer,
                                      uint64_t delay_ns, baton_timer_fn fn) BATON_NONNULL;

/*
 * Arms the timer to run repeatedly, until it is stopped, or armed otherwise. The runs are on the
 * threads of baton_timer_arm_after().
 *
 * arm_again_after: the first run comes after the delay, and each later run comes the same delay
 * after the end of the run before.
 *
 * arm_every: the runs come at a fixed rate: at `first_ns` (a time), and then every `period_ns`,
 * without drift. When a run ends so late that later runs are overdue, SKIP leaves these out, and
 * goes on with the first run that lies in the future. CATCH_UP runs all of them, one after the
 * other.
 *
 * Ownership: the timer is baton's until stop says otherwise.
 * Errors: as baton_timer_arm_after(); also -EINVAL: the period is 0, or there is no such policy.
 *
 * Corner cases. CATCH_UP: each run is submitted to the resource, behind the tasks that wait there,
 * when the run before has returned. So a period may be shorter than a tick.
 *
 * A run is left out, and the repetition goes on, when the run is cancelled in the resource's queue
 * (cancel_pending), refused or dropped by a bound, or kept from running by a failed batch_begin.
 * The repetition ends when the resource refuses a run otherwise (it was closed); see
 * baton_timer_dropped_fn. A run without a label is a task of lane 0: exempt that lane from a bound
 * (bound.h); otherwise a timer that does not repeat is lost when the resource is full.
 *
 * Until such a call returns, a run of the arm before may be followed by a run after the new period
 * already.
 */
enum baton_timer_policy {
	BATON_TIMER_SKIP = 0,
	BATON_TIMER_CATCH_UP = 1,
};
BATON_MUST_USE int baton_timer_arm_every(struct baton_timer *timer, uint64_t first_ns,
                                         uint64_t period_ns,
                                         enum baton_timer_policy policy) BATON_NONNULL;
BATON_MUST_USE int baton_timer_arm_again_after(struct baton_timer *timer,
                                               uint64_t delay_ns) BATON_NONNULL;

/* Where a timer stands. */
enum baton_timer_state {
	BATON_TIMER_IDLE = 0,    /* not armed */
	BATON_TIMER_DONE = 1,    /* not armed; it has run since it was last armed */
	BATON_TIMER_PENDING = 2, /* armed: waits for its deadline */
	BATON_TIMER_QUEUED = 3,  /* expired: waits in its resource's queue for its turn */
	BATON_TIMER_RUNNING = 4, /* its function runs just now; maybe it is armed besides */
};
enum baton_timer_state baton_timer_state(const struct baton_timer *timer) BATON_NONNULL;

/*
 * Stops the timer: the timer will not run, nor be repeated, until it is armed again. To free the
 * timer's memory, use stop_then with a function that frees it, or look at what the stop `met`: it
 * tells when the memory is the caller's (stop.h). The function of stop_then is called on this
 * thread, or on the runner's thread. An armed timer is PREVENTED until it expires; then it is
 * QUEUED.
 *
 * disarm: stops the timer, but does not give back its memory, and does not say what it met. For
 * timers that will be armed again.
 *
 * Thread safety: any thread.
 * Blocking: disarm: never. stop_wait: yes. stop and stop_then: like a short mutex.
 * Ownership: stop.h has the rule of memory.
 * Errors: stop_wait: -EDEADLK, -ECHILD: stop.h. -ETIMEDOUT: the deadline has passed.
 *
 * Corner cases. stop and stop_then wait while another thread changes the wheel, or hands this very
 * timer to the resource in whose task they are called; no function of yours runs during that time.
 * They also wait while another thread calls this timer's `dropped`.
 *
 * disarm never waits, and costs one atomic operation; the wheel forgets the timer only when it
 * comes to the timer's place.
 *
 * Another way to free a timer: a task of the resource stops it and calls
 * baton_resource_close_then(). The finaliser may free the timer, whatever the stop met, since the
 * finaliser is called after the tasks that wait in the queue.
 */
BATON_MUST_USE struct baton_stopped baton_timer_stop(struct baton_timer *timer) BATON_NONNULL;
struct baton_stopped baton_timer_stop_then(struct baton_timer *timer, baton_stopped_fn stopped,
                                           void *arg) BATON_NONNULL_AT(1, 2);
void baton_timer_disarm(struct baton_timer *timer) BATON_NONNULL;

BATON_MUST_USE int baton_timer_stop_wait(struct baton_timer *timer) BATON_NONNULL;
BATON_MUST_USE int baton_timer_stop_wait_until(struct baton_timer *timer,
                                               uint64_t deadline_ns) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
