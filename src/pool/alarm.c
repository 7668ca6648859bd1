/* SPDX-License-Identifier: MIT */
/*
 * The alarm. Its state is one word:
 *
 *   BARRED    No pool keeps deadlines. Set initially and by bar, cleared by open.
 *   ATTACHED  A wheel uses the alarm. Set by attach; cleared by detach and bar.
 *   TAKEN     One thread drives the wheel, or brings it to or from the pool. Set by attach and take
 *             (and by bar, to bring the wheel to its own thread); cleared by that thread alone.
 *   CLAIMED   A worker in the idle set has this deadline as the limit of its sleep. Set by claim;
 *             cleared by give_up, and by whatever changes the deadline.
 *   AWAITED   A thread sleeps until TAKEN is cleared. Set only beside TAKEN, cleared with it.
 *   deadline  Changed by set; cleared by take and detach, and by bar when the wheel has a thread of
 *             its own.
 *
 * Invariants:
 * alarm.work: An open deadline (not CLAIMED, not TAKEN) is work, as a job in a queue is. A thread
 *    that makes a deadline open publishes work (idle.no_work_overlooked, idle.c), and looks for
 *    sleepers afterwards. A worker that is woken for such work finds the deadline passed, and takes
 *    the job; or it finds nothing, enters the idle set, and claims the deadline. A claim is made in
 *    the idle set. So for each open deadline there is a worker that will look at the alarm before
 *    it sleeps; or all workers are inside jobs, awake or asleep, and the sentry watches the
 *    deadline (sentry.watch, sentry.c).
 * alarm.claim: A claim that is lost (the deadline was changed, or another worker took the job) has
 *    no effect on its worker but a time-out: the worker then sees that the claim is gone, and
 *    sleeps on without a limit. Nothing but the deadline itself depends on a time-out.
 * alarm.owner: The wheel's memory is touched through the alarm only by the thread that has set
 *    TAKEN, until it clears TAKEN. detach waits for that. The wheel's `lent` says whether the pool
 *    has the wheel: orphaned, which holds the wheel, clears `lent` before ATTACHED is cleared. A
 *    closed wheel, which may be detached, sets no deadline. So the holder of a wheel that is lent
 *    may set the deadline.
 * alarm.pool: The pool does not end while the wheel is attached (bar comes first), nor while a
 *    thread is between set and announce (thread.touch, thread.h).
 *
 * ABA: worker A claims a deadline; the deadline changes and comes back, and worker B claims it. A
 * may then give up the claim of B: the deadline is open, as after any give_up.
 */
#include "pool/alarm.h"

#include "base/futex.h"
#include "thread/thread.h"

#include <errno.h>
#include <limits.h>

#define BARRED BATON__ALARM_BARRED
#define ATTACHED BATON__ALARM_ATTACHED
#define TAKEN BATON__ALARM_TAKEN
#define CLAIMED BATON__ALARM_CLAIMED
#define AWAITED BATON__ALARM_AWAITED
#define DEADLINE_MAX (UINT64_MAX >> BATON__ALARM_BITS)

struct baton__alarm baton__default_alarm = {
	.word = BARRED,
	.sentry.state = BATON__SENTRY_ENDS,
};

static uint64_t deadline_of(uint64_t word)
{
	return word >> BATON__ALARM_BITS;
}

/* The calling thread has set TAKEN. Relaxed: a thread only asks whether it has set TAKEN itself. */
static void set_taker(struct baton__alarm *alarm)
{
	store_relaxed(&alarm->taker, baton__self);
}

/* Clears TAKEN and the bits in `cleared`, sets `bits`, and wakes the threads that wait for TAKEN to
 * be cleared. */
static void untake(struct baton__alarm *alarm, uint64_t cleared, uint64_t bits)
{
	uint64_t word = load_relaxed(&alarm->word); /* validated by the CAS */
	uint64_t next;

	store_relaxed(&alarm->taker, NULL);
	/* Ends: each failure is a new deadline, or a thread that waits. [alarm.taken] release: what
	 * this thread did to the wheel; pairs with [alarm.taken] in take, bar, detach.
	 * [idle.work] seq_cst: before the look for sleepers. */
	do
		next = (word & ~(cleared | TAKEN | AWAITED)) | bits;
	while (!cas_seq_cst(&alarm->word, &word, next));
	if (word & AWAITED) {
		/* [alarm.done] release: TAKEN is cleared; pairs with [alarm.done] in await_taken.
		 * Release is enough: atomic.h has no addition with that order alone. */
		(void)add_seq_cst(&alarm->done, 1);
		baton__futex_wake(&alarm->done, INT_MAX);
	}
}

