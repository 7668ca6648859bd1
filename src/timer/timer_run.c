/* SPDX-License-Identifier: MIT */
/*
 * The run of an expired timer, as a task of its resource: enter, the function, then maybe arm
 * again, and leave. And what becomes of a task that is cancelled or refused instead.
 */
#include "timer/timer.h"

#include "base/atomic.h"
#include "base/futex.h"
#include "thread/thread.h"

#include <errno.h>

/* Who waits for the end of this timer, whose GONE the caller is about to clear; or NULL. */
static struct baton_future *gone_of(struct baton_timer *timer, uint64_t cleared)
{
	if (!(cleared & BATON__TIMER_GONE))
		return NULL;
	/* [timer.gone] acquire: `gone`; pairs with [timer.gone] in stop_then. The flag that was
	 * seen is still set. */
	(void)load_acquire(&timer->_word);
	return timer->_gone;
}

/*
 * The function to call when the timer will not run; NULL: none. For a caller that has not left the
 * timer yet: after the leave, another thread that has stopped the timer may free it.
 */
static baton_timer_dropped_fn dropped_of(const struct baton_timers *timers,
                                         const struct baton_timer *timer)
{
	return timer->_dropped ? timer->_dropped : timers->config.dropped;
}

/* The task has come to its turn: true: the timer is RUNNING. False: passed, and left. */
static bool enter(struct baton_timer *timer)
{
	uint64_t word = load_relaxed(&timer->_word);
	struct baton_future *gone;
	uint64_t next;

	/* Ends: each failure is another thread's arm or stop, or the wheel's progress. */
	do {
		BATON_ASSERT(word & BATON__TIMER_TASK);
		next = word & ~(BATON__TIMER_TASK | BATON__TIMER_DUE);
		/* RUNNING already: we are the driver, whose submit a bound has refused or dropped
		 * beside the function, which sees to GONE and the repetition at its end. */
		if (!(word & BATON__TIMER_RUNNING))
			next = word & BATON__TIMER_DUE ? next | BATON__TIMER_RUNNING
			                               : next & ~BATON__TIMER_GONE;
		gone = gone_of(timer, word & ~next);
		/* [timer.armed] acquire: what who armed it did; pairs with [timer.armed] in arm.
		 * [timer.touched] release: the last touch of one that is passed; pairs with
		 * [timer.touched] in decide. Linearisation point of the run. */
	} while (!cas_acq_rel(&timer->_word, &word, next));
	if (next & ~word & BATON__TIMER_RUNNING)
		return true;
	if (gone)
		(void)baton_future_complete(gone, 0, timer);
	return false;
}

/* When the next one of a repeated timer is due, of which one was due at `deadline`. */
static uint64_t next_deadline(const struct baton_timers *timers, struct baton_timer *timer,
                              uint64_t deadline)
{
	/* Relaxed: published by the arm; of two at once, the pieces may be of both. */
	uint64_t repeat = load_relaxed(&timer->_repeat);
	uint64_t scheduled = load_relaxed(&timer->_scheduled);
	uint64_t period = repeat >> BATON__REPEAT_SHIFT;
	uint64_t now = baton_timers_now(timers);

	if (period == UINT64_MAX >> BATON__REPEAT_SHIFT)
		period = UINT64_MAX; /* for ever, as repeat_of says */
	if ((repeat & BATON__REPEAT_HOW) == BATON__REPEAT_DELAY)
		return baton__time_after(now, period);
	/* The word's is rounded up: it would drift. */
	if (scheduled > deadline || (deadline - scheduled) >> BATON__TIMER_UNIT_BITS)
		scheduled = deadline;
	scheduled = baton__time_after(scheduled, period);
	if ((repeat & BATON__REPEAT_HOW) == BATON__REPEAT_SKIP && scheduled <= now)
		scheduled = baton__time_after(now, period - (now - scheduled) % period);
	store_relaxed(&timer->_scheduled, scheduled);
	return scheduled;
}

/* Not to be armed again by its own run: armed by somebody, or to run again, or stopped. */
#define BARS_AGAIN (BATON__TIMER_ARMED | BATON__TIMER_DUE | BATON__TIMER_GONE)

/*
 * Arms a repeated timer that is RUNNING, unless somebody has armed or stopped it. `after_run`: its
 * function has returned, and the next run may follow at once where it is overdue: the wheel would
 * make it wait for a tick.
 */
