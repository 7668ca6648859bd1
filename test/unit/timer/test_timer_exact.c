/* SPDX-License-Identifier: MIT */
/* When timers run: on a virtual clock at their deadlines exactly; overdue rates at once. */
#include "timer_support.h"

#include <baton/bound.h>
#include <baton/timers.h>

#include "base/atomic.h"
#include "timer/timer.h"

static struct baton_resource resource = BATON_RESOURCE_INIT(NULL);

static const uint64_t resolutions[] = {0, 1, 1024, BATON_MILLISECOND, BATON_SECOND};

#define RESOLUTIONS (sizeof(resolutions) / sizeof(*resolutions))

static struct baton_timers *virtual_of(uint64_t resolution_ns)
{
	struct baton_timers *timers;

	MUST(baton_timers_create(&(struct baton_timers_options){.source = BATON_TIMERS_VIRTUAL,
	                                                        .resolution_ns = resolution_ns},
	                         &timers) == 0);
	return timers;
}

static const uint64_t spans[] = {
	0, 1, 511, 512, 513, 1023, 1024, 1025, BATON_MILLISECOND, BATON_SECOND, 3600 * BATON_SECOND,
};

#define SPANS (sizeof(spans) / sizeof(*spans))

Test(timer_exact, one_shots_expire_at_their_deadlines, .timeout = 10)
{
	for (size_t i = 0; i < RESOLUTIONS * SPANS; i++) {
		struct baton_timers *timers = virtual_of(resolutions[i % RESOLUTIONS]);
		uint64_t span = spans[i / RESOLUTIONS];
		struct bell bells[2];

		for (int bell = 0; bell < 2; bell++)
			bell_init(&bells[bell], timers, &resource);
		cr_assert_eq(baton_timers_advance(timers, 12345), 0);
		cr_assert_eq(baton_timer_arm_after(&bells[0].timer, span), 0);
		cr_assert_eq(baton_timer_arm_at(&bells[1].timer, 12345 + span), 0);
		if (span)
			cr_assert_eq(baton_timers_advance(timers, span - 1), 0);
		cr_assert_eq(baton_timers_advance_to(timers, 12345 + span), 2);
		for (int bell = 0; bell < 2; bell++)
			cr_assert_eq(bells[bell].ran_at[0], 12345 + span);
		cr_assert_eq(baton_timers_destroy(timers), 0);
	}
}

Test(timer_exact, repeated_timers_expire_at_their_deadlines, .timeout = 10)
{
	for (size_t i = 0; i < RESOLUTIONS; i++) {
		struct baton_timers *timers = virtual_of(resolutions[i]);
		struct bell bells[3];

		for (int bell = 0; bell < 3; bell++)
			bell_init(&bells[bell], timers, &resource);
		cr_assert_eq(baton_timer_arm_every(&bells[0].timer, 7, 333, BATON_TIMER_SKIP), 0);
		cr_assert_eq(baton_timer_arm_every(&bells[1].timer, 7, 333, BATON_TIMER_CATCH_UP),
		             0);
		cr_assert_eq(baton_timer_arm_again_after(&bells[2].timer, 333), 0);
		cr_assert_eq(baton_timers_advance_to(timers, 7 + 40 * 333), 41 + 41 + 40);
		for (uint64_t run = 0; run < 40; run++) {
			cr_assert_eq(bells[0].ran_at[run], 7 + run * 333);
			cr_assert_eq(bells[1].ran_at[run], 7 + run * 333);
			cr_assert_eq(bells[2].ran_at[run], (run + 1) * 333);
		}
		cr_assert_eq(baton_timers_destroy(timers), 0);
	}
}

/* A timer that is armed, for one run or for several, is given another rate, which begins later. */
Test(timer_exact, an_armed_timer_takes_another_rate, .timeout = 10)
{
	for (int way = 0; way < 8; way++) {
		const enum baton_timer_policy policy =
			way & 4 ? BATON_TIMER_CATCH_UP : BATON_TIMER_SKIP;
		struct baton_timers *timers = virtual_of(0);
		struct bell bell;

		bell_init(&bell, timers, &resource);
		cr_assert_eq(way & 1 ? baton_timer_arm_every(&bell.timer, 100, 7, policy)
		                     : baton_timer_arm_at(&bell.timer, 100),
		             0);
		/* Or earlier: then the wheel is told. */
		cr_assert_eq(baton_timer_arm_every(&bell.timer, way & 2 ? 50 : 200, 333, policy),
		             0);
		cr_assert_eq(baton_timers_advance_to(timers, 200 + 9 * 333), 10);
		for (uint64_t run = 0; run < 10; run++)
			cr_assert_eq(bell.ran_at[run], (way & 2 ? 50 : 200) + run * 333, "way %d",
			             way);
		cr_assert_eq(baton_timer_stop(&bell.timer).met, BATON_STOP_PREVENTED);
		cr_assert_eq(baton_timers_destroy(timers), 0);
	}
}

