/* SPDX-License-Identifier: MIT */
/*
 * Stopping: one CAS on the timer's word decides. The code after the CAS removes the timer from the
 * wheel, and tells when the timer's memory is the caller's.
 */
#include "timer/timer.h"

#include <baton/resource.h>

#include "base/atomic.h"
#include "base/checked.h"
#include "thread/thread.h"
#include "core/called.h"
#include "wait/cycle.h"
#include "timer/dropping.h"

#include <errno.h>
#include <sched.h>

#define STOPPED (BATON__TIMER_ARMED | BATON__TIMER_DUE | BATON__TIMER_REPEAT)
/* A run is wanted, or the timer is in the wheel. */
#define AT_WORK (STOPPED | BATON__TIMER_LINKED)

static enum baton_timer_state timer_state(uint64_t word)
{
	if (word & BATON__TIMER_RUNNING)
		return BATON_TIMER_RUNNING;
	if (word & BATON__TIMER_TASK)
		return BATON_TIMER_QUEUED;
	if (word & BATON__TIMER_ARMED)
		return BATON_TIMER_PENDING;
	return word & BATON__TIMER_DONE ? BATON_TIMER_DONE : BATON_TIMER_IDLE;
}

/* What a stop has met that has found this word. */
static enum baton_stop met_by(uint64_t word)
{
	/* A task that is queued counts more: the own function may not free the timer then. */
	if (word & BATON__TIMER_TASK)
		return BATON_STOP_QUEUED;
	if (word & BATON__TIMER_RUNNING)
		return BATON_STOP_RUNNING;
	if (word & BATON__TIMER_GONE)
		return BATON_STOP_QUEUED; /* its function is about to be called */
	return word & BATON__TIMER_ARMED ? BATON_STOP_PREVENTED : BATON_STOP_NOTHING;
}

BATON_EXPORT enum baton_timer_state baton_timer_state(const struct baton_timer *timer)
{
	/* [timer.touched] acquire: what the run did; pairs with [timer.touched] in leave_run */
	return timer_state(load_acquire(&timer->_word));
}

/* Stops the timer; returns the word as it was. */
static uint64_t decide(struct baton_timer *timer)
{
	/* Ends: each failure is another thread's arm or stop, or progress of the run or the
	 * wheel. */
	for (;;) {
		/* [timer.touched] acquire: the touches of threads that have left the timer; pairs
		 * with [timer.touched] in apply, expire, enter, leave, refused, unpost,
		 * tell_timer */
		uint64_t word = load_acquire(&timer->_word);

		/* [timer.touched] acquire: as above, in case the word has changed and come back.
		 * Linearisation point. Relaxed is seldom noticed: of the load and the
		 * compare-and-swap one is enough, unless the same word has come back in between;
		 * and [wheel.held] brings the holder what was done. */
		if (!(word & STOPPED) || cas_acquire(&timer->_word, &word, word & ~STOPPED))
			return word;
	}
}

/* As decide, for the wheel's holder, which also unlinks the timer. */
static uint64_t decide_held(struct baton_timers *timers, struct baton_timer *timer)
{
	/* [timer.touched] acquire: as in decide. Relaxed is seldom noticed: as in decide. */
	uint64_t word = load_acquire(&timer->_word);

	if (word & BATON__TIMER_PLACED) {
		baton__wheel_unlink(&timer->_link);
		baton__count(&timers->stats.cancelled, 1);
		baton__count(&timers->stats.pending, (uint64_t)-1);
	}
	/* Ends, and [timer.touched] acquire: as in decide. Linearisation point. Relaxed is seldom
	 * noticed: as in decide. */
	while (!cas_acquire(&timer->_word, &word, word & ~(STOPPED | BATON__TIMER_PLACED)))
		;
	return word;
}

/* Waits while the driver hands over this timer. The resource is held, so the driver does not run
 * the task. The driver pushes the task, or, if the resource refuses the task, lets go of
 * the timer. */
static void await_handed(struct baton_timers *timers, const struct baton_timer *timer)
{
	/* Ends with the driver's push to the busy resource, or its refusal. [timer.handing]
	 * acquire: the push, for a close that follows; pairs with [timer.handing] in hand. Relaxed
	 * is seldom noticed: [timer.handing] orders the driver's push and the close that follows
	 * the stop, and the explorer's modification order is that of execution. */
	for (unsigned i = 0; load_acquire(&timers->handing) == timer; i++) {
		/* Relaxed: is this thread the driver, or a caller that sleeps in the task? */
		const struct baton__thread *driver = load_relaxed(&timers->driver);

		if (driver == baton__self || baton__caller_is(baton__self->called, driver))
			return;
		if (i < 100)
			baton__pause();
		else
			(void)sched_yield();
	}
}

/* Stops the timer, and removes it from the wheel; returns the word as it was. Another thread may be
 * calling `dropped`. */
