/* SPDX-License-Identifier: MIT */
/*
 * Several threads arm one timer to repeat, each in its way, on a virtual clock.
 *
 * An execution fails when the timer then does not repeat as one of them has asked.
 */
#include "support.h"

#include <baton/timer.h>
#include <baton/timers.h>

#define TICK 1024U

static struct baton_timers *timers;
static struct baton_resource resource;
static struct baton_timer timer;
static unsigned runs;

static int count(struct baton_timer *unused)
{
	runs++;
	return 0;
}

static void begin(void)
{
	sim_calm(true);
	sim_require(
		baton_timers_create(&(struct baton_timers_options){.source = BATON_TIMERS_VIRTUAL},
	                            &timers) == 0);
	baton_resource_init(&resource, NULL);
	baton_timer_init(&timer, timers, &resource, count);
	sim_calm(false);
}

static void end(void)
{
	BATON_IGNORE(baton_timer_stop(&timer).met);
	sim_require(baton_timers_destroy(timers) == 0);
	sim_no_leaks();
}

static void advances(uint64_t ticks)
{
	sim_require(baton_timers_advance(timers, ticks * TICK) >= 0);
}

/* How an arm repeats, in ticks. */
struct rhythm {
	uint64_t first;
	uint64_t period;
};

static void does_arm_every(void *rhythm)
{
	const struct rhythm *asked = rhythm;

	sim_require(baton_timer_arm_every(&timer, asked->first * TICK, asked->period * TICK,
	                                  BATON_TIMER_CATCH_UP) == 0);
}

/* Moves the clock to the timer's next run; returns its tick. */
static uint64_t next_run(void)
{
	const unsigned before = runs;

	for (unsigned ticks = 0; runs == before; ticks++) {
		sim_require(ticks < 400);
		advances(1);
	}
	sim_require(runs == before + 1);
	return baton_timers_now(timers) / TICK;
}

/* The next two runs come as one of the two arms has asked, whichever has won. */
static void repeats_as_one(const struct rhythm *rhythms)
{
	uint64_t first = next_run();
	uint64_t second = next_run();

	for (int i = 0; i < 2; i++)
		if (first == rhythms[i].first)
			sim_require(second == first + rhythms[i].period);
	sim_require(first == rhythms[0].first || first == rhythms[1].first);
}

SIM_SCENARIO(timers_arm_every_two,
             "two threads arm one timer to repeat, each in its way: it repeats as one of them said")
{
	static struct rhythm rhythms[] = {{2, 10}, {300, 20}};

	begin();
	sim_start(does_arm_every, &rhythms[0]);
	does_arm_every(&rhythms[1]);
	sim_join_all();
	repeats_as_one(rhythms);
	end();
}

SIM_SCENARIO(timers_arm_every_beside, "the same while the timer, which repeats already, expires")
{
	static struct rhythm rhythms[] = {{20, 10}, {300, 20}, {1, 3}};

	begin();
	does_arm_every(&rhythms[2]);
	sim_start(does_arm_every, &rhythms[0]);
	sim_start(does_arm_every, &rhythms[1]);
	advances(4);
	sim_join_all();
	repeats_as_one(rhythms);
	end();
}