static int note_order(struct bell *bell)
{
	journal_add(bell->argument, (int)bell->asked);
	return 0;
}

Test(timer_exact, timers_within_a_tick_expire_in_the_order_of_their_deadlines, .timeout = 10)
{
	for (size_t i = 0; i < RESOLUTIONS; i++) {
		struct baton_timers *timers = virtual_of(resolutions[i]);
		struct journal journal = {0};
		struct bell bells[500];

		for (uint64_t bell = 0; bell < 500; bell++) {
			bell_init(&bells[bell], timers, &resource);
			bells[bell].asked = bell * 211 % 500 + 1;
			bells[bell].then = note_order;
			bells[bell].argument = &journal;
			cr_assert_eq(baton_timer_arm_at(&bells[bell].timer, bells[bell].asked), 0);
		}
		cr_assert_eq(baton_timers_advance(timers, BATON_SECOND), 500);
		cr_assert(journal_counts_up(&journal, 1, 500));
		cr_assert_eq(baton_timers_destroy(timers), 0);
	}
}

/* A timer that a function arms while the clock moves on counts from the function's time. */
static int arms_again(struct bell *bell)
{
	if (bell->runs < 5)
		MUST(baton_timer_arm_after(&bell->timer, 3) == 0);
	return 0;
}

Test(timer_exact, a_function_arms_from_its_own_time, .timeout = 10)
{
	struct baton_timers *timers = virtual_of(BATON_MILLISECOND);
	struct bell bell;

	bell_init(&bell, timers, &resource);
	bell.then = arms_again;
	cr_assert_eq(baton_timer_arm_after(&bell.timer, 10), 0);
	cr_assert_eq(baton_timers_advance(timers, BATON_SECOND), 5);
	for (uint64_t run = 0; run < 5; run++)
		cr_assert_eq(bell.ran_at[run], 10 + 3 * run);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

/* ---- Overdue ---- */

#define PERIOD BATON_MILLISECOND
#define OVERDUE 50

/* A rate on a wheel whose tick is longer than 16 periods, overdue by OVERDUE periods. */
struct late {
	struct baton_timers *timers;
	struct baton_manual *manual;
	struct baton_resource_config config;
	struct baton_resource resource;
	struct bell bell;
	uint64_t first;
	int dropped;
	int error;
	/* With a bound of one task. */
	struct baton_bound_config limits;
	struct baton_bound bound;
	struct baton_task filler;
};

static void note_dropped(struct baton_timer *timer, int error)
{
	struct bell *bell = baton_container_of(timer, struct bell, timer);
	struct late *late = bell->argument;

	late->dropped++;
	late->error = error;
}

/* Ends with the first run in the resource's queue. */
static void late_init(struct late *late, int (*then)(struct bell *bell),
                      const enum baton_bound_policy *policy)
{
	struct baton_timers_options config = BATON_TIMERS_OPTIONS_INIT;

	memset(late, 0, sizeof(*late));
	config.source = BATON_TIMERS_POLL;
	config.resolution_ns = (uint64_t)1 << 24;
	MUST(baton_timers_create(&config, &late->timers) == 0);
	MUST(baton_manual_create(&late->manual) == 0);
	late->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	late->config.capture_max = BATON_CAPTURE_NONE;
	late->config.executor = baton_manual_executor(late->manual);
	baton_resource_init(&late->resource, &late->config);
	late->limits = (struct baton_bound_config)BATON_BOUND_CONFIG_INIT;
	late->limits.tasks_max = 1;
	if (policy) {
		late->limits.policy = *policy;
		baton_bound_init(&late->bound, &late->limits);
		baton_resource_set_bound(&late->resource, &late->bound);
	}
	bell_init(&late->bell, late->timers, &late->resource);
	late->bell.then = then;
	late->bell.argument = late;
	baton_timer_set_dropped(&late->bell.timer, note_dropped);
	late->first = baton_timers_now(late->timers) - OVERDUE * PERIOD;
	MUST(baton_timer_arm_every(&late->bell.timer, late->first, PERIOD, BATON_TIMER_CATCH_UP) ==
	     0);
	while (baton_timers_poll(late->timers) == 0) /* for the rest of a tick */
		sched_yield();
}

static void late_end(struct late *late)
{
	resource_end(&late->resource);
	baton_manual_destroy(late->manual);
	/* No run has kept one: the wheel would never be freed. */
	cr_assert_eq(load_relaxed(&late->timers->references), 1);
	cr_assert_eq(baton_timers_destroy(late->timers), 0);
}

Test(timer_exact, a_period_shorter_than_a_tick_is_caught_up_with_at_once, .timeout = 10)
{
	struct late late;
	uint64_t periods;

	late_init(&late, NULL, NULL);
	(void)baton_manual_run(late.manual, 0);
	periods = (baton_timers_now(late.timers) - late.first) / PERIOD;
	cr_assert_gt(late.bell.runs, OVERDUE);
	cr_assert_leq(late.bell.runs, periods + 1);
	cr_assert_eq(stats_of(late.timers).fired, late.bell.runs);
	cr_assert_eq(baton_timer_stop(&late.bell.timer).met, BATON_STOP_PREVENTED);
	cr_assert_eq(late.dropped, 0);
	late_end(&late);
}

/* Each ends the repetition in the third run. */
static int stops(struct bell *bell)
{
	if (bell->runs == 3)
		MUST(baton_timer_stop(&bell->timer).met == BATON_STOP_RUNNING);
	return 0;
}

static int closes_resource(struct bell *bell)
{
	struct late *late = bell->argument;

	if (bell->runs == 3)
		MUST(baton_resource_close(&late->resource) == 0);
	return 0;
}

static int closes_wheel(struct bell *bell)
{
	if (bell->runs == 3)
		MUST(baton_timers_close(bell->timers, BATON_TIMERS_DROP) == 0);
	return 0;
}

static int arms_for_later(struct bell *bell)
{
	if (bell->runs == 3)
		MUST(baton_timer_arm_after(&bell->timer, 3600 * BATON_SECOND) == 0);
	return 0;
}

Test(timer_exact, catching_up_ends_with_the_repetition, .timeout = 10)
{
	static const struct {
		int (*then)(struct bell *bell);
		int error;
		enum baton_stop met;
	} rows[] = {
		{stops, 0, BATON_STOP_NOTHING},
		{closes_resource, -EPIPE, BATON_STOP_NOTHING},
		{closes_wheel, -ESHUTDOWN, BATON_STOP_NOTHING},
		{arms_for_later, 0, BATON_STOP_PREVENTED},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct late late;

		late_init(&late, rows[i].then, NULL);
		(void)baton_manual_run(late.manual, 0);
		cr_assert_eq(late.bell.runs, 3, "row %zu", i);
		cr_assert_eq(late.error, rows[i].error, "row %zu: %d", i, late.error);
		cr_assert_eq(late.dropped, rows[i].error != 0);
		cr_assert_eq(baton_timer_stop(&late.bell.timer).met, rows[i].met);
		cr_assert_eq(stats_of(late.timers).refused, rows[i].error == -EPIPE);
		if (baton_resource_close(&late.resource) == 0)
			cr_assert_neq(rows[i].error, -EPIPE);
		late_end(&late);
	}
}

static int ends_at_once(struct baton_task *task)
{
	return 0;
}

static int fills(struct bell *bell)
{
	struct late *late = bell->argument;

	if (bell->runs == 3)
		MUST(baton_submit(&late->resource, &late->filler) == 0);
	return 0;
}

Test(timer_exact, a_run_that_a_bound_keeps_from_catching_up_is_left_to_the_next_tick, .timeout = 10)
{
	static const enum baton_bound_policy policies[] = {BATON_BOUND_REFUSE,
	                                                   BATON_BOUND_DROP_NEWEST};

	for (int i = 0; i < 2; i++) {
		struct late late;

		late_init(&late, fills, &policies[i]);
		baton_task_init(&late.filler, ends_at_once, NULL);
		(void)baton_manual_run(late.manual, 0);
		cr_assert_eq(late.bell.runs, 3);
		cr_assert_eq(late.dropped, 0);
		cr_assert_eq(baton_timer_state(&late.bell.timer), BATON_TIMER_PENDING);
		while (baton_timers_poll(late.timers) == 0)
			sched_yield();
		(void)baton_manual_run(late.manual, 0);
		cr_assert_gt(late.bell.runs, OVERDUE - 1);
		cr_assert_eq(baton_timer_stop(&late.bell.timer).met, BATON_STOP_PREVENTED);
		late_end(&late);
	}
}

Test(timer_exact, the_most_distant_deadlines_are_rounded_up, .timeout = 5)
{
	static const uint64_t far = UINT64_C(1) << 54;
	const struct {
		uint64_t deadline, expires;
	} rows[] = {
		{far - 1, far - 1},       {far, far},
		{far + 1, far + 1024},    {far + 1023, far + 1024},
		{far + 1024, far + 1024}, {far + 1025, far + 2048},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct baton_timers *timers = virtual_of(0);
		struct bell bell;

		bell_init(&bell, timers, &resource);
		cr_assert_eq(baton_timers_now(timers), 0);
		cr_assert_eq(baton_timer_arm_at(&bell.timer, rows[i].deadline), 0);
		cr_assert_eq(baton_timers_advance_to(timers, rows[i].expires - 1), 0, "%zu", i);
		cr_assert_eq(baton_timers_advance_to(timers, rows[i].expires), 1, "%zu", i);
		cr_assert_eq(baton_timers_destroy(timers), 0);
	}
}