static uint64_t stop_once(struct baton_timer *timer)
{
	int error = 0;
	struct baton_timers *timers = NULL;
	/* Relaxed: a hint; decide and decide_held look again. */
	uint64_t word = load_relaxed(&timer->_word);

	/* Without these flags there is no need for a wheel, and the default wheel may not exist
	 * yet. */
	if (word & (BATON__TIMER_LINKED | BATON__TIMER_BUSY))
		timers = baton__timers_of(timer, &error);
	if (word & BATON__TIMER_LINKED && timers && baton__timers_hold_at_once(timers)) {
		word = decide_held(timers, timer);
		baton__timers_release(timers, 0);
	} else {
		word = decide(timer);
		if (!timers && word & (BATON__TIMER_LINKED | BATON__TIMER_BUSY))
			timers = baton__timers_of(timer, &error);
		if (timers && word & BATON__TIMER_LINKED)
			baton__timer_remove(timers, timer);
	}
	/* This thread, or a caller for which it runs, holds the resource, and the timer is busy:
	 * this is the timer's own function, or the task is queued, or the driver is handing it
	 * over. */
	if (timers && word & BATON__TIMER_BUSY &&
	    baton__thread_runs_in(baton__self, timer->_resource))
		await_handed(timers, timer);
	return word;
}

/* As stop_once. If another thread calls `dropped`, the function has returned (timer.dropped). */
static uint64_t stop_timer(struct baton_timer *timer)
{
	uint64_t word;

	/* Ends: another round comes only after a call of `dropped`, which may have armed the
	 * timer. */
	do
		word = stop_once(timer);
	while (baton__dropping_await(timer));
	return word;
}

BATON_EXPORT void baton_timer_disarm(struct baton_timer *timer)
{
	BATON__CHECKED(timer_stop(timer, __func__));
	(void)decide(timer);
}

/* In a fork's child the thread that holds the wheel may be missing, and the wheel half changed:
 * nothing is stopped. */
BATON_EXPORT struct baton_stopped baton_timer_stop(struct baton_timer *timer)
{
	BATON__CHECKED(timer_stop(timer, __func__));
	if (BATON_UNLIKELY(baton__forked()))
		return baton__stopped(BATON_STOP_CHILD);
	return baton__stopped(met_by(stop_timer(timer)));
}

static int tell_timer(struct baton_task *task)
{
	struct baton_timer *timer = baton_container_of(task, struct baton_timer, _task);
	const struct baton_stopping stopping = timer->_stopping;

	/* [timer.touched] release: the last touch; pairs with [timer.touched] in decide. Release is
	 * enough: the thread reads nothing of the timer afterwards. Relaxed is seldom noticed: only
	 * a thread that arms the timer at this moment, without the owner's word, relies on it. */
	(void)sub_acq_rel(&timer->_word, BATON__TIMER_GONE);
	stopping._fn(stopping._arg);
	return 0;
}

void baton__timer_tell(struct baton_timer *timer)
{
	baton__stop_tell(&timer->_task, tell_timer);
}

BATON_EXPORT struct baton_stopped baton_timer_stop_then(struct baton_timer *timer,
                                                        baton_stopped_fn stopped, void *arg)
{
	BATON__CHECKED(timer_stop(timer, __func__));
	BATON__NEED(stopped, "the function is NULL");

	enum baton_stop met;
	uint64_t word;

	if (BATON_UNLIKELY(baton__forked()))
		return baton__stopped(BATON_STOP_CHILD);
	/* Relaxed: only another stop_then sets GONE. */
	BATON_REQUIRE(!(load_relaxed(&timer->_word) & BATON__TIMER_GONE),
	              "stop_then was called for this timer already: one at a time");
	timer->_stopping = (struct baton_stopping){stopped, arg};
	/* Ends: a further round comes only if the timer was armed since, for example by its own
	 * function. */
	do {
		met = met_by(stop_timer(timer));
		word = load_relaxed(&timer->_word);
		/* Ends: as in decide. [timer.gone] release: `_stopping`; pairs with [timer.gone] in
		 * enter_run and leave_run. [timer.touched] acquire: the run is over, if it is;
		 * pairs with [timer.touched] in leave_run. */
		while (!(word & AT_WORK) &&
		       !cas_acq_rel(&timer->_word, &word, word | BATON__TIMER_GONE))
			;
	} while (word & AT_WORK);
	if (word & BATON__TIMER_BUSY)
		return baton__stopped(met_by(word)); /* timer.told: the run tells. Last touch */
	(void)baton__dropping_await(timer);
	baton__timer_tell(timer);
	return baton__stopped(met);
}

static enum baton_stop stop_again(void *timer)
{
	return met_by(stop_timer((struct baton_timer *)timer));
}

BATON_EXPORT int baton_timer_stop_wait(struct baton_timer *timer)
{
	BATON__CHECKED(timer_stop(timer, __func__));
	return baton__stop_wait(timer, stop_again, timer->_resource, BATON_FOREVER);
}

BATON_EXPORT int baton_timer_stop_wait_until(struct baton_timer *timer, uint64_t deadline_ns)
{
	BATON__CHECKED(timer_stop(timer, __func__));
	return baton__stop_wait(timer, stop_again, timer->_resource, deadline_ns);
}
