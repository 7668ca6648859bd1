/* SPDX-License-Identifier: MIT */
/*
 * Who drives a wheel whose source is BATON_TIMERS_THREAD. The wheel's own thread sleeps until the
 * next deadline, or until an arm for an earlier deadline wakes it. The process-wide wheel, created
 * on first use and destroyed only on request, needs no thread while there is a default pool: the
 * wheel is lent to the workers of that pool, which keep its next deadline (pool/alarm.h). The
 * wheel's thread looks for a default pool after each round. If it finds one, it lends the wheel,
 * and ends.
 */
#include "timer/timer.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "base/futex.h"
#include "thread/thread.h"
#include "pool/sole.h"
#include "pool/start.h"
#include "pool/alarm.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>

/* How a wheel's thread starts. */
struct start {
	struct baton_timers *timers;
	uint32_t state; /* futex word. 0: starting, 1: running, 2: failed with `error` */
	int error;
};

/* Sleeps until a timer may be due. False: the wheel is closed. */
static bool sleep_until_due(struct baton_timers *timers)
{
	struct baton__futex_watch watch = {&timers->alarm, 0};
	uint64_t tick;
	bool closed;

	baton__timers_hold(timers);
	closed = load_relaxed(&timers->word) & BATON__TIMERS_CLOSED;
	tick = baton__wheel_next(&timers->wheel);
	/* After the release, an arm for an earlier tick changes `alarm`, the word that this thread
	 * sleeps on. [wheel.closed] acquire: pairs with [wheel.closed] in place, thread_stop */
	timers->sleep_until = tick;
	/* Relaxed is seldom noticed: the thread holds the wheel before it looks at anything. */
	watch.value = load_acquire(&timers->alarm);
	baton__count(&timers->stats.rounds, 1);
	baton__timers_release(timers, 0);
	if (closed)
		return false;
	(void)baton__futex_wait(&watch, 1,
	                        tick > UINT64_MAX >> timers->shift ? BATON_FOREVER
	                                                           : tick << timers->shift);
	return true;
}

/* ---- Lending the wheel to the default pool ---- */

static int start_wheel_thread(struct baton_timers *timers);

void baton__timers_alarm(struct baton_timers *timers)
{
	uint64_t tick = timers->sleep_until;

	baton__alarm_set(&baton__default_alarm,
	                 tick > UINT64_MAX >> timers->shift ? 0 : tick << timers->shift);
}

static void join_thread(struct baton_timers *timers)
{
	if (!timers->threaded)
		return;
	(void)pthread_join(timers->thread, NULL);
	timers->threaded = false;
	baton__fork_losses_add(-1);
}

/* Sets the alarm for the next look, unless the wheel is closed. The caller has taken the alarm. */
static void set_next(struct baton_timers *timers)
{
	baton__timers_hold(timers);
	if (!(load_relaxed(&timers->word) & BATON__TIMERS_CLOSED)) {
		timers->lent = true;
		timers->sleep_until = baton__wheel_next(&timers->wheel);
		baton__count(&timers->stats.rounds, 1);
		baton__timers_alarm(timers);
	}
	baton__timers_release(timers, 0);
}

/* The wheel's job, on a worker that has taken the alarm. */
static void run_lent(struct baton_plain_job *job)
{
	struct baton_timers *timers = baton_container_of(job, struct baton_timers, job);

	join_thread(timers); /* the thread that has lent the wheel has ended, or is about to */
	/* No other thread drives: the alarm is taken, and a thread that closes the wheel waits. */
	(void)baton__timers_drive_begin(timers);
	(void)baton__timers_fire(timers, baton__now_ns());
	set_next(timers);
	baton__timers_drive_end(timers);
	baton__alarm_done(&baton__default_alarm);
}

/* Starts the thread of a wheel that was lent; see struct baton__alarm_wheel. */
static int take_home(struct baton_job *job)
{
	struct baton_timers *timers = baton_container_of(job, struct baton_timers, job.job);
	bool closed;
	int error = 0;

	baton__timers_hold(timers);
	closed = load_relaxed(&timers->word) & BATON__TIMERS_CLOSED;
	timers->lent = false;
	timers->sleep_until = 0; /* no alarms: the thread looks itself */
	baton__timers_release(timers, 0);
	timers->stays = true;
	join_thread(timers); /* as in run_lent */
	if (!closed)
		error = start_wheel_thread(timers);
	if (!error)
		return 0;
	timers->stays = false;
	set_next(timers);
	return error;
}

/*
 * Lends the wheel to the default pool. True: done; the caller calls baton__alarm_lent. If the
 * wheel's thread lends the wheel, the deadline is the beginning of time: a worker runs the job at
 * once, and joins that thread. A wheel that is closed is not lent, so that after detach no job is
 * under way.
 */
static bool lend(struct baton_timers *timers)
{
	const struct baton__alarm_wheel wheel = {&timers->job.job, take_home};

	if (!timers->is_default || timers->stays)
		return false;
	baton__timers_hold(timers);
	timers->lent = !(load_relaxed(&timers->word) & BATON__TIMERS_CLOSED) &&
	               baton__alarm_attach(&baton__default_alarm, &wheel);
	if (timers->lent) {
		timers->sleep_until = UINT64_MAX;
		if (timers->threaded) {
			timers->sleep_until = 0; /* no alarms: the job looks itself */
			baton__alarm_set(&baton__default_alarm, 1);
		}
	}
	baton__timers_release(timers, 0);
	return timers->lent;
}

/* ---- The thread ---- */

