/* SPDX-License-Identifier: MIT */
/*
 * The run of an expired timer, as a task of its resource: enter_run, the function, arm again if
 * the timer is repeated, leave_run. And what happens instead to a task that is cancelled or
 * refused.
 */
#include "timer/timer.h"

#include "base/atomic.h"
#include "base/futex.h"
#include "base/probe.h"
#include "thread/thread.h"
#include "core/guard.h"
#include "core/run.h"
#include "timer/dropping.h"

#include <errno.h>

/*
 * The function to call if the timer will not run; NULL: none. Call this before leaving the timer:
 * after that, another thread that has stopped the timer may free it.
 */
static baton_timer_dropped_fn dropped_of(const struct baton_timers *timers,
                                         const struct baton_timer *timer)
{
	return timer->_dropped ? timer->_dropped : timers->config.dropped;
}

/* The task runs. True: the timer is RUNNING; call its function, then leave_run. False: the
 * run has no effect; last touch of the timer. */
static bool enter_run(struct baton_timer *timer)
{
	uint64_t word = load_relaxed(&timer->_word);
	uint64_t next;

	/* Ends: each failure is another thread's arm or stop, or the wheel's progress. */
	do {
		BATON_ASSERT(word & BATON__TIMER_TASK);
		next = word & ~(BATON__TIMER_TASK | BATON__TIMER_DUE);
		/* If RUNNING is set, the caller is the driver: a bound has refused or dropped the
		 * driver's submit while the function runs. The run that ends takes care of GONE and
		 * of the repetition. */
		if (!(word & BATON__TIMER_RUNNING) && word & BATON__TIMER_DUE)
			next |= BATON__TIMER_RUNNING;
		/* [timer.armed] acquire: what the arming thread did; pairs with [timer.armed] in
		 * arm. [timer.touched] release: the last touch of a run without effect; pairs with
		 * [timer.touched] in decide. [timer.gone] acquire: `_stopping`; pairs with
		 * [timer.gone] in stop_then. Linearisation point of the run. Release is seldom
		 * noticed: as in apply (timer.c). */
	} while (!cas_acq_rel(&timer->_word, &word, next));
	if (next & ~word & BATON__TIMER_RUNNING)
		return true;
	if (baton__timer_owner_waits(next))
		baton__timer_tell(timer);
	return false;
}

/* The deadline of a repeated timer's next run; `deadline`: that of the last run. */
static uint64_t next_deadline(const struct baton_timers *timers, struct baton_timer *timer,
                              uint64_t deadline)
{
	/* Relaxed: published by the arm. Another arm, whose CAS is yet to come, may have stored its
	 * values already: that arm replaces the deadline that is computed here. */
	uint64_t repeat = load_relaxed(&timer->_repeat);
	uint64_t scheduled = load_relaxed(&timer->_scheduled);
	uint64_t period = repeat >> BATON__REPEAT_SHIFT;
	uint64_t now = baton_timers_now(timers);

	if (period == UINT64_MAX >> BATON__REPEAT_SHIFT)
		period = UINT64_MAX; /* for ever, see repeat_of */
	if ((repeat & BATON__REPEAT_HOW) == BATON__REPEAT_DELAY)
		return baton__time_after(now, period);
	/* Do not count from the word's deadline, which is rounded up: the runs would drift. */
	if (scheduled > deadline || (deadline - scheduled) >> BATON__TIMER_UNIT_BITS)
		scheduled = deadline;
	scheduled = baton__time_after(scheduled, period);
	if ((repeat & BATON__REPEAT_HOW) == BATON__REPEAT_SKIP && scheduled <= now)
		scheduled = baton__time_after(now, period - (now - scheduled) % period);
	store_relaxed(&timer->_scheduled, scheduled);
	return scheduled;
}

/* With one of these flags a run does not arm its timer again: the timer is armed already, another
 * run is due, or stop_then waits. */
#define BARS_AGAIN (BATON__TIMER_ARMED | BATON__TIMER_DUE | BATON__TIMER_GONE)

/*
 * Arms a repeated timer that is RUNNING, unless the timer was armed or stopped meanwhile.
 * `after_run`: its function has returned; a next run that is overdue may then follow at once, since
 * in the wheel it would wait for a tick.
 */
static int again(struct baton_timers *timers, struct baton_timer *timer, bool after_run)
{
	uint64_t word = load_relaxed(&timer->_word);
	struct baton__arming arming = {
		.set = BATON__TIMER_ARMED,
		.needed = BATON__TIMER_REPEAT,
		.barred = BARS_AGAIN,
	};

	if (!(word & BATON__TIMER_REPEAT) || word & arming.barred)
		return 0;
	arming.deadline = next_deadline(timers, timer, baton__timer_deadline(word));
	/* Relaxed: as in next_deadline. */
	if (after_run && arming.deadline <= baton_timers_now(timers) &&
	    (load_relaxed(&timer->_repeat) & BATON__REPEAT_HOW) == BATON__REPEAT_CATCH_UP) {
		int error = baton__timers_run_again(timers, timer, arming.deadline);

		if (error != -EBUSY)
			return error;
	}
	return baton__timer_arm(timers, timer, &arming) == -ESHUTDOWN ? -ESHUTDOWN : 0;
}

