/* SPDX-License-Identifier: MIT */
/*
 * The wheel: its holder and its inbox; creating, closing, counters.
 */
#include "timer/timer.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "base/futex.h"
#include "base/refused.h"
#include "thread/thread.h"
#include "wait/cycle.h"
#include "pool/alarm.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#ifndef BATON_TIMERS_PAUSES /* tests make these small */
#define BATON_TIMERS_PAUSES 100
#define BATON_TIMERS_YIELDS 200
#endif

#define SHIFT_MIN 10U /* 1,024 ns: the largest unit of a deadline in a word */
#define SHIFT_MAX 40U

/* ---- Holding ---- */

static bool try_hold(struct baton_timers *timers)
{
	/* [wheel.sleepers] seq_cst: after the sleeper has been counted; pairs with [wheel.sleepers]
	 * in release */
	uintptr_t word = load_seq_cst(&timers->word);

	/* [wheel.held] acquire: the wheel; pairs with [wheel.held] in release */
	return !(word & BATON__TIMERS_HELD) &&
	       cas_acquire(&timers->word, &word, word | BATON__TIMERS_HELD);
}

bool baton__timers_hold_at_once(struct baton_timers *timers)
{
	uintptr_t word = 0;

	/* [wheel.held] acquire: the wheel; pairs with [wheel.held] in release */
	return !load_relaxed(&timers->word) &&
	       cas_acquire(&timers->word, &word, BATON__TIMERS_HELD);
}

static BATON_NOINLINE void sleep_until_held(struct baton_timers *timers)
{
	(void)add_seq_cst(&timers->sleepers, 1);
	/* Ended by a holder that releases the wheel, and sees that a thread sleeps. */
	for (;;) {
		/* [wheel.sleepers] acquire: before the look at the wheel; pairs with
		 * [wheel.sleepers] in release */
		struct baton__futex_watch watch = {&timers->released,
		                                   load_acquire(&timers->released)};

		if (try_hold(timers))
			break;
		(void)baton__futex_wait(&watch, 1, BATON_FOREVER);
	}
	(void)sub_relaxed(&timers->sleepers, 1);
}

void baton__timers_hold(struct baton_timers *timers)
{
	for (unsigned i = 0; i < BATON_TIMERS_PAUSES + BATON_TIMERS_YIELDS; i++) {
		if (try_hold(timers))
			return;
		if (i < BATON_TIMERS_PAUSES)
			baton__pause();
		else
			(void)sched_yield();
	}
	sleep_until_held(timers);
}

/* Applies the timers in the inbox. */
static void drain_inbox(struct baton_timers *timers, uintptr_t *word)
{
	uintptr_t flags = *word & ~BATON__TIMERS_INBOX;
	struct baton_timer *timer;

	/* [timer.posted] acquire: the timers' links; pairs with [timer.posted] in post. Ends: each
	 * failure is a post. */
	while (!cas_acquire(&timers->word, word, flags))
		;
	timer = (struct baton_timer *)(*word & BATON__TIMERS_INBOX);
	*word = flags;
	while (timer) {
		struct baton_timer *next = timer->_posted;

		baton__timer_apply(timers, timer, BATON__TIMER_POSTED);
		timer = next;
	}
}

void baton__timers_release(struct baton_timers *timers, uintptr_t flags)
{
	uintptr_t word = load_relaxed(&timers->word);
	bool alarming = false;
	bool lent = timers->lent;

	/* Ends: each round is a post by another thread, which has made progress. */
	do {
		if (word & BATON__TIMERS_INBOX)
			drain_inbox(timers, &word);
		if (timers->alarming && lent)
			baton__timers_alarm(timers);
		alarming = alarming || timers->alarming;
		timers->alarming = false;
		/* [wheel.held] release: the wheel; pairs with [wheel.held] in hold.
		 * [wheel.sleepers] seq_cst: before the look for sleepers; pairs with
		 * [wheel.sleepers] in try_hold. Last touch of the wheel itself. */
	} while (!cas_seq_cst(&timers->word, &word, flags | (word & BATON__TIMERS_CLOSED)));
	if (load_seq_cst(&timers->sleepers)) {
		/* [wheel.sleepers] release: the wheel is free; pairs with [wheel.sleepers] in
		 * sleep_until_held. Release is seldom noticed: Dekker is between the wheel's word
		 * and `sleepers`; this addition only changes the sleeper's futex word. */
		(void)add_seq_cst(&timers->released, 1);
		baton__futex_wake(&timers->released, 1);
	}
	if (!alarming)
		return;
	if (lent)
		baton__alarm_announce(&baton__default_alarm);
	else if (timers->config.source == BATON_TIMERS_THREAD)
		baton__futex_wake(&timers->alarm, 1);
	else if (timers->config.wake)
		timers->config.wake(timers->config.arg);
}

