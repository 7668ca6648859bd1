/* SPDX-License-Identifier: MIT */
/*
 * The default pool and the default wheel: made by one thread for all, ended on request.
 */
#include "support.h"

#include <baton/pool.h>
#include <baton/timer.h>
#include <baton/timers.h>

#include "core/executor.h"
#include "timer/timer.h"

static struct baton_pool *defaults[2];

static void get_default(void *argument)
{
	sim_require(baton_pool_default(&defaults[argument != NULL]) == 0);
	sim_require(baton_pool_workers(defaults[argument != NULL]) > 0);
}

SIM_SCENARIO(edge_default_pool, "[sole.lock] [default_pool.made] one default pool for all")
{
	sim_start(get_default, NULL);
	sim_start(get_default, defaults);
	sim_join(1);
	sim_join(2);
	sim_require(defaults[0] == defaults[1]);
	sim_require(baton_pool_destroy(defaults[0]) == -EPERM);
	sim_require(baton_pool_default_destroy() == 0);
}

static void end_default(void *unused)
{
	sim_require(baton_pool_default_destroy() == 0);
}

SIM_SCENARIO(edge_default_pool_ends, "[sole.lock] two threads end it, and it comes anew")
{
	unsigned other;

	get_default(NULL);
	other = sim_start(end_default, NULL);
	end_default(NULL);
	sim_require(baton__default_executor.peek() == NULL);
	sim_join(other);
	get_default(defaults);
	end_default(NULL);
	sim_no_leaks();
}

SIM_SCENARIO(edge_default_pool_fails, "[sole.lock] the second creator, when the first has failed")
{
	sim_require(baton__default_executor.peek() == NULL);
	sim_start(get_default, NULL);
	sim_join(1);
	get_default(defaults);
	sim_require(defaults[0] == defaults[1]);
	sim_require(baton_pool_default_destroy() == 0);
}

/* ---- Its tasks find the pool until it has ended ---- */

static int finds_it(struct baton_task *task)
{
	struct baton_pool *found;

	sim_require(baton_pool_default(&found) == 0);
	sim_require(found == defaults[0]);
	return 0;
}

SIM_SCENARIO(default_pool_found_by_its_tasks, "also while it is being ended")
{
	static struct baton_resource resource;
	static struct baton_task task = BATON_TASK_INIT(finds_it, NULL);

	baton_resource_init(&resource, NULL);
	get_default(NULL);
	sim_require(baton_submit_later(&resource, &task) == 0);
	end_default(NULL);
	sim_require(baton_resource_close(&resource) == 0);
	sim_require(baton_resource_await(&resource) == 0);
	sim_no_leaks();
}

/* ---- The wheel ---- */

static struct baton_resource resource;
static struct baton_timer timer;
static unsigned runs;

static int count(struct baton_timer *unused)
{
	runs++;
	return 0;
}

/* Whenever the wheel ends: the timer runs, or is dropped; the pool that it has submitted to. */
SIM_SCENARIO(timers_default_ends, "with a timer that is pending, queued, or running")
{
	int error;

	baton_resource_init(&resource, NULL);
	baton_timer_init(&timer, NULL, &resource, count);
	sim_require(baton_timer_arm_after(&timer, 1) == 0);
	error = baton_timers_default_destroy();
	sim_require(baton_resource_close(&resource) == 0);
	sim_require(baton_resource_await(&resource) == 0);
	if (error) {
		sim_require(error == -EBUSY);
		sim_require(baton__timers_default_peek() != NULL);
		sim_require(baton_timers_default_destroy() == 0);
	}
	sim_require(runs <= 1);
	sim_require(baton__timers_default_peek() == NULL);
	sim_retire(&timer, sizeof(timer));
	sim_retire(&resource, sizeof(resource));
	end_default(NULL);
	sim_no_leaks();
}
