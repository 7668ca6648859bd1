/* SPDX-License-Identifier: MIT */
/*
 * The sentry. A worker looks at the alarm between its jobs, and a worker that sleeps or searches
 * looks at the alarm in time. So only while all workers are in jobs can a deadline pass unseen.
 *
 * Invariants:
 * sentry.watch: While a deadline is open and all workers are in jobs, the sentry sleeps until
 *    BATON__SENTRY_NS after that deadline at the latest. Two threads call the sentry when they find
 *    all workers in jobs: the thread that makes a deadline open, and the last worker that leaves
 *    the search with a job (alarm.work). The caller has made the deadline open, then looks at
 *    `watched`. The sentry stores `watched`, then looks at the alarm. Both are seq_cst
 *    ([sentry.watched]): the caller sees that the sentry sleeps for a later deadline, and calls the
 *    sentry, or the sentry sees the deadline. So a deadline costs at most one call, and a submit
 *    nothing.
 * sentry.late: A deadline is late if the sentry sees it open BATON__SENTRY_NS after both moments:
 *    the deadline, and the sentry's first look at that open deadline. So a deadline that had passed
 *    before it was set is left to the workers for that time, too. The sentry does not tell a
 *    deadline from an earlier one of the same value. It may then run the wheel early, beside
 *    workers that would have come: nothing depends on who runs the wheel.
 * sentry.pool: The sentry ends before the pool does: bar calls stop. So the sentry may touch the
 *    pool.
 */
#include "pool/sentry.h"

#include "base/atomic.h"
#include "base/futex.h"
#include "thread/thread.h"
#include "pool/start.h"
#include "pool/alarm.h"

#include <limits.h>

bool baton__sentry_look(struct baton__sentry_watch *watch, uint64_t deadline_ns, uint64_t now_ns)
{
	if (deadline_ns && deadline_ns == watch->deadline_ns)
		return now_ns >= watch->until_ns;
	watch->deadline_ns = deadline_ns;
	watch->until_ns = UINT64_MAX;
	if (deadline_ns)
		watch->until_ns = baton__time_after(deadline_ns > now_ns ? deadline_ns : now_ns,
		                                    BATON__SENTRY_NS);
	return false;
}

/* The open deadline. 0: no deadline is set, or a worker sleeps for it (CLAIMED), or a thread drives
 * the wheel (TAKEN). */
static uint64_t open_deadline(const struct baton__alarm *alarm)
{
	/* [sentry.watched] seq_cst: after the sentry has stored `watched`. Relaxed is seldom
	 * noticed: as in call. */
	uint64_t word = load_seq_cst(&alarm->word);

	return word & (BATON__ALARM_TAKEN | BATON__ALARM_CLAIMED) ? 0 : word >> BATON__ALARM_BITS;
}

/* The deadline is late: runs the wheel, unless a worker has come. */
static void run_wheel(struct baton__alarm *alarm)
{
	struct baton_job *job = baton__alarm_take(alarm, 0);

	if (!job)
		return;
	baton_job_run(job);
	baton__alarm_notify(alarm); /* alarm.work: the job has set the next deadline */
}

/* The sentry's loop. */
static void watch_alarm(struct baton__alarm *alarm)
{
	struct baton__sentry *sentry = &alarm->sentry;
	struct baton__sentry_watch watch = {0};

	/* Ended by stop. */
	for (;;) {
		/* [sentry.call] acquire: the deadline, or the end; pairs with [sentry.call] in
		 * call, stop */
		struct baton__futex_watch calls = {&sentry->calls, load_acquire(&sentry->calls)};
		uint64_t deadline;

		/* Relaxed: published by the call. */
		if (load_relaxed(&sentry->state) == BATON__SENTRY_ENDS)
			return;
		if (baton__sentry_look(&watch, open_deadline(alarm), baton__now_ns())) {
			run_wheel(alarm);
			watch.deadline_ns = 0;
			continue;
		}
		deadline = watch.deadline_ns ? watch.deadline_ns : UINT64_MAX;
		if (load_relaxed(&sentry->watched) != deadline) {
			/* [sentry.watched] seq_cst: before the next look. Release is seldom
			 * noticed: as in call. */
			store_seq_cst(&sentry->watched, deadline);
			continue;
		}
		/* Nothing but the deadline depends on the time-out. */
		(void)baton__futex_wait(&calls, 1,
		                        watch.deadline_ns ? watch.until_ns : BATON_FOREVER);
	}
}

