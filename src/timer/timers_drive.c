/* SPDX-License-Identifier: MIT */
/*
 * The driver looks at the timers that are due, and submits the runs of those that have expired, one
 * after the other; it does not hold the wheel while it submits. At most one thread at a time is the
 * driver: the wheel's own thread, a thread of the default pool that runs the wheel's job, or a
 * thread that polls, advances or closes the wheel.
 */
#include "timer/timer.h"

#include <baton/resource.h>
#include <baton/timers.h>

#include "base/atomic.h"
#include "base/checked.h"
#include "base/futex.h"
#include "base/refused.h"
#include "thread/thread.h"
#include "core/resource.h"
#include "core/submit.h"

#include <errno.h>

#ifndef BATON_TIMERS_LOOKS    /* tests make it small */
#define BATON_TIMERS_LOOKS 64 /* in one hold: other threads may want to stop timers */
#endif

int baton__timers_drive_begin(struct baton_timers *timers)
{
	struct baton__thread *nobody = NULL;
	int error = baton__thread_attach();

	if (error)
		return error;
	/* [wheel.driver] acquire: what the last driver did; pairs with [wheel.driver] in
	 * drive_end. Relaxed is enough: a driver touches the wheel, whose holder it is, and two
	 * atomic words, of which it needs some value of its own. */
	if (cas_acquire(&timers->driver, &nobody, baton__self))
		return 0;
	return nobody == baton__self ? -EDEADLK : -EBUSY;
}

void baton__timers_drive_end(struct baton_timers *timers)
{
	/* [wheel.driver] release: what this driver did; pairs with [wheel.driver] in drive_begin.
	 * Relaxed is enough: as in begin. */
	store_release(&timers->driver, NULL);
}

enum when { IN_TIME, AT_ONCE, NEVER };

/*
 * Looks at a linked timer, and unlinks it. `when`: with IN_TIME a timer expires only if its
 * deadline has passed; otherwise every armed timer does. True: the timer has TASK; the caller
 * submits the task, or, with NEVER, gives it back. False: the timer was armed for later and is in a
 * later slot, or is POSTED, or was stopped, or its task is queued already.
 */
static bool expire(struct baton_timers *timers, struct baton_timer *timer, enum when when)
{
	/* [timer.armed] acquire: what the arming thread did; pairs with [timer.armed] in arm.
	 * Relaxed is seldom noticed: as in apply (timer.c). */
	uint64_t word = load_acquire(&timer->_word);
	uint64_t expired;
	uint64_t next;

	baton__wheel_unlink(&timer->_link);
	/* Ends: each failure is another thread's arm or stop, or the run's progress. */
	do {
		uint64_t deadline = baton__timer_deadline(word);

		next = word & ~BATON__TIMER_PLACED;
		expired = word & BATON__TIMER_ARMED && !(word & BATON__TIMER_POSTED);
		if (expired && when == IN_TIME && deadline > timers->wheel.tick << timers->shift) {
			baton__timers_place(timers, timer, deadline);
			baton__count(&timers->stats.moved, 1);
			store_relaxed(&timers->handing, NULL); /* armed for later just now */
			return false;
		}
		if (expired) {
			next = (next & ~BATON__TIMER_ARMED) | BATON__TIMER_TASK;
			if (when == NEVER)
				next &= ~BATON__TIMER_REPEAT;
			if (when != NEVER || !(word & BATON__TIMER_TASK))
				next |= BATON__TIMER_DUE;
			/* Relaxed: published by the CAS below. */
			store_relaxed(&timers->handing, timer);
		}
		/* [timer.handing] release: `handing`; pairs with [timer.handing] in await_handed.
		 * [timer.touched] release: the last touch without TASK; pairs with [timer.touched]
		 * in decide. [timer.armed] acquire: as above. Linearisation point of the expiry. */
	} while (!cas_acq_rel(&timer->_word, &word, next));
	baton__count(&timers->stats.pending, (uint64_t)-1);
	if (!expired) {
		baton__count(&timers->stats.cancelled, !(word & BATON__TIMER_ARMED));
		store_relaxed(&timers->handing, NULL);
		return false;
	}
	baton__count(when == NEVER ? &timers->stats.dropped : &timers->stats.fired, 1);
	if (!(word & BATON__TIMER_TASK))
		return true;
	/* timer.one_task: the queued run is valid again. */
	store_relaxed(&timers->handing, NULL);
	return false;
}

/* Submits the run of a timer for which the caller has set TASK, whether the timer was stopped since
 * or not. */
