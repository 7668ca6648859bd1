/* SPDX-License-Identifier: MIT */
/*
 * The wheel's own thread, which sleeps until the next deadline, or until an arm for an earlier
 * deadline wakes it. And the process-wide wheel, created on first use, destroyed only on request.
 */
#include "timer/timer.h"

#include "base/atomic.h"
#include "base/futex.h"
#include "base/sole.h"
#include "thread/thread.h"
#include "pool/spawn.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>

#define NS_PER_S 1000000000U

/* How a wheel's thread starts. */
struct start {
	struct baton_timers *timers;
	uint32_t state; /* futex word. 0: starting, 1: running, 2: failed with `error` */
	int error;
};

/* Sleeps until a timer may be due. False: the wheel is closed. */
static bool rest(struct baton_timers *timers)
{
	struct baton__futex_watch watch = {&timers->alarm, 0};
	struct timespec deadline;
	uint64_t tick;
	bool closed;

	baton__timers_hold(timers);
	closed = load_relaxed(&timers->word) & BATON__TIMERS_CLOSED;
	tick = baton__wheel_next(&timers->wheel);
	/* After the release, an arm for an earlier tick changes `alarm`, the word that this thread
	 * sleeps on. [wheel.closed] acquire: pairs with [wheel.closed] in place, thread_stop */
	timers->sleep_until = tick;
	watch.value = load_acquire(&timers->alarm);
	baton__timers_count(&timers->stats.rounds, 1);
	baton__timers_release(timers, 0);
	if (closed)
		return false;
	if (tick > UINT64_MAX >> timers->shift) {
		(void)baton__futex_wait(&watch, 1, NULL);
		return true;
	}
	deadline.tv_sec = (time_t)((tick << timers->shift) / NS_PER_S);
	deadline.tv_nsec = (long)((tick << timers->shift) % NS_PER_S);
	(void)baton__futex_wait(&watch, 1, &deadline);
	return true;
}

static void *timers_main(void *argument)
{
	struct start *start = argument;
	struct baton_timers *timers = start->timers;
	char name[16];
	int error;

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
	/* Ended by close. */
	do
		(void)baton__timers_fire(timers, baton__now_ns());
	while (rest(timers));
	baton__timers_drive_end(timers);
	baton__thread_detach();
	return NULL;
}

int baton__timers_thread_start(struct baton_timers *timers)
{
	struct start start = {.timers = timers};
	sigset_t before;
	int error;

	baton__fork_pools_add(1);
	baton__signals_block(&before);
	error = -pthread_create(&timers->thread, NULL, timers_main, &start);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!error) {
		struct baton__futex_watch watch = {&start.state, 0};

		/* [wheel.thread_error] acquire: the error; pairs with [wheel.thread_error] in
		 * timers_main. Ended by the thread. */
		while (!load_acquire(&start.state))
			(void)baton__futex_wait(&watch, 1, NULL);
		error = start.error;
		if (error)
			(void)pthread_join(timers->thread, NULL);
	}
	if (error)
		baton__fork_pools_add(-1);
	return error;
}

void baton__timers_thread_stop(struct baton_timers *timers)
{
	baton__timers_hold(timers);
	/* [wheel.closed] release: the wheel is closed; pairs with [wheel.closed] in rest */
	store_release(&timers->alarm, load_relaxed(&timers->alarm) + 1);
	baton__timers_release(timers, 0);
	baton__futex_wake(&timers->alarm, 1);
	(void)pthread_join(timers->thread, NULL);
	baton__fork_pools_add(-1);
}

/* ---- The default wheel ---- */

/* A thread that has the turn (sole.h) changes this from NULL to the wheel and back. */
static struct baton_timers *the_timers;
static uint32_t turn;

struct baton_timers *baton__timers_default_peek(void)
{
	/* [default_wheel.made] acquire: the wheel; pairs with [default_wheel.made] in
	 * create_default */
	return load_acquire(&the_timers);
}

/* The calling thread has the turn, and there is no default wheel. */
static int create_default(struct baton_timers **timers)
{
	int error = baton_timers_create(NULL, timers);

	if (error)
		return error;
	(*timers)->is_default = true;
	/* [default_wheel.made] release: the wheel; pairs with [default_wheel.made] in
	 * baton__timers_default_peek */
	store_release(&the_timers, *timers);
	return 0;
}

BATON_EXPORT int baton_timers_default(struct baton_timers **timers)
{
	struct baton_timers *found = baton__timers_default_peek();
	int error = 0;

	if (baton__forked())
		return -ECHILD;
	if (!found) {
		baton__sole_begin(&turn);
		found = baton__timers_default_peek();
		if (!found)
			error = create_default(&found);
		baton__sole_end(&turn);
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
	baton__sole_begin(&turn);
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
	baton__sole_end(&turn);
	return error;
}

struct baton_timers *baton__timers_of(const struct baton_timer *timer, int *error)
{
	struct baton_timers *timers = timer->_timers;

	if (!timers)
		*error = baton_timers_default(&timers);
	return timers;
}
