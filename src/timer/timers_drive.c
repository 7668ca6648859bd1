/* SPDX-License-Identifier: MIT */
/*
 * The driver: looks at what is due, and submits what has expired, one after the other, holding
 * nothing while it does. At most one thread at a time: the wheel's own, or who polls or advances
 * it.
 */
#include "timer/timer.h"

#include "base/atomic.h"
#include "base/futex.h"
#include "core/resource.h"
#include "thread/thread.h"

#include <baton/resource.h>

#include <errno.h>

#ifndef BATON_TIMERS_LOOKS    /* tests make it small */
#define BATON_TIMERS_LOOKS 64 /* in one hold: others may want to stop a timer */
#endif

int baton__timers_drive_begin(struct baton_timers *timers)
{
	struct baton__thread *nobody = NULL;
	int error = baton__thread_attach();

	if (error)
		return error;
	/* [wheel.driver] acquire: what the driver before did; pairs with [wheel.driver] in
	 * drive_end */
	if (cas_acquire(&timers->driver, &nobody, baton__self))
		return 0;
	return nobody == baton__self ? -EDEADLK : -EBUSY;
}

void baton__timers_drive_end(struct baton_timers *timers)
{
	/* [wheel.driver] release: as above */
	store_release(&timers->driver, NULL);
}

enum when { IN_TIME, AT_ONCE, NEVER };

/*
 * A timer that is looked at. Its deadline has passed, or it does not count: true: it has TASK, and
 * is the caller's to submit, or with NEVER to give back. Else it has gone its way: to a later slot,
 * into the inbox's care, it was stopped, or its task is queued already.
 */
static bool expire(struct baton_timers *timers, struct baton_timer *timer, enum when when)
{
	/* [timer.armed] acquire: what the arming thread has said; pairs with [timer.armed] in
	 * arm */
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
			baton__timers_count(&timers->stats.moved, 1);
			store_relaxed(&timers->handing, NULL); /* armed later just now */
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
		 * [timer.touched] release: our last touch, without TASK; pairs with [timer.touched]
		 * in decide. [timer.armed] acquire: as above. Linearisation point of the expiry. */
	} while (!cas_acq_rel(&timer->_word, &word, next));
	baton__timers_count(&timers->stats.pending, (uint64_t)-1);
	if (!expired) {
		baton__timers_count(&timers->stats.cancelled, !(word & BATON__TIMER_ARMED));
		store_relaxed(&timers->handing, NULL);
		return false;
	}
	baton__timers_count(when == NEVER ? &timers->stats.dropped : &timers->stats.fired, 1);
	if (!(word & BATON__TIMER_TASK))
		return true;
	/* timer.one_task: the run that is queued is valid again. */
	store_relaxed(&timers->handing, NULL);
	return false;
}

/* Submits the run of a timer with TASK, which is the caller's to submit, stopped or not. */
static int submit_run(struct baton_timers *timers, struct baton_timer *timer)
{
	struct baton_resource *resource = timer->_resource;

	/* Relaxed: the caller has a reference, as the driver or as a run; taken back with
	 * [wheel.reference]. */
	(void)add_relaxed(&timers->references, 1);
	baton_task_init_typed(&timer->_task, &baton__timer_type);
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
		 * await_handed */
		store_release(&timers->handing, NULL);
		return;
	}
	(void)add_relaxed(&timers->stats.refused, 1); /* also by runs, see run_again */
	/* A bound is reached now, and will not be for ever. Relaxed: looked at again. */
	if (error == -EAGAIN && load_relaxed(&timer->_word) & BATON__TIMER_REPEAT) {
		baton__timer_cancelled(&timer->_task);
		/* [timer.handing] as above, where it was passed */
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
	baton__timers_count(&timers->stats.late[bucket], 1);
}

