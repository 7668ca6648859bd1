/* SPDX-License-Identifier: MIT */
/*
 * A timer that is stopped while its `dropped` is about to be called, or runs (timer.dropped).
 *
 * An execution fails when the function touches the timer after a stop has given the memory back, or
 * when what it did is not visible then.
 */
#include "support.h"

#include <baton/timer.h>
#include <baton/timers.h>
#include <baton/manual.h>

#define TICK 1024U

static struct baton_timers *timers;
static struct baton_manual *manual;
static struct baton_resource_config config;
static struct baton_resource resource;
static struct baton_timer timer;
static struct baton_future gone;
static unsigned noted; /* plain: the timer's, so to say */
static bool given_back;

static int runs(struct baton_timer *unused)
{
	return 0;
}

static void notes(struct baton_timer *dropped, int error)
{
	sim_require(!given_back && dropped == &timer && error);
	noted++;
	sim_require(!given_back);
}

static void arms_once(struct baton_timer *dropped, int error)
{
	notes(dropped, error);
	if (noted == 1)
		BATON_IGNORE(baton_timer_arm_at(dropped, (uint64_t)2 * TICK));
}

static void does_advance(void *ticks)
{
	sim_require(baton_timers_advance(timers, (uintptr_t)ticks * TICK) >= 0);
}

static void begin(baton_timer_dropped_fn dropped)
{
	sim_calm(true);
	sim_require(baton_manual_create(&manual) == 0);
	config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	config.capture_max = BATON_CAPTURE_NONE;
	config.executor = baton_manual_executor(manual);
	sim_require(
		baton_timers_create(&(struct baton_timers_options){.source = BATON_TIMERS_VIRTUAL},
	                            &timers) == 0);
	baton_resource_init(&resource, &config);
	baton_timer_init(&timer, timers, &resource, runs);
	baton_timer_set_dropped(&timer, dropped);
	sim_require(baton_timer_arm_at(&timer, TICK) == 0);
	sim_calm(false);
}

static void give_back(void)
{
	noted = 0;
	given_back = true;
	sim_retire(&timer, sizeof(timer));
}

static void end(void)
{
	(void)baton_manual_run(manual, 0);
	sim_require(baton_timers_destroy(timers) == 0);
	baton_manual_destroy(manual);
	sim_no_leaks();
}

static void does_stop(void *unused)
{
	enum baton_stop met = baton_timer_stop(&timer).met;

	if (met < BATON_STOP_QUEUED)
		give_back();
}

/* The driver's submit is refused. */
static void is_refused(baton_timer_dropped_fn dropped, void (*stop)(void))
{
	begin(dropped);
	sim_require(baton_resource_close(&resource) == 0);
	sim_start(does_advance, (void *)1);
	stop();
	sim_join_all();
	end();
}

static void stops(void)
{
	does_stop(NULL);
}

static void stops_then(void)
{
	bool waits;

	baton_promise_init(&gone);
	(void)baton_timer_stop_then(&timer, baton_stopped_complete, &gone);
	waits = !baton_future_is_complete(&gone);
	sim_require(baton_future_wait(&gone) == 0);
	/* A timer for whose end somebody waits is told of by `gone` alone. */
	sim_require(!waits || !noted);
	give_back();
}

static void stops_and_waits(void)
{
	sim_require(baton_timer_stop_wait(&timer) == 0);
	give_back();
}

SIM_SCENARIO(timers_dropped_refused, "[timer.dropped] a stop beside a refused run")
{
	is_refused(notes, stops);
}

SIM_SCENARIO(timers_dropped_then, "[timer.dropped] stop_then beside a refused run")
{
	is_refused(notes, stops_then);
}

SIM_SCENARIO(timers_dropped_wait, "[timer.dropped] stop_wait beside a refused run")
{
	is_refused(notes, stops_and_waits);
}

SIM_SCENARIO(timers_dropped_armed, "[timer.dropped] `dropped` arms the timer anew: it is stopped")
{
	is_refused(arms_once, stops_and_waits);
}

static void does_stop_then(void *unused)
{
	stops_then();
}

static void does_stop_wait(void *unused)
{
	stops_and_waits();
	sim_require(baton_future_complete(&gone, 0, NULL) == 0);
}

/* The executor cancels the run. */
static void is_cancelled(void (*stop)(void *))
{
	begin(notes);
	does_advance((void *)1);
	sim_require(baton_resource_cancel_pending(&resource) == 0);
	sim_start(stop, NULL);
	(void)baton_manual_run(manual, 0);
	sim_join_all();
	end();
}

SIM_SCENARIO(timers_dropped_cancelled, "[timer.dropped] a stop beside a run that is cancelled")
{
	is_cancelled(does_stop);
}

SIM_SCENARIO(timers_dropped_cancelled_then, "[timer.dropped] the same with stop_then")
{
	is_cancelled(does_stop_then);
}

SIM_SCENARIO(timers_dropped_cancelled_wait, "[timer.dropped] the same with stop_wait")
{
	begin(notes);
	baton_promise_init(&gone);
	does_advance((void *)1);
	sim_require(baton_resource_cancel_pending(&resource) == 0);
	sim_start(does_stop_wait, NULL);
	/* Ended by the other thread, whose await this thread answers. */
	while (!baton_future_is_complete(&gone)) {
		(void)baton_manual_run(manual, 0);
		(void)sched_yield();
	}
	sim_join_all();
	end();
}

SIM_SCENARIO(timers_dropped_closed, "[timer.dropped] a stop beside a wheel that is closed")
{
	begin(notes);
	sim_start(does_stop, NULL);
	sim_require(baton_timers_close(timers, BATON_TIMERS_DROP) == 0);
	sim_join_all();
	end();
}