bool baton__timers_post(struct baton_timers *timers, struct baton_timer *timer)
{
	uintptr_t word = load_relaxed(&timers->word);

	/* Lock-free: each failure is another post, or the holder's progress. */
	for (;;) {
		if (word & BATON__TIMERS_CLOSED)
			return false;
		if (!(word & BATON__TIMERS_HELD)) {
			/* [wheel.held] acquire: the wheel; pairs with [wheel.held] in release */
			if (!cas_acquire(&timers->word, &word, BATON__TIMERS_HELD))
				continue;
			baton__timer_apply(timers, timer, BATON__TIMER_POSTED);
			baton__timers_release(timers, 0);
			return true;
		}
		timer->_posted = (struct baton_timer *)(word & BATON__TIMERS_INBOX);
		/* [timer.posted] release: the timer's link; pairs with [timer.posted] in
		 * drain_inbox. Last touch of timer and wheel. */
		if (cas_release(&timers->word, &word,
		                (uintptr_t)timer | (word & ~BATON__TIMERS_INBOX)))
			return true;
	}
}

void baton__timers_place(struct baton_timers *timers, struct baton_timer *timer, uint64_t deadline)
{
	uint64_t part = deadline & (((uint64_t)1 << timers->shift) - 1);
	uint64_t tick = (deadline >> timers->shift) + (part != 0);
	uint64_t look;

	/* A virtual wheel: a timer whose deadline has passed is due at once, so that an advance of
	 * 0 runs it. During an advance the timer is placed for the next tick instead, so that the
	 * advance ends. Relaxed: either place will do. */
	if (timers->config.source == BATON_TIMERS_VIRTUAL && tick <= timers->wheel.tick &&
	    !load_relaxed(&timers->driver)) {
		baton__wheel_place_due(&timers->wheel, &timer->_link);
		return;
	}
	look = baton__wheel_place(&timers->wheel, &timer->_link, tick);
	if (look >= timers->sleep_until)
		return;
	/* One alarm is enough, until a timer is placed for an earlier time still. */
	timers->sleep_until = look;
	timers->alarming = true;
	baton__count(&timers->stats.wakes, 1);
	/* [wheel.closed] release: the thread looks again; pairs with [wheel.closed] in
	 * sleep_until_due. Relaxed is seldom noticed: the alarm is read under the wheel's hold. */
	store_release(&timers->alarm, load_relaxed(&timers->alarm) + 1);
}

/* ---- Creating, closing ---- */

int baton__timers_create(const struct baton_timers_options *options, bool is_default,
                         struct baton_timers **timers)
{
	static const struct baton_timers_options defaults = BATON_TIMERS_OPTIONS_INIT;
	struct baton_timers *new;
	uint64_t resolution;
	int error;

	options = options ? options : &defaults;
	resolution = options->resolution_ns ? options->resolution_ns : BATON_TIMERS_RESOLUTION;
	if ((unsigned)options->source > BATON_TIMERS_VIRTUAL)
		return baton__refused("baton_timers_create: source is unknown");
	if ((unsigned)options->submit > BATON_TIMERS_SUBMIT_INLINE)
		return baton__refused("baton_timers_create: submit is unknown");
	if (BATON__UNKNOWN(options))
		return baton__refused("baton_timers_create: a word of _reserved is not zero");
	if (baton__forked())
		return -ECHILD;
	new = aligned_alloc(BATON_CACHE_LINE, sizeof(*new));
	if (!new)
		return -ENOMEM;
	(void)memset(new, 0, sizeof(*new));
	BATON__CHECKED(made(new, NULL, "baton_timers_create"));
	new->config = *options;
	if (options->submit == BATON_TIMERS_SUBMIT_DEFAULT)
		new->config.submit = options->source == BATON_TIMERS_THREAD
		                             ? BATON_TIMERS_SUBMIT_LATER
		                             : BATON_TIMERS_SUBMIT_INLINE;
	new->shift = 63U - (unsigned)__builtin_clzll(resolution);
	new->shift = new->shift < SHIFT_MIN ? SHIFT_MIN : new->shift;
	new->shift = new->shift > SHIFT_MAX ? SHIFT_MAX : new->shift;
	if (options->source == BATON_TIMERS_VIRTUAL)
		new->shift = 0; /* a tick is a nanosecond: deadlines are exact */
	new->references = 1;    /* unshared: no other thread knows the wheel yet */
	baton__wheel_init(&new->wheel, baton_timers_now(new) >> new->shift);
	new->is_default = is_default;
	error = options->source == BATON_TIMERS_THREAD ? baton__timers_drivers_start(new) : 0;
	if (error)
		free(new);
	else
		*timers = new;
	return error;
}

BATON_EXPORT int baton_timers_create(const struct baton_timers_options *options,
                                     struct baton_timers **timers)
{
	BATON__NEED(timers, "there is no place for the wheel");
	return BATON__ANSWER_INVALID(NULL, baton__timers_create(options, false, timers));
}

