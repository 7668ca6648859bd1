/* SPDX-License-Identifier: MIT */
/* The pool's alarm: the default wheel, lent to the default pool. */
#include "support.h"

#include <baton/pool.h>
#include <baton/timer.h>
#include <baton/timers.h>
#include <baton/manual.h>

#include "timer/timer.h"

#define SOON 1000U
#define LATER 1000000U /* after the wheel's next tick */

static struct baton_pool *pool;
static struct baton_resource resource;
static struct baton_timer timer;
static struct baton_future ran;

static int run_timer(struct baton_timer *unused)
{
	(void)unused;
	(void)baton_future_complete(&ran, 0, NULL);
	return 0;
}

/* `executor`: the resource's; NULL: the default pool. */
static void begin_default(struct baton_executor *executor)
{
	static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;

	sim_calm(true);
	config.executor = executor;
	baton_promise_init(&ran);
	baton_resource_init(&resource, &config);
	baton_timer_init(&timer, NULL, &resource, run_timer);
}

static void end_default(void)
{
	sim_require(baton_resource_close(&resource) == 0);
	sim_require(baton_resource_await(&resource) == 0);
	sim_require(baton_timers_default_destroy() == 0);
	sim_require(baton_pool_default_destroy() == 0);
}

SIM_SCENARIO(alarm_timers, "the pool was there first: the wheel has no thread", .walk_only = true)
{
	begin_default(NULL);
	sim_require(baton_pool_default(&pool) == 0);
	sim_calm(false);
	sim_require(baton_timer_arm_after(&timer, SOON) == 0);
	sim_require(baton_future_wait(&ran) == 0);
	sim_require(!baton__timers_default_peek()->threaded);
	end_default();
}

SIM_SCENARIO(alarm_timers_lent, "the wheel was there first: its thread lends it, and ends",
             .walk_only = true)
{
	begin_default(NULL);
	sim_calm(false);
	sim_require(baton_timer_arm_after(&timer, SOON) == 0);
	sim_require(baton_future_wait(&ran) == 0);
	baton_promise_init(&ran);
	sim_require(baton_timer_arm_after(&timer, SOON) == 0);
	sim_require(baton_future_wait(&ran) == 0);
	end_default();
}

SIM_SCENARIO(alarm_timers_pool_ends, "the pool ends before the wheel, which gets its thread back",
             .walk_only = true)
{
	struct baton_manual *manual;

	sim_require(baton_manual_create(&manual) == 0);
	begin_default(baton_manual_executor(manual));
	sim_require(baton_pool_default(&pool) == 0);
	sim_require(baton_timer_arm_after(&timer, SOON) == 0);
	sim_calm(false);
	sim_require(baton_pool_default_destroy() == 0);
	/* Ended by the wheel's thread, which goes on while this thread sleeps. */
	while (baton_future_state(&ran) != BATON_DONE) {
		uint64_t until = sim_in(LATER);

		int error = baton_future_wait_until(&ran, until);

		sim_require(!error || error == -ETIMEDOUT);
		(void)baton_manual_run(manual, 0);
	}
	end_default();
	baton_manual_destroy(manual);
}