static int submit_run(struct baton_timers *timers, struct baton_timer *timer)
{
	struct baton_resource *resource = timer->_resource;

	/* Relaxed: the caller has a reference, as the driver or as a run. [wheel.reference]: given
	 * back by the run. */
	(void)add_relaxed(&timers->references, 1);
	baton__type_set(&timer->_task, &baton__timer_type);
	return baton__submit(resource, &timer->_task,
	                     timers->config.submit == BATON_TIMERS_SUBMIT_LATER
	                             ? BATON__SUBMIT_NO_WAIT | BATON__SUBMIT_LATER
	                             : BATON__SUBMIT_NO_WAIT);
}

static void hand(struct baton_timers *timers, struct baton_timer *timer)
{
	int error = submit_run(timers, timer);

	if (!error) {
		/* [timer.handing] release: the submit; pairs with [timer.handing] in
		 * await_handed. Relaxed is seldom noticed: as in await_handed (timer_stop.c). */
		store_release(&timers->handing, NULL);
		return;
	}
	/* The counter is not the holder's: runs count, too, in run_again. */
	(void)add_relaxed(&timers->stats.refused, 1);
	/* -EAGAIN: a bound is full for now. A repeated timer loses this run only. Relaxed: enter
	 * looks again. */
	if (error == -EAGAIN && load_relaxed(&timer->_word) & BATON__TIMER_REPEAT) {
		baton__timer_cancelled(&timer->_task);
		/* [timer.handing] release: as above, if the run had no effect, and leave was not
		 * called. Relaxed is seldom noticed: as in await_handed (timer_stop.c). */
		store_release(&timers->handing, NULL);
		return;
	}
	baton__timer_refused(timers, timer, error);
}

static void count_late(struct baton_timers *timers, uint64_t deadline)
{
	uint64_t now = baton_timers_now(timers);
	uint64_t us = now > deadline ? (now - deadline) / 1000 : 0;
	unsigned bucket = us ? 64U - (unsigned)__builtin_clzll(us) : 0;

	if (bucket >= BATON_TIMERS_LATE_BUCKETS)
		bucket = BATON_TIMERS_LATE_BUCKETS - 1;
	baton__count(&timers->stats.late[bucket], 1);
}

/* Clears flags of a timer whose next run could not be submitted; the timer is RUNNING. */
static void take_back(struct baton_timer *timer, uint64_t cleared)
{
	uint64_t word = load_relaxed(&timer->_word);

	/* Ends: each failure is another thread's arm or stop. Relaxed: leave comes after this. */
	while (!cas_relaxed(&timer->_word, &word, word & ~cleared))
		;
}

int baton__timers_run_again(struct baton_timers *timers, struct baton_timer *timer,
                            uint64_t deadline)
{
	const uint64_t barred = BATON__TIMER_ARMED | BATON__TIMER_DUE | BATON__TIMER_GONE |
	                        BATON__TIMER_TASK | BATON__TIMER_LINKED;
	uint64_t expired = baton__timer_deadline_bits(deadline) | BATON__TIMER_DUE |
	                   BATON__TIMER_TASK | BATON__TIMER_REPEAT | BATON__TIMER_RUNNING;
	uint64_t word = load_relaxed(&timer->_word);
	int error = 0;

	baton__timers_hold(timers);
	/* Ends: each failure is another thread's arm or stop. [timer.armed] acquire: what the
	 * arming thread did; pairs with [timer.armed] in arm. [timer.touched] release: this run's
	 * touches until now; pairs with [timer.touched] in decide. Linearisation point of the
	 * expiry. */
	do
		if (load_relaxed(&timers->word) & BATON__TIMERS_CLOSED)
			error = -ESHUTDOWN;
		else if (!(word & BATON__TIMER_REPEAT) || word & barred)
			error = -EBUSY;
	/* Relaxed is seldom noticed: as in apply (timer.c). */
	while (!error && !cas_acq_rel(&timer->_word, &word, expired));
	if (!error) {
		baton__count(&timers->stats.fired, 1);
		count_late(timers, deadline);
	}
	baton__timers_release(timers, 0);
	if (error)
		return error;
	error = submit_run(timers, timer);
	if (!error)
		return 0;
	(void)add_relaxed(&timers->stats.refused, 1);
	/* As in hand: -EAGAIN does not end the repetition. */
	take_back(timer, BATON__TIMER_TASK | BATON__TIMER_DUE |
	                         (error == -EAGAIN ? 0 : BATON__TIMER_REPEAT));
	baton__timers_unref(timers); /* not the last reference: the calling run has one */
	return error == -EAGAIN ? 0 : error;
}