/* Waits until the alarm is not TAKEN; `word` shows that it is. */
static void await_taken(struct baton__alarm *alarm, uint64_t word)
{
	/* [alarm.done] acquire: before the look at the word; pairs with [alarm.done] in untake */
	struct baton__futex_watch watch = {&alarm->done, load_acquire(&alarm->done)};

	/* Relaxed is enough below: `done` decides. A waiter that loads the value after the clearing
	 * of AWAITED has acquired the clearing; otherwise its futex wait finds `done` changed, or
	 * is woken. */
	if (!(word & AWAITED) && !cas_seq_cst(&alarm->word, &word, word | AWAITED))
		return;
	/* The caller looks again. Ended by the thread that has set TAKEN, which enters no task (but
	 * may call a timer's `dropped`). */
	if (load_seq_cst(&alarm->word) & AWAITED)
		(void)baton__futex_wait(&watch, 1, BATON_FOREVER);
}

/* ---- Pool and wheel ---- */

void baton__alarm_open(struct baton__alarm *alarm, struct baton_executor *executor)
{
	alarm->executor = executor;
	baton__sentry_open(&alarm->sentry);
	/* [alarm.opened] release: `executor`; pairs with [alarm.opened] in attach. No other thread
	 * changes a word that is BARRED. */
	store_release(&alarm->word, 0);
}

void baton__alarm_notify(const struct baton__alarm *alarm)
{
	(void)alarm->executor->_ops->returned(alarm->executor);
}

/* Brings the wheel to a thread of its own; the caller has taken the alarm, and the pool cannot end
 * meanwhile. An error: the alarm is not taken any more, and the caller notifies. */
static int send_wheel_home(struct baton__alarm *alarm, uint64_t bits)
{
	const bool inside = baton__thread_is_inside(alarm->executor);
	int error = alarm->wheel.orphaned(alarm->wheel.job);

	untake(alarm, error ? 0 : UINT64_MAX, error ? 0 : bits);
	/* After an error the deadline was set again, and baton__alarm_set has entered. */
	if (error && !inside)
		baton__thread_leave();
	return error;
}

int baton__alarm_bar(struct baton__alarm *alarm)
{
	int error;

	/* Ends: a thread that has taken the alarm gives it back, and each failed CAS is the
	 * progress of another thread. */
	for (;;) {
		uint64_t word = load_relaxed(&alarm->word); /* validated by the CAS */

		if (word & BARRED)
			return 0;
		if (word & TAKEN) {
			/* This thread drives the wheel, and is in a callback of the wheel. */
			if (load_relaxed(&alarm->taker) == baton__self)
				return -EDEADLK;
			await_taken(alarm, word);
			continue;
		}
		if (!(word & ATTACHED)) {
			/* Relaxed: no wheel is there, and the alarm alone publishes nothing. */
			if (!cas_relaxed(&alarm->word, &word, BARRED))
				continue;
			baton__sentry_stop(&alarm->sentry);
			return 0;
		}
		/* [alarm.taken] acquire: the wheel; pairs with [alarm.taken] in untake */
		if (cas_acquire(&alarm->word, &word, (word & ~CLAIMED) | TAKEN))
			break;
	}
	set_taker(alarm);
	error = send_wheel_home(alarm, BARRED);
	if (error)
		baton__alarm_notify(alarm);
	else
		baton__sentry_stop(&alarm->sentry);
	return error;
}

bool baton__alarm_attach(struct baton__alarm *alarm, const struct baton__alarm_wheel *wheel)
{
	uint64_t word = 0;

	/* A hint; the CAS decides. No other thread writes `wheel`: there is one default wheel. */
	if (load_relaxed(&alarm->word))
		return false;
	alarm->wheel = *wheel;
	/* [alarm.opened] acquire: the pool; pairs with [alarm.opened] in open. No other thread
	 * looks at the wheel before lent has published it (untake). */
	if (!cas_acquire(&alarm->word, &word, ATTACHED | TAKEN))
		return false;
	set_taker(alarm);
	return true;
}

