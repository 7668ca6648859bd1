/* SPDX-License-Identifier: MIT */
/*
 * Timers whose resource refuses them, or whose wheel goes while they run; a run that is queued
 * while its timer is moved; the default wheel.
 *
 * An execution fails as in timers.c, and when a stop under the baton waits for ever.
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
static struct baton_timer timer_a;
static struct baton_future gone;
static struct baton_task task;
static unsigned runs;

static int count(struct baton_timer *timer)
{
	runs++;
	return 0;
}

/* Runs on thread 0 only, when it comes to it. */
static void begin(void)
{
	sim_require(baton_manual_create(&manual) == 0);
	config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	config.capture_max = BATON_CAPTURE_NONE;
	config.executor = baton_manual_executor(manual);
	sim_require(
		baton_timers_create(&(struct baton_timers_options){.source = BATON_TIMERS_VIRTUAL},
	                            &timers) == 0);
	baton_resource_init(&resource, &config);
	baton_timer_init(&timer_a, timers, &resource, count);
}

static void end(void)
{
	(void)baton_manual_run(manual, 0);
	sim_require(baton_timers_destroy(timers) == 0);
	baton_manual_destroy(manual);
	sim_no_leaks();
}

static void does_advance(void *ticks)
{
	sim_require(baton_timers_advance(timers, (uintptr_t)ticks * TICK) >= 0);
}

static void does_arm_later(void *ticks)
{
	sim_require(baton_timer_arm_at(&timer_a, (uintptr_t)ticks * TICK) == 0);
}

static int stops(struct baton_task *unused)
{
	BATON_IGNORE(baton_timer_stop(&timer_a).met);
	return 0;
}

SIM_SCENARIO(timers_refused, "stopped by a task of the resource that refuses its run: it goes on")
{
	sim_calm(true);
	begin();
	baton_task_init(&task, stops, NULL);
	does_arm_later((void *)1);
	sim_require(baton_submit(&resource, &task) == 0);
	sim_require(baton_resource_close(&resource) == 0);
	sim_calm(false);
	sim_start(does_advance, (void *)1);
	(void)baton_manual_run(manual, 0);
	sim_join_all();
	sim_require(runs == 0);
	sim_retire(&timer_a, sizeof(timer_a));
	end();
}

static void does_stop_then(void *unused)
{
	(void)baton_timer_stop_then(&timer_a, baton_stopped_complete, &gone);
	sim_require(baton_future_wait(&gone) == 0);
	sim_retire(&timer_a, sizeof(timer_a));
}

SIM_SCENARIO(timers_refused_gone, "stop_then beside the refusal: the memory is given back")
{
	sim_calm(true);
	begin();
	baton_promise_init(&gone);
	does_arm_later((void *)1);
	sim_require(baton_resource_close(&resource) == 0);
	sim_calm(false);
	sim_start(does_stop_then, NULL);
	does_advance((void *)1);
	sim_join_all();
	sim_require(runs == 0);
	end();
}

/* The first of three runs is queued, all are overdue: each is followed by the next at once. */
static void begin_late(void)
{
	sim_calm(true);
	begin();
	sim_require(baton_timer_arm_every(&timer_a, TICK, TICK, BATON_TIMER_CATCH_UP) == 0);
	does_advance((void *)3);
	sim_calm(false);
}

SIM_SCENARIO(timers_catch_up, "overdue runs follow each other while the clock goes on")
{
	begin_late();
	sim_start(does_advance, (void *)1);
	(void)baton_manual_run(manual, 0);
	sim_join_all();
	sim_calm(true);
	does_advance((void *)1);
	(void)baton_manual_run(manual, 0);
	sim_require(runs == 5);
	BATON_IGNORE(baton_timer_stop(&timer_a).met);
	end();
}

SIM_SCENARIO(timers_catch_up_gone, "stop_then beside them: nobody touches the timer afterwards")
{
	begin_late();
	baton_promise_init(&gone);
	sim_start(does_stop_then, NULL);
	sim_drive(manual);
	sim_join_all();
	sim_require(runs <= 3);
	end();
}

SIM_SCENARIO(timers_moved,
             "a queued run's timer, armed for later when it is due again; then stopped by a task")
{
	sim_calm(true);
	begin();
	baton_task_init(&task, stops, NULL);
	sim_require(baton_submit(&resource, &task) == 0);
	does_arm_later((void *)1);
	does_advance((void *)1);
	does_arm_later((void *)2);
	sim_calm(false);
	sim_start(does_arm_later, (void *)70);
	does_advance((void *)1);
	sim_join_all();
	sim_calm(true);
	(void)baton_manual_run(manual, 0);
	sim_require(runs == 0);
	end();
}

static void does_destroy(void *unused)
{
	baton_timer_disarm(&timer_a);
	sim_require(baton_timers_destroy(timers) == 0);
}

SIM_SCENARIO(timers_destroy, "the wheel is destroyed while a repeated timer's run is under way",
             .bound = 3)
{
	sim_calm(true);
	begin();
	sim_require(baton_timer_arm_every(&timer_a, TICK, TICK, BATON_TIMER_SKIP) == 0);
	does_advance((void *)1);
	sim_calm(false);
	sim_start(does_destroy, NULL);
	(void)baton_manual_run(manual, 0);
	sim_join_all();
	sim_require(runs <= 1);
	sim_retire(&timer_a, sizeof(timer_a));
	baton_manual_destroy(manual);
	sim_no_leaks();
}

static void does_look(void *unused)
{
	struct baton_timers *other;

	sim_require(baton_timers_default(&other) == 0);
	sim_require(baton_timers_now(other) > 0);
}

SIM_SCENARIO(timers_default, "two threads want the default wheel: there is one", .daemons = true)
{
	struct baton_timers *first;
	struct baton_timers *again;

	sim_start(does_look, NULL);
	sim_require(baton_timers_default(&first) == 0);
	sim_require(baton_timers_now(first) > 0);
	sim_join(1);
	sim_require(baton_timers_default(&again) == 0 && again == first);
}