BATON_EXPORT int baton_timers_close(struct baton_timers *timers, enum baton_timers_pending pending)
{
	BATON__CHECKED(owned(timers, __func__));

	bool thread = timers->config.source == BATON_TIMERS_THREAD;
	int error;

	if (pending != BATON_TIMERS_DROP && pending != BATON_TIMERS_RUN)
		return BATON__ANSWER(NULL,
		                     baton__refused("baton_timers_close: pending is unknown"));
	/* The driver would wait for itself. The wheel's thread is the driver as long as it lives; a
	 * worker, or the sentry, is the driver while it runs the wheel's job. */
	if (thread && (load_relaxed(&timers->driver) == baton__self || baton__must_not_wait()))
		return -EDEADLK;
	error = thread ? baton__thread_attach() : baton__timers_drive_begin(timers);
	/* Only a thread that closes the wheel drives a closed wheel. */
	if (error == -EBUSY && load_relaxed(&timers->word) & BATON__TIMERS_CLOSED)
		return -EALREADY;
	if (error)
		return error;
	baton__timers_hold(timers);
	if (load_relaxed(&timers->word) & BATON__TIMERS_CLOSED) {
		baton__timers_release(timers, 0);
		error = -EALREADY;
	} else {
		baton__timers_release(timers, BATON__TIMERS_CLOSED);
		if (thread)
			baton__timers_drivers_stop(timers);
	}
	if (!error && thread)
		/* No other thread drives: this does not fail. */
		(void)baton__timers_drive_begin(timers);
	if (!error)
		baton__timers_sweep(timers, pending);
	if (!error || !thread)
		baton__timers_drive_end(timers);
	return error;
}

void baton__timers_unref(struct baton_timers *timers)
{
	/* [wheel.reference] release: this thread's touches; acquire: those of other threads, before
	 * the free; pairs with [wheel.reference] here */
	if (sub_acq_rel(&timers->references, 1) == 1) {
		BATON__CHECKED(ended(timers, NULL, "baton_timers_destroy"));
		free(timers);
	}
}

int baton__timers_end(struct baton_timers *timers)
{
	int error = baton_timers_close(timers, BATON_TIMERS_DROP);

	if (error && error != -EALREADY)
		return error;
	/* Each run has a reference. So with one reference left no run is under way, and a thread
	 * that holds the wheel, or sleeps for it, can only be in an arm or a stop: misuse, since it
	 * would touch freed memory. [wheel.reference] acquire: the runs have left; pairs with
	 * [wheel.reference] in unref. Relaxed is seldom noticed: an assertion, which an old word
	 * would let fail. */
	if (load_acquire(&timers->references) == 1) {
		if (BATON_UNLIKELY(load_relaxed(&timers->word) != BATON__TIMERS_CLOSED) ||
		    BATON_UNLIKELY(load_relaxed(&timers->sleepers)))
			BATON_MISUSE_OF("baton_timers_destroy", timers->config.name,
			                "is in use: an arm or stop is under way on another thread");
	}
	baton__timers_unref(timers);
	return 0;
}

BATON_EXPORT int baton_timers_destroy(struct baton_timers *timers)
{
	BATON__CHECKED(owned(timers, __func__));
	return timers->is_default ? -EPERM : baton__timers_end(timers);
}

/* ---- Looking ---- */

BATON_EXPORT uint64_t baton_timers_now(const struct baton_timers *timers)
{
	BATON__CHECKED(owned(timers, __func__));
	if (timers->config.source != BATON_TIMERS_VIRTUAL)
		return baton__now_ns();
	/* Relaxed: a clock orders nothing. */
	return load_relaxed(&timers->virtual_now);
}

BATON_EXPORT uint64_t baton_timers_next(struct baton_timers *timers)
{
	BATON__CHECKED(owned(timers, __func__));

	uint64_t tick;

	if (BATON_UNLIKELY(baton__forked())) /* as in stop_timer */
		return BATON_NEVER;
	baton__timers_hold(timers);
	tick = baton__wheel_next(&timers->wheel);
	if (timers->config.source == BATON_TIMERS_POLL)
		timers->sleep_until = tick;
	baton__timers_release(timers, 0);
	return tick > UINT64_MAX >> timers->shift ? BATON_NEVER : tick << timers->shift;
}

BATON_EXPORT void baton_timers_stats_read(const struct baton_timers *timers,
                                          struct baton_timers_stats *copy)
{
	BATON__CHECKED(owned(timers, __func__));

	const struct baton_timers_stats *stats = &timers->stats;

	copy->armed = load_relaxed(&stats->armed);
	copy->fired = load_relaxed(&stats->fired);
	copy->cancelled = load_relaxed(&stats->cancelled);
	copy->refused = load_relaxed(&stats->refused);
	copy->dropped = load_relaxed(&stats->dropped);
	copy->moved = load_relaxed(&stats->moved);
	copy->pending = load_relaxed(&stats->pending);
	copy->wakes = load_relaxed(&stats->wakes);
	copy->rounds = load_relaxed(&stats->rounds);
	for (unsigned i = 0; i < BATON_TIMERS_LATE_BUCKETS; i++)
		copy->late[i] = load_relaxed(&stats->late[i]);
}
