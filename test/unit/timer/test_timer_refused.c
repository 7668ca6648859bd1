/* SPDX-License-Identifier: MIT */
/* Timers that cannot run: refused when they are armed, or told of later; never silently lost. */
#include "timer_support.h"

static struct baton_resource resource = BATON_RESOURCE_INIT(NULL);

/* ---- Refused at once ---- */

enum arm { ARM_AT, ARM_AFTER, ARM_EVERY, ARM_AGAIN, ARMS };

static int arm(struct baton_timer *timer, enum arm how, uint64_t time)
{
	switch (how) {
	case ARM_AT:
		return baton_timer_arm_at(timer, time);
	case ARM_AFTER:
		return baton_timer_arm_after(timer, time);
	case ARM_EVERY:
		return baton_timer_arm_every(timer, time, time, BATON_TIMER_SKIP);
	default:
		return baton_timer_arm_again_after(timer, time);
	}
}

Test(timer_refused, an_arm_says_that_the_resource_is_closed, .timeout = 10)
{
	struct baton_timers *timers = virtual_timers();

	for (enum arm how = 0; how < ARMS; how++) {
		struct baton_resource closed = BATON_RESOURCE_INIT(NULL);
		struct bell bells[2];

		for (int i = 0; i < 2; i++)
			bell_init(&bells[i], timers, &closed);
		cr_assert_eq(arm(&bells[0].timer, how, 5 * TICK), 0);
		cr_assert_eq(baton_resource_close(&closed), 0);
		cr_assert_eq(arm(&bells[0].timer, how, 9 * TICK), -EPIPE, "armed later");
		cr_assert_eq(arm(&bells[0].timer, how, 2 * TICK), -EPIPE, "armed earlier");
		cr_assert_eq(baton_timer_stop(&bells[0].timer).met, BATON_STOP_PREVENTED);
		cr_assert_eq(arm(&bells[1].timer, how, 5 * TICK), -EPIPE);
		cr_assert_eq(baton_timer_state(&bells[1].timer), BATON_TIMER_IDLE);
		cr_assert_eq(baton_resource_await(&closed), 0);
		baton_resource_deinit(&closed);
	}
	cr_assert_eq(stats_of(timers).pending, 0);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(timer_refused, an_arm_says_that_there_is_no_function_or_resource, .timeout = 10)
{
	struct baton_timers *timers = virtual_timers();

	for (enum arm how = 0; how < ARMS; how++) {
		struct baton_timer bad[] = {
			BATON_TIMER_INIT(timers, &resource, NULL),
			BATON_TIMER_INIT(timers, NULL, bell_run),
			{._timers = timers},
		};

		for (int i = 0; i < 3; i++) {
			cr_assert_eq(arm(&bad[i], how, TICK), -EINVAL);
			cr_assert_eq(baton_timer_stop(&bad[i]).met, BATON_STOP_NOTHING);
		}
	}
	cr_assert_eq(baton_timers_advance(timers, 10 * TICK), 0);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

/* The arm that a closed resource refuses has another period, or none that ends. */
Test(timer_refused, a_refused_arm_leaves_the_repetition_as_it_was, .timeout = 10)
{
	struct baton_timers *timers = virtual_timers();

	for (enum arm how = ARM_EVERY; how < ARMS; how++) {
		struct baton_resource closed = BATON_RESOURCE_INIT(NULL);
		struct occupant occupant;
		struct bell bell;

		bell_init(&bell, timers, &closed);
		cr_assert_eq(arm(&bell.timer, how, TICK), 0);
		occupy(&occupant, &closed);
		cr_assert_eq(baton_timers_advance(timers, 5 * TICK), 1);
		cr_assert_eq(baton_resource_close(&closed), 0);
		cr_assert_eq(arm(&bell.timer, how, BATON_NEVER), -EPIPE);
		release(&occupant);
		cr_assert_eq(bell.runs, 1);
		cr_assert_eq(baton_timers_advance(timers, 5 * TICK), 1, "the next run is refused");
		cr_assert_eq(baton_timer_state(&bell.timer), BATON_TIMER_IDLE);
		cr_assert_eq(baton_resource_await(&closed), 0);
		baton_resource_deinit(&closed);
	}
	cr_assert_eq(stats_of(timers).refused, ARMS - ARM_EVERY);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

/* ---- Told of later ---- */

struct told {
	struct baton_timer timer;
	int error; /* read when `count` says so */
	atomic_int count;
};

static int told_runs(struct baton_timer *timer)
{
	(void)timer;
	return 0;
}

static void told_dropped(struct baton_timer *timer, int error)
{
	struct told *told = baton_container_of(timer, struct told, timer);

	told->error = error;
	atomic_fetch_add(&told->count, 1);
}

static void told_init(struct told *told, struct baton_timers *timers, struct baton_resource *of)
{
	memset(told, 0, sizeof(*told));
	baton_timer_init(&told->timer, timers, of, told_runs);
	baton_timer_set_dropped(&told->timer, told_dropped);
}

Test(timer_refused, on_the_default_wheel_a_closed_resource_is_told_of, .timeout = 10)
{
	struct baton_resource closed = BATON_RESOURCE_INIT(NULL);
	struct baton_timers *timers;
	struct told told;

	told_init(&told, NULL, &closed);
	cr_assert_eq(baton_timer_arm_after(&told.timer, 100 * BATON_MILLISECOND), 0);
	cr_assert_eq(baton_resource_close(&closed), 0);
	until_at_least(&told.count, 1);
	cr_assert_eq(told.error, -EPIPE);
	cr_assert_eq(baton_timer_state(&told.timer), BATON_TIMER_IDLE);
	cr_assert_eq(baton_timers_default(&timers), 0);
	cr_assert_eq(stats_of(timers).refused, 1);
	resource_end(&closed);
}

static struct baton_timer *wheels_timer;

static void wheels_dropped(struct baton_timer *timer, int error)
{
	(void)error;
	wheels_timer = timer;
}

Test(timer_refused, a_timer_of_its_own_is_told_in_the_wheels_place, .timeout = 10)
{
	struct baton_timers_options config = BATON_TIMERS_OPTIONS_INIT;
	struct baton_resource closed = BATON_RESOURCE_INIT(NULL);
	struct baton_resource busy = BATON_RESOURCE_INIT(NULL);
	struct baton_timers *timers;
	struct occupant occupant;
	struct told told[4];

	config.source = BATON_TIMERS_VIRTUAL;
	config.resolution_ns = TICK;
	config.dropped = wheels_dropped;
	cr_assert_eq(baton_timers_create(&config, &timers), 0);
	told_init(&told[0], timers, &closed);
	told_init(&told[1], timers, &busy);
	told_init(&told[2], timers, &resource);
	told_init(&told[3], timers, &resource);
	baton_timer_set_dropped(&told[3].timer, NULL);
	cr_assert_eq(baton_timer_arm_after(&told[0].timer, TICK), 0);
	cr_assert_eq(baton_timer_arm_after(&told[1].timer, TICK), 0);
	for (int i = 2; i < 4; i++)
		cr_assert_eq(baton_timer_arm_after(&told[i].timer, 1000 * TICK), 0);
	cr_assert_eq(baton_resource_close(&closed), 0);
	occupy(&occupant, &busy);
	cr_assert_eq(baton_timers_advance(timers, TICK), 2);
	cr_assert_eq(told[0].error, -EPIPE);
	cr_assert_eq(baton_resource_cancel_pending(&busy), 0);
	release(&occupant);
	cr_assert_eq(told[1].error, -ECANCELED);
	cr_assert_null(wheels_timer);
	cr_assert_eq(baton_timers_destroy(timers), 0);
	cr_assert_eq(told[2].error, -ESHUTDOWN);
	cr_assert_eq(wheels_timer, &told[3].timer);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(told[i].count, i < 3);
	resource_end(&closed);
	resource_end(&busy);
}
