/* SPDX-License-Identifier: MIT */
/*
 * Stops. Timers (timer.h), triggers (trigger.h) and watches of descriptors (io.h) are stopped in
 * the same ways, and give their memory back by the same rule. Here x is any of them:
 *
 *   x_stop(x)                         | stops, and says what it met
 *   x_stop_then(x, fn, arg)           | stops; fn(arg) is called when the memory is the caller's
 *   x_stop_wait(x), x_stop_wait_until | stops, and waits until the memory is the caller's
 *
 *	static void unref(void *session) { ... the last one frees it ... }
 *
 *	baton_timer_stop_then(&session->keep_alive, unref, session);
 *	baton_trigger_stop_then(&session->flush, unref, session);
 *
 * What a stop does: for what was armed, fired or started before, the function of x is not entered
 * any more. A run that has begun goes on. In a task of the resource of x the stop is final, since
 * the function does not run beside that task. The counters count a queued run that was stopped as
 * cancelled. `dropped` is not called for what a stop prevents.
 *
 * The rule of memory: from the arm, fire or start on, x is baton's, and its resource must live. x
 * is the caller's again
 *   - after a stop that has met NOTHING or PREVENTED;
 *   - in the function that was given to stop_then;
 *   - after a stop_wait that has returned 0;
 *   - after a stop in the own function of x that has met RUNNING, when this function returns
 *     BATON_GONE.
 * No other thread may be inside a call on x, and none may use x afterwards. The resource has an end
 * of its own, by a close and an await: it may still be in use in the function of stop_then.
 *
 * Corner cases. stop_wait waits until the memory is the caller's, and stops again what the function
 * of x arms or starts meanwhile. The waiter helps the resource, as in an await; if the resource is
 * suspended, the call waits for the resume. stop_wait_until has a deadline (time.h). Where a stop
 * would meet NOTHING or PREVENTED, both return 0 at once, also in a task of the resource. As the
 * stops, they wait beyond the deadline while another thread calls the `dropped` of x. Otherwise x
 * is stopped, and its memory is baton's as after stop:
 *   -ETIMEDOUT  the deadline has passed.
 *   -EDEADLK    the call would have to wait, and is made in a task of the resource; or it would
 *               wait for ever.
 *   -ECHILD     a fork's child: nothing was stopped. Also the other errors of thread.h.
 *
 * Several threads may stop x; one of them frees it. While a stop_then is under way, its function is
 * the one that may free x.
 *
 * Source: Linux' timer_delete, cancel_work_sync and tasklet_kill, as one.
 */
#ifndef BATON_STOP_H
#define BATON_STOP_H

#include <baton/attributes.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a stop met. */
enum baton_stop {
	/* A fork's child: -ECHILD. Nothing was stopped, and no function will be called. */
	BATON_STOP_CHILD = -10,
	/* Of a source: -EPIPE: the loop's resource is closed. No function will be called. */
	BATON_STOP_CLOSED = -32,
	/* No run was wanted. The memory is the caller's. */
	BATON_STOP_NOTHING = 0,
	/* A run was wanted, and was not in the resource's queue yet: it does not take place. The
	 * memory is the caller's. */
	BATON_STOP_PREVENTED = 1,
	/* A run is in the resource's queue, and has no effect any more. The memory is baton's until
	 * the runner has passed it. An earlier run may still be running on another thread. */
	BATON_STOP_QUEUED = 2,
	/* The function is running. The memory is baton's until the function has returned. */
	BATON_STOP_RUNNING = 3,
};

/* The answer of a stop. The compiler warns where a program drops it, since the memory may still be
 * baton's: where the program frees the memory later, BATON_IGNORE(x_stop(x).met). (A struct, since
 * stops once returned a bool or an int: a program that takes the answer for one of these does not
 * compile.) */
struct baton_stopped {
	enum baton_stop met;
};

/* What a function of x returns when it has freed x, or has given its memory to another owner: baton
 * does not touch x any more. See the rule of memory. */
#define BATON_GONE 1

/*
 * The function of a stop_then: the memory of x is the caller's now. It is called once for each
 * stop_then (not in a fork's child):
 *   - after NOTHING or PREVENTED: on this thread, inside stop_then;
 *   - otherwise on the runner's thread, when this thread has passed the queued run, or when the
 *     function of x has returned; or on the thread to which the resource refuses the run. Where a
 *     resource is suspended, a queued run is passed after the resume; and so is a trigger whose
 *     function runs while another thread calls stop_then.
 * Some of these calls hold the baton of the resource of x, others do not: do not rely on it. What
 * the function submits may run inside it, as in a task. Where callbacks have nested
 * BATON_NESTING_MAX deep, the function is called later on the same thread, as a finaliser is.
 *
 * One stop_then of x at a time (asserted): the next one may come when the function was entered. A
 * function of x that has called stop_then returns 0, not BATON_GONE.
 */
typedef void (*baton_stopped_fn)(void *arg);

/* A baton_stopped_fn that completes a promise (its `arg`) with status 0, for those who wait. Thread
 * safety: any thread. Blocking: never. Errors: none. */
void baton_stopped_complete(void *promise) BATON_NONNULL;

/* For the library. */
struct baton_stopping {
	baton_stopped_fn _fn;
	void *_arg;
};

#ifdef __cplusplus
}
#endif

#endif