int64_t baton__timers_fire(struct baton_timers *timers, uint64_t now)
{
	struct baton_timer_link *link;
	int64_t count = 0;

	/* Ends: a timer that is armed meanwhile is placed after the wheel's tick, which goes up to
	 * `now`; a timer that is placed again without an arm comes to a lower level. */
	do {
		struct baton_timer *found = NULL;

		baton__timers_hold(timers);
		timers->sleep_until = 0; /* no alarms: the driver looks itself */
		for (unsigned looks = 0; looks < BATON_TIMERS_LOOKS && !found; looks++) {
			struct baton_timer *timer;

			link = baton__wheel_look(&timers->wheel, now >> timers->shift);
			if (!link)
				break;
			timer = baton_container_of(link, struct baton_timer, _link);
			if (expire(timers, timer, IN_TIME))
				found = timer;
		}
		if (found) /* relaxed: TASK keeps the timer; an arm may change the deadline */
			count_late(timers, baton__timer_deadline(load_relaxed(&found->_word)));
		baton__timers_release(timers, 0);
		if (found) {
			hand(timers, found);
			count++;
		}
	} while (link);
	return count;
}

void baton__timers_sweep(struct baton_timers *timers, enum baton_timers_pending pending)
{
	/* Ends: the wheel is closed, and each round takes one timer out of it. */
	for (;;) {
		struct baton_timer_link *link;
		struct baton_timer *timer;
		bool expired;

		baton__timers_hold(timers);
		/* UINT64_MAX: timers that are armed for ever are found, too. */
		link = baton__wheel_look(&timers->wheel, UINT64_MAX);
		timer = link ? baton_container_of(link, struct baton_timer, _link) : NULL;
		expired = link &&
		          expire(timers, timer, pending == BATON_TIMERS_RUN ? AT_ONCE : NEVER);
		baton__timers_release(timers, 0);
		if (!link)
			return;
		if (!expired)
			continue;
		if (pending == BATON_TIMERS_RUN) {
			hand(timers, timer);
			continue;
		}
		/* Relaxed: as in submit_run; baton__timer_refused gives the reference back. */
		(void)add_relaxed(&timers->references, 1);
		baton__timer_refused(timers, timer, -ESHUTDOWN);
	}
}

/* The calling thread becomes the driver of a wheel with this source. An error: it does not. */
static int begin_drive(struct baton_timers *timers, enum baton_timers_source source)
{
	int error;

	if (timers->config.source != source)
		return baton__refused(
			"baton_timers_*: the wheel has another source than this call is for");
	error = baton__timers_drive_begin(timers);
	if (error)
		return error;
	/* Relaxed: a driver has closed the wheel; [wheel.driver] orders this load after that. */
	if (!(load_relaxed(&timers->word) & BATON__TIMERS_CLOSED))
		return 0;
	baton__timers_drive_end(timers);
	return -ESHUTDOWN;
}

BATON_EXPORT int64_t baton_timers_poll(struct baton_timers *timers)
{
	BATON__CHECKED(owned(timers, __func__));

	int64_t count = begin_drive(timers, BATON_TIMERS_POLL);

	if (count)
		return BATON__ANSWER_INVALID(NULL, (int)count);
	baton__count(&timers->stats.rounds, 1);
	count = baton__timers_fire(timers, baton__now_ns());
	baton__timers_drive_end(timers);
	return count;
}

BATON_EXPORT int64_t baton_timers_advance_to(struct baton_timers *timers, uint64_t time_ns)
{
	BATON__CHECKED(owned(timers, __func__));

	int64_t count = begin_drive(timers, BATON_TIMERS_VIRTUAL);
	uint64_t next;

	if (count)
		return BATON__ANSWER_INVALID(NULL, (int)count);
	if (time_ns < baton_timers_now(timers)) {
		baton__timers_drive_end(timers);
		return 0;
	}
	/* Ends: a round looks at all timers that are due by `next`; timers that are armed meanwhile
	 * are looked at later than `next`. */
	while ((next = baton_timers_next(timers)) <= time_ns && next != BATON_NEVER) {
		if (next > baton_timers_now(timers))
			store_relaxed(&timers->virtual_now, next);
		count += baton__timers_fire(timers, next);
	}
	store_relaxed(&timers->virtual_now, time_ns);
	/* The wheel's tick follows the clock, so that timers are placed well when they are armed.
	 * But the tick never reaches the timers that are armed for ever. */
	count += baton__timers_fire(timers, time_ns == UINT64_MAX ? time_ns - 1 : time_ns);
	baton__timers_drive_end(timers);
	return count;
}

BATON_EXPORT int64_t baton_timers_advance(struct baton_timers *timers, uint64_t span_ns)
{
	BATON__CHECKED(owned(timers, __func__));
	return baton_timers_advance_to(timers,
	                               baton__time_after(baton_timers_now(timers), span_ns));
}