static int again(struct baton_timers *timers, struct baton_timer *timer, bool after_run)
{
	uint64_t word = load_relaxed(&timer->_word);
	struct baton__arming arming = {
		.set = BATON__TIMER_ARMED,
		.clear = BATON__TIMER_DONE,
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

/* The run is over: no more touch of the timer, unless `error` is to be told to the user. */
static void leave(struct baton_timers *timers, struct baton_timer *timer, uint64_t done, int error)
{
	uint64_t word = load_relaxed(&timer->_word);
	baton_timer_dropped_fn dropped = dropped_of(timers, timer);
	struct baton_future *gone;
	uint64_t next;

	/* Ends: as in enter. */
	do {
		/* The next run was due already, but a bound refused it beside the function: that
		 * one is left out. Ends: armed, or somebody else has armed or stopped it. */
		while (error != -ESHUTDOWN && word & BATON__TIMER_REPEAT && !(word & BARS_AGAIN)) {
			if (again(timers, timer, false))
				error = -ESHUTDOWN;
			word = load_relaxed(&timer->_word);
		}
		/* timer.running: stopped after we had armed it again. */
		while (!(word & BATON__TIMER_ARMED) && word & BATON__TIMER_LINKED) {
			baton__timer_remove(timers, timer);
			word = load_relaxed(&timer->_word);
		}
		next = word & ~BATON__TIMER_RUNNING;
		if (!(word & (BATON__TIMER_ARMED | BATON__TIMER_DUE)))
			next |= done;
		if (!(word & BATON__TIMER_TASK))
			next &= ~BATON__TIMER_GONE;
		gone = gone_of(timer, word & ~next);
		/* [timer.touched] release: our last touch; pairs with [timer.touched] in decide */
	} while (!cas_acq_rel(&timer->_word, &word, next));
	/* We are the driver, which was about to hand over this one: it was dropped, or has run.
	 * [timer.handing] release: our last touch; pairs with [timer.handing] in await_handed.
	 * Relaxed: our own, or not what we look for. */
	if (load_relaxed(&timers->driver) == baton__self && load_relaxed(&timers->handing) == timer)
		store_release(&timers->handing, NULL);
	if (gone)
		(void)baton_future_complete(gone, 0, timer);
	else if (error && dropped && !(next & (BATON__TIMER_ARMED | BATON__TIMER_BUSY)))
		dropped(timer, error);
}

static int run(struct baton_task *task)
{
	struct baton_timer *timer = baton_container_of(task, struct baton_timer, _task);
	int error = 0;
	struct baton_timers *timers = baton__timers_of(timer, &error);

	/* Relaxed: with the baton, and TASK, nobody else sets it. */
	BATON_ASSERT(!(load_relaxed(&timer->_word) & BATON__TIMER_RUNNING));
	if (enter(timer) && timer->_fn(timer) != BATON_TIMER_GONE) {
		error = again(timers, timer, true);
		leave(timers, timer, BATON__TIMER_DONE, error);
	}
	baton__timers_unref(timers); /* last touch */
	return 0;
}

void baton__timer_cancelled(struct baton_task *task)
{
	struct baton_timer *timer = baton_container_of(task, struct baton_timer, _task);
	int error = 0;
	struct baton_timers *timers = baton__timers_of(timer, &error);

	/* As a run whose function does nothing. */
	if (enter(timer)) {
		bool once = !(load_relaxed(&timer->_word) & BATON__TIMER_REPEAT);

		error = again(timers, timer, false);
		leave(timers, timer, 0, once ? -ECANCELED : error);
	}
	baton__timers_unref(timers);
}

const struct baton_task_type baton__timer_type = {
	.run = run,
	.cancelled = baton__timer_cancelled,
	.stamp = BATON_TASK_PLACE(struct baton_timer, _task, stamp),
};

void baton__timer_refused(struct baton_timers *timers, struct baton_timer *timer, int error)
{
	uint64_t word = load_relaxed(&timer->_word);
	baton_timer_dropped_fn dropped = dropped_of(timers, timer);
	struct baton_future *gone;
	uint64_t next;

	/* Ends: as in enter. */
	do {
		next = word & ~(BATON__TIMER_TASK | BATON__TIMER_DUE);
		if (word & BATON__TIMER_DUE)
			next &= ~BATON__TIMER_REPEAT;
		if (!(word & BATON__TIMER_RUNNING))
			next &= ~BATON__TIMER_GONE;
		gone = gone_of(timer, word & ~next);
		/* [timer.touched] release: our last touch; pairs with [timer.touched] in decide */
	} while (!cas_acq_rel(&timer->_word, &word, next));
	/* [timer.handing] release: it is over; pairs with [timer.handing] in await_handed */
	store_release(&timers->handing, NULL);
	if (gone)
		(void)baton_future_complete(gone, 0, timer);
	else if ((word & (BATON__TIMER_DUE | BATON__TIMER_RUNNING)) == BATON__TIMER_DUE && dropped)
		dropped(timer, error);
	baton__timers_unref(timers);
}