static void *timers_main(void *argument)
{
	struct start *start = argument;
	struct baton_timers *timers = start->timers;
	char name[16];
	bool lent;
	int error;

	/* Read by the thread that joins; the creator may still be in pthread_create. */
	timers->thread = pthread_self();
	(void)snprintf(name, sizeof(name), "%s",
	               timers->config.name ? timers->config.name : "baton-timers");
	(void)pthread_setname_np(pthread_self(), name); /* a thread without a name works as well */
	baton__signals_open();
	error = baton__timers_drive_begin(timers);
	start->error = error;
	/* [wheel.thread_error] release: the error; pairs with [wheel.thread_error] in thread_start.
	 * Last touch of `start`, except for the wake. */
	store_release(&start->state, error ? 2 : 1);
	baton__futex_wake(&start->state, INT_MAX);
	if (error)
		return NULL;
	/* Ended by close, or by the default pool. */
	do {
		(void)baton__timers_fire(timers, baton__now_ns());
		lent = lend(timers);
	} while (!lent && sleep_until_due(timers));
	baton__timers_drive_end(timers);
	/* A thread that closes the wheel joins this thread. */
	if (lent)
		baton__alarm_lent(&baton__default_alarm);
	baton__thread_detach();
	return NULL;
}

/* The thread drives the wheel from now on. The wheel has no other thread. */
static int start_wheel_thread(struct baton_timers *timers)
{
	struct start start = {.timers = timers};
	pthread_t thread;
	sigset_t before;
	int error;

	timers->threaded = true;
	baton__fork_losses_add(1);
	baton__signals_block(&before);
	error = -pthread_create(&thread, NULL, timers_main, &start);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!error) {
		struct baton__futex_watch watch = {&start.state, 0};

		/* [wheel.thread_error] acquire: the error; pairs with [wheel.thread_error] in
		 * timers_main. Ended by the thread. */
		while (!load_acquire(&start.state))
			(void)baton__futex_wait(&watch, 1, BATON_FOREVER);
		error = start.error;
		if (error)
			(void)pthread_join(thread, NULL);
	}
	if (error) {
		timers->threaded = false;
		baton__fork_losses_add(-1);
	}
	return error;
}

int baton__timers_drivers_start(struct baton_timers *timers)
{
	baton_plain_job_init(&timers->job, run_lent, NULL);
	if (!lend(timers))
		return start_wheel_thread(timers);
	baton__alarm_lent(&baton__default_alarm);
	return 0;
}

void baton__timers_drivers_stop(struct baton_timers *timers)
{
	/* The wheel may be lent, or on its way to its thread. After this call the pool does not
	 * touch the wheel, and `threaded` does not change. */
	if (timers->is_default)
		baton__alarm_detach(&baton__default_alarm);
	baton__timers_hold(timers);
	/* [wheel.closed] release: the wheel is closed; pairs with [wheel.closed] in
	 * sleep_until_due. Relaxed is seldom noticed: as in sleep_until_due. */
	store_release(&timers->alarm, load_relaxed(&timers->alarm) + 1);
	baton__timers_release(timers, 0);
	baton__futex_wake(&timers->alarm, 1);
	join_thread(timers);
}

/* ---- The default wheel ---- */

/* A thread that has the lock below changes this from NULL to the wheel and back. */
static struct baton_timers *the_timers;
static uint32_t default_wheel_lock;

struct baton_timers *baton__timers_default_peek(void)
{
	/* [default_wheel.made] acquire: the wheel; pairs with [default_wheel.made] in
	 * create_default */
	return load_acquire(&the_timers);
}

/* The calling thread has the lock, and there is no default wheel. */
static int create_default(struct baton_timers **timers)
{
	int error = baton__timers_create(NULL, true, timers);

	if (error)
		return error;
	/* [default_wheel.made] release: the wheel; pairs with [default_wheel.made] in
	 * baton__timers_default_peek */
	store_release(&the_timers, *timers);
	return 0;
}

BATON_EXPORT int baton_timers_default(struct baton_timers **timers)
{
	BATON__NEED(timers, "there is no place for the wheel");

	struct baton_timers *found = baton__timers_default_peek();
	int error = 0;

	if (baton__forked())
		return -ECHILD;
	if (!found) {
		baton__sole_begin(&default_wheel_lock);
		found = baton__timers_default_peek();
		if (!found)
			error = create_default(&found);
		baton__sole_end(&default_wheel_lock);
	}
	if (!error)
		*timers = found;
	return error;
}

BATON_EXPORT int baton_timers_default_destroy(void)
{
	struct baton_timers *timers;
	int error = 0;

	if (baton__forked())
		return -ECHILD;
	baton__sole_begin(&default_wheel_lock);
	timers = baton__timers_default_peek();
	if (timers) {
		error = baton_timers_close(timers, BATON_TIMERS_DROP);
		/* While a run is under way `the_timers` must stay, since the run finds its wheel
		 * there. A closed wheel gets no new runs. Relaxed: the last unref, below, acquires
		 * what the runs did. */
		if ((!error || error == -EALREADY) && load_relaxed(&timers->references) > 1)
			error = -EBUSY;
		if (!error || error == -EALREADY) {
			/* Relaxed: the store publishes nothing. */
			store_relaxed(&the_timers, NULL);
			error = baton__timers_end(timers);
		}
	}
	baton__sole_end(&default_wheel_lock);
	return error;
}

struct baton_timers *baton__timers_of(const struct baton_timer *timer, int *error)
{
	struct baton_timers *timers = timer->_timers;

	if (!timers)
		*error = baton_timers_default(&timers);
	return timers;
}