/* Ends STARTS. `deadline_ns`: the deadline for which no sentry could be started; 0: the sentry
 * runs. */
static void started(struct baton__sentry *sentry, uint32_t state, uint64_t deadline_ns)
{
	store_relaxed(&sentry->refused, deadline_ns); /* a hint */
	/* [sentry.started] release: `thread`; pairs with [sentry.started] in stop */
	store_release(&sentry->state, state);
	baton__futex_wake(&sentry->state, INT_MAX);
}

static void *sentry_main(void *argument)
{
	struct baton__alarm *alarm = argument;
	int error;

	alarm->sentry.thread = pthread_self();
	baton__signals_open();
	baton__unpin();
	(void)pthread_setname_np(pthread_self(), "baton-sentry"); /* as for workers */
	error = baton__thread_attach();
	if (error) {
		(void)pthread_detach(pthread_self()); /* no thread joins this one */
		started(&alarm->sentry, BATON__SENTRY_NONE, open_deadline(alarm));
		return NULL;
	}
	started(&alarm->sentry, BATON__SENTRY_RUNS, 0);
	watch_alarm(alarm);
	baton__thread_detach();
	return NULL;
}

static void start_sentry(struct baton__alarm *alarm, uint64_t deadline_ns)
{
	pthread_t thread;
	sigset_t before;
	int error;

	baton__signals_block(&before);
	error = pthread_create(&thread, NULL, sentry_main, alarm);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		started(&alarm->sentry, BATON__SENTRY_NONE, deadline_ns);
}

void baton__sentry_open(struct baton__sentry *sentry)
{
	/* Relaxed: published by the alarm's word, [alarm.opened]. */
	store_relaxed(&sentry->watched, UINT64_MAX);
	store_relaxed(&sentry->refused, 0);
	store_relaxed(&sentry->state, BATON__SENTRY_NONE);
}

void baton__sentry_call(struct baton__alarm *alarm)
{
	struct baton__sentry *sentry = &alarm->sentry;
	uint64_t deadline = open_deadline(alarm);
	uint32_t state;

	/* [sentry.watched] seq_cst: after the deadline was made open. Acquire is seldom noticed: a
	 * call beside the sentry's own look is rare. */
	if (!deadline || deadline >= load_seq_cst(&sentry->watched))
		return;
	state = load_relaxed(&sentry->state); /* validated by the CAS */
	if (state == BATON__SENTRY_RUNS) {
		/* [sentry.call] release: what was done before the call; pairs with [sentry.call] in
		 * watch_alarm. Release is enough: atomic.h has no addition with that order alone.
		 * Acquire is seldom noticed: a call beside the sentry's own look is rare. */
		(void)add_seq_cst(&sentry->calls, 1);
		baton__futex_wake(&sentry->calls, 1);
	} else if (state == BATON__SENTRY_NONE && deadline != load_relaxed(&sentry->refused) &&
	           cas_relaxed(&sentry->state, &state, BATON__SENTRY_STARTS)) {
		start_sentry(alarm, deadline);
	}
}

void baton__sentry_stop(struct baton__sentry *sentry)
{
	struct baton__futex_watch state = {&sentry->state, 0};

	/* Ends: the thread that starts the sentry ends STARTS, and no thread starts it again. */
	for (;;) {
		uint32_t next = BATON__SENTRY_ENDS;

		state.value = load_relaxed(&sentry->state); /* validated by the CAS */
		if (state.value == BATON__SENTRY_ENDS)
			return;
		if (state.value == BATON__SENTRY_STARTS) {
			(void)baton__futex_wait(&state, 1, BATON_FOREVER);
			continue;
		}
		/* [sentry.started] acquire: `thread`; pairs with [sentry.started] in started */
		if (cas_acquire(&sentry->state, &state.value, next))
			break;
	}
	if (state.value == BATON__SENTRY_NONE)
		return;
	/* [sentry.call] release: the end; pairs with [sentry.call] in watch_alarm. Release is
	 * enough: as in call. */
	(void)add_seq_cst(&sentry->calls, 1);
	baton__futex_wake(&sentry->calls, 1);
	(void)pthread_join(sentry->thread, NULL);
}
