/* SPDX-License-Identifier: MIT */
/*
 * Arming: one CAS on the timer's word. If the wheel must know of the arm, the thread changes the
 * wheel as its holder, or, if another thread holds the wheel, posts the timer to the wheel's inbox.
 */
#include "timer/timer.h"

#include "base/atomic.h"
#include "thread/carried.h"
#include "base/checked.h"
#include "base/futex.h"
#include "base/refused.h"
#include "thread/thread.h"
#include "core/close.h"

#include <errno.h>
#include <sched.h>

BATON_EXPORT void baton_timer_init(struct baton_timer *timer, struct baton_timers *timers,
                                   struct baton_resource *resource, baton_timer_fn fn)
{
	BATON__CHECKED(timer_init(timer, resource, fn, __func__));
	*timer = (struct baton_timer)BATON_TIMER_INIT(timers, resource, fn);
}

static void tell_nobody(struct baton_timer *timer, int error)
{
	(void)timer;
	(void)error;
}

void baton__timer_init(struct baton_timer *timer, struct baton_timers *timers,
                       struct baton_resource *resource, baton_timer_fn fn)
{
	*timer = (struct baton_timer)BATON_TIMER_INIT(timers, resource, fn);
	timer->_dropped = tell_nobody;
}

BATON_EXPORT void baton_timer_set_dropped(struct baton_timer *timer, baton_timer_dropped_fn dropped)
{
	timer->_dropped = dropped;
}

static bool is_refused(uint64_t word, const struct baton__arming *arming)
{
	return (word & arming->needed) != arming->needed || word & arming->barred;
}

static uint64_t armed(uint64_t word, const struct baton__arming *arming)
{
	return (word & BATON__TIMER_FLAGS & ~arming->clear) |
	       baton__timer_deadline_bits(arming->deadline) | arming->set;
}

/* Does the wheel, as it is, look at the timer early enough for `next` (timer.deadline)? */
static bool in_time(uint64_t word, uint64_t next)
{
	return word & BATON__TIMER_POSTED ||
	       (word & BATON__TIMER_PLACED &&
	        (next | BATON__TIMER_FLAGS) >= (word | BATON__TIMER_FLAGS));
}

void baton__timer_apply(struct baton_timers *timers, struct baton_timer *timer, uint64_t posted)
{
	/* [timer.armed] acquire: what the arming thread did; pairs with [timer.armed] in arm.
	 * Relaxed is seldom noticed: as in apply's compare-and-swap. */
	uint64_t word = load_acquire(&timer->_word);
	bool before = word & BATON__TIMER_PLACED; /* only the holder changes PLACED */
	bool linked = before;
	bool wanted;
	uint64_t next;

	/* Ends: each failure is another thread's arm or stop, or the run's progress. */
	do {
		if (linked)
			baton__wheel_unlink(&timer->_link);
		next = word & ~(posted | BATON__TIMER_PLACED);
		wanted = word & BATON__TIMER_ARMED;
		linked = wanted && !(next & BATON__TIMER_POSTED);
		if (linked) {
			baton__timers_place(timers, timer, baton__timer_deadline(word));
			next |= BATON__TIMER_PLACED;
		}
		/* [timer.touched] release: the holder's last touch, if the timer is not placed;
		 * pairs with [timer.touched] in decide. [timer.armed] acquire: as above, for the
		 * driver that finds the timer due. Release is seldom noticed: of several steps on
		 * the word one acquires what this one does, or wheel.held, timer.posted or
		 * word.publish brings it. */
	} while (!cas_acq_rel(&timer->_word, &word, next));
	baton__count(&timers->stats.armed, linked);
	baton__count(&timers->stats.cancelled, before && !wanted);
	baton__count(&timers->stats.pending, (uint64_t)linked - (uint64_t)before);
}

void baton__timer_remove(struct baton_timers *timers, struct baton_timer *timer)
{
	baton__timers_hold(timers);
	/* If the timer was POSTED before, the last holder has applied it. */
	if ((load_relaxed(&timer->_word) & (BATON__TIMER_ARMED | BATON__TIMER_PLACED)) ==
	    BATON__TIMER_PLACED)
		baton__timer_apply(timers, timer, 0);
	baton__timers_release(timers, 0);
}

/* Places the timer, which is not linked, and arms it by a CAS from `word` to `next`. False: the
 * word has changed. */