void baton__alarm_detach(struct baton__alarm *alarm)
{
	/* Ends as in bar. */
	for (;;) {
		/* [alarm.taken] acquire: what the pool's threads did to the wheel; pairs with
		 * [alarm.taken] in untake */
		uint64_t word = load_acquire(&alarm->word);

		if (!(word & ATTACHED))
			return;
		/* Relaxed: the next load acquires what the last untake has published. */
		if (word & TAKEN)
			await_taken(alarm, word);
		else
			(void)cas_relaxed(&alarm->word, &word, 0);
	}
}

/* ---- The deadline ---- */

/* thread.touch: the thread says that it touches the pool, while the pool cannot end yet. A thread
 * without a record, for which there is no memory, says nothing. */
static void enter_pool(const struct baton__alarm *alarm)
{
	if (!baton__thread_attach())
		baton__thread_enter(alarm->executor);
}

void baton__alarm_set(struct baton__alarm *alarm, uint64_t deadline_ns)
{
	uint64_t word = load_relaxed(&alarm->word); /* validated by the CAS */
	uint64_t deadline = deadline_ns < DEADLINE_MAX ? deadline_ns : DEADLINE_MAX;

	BATON_ASSERT(word & ATTACHED);
	enter_pool(alarm); /* a thread that ends the pool holds the wheel first (orphaned) */
	/* Ends: each failure is a worker that claims or takes the alarm. [idle.work] seq_cst:
	 * before the look for sleepers. */
	while (!cas_seq_cst(&alarm->word, &word,
	                    deadline << BATON__ALARM_BITS | (word & (ATTACHED | TAKEN | AWAITED))))
		;
}

void baton__alarm_announce(struct baton__alarm *alarm)
{
	baton__alarm_notify(alarm);
	baton__thread_leave();
}

void baton__alarm_lent(struct baton__alarm *alarm)
{
	enter_pool(alarm); /* until TAKEN is cleared the pool does not end */
	untake(alarm, 0, 0);
	baton__alarm_announce(alarm);
}

void baton__alarm_done(struct baton__alarm *alarm)
{
	untake(alarm, 0, 0);
	baton__thread_leave(); /* baton__alarm_set has entered */
}

uint64_t baton__alarm_claim(struct baton__alarm *alarm)
{
	/* Relaxed: the worker looks again for an open deadline, by [idle.work] in is_open, before
	 * it sleeps; or another worker that searches does (idle.no_work_overlooked). */
	uint64_t word = load_relaxed(&alarm->word);

	/* Ends: each failure is the progress of another thread. */
	do
		if (!deadline_of(word) || word & (TAKEN | CLAIMED))
			return 0;
	while (!cas_relaxed(&alarm->word, &word, word | CLAIMED));
	return deadline_of(word);
}

bool baton__alarm_give_up(struct baton__alarm *alarm, uint64_t deadline_ns)
{
	uint64_t word = deadline_ns << BATON__ALARM_BITS | ATTACHED | CLAIMED;

	/* [idle.work] seq_cst: before the look for sleepers, or before this worker stops
	 * searching */
	return cas_seq_cst(&alarm->word, &word, word & ~CLAIMED);
}

struct baton_job *baton__alarm_take(struct baton__alarm *alarm, uint64_t now_ns)
{
	uint64_t word;

	if (BATON_LIKELY(!alarm))
		return NULL;
	word = load_relaxed(&alarm->word); /* validated by the CAS */
	if (!deadline_of(word) || word & TAKEN)
		return NULL;
	if (deadline_of(word) > (now_ns ? now_ns : baton__now_ns()))
		return NULL;
	/* [alarm.taken] acquire: the wheel, and what was done to it; pairs with [alarm.taken] in
	 * untake. If the CAS fails, another thread has taken the job; or the deadline has changed,
	 * and was announced. */
	if (!cas_acquire(&alarm->word, &word, ATTACHED | TAKEN))
		return NULL;
	set_taker(alarm);
	return alarm->wheel.job;
}
