/* SPDX-License-Identifier: MIT */
/* Misuses of executors, timers, triggers, lanes and futures; what is left at the end. */
#include "misuses.h"

#include <baton/mainloop.h>

extern unsigned baton_checked_patience_ms __attribute__((weak));

static int timer_nothing(struct baton_timer *timer)
{
	return 0;
}

static int trigger_nothing(struct baton_trigger *trigger, uint64_t fires)
{
	return 0;
}

/* ---- Executors, timers, lanes ---- */

/* No misuse: each loop's resource lies where the one before lay, and has another executor. */
void mainloops_in_turn(void)
{
	static void *volatile between[8];
	static struct baton_mainloop loop;

	for (size_t i = 0; i < sizeof(between) / sizeof(*between); i++) {
		if (baton_mainloop_init(&loop, NULL) ||
		    baton_post(baton_mainloop_resource(&loop), call_nothing, NULL) ||
		    baton_mainloop_deinit(&loop))
			abort();
		between[i] = malloc(100 + 200 * i);
	}
}

void pool_after_destroy(void)
{
	struct baton_pool_options options = {.workers = 1};
	struct baton_pool *pool;

	if (baton_pool_create(&options, &pool))
		return;
	BATON_IGNORE(baton_pool_destroy(pool));
	(void)baton_pool_workers(pool);
}

void limbo_after_destroy(void)
{
	struct baton_limbo *limbo;

	if (baton_limbo_create(&limbo))
		return;
	baton_limbo_destroy(limbo);
	(void)baton_limbo_poll(limbo);
}

void board_destroyed_twice(void)
{
	struct baton_board *board;

	if (baton_board_create(NULL, &board))
		return;
	baton_board_destroy(board);
	baton_board_destroy(board);
}

void watchdog_destroyed_twice(void)
{
	struct baton_watchdog_options options = {.limit_ns = 0};
	struct baton_watchdog *watchdog;

	if (baton_board_create(NULL, &options.board) ||
	    baton_watchdog_create(&options, &watchdog))
		return;
	baton_watchdog_destroy(watchdog);
	baton_watchdog_destroy(watchdog);
}

void registry_destroyed_twice(void)
{
	const struct baton_registry_options options = {
		.object_size = sizeof(struct baton_registry_entry)};
	struct baton_registry *registry;

	if (baton_registry_create(&options, &registry) || baton_registry_destroy(registry))
		return;
	BATON_IGNORE(baton_registry_destroy(registry));
}

void future_given_back_twice(void)
{
	struct baton_future *future;

	if (baton_async(&topic, call_nothing, NULL, &future))
		return;
	baton_future_unref(future);
	baton_future_unref(future);
}

static int item_nothing(struct baton_resource *resource, void *arg, size_t index)
{
	(void)resource;
	(void)arg;
	(void)index;
	return 0;
}

/* So large that malloc() gives its memory back to the system. */
#define ITEMS 10000

static struct baton_fan_out *fan_out_given_back(void)
{
	static struct baton_resource *resources[ITEMS];
	const struct baton_fan_out_options options = {.fn = item_nothing};
	struct baton_fan_out *fan_out;

	for (size_t i = 0; i < ITEMS; i++)
		resources[i] = &topic;
	if (baton_fan_out_submit(resources, ITEMS, &options, &fan_out))
		abort();
	baton_fan_out_unref(fan_out);
	return fan_out;
}

void fan_out_given_back_twice(void)
{
	baton_fan_out_unref(fan_out_given_back());
}

void fan_out_after_its_end(void)
{
	(void)baton_fan_out_cancel(fan_out_given_back());
}

void handed_to_a_dead_executor(void)
{
	topic_on_manual();
	baton_manual_destroy(manual);
	baton_task_init(&second, nothing, NULL);
	BATON_IGNORE(baton_submit(&topic, &second));
}

void job_without_function(void)
{
	struct baton_plain_job job = BATON_PLAIN_JOB_INIT(NULL, NULL);
	struct baton_pool *pool;

	if (!baton_pool_default(&pool))
		BATON_IGNORE(baton_pool_submit(pool, &job));
}

void timer_without_function(void)
{
	struct baton_timer timer;
	const baton_timer_fn volatile fn = NULL;

	baton_timer_init(&timer, NULL, &topic, fn);
}

void timer_without_resource(void)
{
	struct baton_resource *volatile none = NULL;
	struct baton_timer timer;

	baton_timer_init(&timer, NULL, none, timer_nothing);
}

void timer_initialised_while_armed(void)
{
	static struct baton_timer timer;

	baton_timer_init(&timer, NULL, &topic, timer_nothing);
	BATON_IGNORE(baton_timer_arm_after(&timer, UINT64_C(3600000000000)));
	baton_timer_init(&timer, NULL, &topic, timer_nothing);
}

void wheel_after_destroy(void)
{
	struct baton_timers_options options = {.source = BATON_TIMERS_VIRTUAL};
	struct baton_timers *timers;
	struct baton_timer timer;

	if (baton_timers_create(&options, &timers))
		return;
	baton_timer_init(&timer, timers, &topic, timer_nothing);
	BATON_IGNORE(baton_timers_destroy(timers));
	BATON_IGNORE(baton_timer_arm_after(&timer, 1));
}

void trigger_without_function(void)
{
	struct baton_trigger trigger;
	const baton_trigger_fn volatile fn = NULL;

	baton_trigger_init(&trigger, &topic, fn);
}

void trigger_without_resource(void)
{
	struct baton_resource *volatile none = NULL;
	struct baton_trigger trigger;

	baton_trigger_init(&trigger, none, trigger_nothing);
}

void lanes_without_lanes(void)
{
	struct baton_lanes lanes;

	memset(&lanes, 0, sizeof(lanes));
	baton_resource_set_lanes(&topic, &lanes);
}

void lanes_of_two_resources(void)
{
	static struct baton_lane array[2];
	static struct baton_lanes lanes = BATON_LANES_INIT(array, 2, NULL);

	baton_resource_set_lanes(&topic, &lanes);
	baton_resource_set_lanes(&other, &lanes);
}

void bound_without_config(void)
{
	struct baton_bound bound;

	memset(&bound, 0, sizeof(bound));
	baton_resource_set_bound(&topic, &bound);
}

/* ---- Waits, and the end ---- */

void never_submitted(void)
{
	struct baton_future future = BATON_FUTURE_INIT;

	if (&baton_checked_patience_ms)
		baton_checked_patience_ms = 20;
	(void)!baton_future_wait(&future);
}

void result_outside_a_task(void)
{
	baton_set_result(NULL);
}

/* Its report comes when the process ends; the process is not aborted. */
void tasks_at_exit(void)
{
	topic_on_manual();
	baton_task_init(&second, nothing, NULL);
	BATON_IGNORE(baton_submit(&topic, &second));
	exit(0);
}

void suspended_at_exit(void)
{
	static struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	if (!baton_resource_suspend(&topic, &suspension))
		exit(0);
}