static bool arm_placed(struct baton_timers *timers, struct baton_timer *timer, uint64_t word,
                       uint64_t next)
{
	baton__timers_place(timers, timer, baton__timer_deadline(next));
	/* [timer.armed] release: what the caller did; pairs with [timer.armed] in expire and
	 * enter. [timer.repeat] release: pairs with [timer.repeat] in baton__timer_arm. Relaxed is
	 * enough: [wheel.held] publishes as much, save for [timer.repeat], which goes unnoticed. */
	if (!cas_release(&timer->_word, &word, next | BATON__TIMER_PLACED)) {
		baton__wheel_unlink(&timer->_link);
		return false;
	}
	baton__count(&timers->stats.armed, 1);
	baton__count(&timers->stats.pending, 1);
	return true;
}

/* Disarms a timer that could not be pushed, because the wheel is closed. */
static int unpost(struct baton_timer *timer)
{
	uint64_t word = load_relaxed(&timer->_word);

	/* Ends: as in apply. [timer.touched] release: the last touch; pairs with [timer.touched] in
	 * decide. Relaxed is seldom noticed: as in decide (timer_stop.c). */
	while (!cas_release(
		&timer->_word, &word,
		word & ~(BATON__TIMER_POSTED | BATON__TIMER_ARMED | BATON__TIMER_REPEAT)))
		;
	return -ESHUTDOWN;
}

/*
 * Stores what an arm sets beside the word. If several threads arm at once, the arm whose CAS comes
 * last must also have stored its values last. So each attempt stores them anew, between the load of
 * the word and the CAS: if another arm's CAS comes in between, this CAS fails. (Two further arms,
 * one with the old deadline, may bring the old word back: this CAS does not see that.) An arm that
 * is refused at its first look stores nothing: a queued run keeps what it carries. Relaxed: the CAS
 * publishes the values. If a run reads them before the CAS, this arm replaces what that run arms.
 */
static void store_values(struct baton_timer *timer, const struct baton__arming *arming)
{
	if (arming->carries)
		store_relaxed(&timer->stamp._carried, arming->carried);
	if (!arming->repeat)
		return;
	store_relaxed(&timer->_repeat, arming->repeat);
	store_relaxed(&timer->_scheduled, arming->deadline);
}

int baton__timer_arm(struct baton_timers *timers, struct baton_timer *timer,
                     const struct baton__arming *arming)
{
	bool held = false;
	int error = -EBUSY;

	/* Lock-free: each failure is another thread's arm or stop, or progress of the run or the
	 * wheel. */
	for (;;) {
		/* [timer.repeat] acquire: other arms' stores to _repeat and _scheduled come before
		 * those of this arm, if their CAS came before this load; pairs with [timer.repeat]
		 * below and in arm_placed. Relaxed goes unnoticed: [timer.repeat] orders the stores
		 * of two arms to _repeat, and the explorer's modification order is that of
		 * execution. */
		uint64_t word = load_acquire(&timer->_word);
		uint64_t next = armed(word, arming);
		bool post = !in_time(word, next);

		if (is_refused(word, arming))
			break;
		if (post && !held) {
			held = baton__timers_hold_at_once(timers);
			/* timer.links: from here on no other thread links the timer. */
			if (held)
				continue;
			/* Relaxed: a hint. A closed wheel refuses before the arm affects a queued
			 * run. */
			if (load_relaxed(&timers->word) & BATON__TIMERS_CLOSED)
				return -ESHUTDOWN;
		}
		store_values(timer, arming);
		if (post && held && !(word & BATON__TIMER_PLACED)) {
			if (!arm_placed(timers, timer, word, next))
				continue;
			error = 0;
			break;
		}
		if (post)
			next |= BATON__TIMER_POSTED;
		/* [timer.armed] release: what the caller did; pairs with [timer.armed] in apply,
		 * expire, enter. [timer.repeat] release: pairs with the load above. [timer.touched]
		 * acquire: the holder has read the link that post writes; pairs with
		 * [timer.touched] in apply. Linearisation point. Relaxed is seldom noticed: as in
		 * apply, and as in decide (timer_stop.c). */
		if (!cas_acq_rel(&timer->_word, &word, next))
			continue;
		error = 0;
		if (post && held)
			baton__timer_apply(timers, timer, BATON__TIMER_POSTED);
		else if (post && !baton__timers_post(timers, timer))
			error = unpost(timer);
		break;
	}
	if (held)
		baton__timers_release(timers, 0);
	return error;
}