/* Ends the run: the last touch of the timer, unless `dropped` must be told of `error`. */
static void leave_run(struct baton_timers *timers, struct baton_timer *timer, uint64_t done,
                      int error)
{
	uint64_t word = load_relaxed(&timer->_word);
	baton_timer_dropped_fn dropped = dropped_of(timers, timer);
	struct baton__dropping dropping = {.object = NULL};
	uint64_t next;
	bool told;

	/* Ends: as in enter_run. */
	do {
		/* The next run was due while the function ran, and a bound has refused it: arm the
		 * timer for the run after that. Ends: the timer is armed, or was stopped
		 * meanwhile. */
		while (error != -ESHUTDOWN && word & BATON__TIMER_REPEAT && !(word & BARS_AGAIN)) {
			if (again(timers, timer, false))
				error = -ESHUTDOWN;
			word = load_relaxed(&timer->_word);
		}
		/* timer.running: the timer was stopped after this run had armed it again. */
		while (!(word & BATON__TIMER_ARMED) && word & BATON__TIMER_LINKED) {
			baton__timer_remove(timers, timer);
			word = load_relaxed(&timer->_word);
		}
		next = word & ~BATON__TIMER_RUNNING;
		if (!(word & (BATON__TIMER_ARMED | BATON__TIMER_DUE)))
			next |= done;
		told = error && dropped && !baton__timer_owner_waits(next) &&
		       !(next & (BATON__TIMER_ARMED | BATON__TIMER_BUSY));
		if (told && !dropping.object)
			baton__dropping_begin(&dropping, timer);
		/* [timer.touched] release: the last touch; pairs with [timer.touched] in decide.
		 * [timer.gone] acquire: as in enter_run. Release is seldom noticed: as in apply
		 * (timer.c). */
	} while (!cas_acq_rel(&timer->_word, &word, next));
	/* If the caller is the driver, which was handing over this timer, the task has run at once,
	 * or was dropped. [timer.handing] release: the last touch; pairs with [timer.handing] in
	 * await_handed. Relaxed: if both comparisons are true, this thread has stored both values
	 * itself. Relaxed is seldom noticed: as in await_handed (timer_stop.c). */
	if (load_relaxed(&timers->driver) == baton__self && load_relaxed(&timers->handing) == timer)
		store_release(&timers->handing, NULL);
	if (told)
		dropped(timer, error);
	baton__dropping_end(&dropping);
	if (baton__timer_owner_waits(next))
		baton__timer_tell(timer);
}

static int run_timer(struct baton_task *task)
{
	struct baton_timer *timer = baton_container_of(task, struct baton_timer, _task);
	int error = 0;
	struct baton_timers *timers = baton__timers_of(timer, &error);
	bool runs;

	/* Relaxed: this thread holds the baton, and the timer has TASK: no other thread sets
	 * RUNNING. */
	BATON_ASSERT(!(load_relaxed(&timer->_word) & BATON__TIMER_RUNNING));
	BATON_PROBE(timer__run, timer, timer->_resource);
	runs = enter_run(timer);
	if (runs && timer->_fn(timer) != BATON_GONE) {
		error = again(timers, timer, true);
		leave_run(timers, timer, BATON__TIMER_DONE, error);
	}
	baton__timers_unref(timers); /* last touch */
	return runs ? 0 : baton__not_to_run();
}

void baton__timer_cancelled(struct baton_task *task)
{
	struct baton_timer *timer = baton_container_of(task, struct baton_timer, _task);
	int error = 0;
	struct baton_timers *timers = baton__timers_of(timer, &error);

	/* A cancelled task is a run without the function. */
	if (enter_run(timer)) {
		bool once = !(load_relaxed(&timer->_word) & BATON__TIMER_REPEAT);

		error = again(timers, timer, false);
		leave_run(timers, timer, 0, once ? -ECANCELED : error);
	}
	baton__timers_unref(timers);
}

const struct baton_task_type baton__timer_type = {
	.run = run_timer,
	.cancelled = baton__timer_cancelled,
	.stamp = BATON_TASK_PLACE(struct baton_timer, _task, stamp),
	.function = BATON_TASK_PLACE(struct baton_timer, _task, _fn),
};

void baton__timer_refused(struct baton_timers *timers, struct baton_timer *timer, int error)
{
	uint64_t word = load_relaxed(&timer->_word);
	baton_timer_dropped_fn dropped = dropped_of(timers, timer);
	struct baton__dropping dropping = {.object = NULL};
	uint64_t next;
	bool told;

	/* Ends: as in enter_run. */
	do {
		next = word & ~(BATON__TIMER_TASK | BATON__TIMER_DUE);
		if (word & BATON__TIMER_DUE)
			next &= ~BATON__TIMER_REPEAT;
		told = dropped && (word & (BATON__TIMER_DUE | BATON__TIMER_RUNNING |
		                           BATON__TIMER_GONE)) == BATON__TIMER_DUE;
		if (told && !dropping.object)
			baton__dropping_begin(&dropping, timer);
		/* [timer.touched] release: the last touch; pairs with [timer.touched] in decide.
		 * [timer.gone] acquire: as in enter_run. Release is seldom noticed: as in apply
		 * (timer.c). */
	} while (!cas_acq_rel(&timer->_word, &word, next));
	/* [timer.handing] release: the timer is handed over; pairs with [timer.handing] in
	 * await_handed. Relaxed is seldom noticed: as in await_handed (timer_stop.c). */
	store_release(&timers->handing, NULL);
	if (told) {
		const uintptr_t top = baton__self->top;

		dropped(timer, error);
		baton__guard_returned(top);
	}
	baton__dropping_end(&dropping);
	if (baton__timer_owner_waits(next))
		baton__timer_tell(timer);
	baton__timers_unref(timers);
}
