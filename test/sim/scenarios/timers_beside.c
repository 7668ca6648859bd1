/* SPDX-License-Identifier: MIT */
/*
 * A timer that is armed and due again while its function runs, and whose run a full bound refuses
 * or drops then, on the driver's thread and without the baton.
 *
 * An execution fails when the timer does not go on repeating, when it runs after a stop, when it is
 * touched after stop_then's promise.
 */
#include "support.h"

#include <baton/bound.h>
#include <baton/timer.h>
#include <baton/timers.h>
#include <baton/manual.h>

#define TICK 1024U
#define PERIOD ((uint64_t)10 * TICK)

static struct baton_timers *timers;
static struct baton_manual *manual;
static struct baton_resource_config config;
static struct baton_resource bounded;
static struct baton_bound_config limits;
static struct baton_bound bound;
static struct baton_timer timer;
static struct baton_task filler;
static struct baton_future gone;
static unsigned runs;

static int ends_at_once(struct baton_task *unused)
{
	return 0;
}

/* The first run fills the resource and has another one due at once. */
static int fills(struct baton_timer *unused)
{
	if (runs++ > 0)
		return 0;
	sim_require(baton_submit(&bounded, &filler) == 0);
	BATON_IGNORE(baton_timer_arm_every(&timer, (uint64_t)2 * TICK, PERIOD, BATON_TIMER_SKIP));
	return 0;
}

static void does_advance(void *ticks)
{
	sim_require(baton_timers_advance(timers, (uintptr_t)ticks * TICK) >= 0);
}

/* The first run is queued, and nothing else may be. */
static void begin(enum baton_bound_policy policy)
{
	sim_calm(true);
	sim_require(baton_manual_create(&manual) == 0);
	config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	config.capture_max = BATON_CAPTURE_NONE;
	config.executor = baton_manual_executor(manual);
	limits = (struct baton_bound_config)BATON_BOUND_CONFIG_INIT;
	limits.tasks_max = 1;
	limits.policy = policy;
	sim_require(
		baton_timers_create(&(struct baton_timers_options){.source = BATON_TIMERS_VIRTUAL},
	                            &timers) == 0);
	baton_resource_init(&bounded, &config);
	baton_bound_init(&bound, &limits);
	baton_resource_set_bound(&bounded, &bound);
	baton_timer_init(&timer, timers, &bounded, fills);
	baton_task_init(&filler, ends_at_once, NULL);
	sim_require(baton_timer_arm_at(&timer, TICK) == 0);
	does_advance((void *)1);
	sim_calm(false);
}

static void end(void)
{
	(void)baton_manual_run(manual, 0);
	sim_require(baton_timers_destroy(timers) == 0);
	baton_manual_destroy(manual);
	sim_no_leaks();
}

static void goes_on(enum baton_bound_policy policy)
{
	unsigned before;

	begin(policy);
	sim_start(does_advance, (void *)2);
	(void)baton_manual_run(manual, 0);
	sim_join_all();
	sim_calm(true);
	(void)baton_manual_run(manual, 0);
	before = runs;
	sim_require(baton_timer_state(&timer) == BATON_TIMER_PENDING);
	does_advance((void *)11);
	(void)baton_manual_run(manual, 0);
	sim_require(runs > before);
	BATON_IGNORE(baton_timer_stop(&timer).met);
	end();
}

SIM_SCENARIO(timers_beside_refused, "a run that is refused beside the function is left out")
{
	goes_on(BATON_BOUND_REFUSE);
}

SIM_SCENARIO(timers_beside_dropped, "the same where the bound drops it")
{
	goes_on(BATON_BOUND_DROP_NEWEST);
}

static void does_stop_then(void *unused)
{
	/* The end is thread 0's to see, which drives the executor. */
	(void)baton_timer_stop_then(&timer, baton_stopped_complete, &gone);
}

static void is_stopped(enum baton_bound_policy policy)
{
	begin(policy);
	baton_promise_init(&gone);
	sim_start(does_advance, (void *)2);
	sim_start(does_stop_then, NULL);
	(void)baton_manual_run(manual, 0);
	sim_join_all();
	sim_calm(true);
	(void)baton_manual_run(manual, 0);
	sim_require(baton_future_state(&gone) == BATON_DONE);
	sim_require(baton_future_status(&gone) == 0);
	sim_retire(&timer, sizeof(timer));
	does_advance((void *)30);
	end();
}

SIM_SCENARIO(timers_beside_gone, "stop_then, while a run is refused beside the function")
{
	is_stopped(BATON_BOUND_REFUSE);
}

SIM_SCENARIO(timers_beside_dropped_gone, "the same where the bound drops it")
{
	is_stopped(BATON_BOUND_DROP_NEWEST);
}

/* ---- A function that arms its own timer, beside the stop that is to give back the memory ---- */

static int arms_itself(struct baton_timer *unused)
{
	runs++;
	BATON_IGNORE(baton_timer_arm_after(&timer, TICK));
	return 0;
}

static void begin_arming(void)
{
	begin(BATON_BOUND_REFUSE);
	sim_calm(true);
	(void)baton_manual_run(manual, 0); /* that run's due is another's */
	BATON_IGNORE(baton_timer_stop(&timer).met);
	runs = 0;
	baton_timer_init(&timer, timers, &bounded, arms_itself);
	sim_require(baton_timer_arm_after(&timer, TICK) == 0);
	does_advance((void *)1);
	sim_calm(false);
}

static void nothing_is_left(void)
{
	sim_calm(true);
	sim_retire(&timer, sizeof(timer));
	does_advance((void *)30);
	end();
}

SIM_SCENARIO(timers_arms_gone, "stop_then beside a function that arms its timer: it is stopped")
{
	begin_arming();
	baton_promise_init(&gone);
	sim_start(does_stop_then, NULL);
	(void)baton_manual_run(manual, 0);
	sim_join_all();
	(void)baton_manual_run(manual, 0);
	sim_require(baton_future_is_complete(&gone));
	nothing_is_left();
}

static void does_stop_wait(void *unused)
{
	sim_require(baton_timer_stop_wait(&timer) == 0);
}

SIM_SCENARIO(timers_arms_stop_wait, "the same with stop_wait")
{
	begin_arming();
	sim_start(does_stop_wait, NULL);
	sim_drive(manual);
	sim_join_all();
	nothing_is_left();
}