/* Arms the timer for the user. `repeat`: the value of _repeat; 0: the timer does not repeat. */
static int arm(struct baton_timer *timer, uint64_t deadline, uint64_t repeat)
{
	struct baton__arming arming = {
		.deadline = deadline,
		.repeat = repeat,
		.set = BATON__TIMER_ARMED | (repeat ? BATON__TIMER_REPEAT : 0),
		.clear = BATON__TIMER_DUE | BATON__TIMER_DONE | BATON__TIMER_REPEAT,
		.barred = BATON__TIMER_GONE,
		.carries = true,
		.carried = baton__carried(),
	};
	uint64_t word = load_relaxed(&timer->_word);
	uint64_t next = armed(word, &arming);
	struct baton_timers *timers;
	int error = 0;

	if (BATON_UNLIKELY(baton__forked()))
		return -ECHILD;
	if (BATON_UNLIKELY(!timer->_resource || !timer->_fn))
		return baton__refused("baton_timer_arm_*: the timer has no resource or function");
	/* If the resource is closed later, the submit of the run fails. */
	if (BATON_UNLIKELY(baton__resource_closed(timer->_resource)))
		return -EPIPE;
	/* The short path: the timer is placed well already, as a keep-alive timer mostly is, and is
	 * not to repeat.
	 * [timer.armed] release, [timer.touched] acquire: as in baton__timer_arm. Linearisation
	 * point. Release is seldom noticed: as in apply. */
	if (!repeat && in_time(word, next) && !is_refused(word, &arming)) {
		store_values(timer, &arming);
		if (cas_acq_rel(&timer->_word, &word, next))
			return 0;
	}
	timers = baton__timers_of(timer, &error);
	if (BATON_UNLIKELY(!timers))
		return error;
	return baton__timer_arm(timers, timer, &arming);
}

BATON_EXPORT int baton_timer_arm_at(struct baton_timer *timer, uint64_t deadline_ns)
{
	BATON__CHECKED(timer_arm(timer, __func__));
	return BATON__ANSWER(timer->_resource, arm(timer, deadline_ns, 0));
}

/* `repeat`: as in arm. */
static int arm_after(struct baton_timer *timer, uint64_t delay_ns, uint64_t repeat)
{
	int error = 0;
	struct baton_timers *timers = baton__timers_of(timer, &error);

	if (!timers)
		return error;
	return arm(timer, baton__time_after(baton_timers_now(timers), delay_ns), repeat);
}

BATON_EXPORT int baton_timer_arm_after(struct baton_timer *timer, uint64_t delay_ns)
{
	BATON__CHECKED(timer_arm(timer, __func__));
	return BATON__ANSWER(timer->_resource, arm_after(timer, delay_ns, 0));
}

/* The value of _repeat: `how` and the period. A period that does not fit counts as endless. */
static uint64_t repeat_of(uint64_t period, uint64_t how)
{
	const uint64_t for_ever = UINT64_MAX >> BATON__REPEAT_SHIFT;

	return (period < for_ever ? period : for_ever) << BATON__REPEAT_SHIFT | how;
}

BATON_EXPORT int baton_submit_after(struct baton_resource *resource, struct baton_timer *timer,
                                    uint64_t delay_ns, baton_timer_fn fn)
{
	BATON__CHECKED(timer_init(timer, resource, fn, __func__));
	*timer = (struct baton_timer)BATON_TIMER_INIT(NULL, resource, fn);
	BATON__CHECKED(timer_arm(timer, __func__));
	return BATON__ANSWER(resource, arm_after(timer, delay_ns, 0));
}

BATON_EXPORT int baton_timer_arm_every(struct baton_timer *timer, uint64_t first_ns,
                                       uint64_t period_ns, enum baton_timer_policy policy)
{
	BATON__CHECKED(timer_arm(timer, __func__));
	if (!period_ns)
		return BATON__ANSWER(timer->_resource,
		                     baton__refused("baton_timer_arm_every: period_ns is 0"));
	if ((unsigned)policy > BATON_TIMER_CATCH_UP)
		return BATON__ANSWER(timer->_resource,
		                     baton__refused("baton_timer_arm_every: policy is unknown"));
	return BATON__ANSWER(timer->_resource,
	                     arm(timer, first_ns, repeat_of(period_ns, (unsigned)policy)));
}

BATON_EXPORT int baton_timer_arm_again_after(struct baton_timer *timer, uint64_t delay_ns)
{
	BATON__CHECKED(timer_arm(timer, __func__));
	return BATON__ANSWER(timer->_resource,
	                     arm_after(timer, delay_ns, repeat_of(delay_ns, BATON__REPEAT_DELAY)));
}