/* Cleared from a timer whose run cannot be submitted, beside its function. */
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
	 * arming thread has said; pairs with [timer.armed] in arm. [timer.touched] release: as a
	 * run of its own; pairs with [timer.touched] in decide. Linearisation point of the
	 * expiry. */
	do
		if (load_relaxed(&timers->word) & BATON__TIMERS_CLOSED)
			error = -ESHUTDOWN;
		else if (!(word & BATON__TIMER_REPEAT) || word & barred)
			error = -EBUSY;
	while (!error && !cas_acq_rel(&timer->_word, &word, expired));
	if (!error) {
		baton__timers_count(&timers->stats.fired, 1);
		count_late(timers, deadline);
	}
	baton__timers_release(timers, 0);
	if (error)
		return error;
	error = submit_run(timers, timer);
	if (!error)
		return 0;
	(void)add_relaxed(&timers->stats.refused, 1);
	/* As in hand: a bound is reached now, and will not be for ever. */
	take_back(timer, BATON__TIMER_TASK | BATON__TIMER_DUE |
	                         (error == -EAGAIN ? 0 : BATON__TIMER_REPEAT));
	baton__timers_unref(timers); /* the run that called has one more */
	return error == -EAGAIN ? 0 : error;
}

int64_t baton__timers_fire(struct baton_timers *timers, uint64_t now)
{
	struct baton_timer_link *link;
	int64_t count = 0;

	/* Ends: what is armed meanwhile is looked at after `now`, or as it comes nearer once a
	 * level. */
	do {
		struct baton_timer *found = NULL;

		baton__timers_hold(timers);
		timers->sleep_until = 0; /* we look ourselves */
		for (unsigned looks = 0; looks < BATON_TIMERS_LOOKS && !found; looks++) {
			struct baton_timer *timer;

			link = baton__wheel_look(&timers->wheel, now >> timers->shift);
			if (!link)
				break;
			timer = baton_container_of(link, struct baton_timer, _link);
			if (expire(timers, timer, IN_TIME))
				found = timer;
		}
		if (found) /* relaxed: TASK keeps it; arms may change it */
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
	/* Ends: the wheel is closed, and each turn takes one timer out of it. */
	for (;;) {
		struct baton_timer_link *link;
		struct baton_timer *timer;
		bool expired;

		baton__timers_hold(timers);
		/* What is armed for ever, too: its tick is past the clock's end. */
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
		/* Relaxed: as in hand; refused gives it back. */
		(void)add_relaxed(&timers->references, 1);
		baton__timer_refused(timers, timer, -ESHUTDOWN);
	}
}

/* Is the calling thread to drive a wheel of this sort? */
static int begin(struct baton_timers *timers, enum baton_timers_source source)
{
	int error;

	if (timers->config.source != source)
		return -EINVAL;
	error = baton__timers_drive_begin(timers);
	if (error)
		return error;
	/* Relaxed: closed by a driver, whom we have followed. */
	if (!(load_relaxed(&timers->word) & BATON__TIMERS_CLOSED))
		return 0;
	baton__timers_drive_end(timers);
	return -ESHUTDOWN;
}

BATON_EXPORT int64_t baton_timers_poll(struct baton_timers *timers)
{
	int64_t count = begin(timers, BATON_TIMERS_POLL);

	if (count)
		return count;
	baton__timers_count(&timers->stats.rounds, 1);
	count = baton__timers_fire(timers, baton__now_ns());
	baton__timers_drive_end(timers);
	return count;
}

BATON_EXPORT int64_t baton_timers_advance_to(struct baton_timers *timers, uint64_t time_ns)
{
	int64_t count = begin(timers, BATON_TIMERS_VIRTUAL);
	uint64_t next;

	if (count)
		return count;
	if (time_ns < baton_timers_now(timers)) {
		baton__timers_drive_end(timers);
		return 0;
	}
	/* Ends: a turn looks at all that is to be looked at by `next`, and arms come after that. */
	while ((next = baton_timers_next(timers)) <= time_ns && next != BATON_NEVER) {
		if (next > baton_timers_now(timers))
			store_relaxed(&timers->virtual_now, next);
		count += baton__timers_fire(timers, next);
	}
	store_relaxed(&timers->virtual_now, time_ns);
	/* The wheel follows the clock, so that timers are placed well when they are armed; but the
	 * wheel never moves to the timers that are armed for ever. */
	count += baton__timers_fire(timers, time_ns == UINT64_MAX ? time_ns - 1 : time_ns);
	baton__timers_drive_end(timers);
	return count;
}

BATON_EXPORT int64_t baton_timers_advance(struct baton_timers *timers, uint64_t ns)
{
	return baton_timers_advance_to(timers, baton__time_after(baton_timers_now(timers), ns));
}
