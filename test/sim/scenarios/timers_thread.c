/* SPDX-License-Identifier: MIT */
/*
 * A timer wheel with a thread, which sleeps until the next deadline: armed by two threads. And the
 * end of a repeated timer's run, alone.
 */
#include "support.h"

#include <baton/timer.h>
#include <baton/timers.h>
#include <baton/manual.h>

#include "timer/timer.h"

#define TICK 1024U
#define LATER (1000U * TICK)

static struct baton_timers *timers;
static struct baton_resource resource;
static struct baton_resource resource_b;
static struct baton_timer timer_a;
static struct baton_timer timer_b;
static struct baton_future gone;
static unsigned runs;

static int count(struct baton_timer *timer)
{
	runs++;
	return 0;
}

static void does_arm_b(void *unused)
{
	sim_require(baton_timer_arm_after(&timer_b, 2 * TICK) == 0);
}

SIM_SCENARIO(timers_thread, "the thread sleeps, or is woken for the earlier deadline",
             .walk_only = true)
{
	struct baton_timers_options config = BATON_TIMERS_OPTIONS_INIT;

	config.resolution_ns = TICK;
	config.submit = BATON_TIMERS_SUBMIT_INLINE;
	sim_require(baton_timers_create(&config, &timers) == 0);
	baton_resource_init(&resource, NULL);
	baton_timer_init(&timer_a, timers, &resource, count);
	baton_timer_init(&timer_b, timers, &resource, count);
	unsigned other = sim_start(does_arm_b, NULL);
	sim_require(baton_timer_arm_after(&timer_a, TICK) == 0);
	sim_join(other);
	/* Ended by the wheel's thread, which goes on while this thread sleeps. */
	while (baton_timer_state(&timer_a) != BATON_TIMER_DONE ||
	       baton_timer_state(&timer_b) != BATON_TIMER_DONE) {
		uint64_t until = sim_in(LATER);

		baton_promise_init(&gone);
		sim_require(baton_future_wait_until(&gone, until) == -ETIMEDOUT);
	}
	sim_require(runs == 2);
	sim_require(baton_timers_destroy(timers) == 0);
}

/* Holds the wheel for a moment, three times. */
static void does_arm_b_again(void *unused)
{
	does_arm_b(unused);
	BATON_IGNORE(baton_timer_stop(&timer_b).met);
	does_arm_b(unused);
}

static void does_stop_then(void *unused)
{
	(void)baton_timer_stop_then(&timer_a, baton_stopped_complete, &gone);
	sim_require(baton_future_wait(&gone) == 0);
	sim_retire(&timer_a, sizeof(timer_a));
}

/* The wheel is held from the beginning until now; and once more, for a moment. */
static void does_release(void *unused)
{
	baton__timers_release(timers, 0);
	does_arm_b(unused);
}

/* A repeated timer is due; `stops` stops it while its run arms it again, and the wheel is held. */
static struct baton_manual *begin_leave(struct baton_resource_config *config,
                                        void (*holds)(void *unused), void (*stops)(void *unused))
{
	struct baton_manual *manual;

	sim_calm(true);
	sim_require(baton_manual_create(&manual) == 0);
	config->capture_max = BATON_CAPTURE_NONE;
	config->executor = baton_manual_executor(manual);
	sim_require(
		baton_timers_create(&(struct baton_timers_options){.source = BATON_TIMERS_VIRTUAL},
	                            &timers) == 0);
	baton_resource_init(&resource, config);
	baton_timer_init(&timer_a, timers, &resource, count);
	baton_resource_init(&resource_b, config);
	baton_timer_init(&timer_b, timers, &resource_b, count);
	baton_promise_init(&gone);
	sim_require(baton_timer_arm_every(&timer_a, TICK, TICK, BATON_TIMER_SKIP) == 0);
	sim_require(baton_timers_advance(timers, TICK) == 1);
	if (holds == does_release)
		baton__timers_hold(timers);
	sim_calm(false);
	sim_start(holds, NULL);
	sim_start(stops, NULL);
	(void)baton_manual_run(manual, 0);
	sim_join_all();
	return manual;
}

static void end_leave(struct baton_manual *manual)
{
	sim_require(runs <= 1);
	sim_require(baton_timers_destroy(timers) == 0);
	baton_manual_destroy(manual);
}

SIM_SCENARIO(timers_leave, "stopped while its run arms it again, through the inbox: nobody's then",
             .bound = 3)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;

	end_leave(begin_leave(&config, does_arm_b_again, does_stop_then));
}

static struct baton_task finaliser;

static int frees_timer(struct baton_task *task)
{
	sim_retire(&timer_a, sizeof(timer_a));
	return 0;
}

/* The finaliser waits for the run alone: only the run looks whether the wheel has the timer. */
static void does_stop_and_close(void *unused)
{
	BATON_IGNORE(baton_timer_stop(&timer_a).met);
	baton_task_init(&finaliser, frees_timer, NULL);
	sim_require(baton_resource_close_then(&resource, &finaliser) == 0);
}

SIM_SCENARIO(timers_leave_finaliser, "the same; a finaliser frees the timer", .bound = 2)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_manual *manual = begin_leave(&config, does_release, does_stop_and_close);

	(void)baton_manual_run(manual, 0);
	end_leave(manual);
}
