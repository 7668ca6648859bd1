/* SPDX-License-Identifier: MIT */
/* Timers under the virtual clock: when they run, how often, in which order. */
#include "timer_support.h"

static struct baton_resource resource = BATON_RESOURCE_INIT(NULL);

Test(timer, runs_once_at_its_deadline, .timeout = 5)
{
	struct baton_timers *timers = virtual_timers();
	struct bell bell;

	bell_init(&bell, timers, &resource);
	cr_assert_eq(baton_timer_arm_after(&bell.timer, 5 * TICK + 1), 0);
	cr_assert_eq(baton_timers_advance(timers, 5 * TICK), 0);
	cr_assert_eq(bell.runs, 0);
	cr_assert_eq(baton_timers_advance(timers, 1), 1);
	cr_assert_eq(bell.runs, 1);
	cr_assert_eq(bell.ran_at[0], 5 * TICK + 1);
	cr_assert_eq(baton_timers_advance(timers, 1000 * BATON_SECOND), 0);
	cr_assert_eq(baton_timer_state(&bell.timer), BATON_TIMER_DONE);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(timer, a_run_is_no_failed_task, .timeout = 5)
{
	struct baton_resource_stats stats = {0};
	struct baton_resource_stats read;
	struct baton_timers *timers = virtual_timers();
	struct baton_resource counted = BATON_RESOURCE_INIT(NULL);
	struct bell bell;

	baton_resource_set_stats(&counted, &stats);
	bell_init(&bell, timers, &counted);
	cr_assert_eq(baton_timer_arm_after(&bell.timer, TICK), 0);
	cr_assert_eq(baton_timers_advance(timers, 2 * TICK), 1);
	baton_resource_stats_read(&stats, &read);
	cr_assert_eq(read.executed, 1);
	cr_assert_eq(read.failed, 0);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(timer, a_thousand_re_arms_make_one_run, .timeout = 5)
{
	struct baton_timers *timers = virtual_timers();
	struct bell bell;

	bell_init(&bell, timers, &resource);
	for (uint64_t i = 0; i < 1000; i++)
		cr_assert_eq(baton_timer_arm_after(&bell.timer, (i * 7919 % 1000 + 1) * TICK), 0);
	cr_assert_eq(baton_timer_arm_after(&bell.timer, 77 * TICK), 0);
	cr_assert_eq(stats_of(timers).pending, 1);
	cr_assert_eq(baton_timers_advance(timers, 10000 * TICK), 1);
	cr_assert_eq(bell.runs, 1);
	cr_assert_eq(bell.ran_at[0], 77 * TICK);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(timer, a_later_deadline_leaves_the_wheel_alone, .timeout = 5)
{
	struct baton_timers *timers = virtual_timers();
	struct bell bell;

	bell_init(&bell, timers, &resource);
	cr_assert_eq(baton_timer_arm_after(&bell.timer, 10 * TICK), 0);
	for (uint64_t i = 1; i <= 1000; i++)
		cr_assert_eq(baton_timer_arm_at(&bell.timer, (10 + i) * TICK), 0);
	cr_assert_eq(stats_of(timers).armed, 1);
	cr_assert_eq(baton_timers_advance_to(timers, 1010 * TICK - 1), 0);
	cr_assert_eq(baton_timers_advance_to(timers, 1010 * TICK), 1);
	cr_assert_eq(bell.ran_at[0], 1010 * TICK);
	cr_assert_eq(stats_of(timers).moved, 3, "found too early, and by each finer level");
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(timer, an_earlier_deadline_counts, .timeout = 5)
{
	struct baton_timers *timers = virtual_timers();
	struct bell bell;

	bell_init(&bell, timers, &resource);
	cr_assert_eq(baton_timer_arm_after(&bell.timer, 100000 * TICK), 0);
	cr_assert_eq(baton_timer_arm_after(&bell.timer, 3 * TICK), 0);
	cr_assert_eq(baton_timers_advance(timers, 3 * TICK), 1);
	cr_assert_eq(baton_timers_advance(timers, 200000 * TICK), 0);
	cr_assert_eq(bell.runs, 1);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

/* Beyond 208 days deadlines are rounded up to so much. */
static uint64_t rounded(uint64_t deadline)
{
	return deadline < (uint64_t)1 << 54 ? deadline : (deadline + TICK - 1) / TICK * TICK;
}

/* Deadlines of all sizes, random; each runs at its time, in order. */
Test(timer, cascades_through_all_levels_in_order_and_never_early, .timeout = 20)
{
	enum { COUNT = 2000 };
	struct baton_timers *timers = virtual_timers();
	struct bell *bells = calloc(COUNT, sizeof(*bells));
	uint64_t state = rng_fork(test_seed(), 1);
	uint64_t last = 0;

	for (int i = 0; i < COUNT; i++) {
		uint64_t bits = rng_below(&state, 62);
		uint64_t low =
			(uint64_t)rng_below(&state, 1U << 31) << 31 | rng_below(&state, 1U << 31);

		bell_init(&bells[i], timers, &resource);
		bells[i].asked = ((uint64_t)1 << bits) + (low & (((uint64_t)1 << bits) - 1));
		cr_assert_eq(baton_timer_arm_at(&bells[i].timer, bells[i].asked), 0);
		if (bells[i].asked > last)
			last = bells[i].asked;
	}
	/* In steps of all sizes, too. */
	for (uint64_t now = 1; now < last + TICK; now += now / 3 + 1)
		cr_assert_geq(baton_timers_advance_to(timers, now), 0);
	cr_assert_geq(baton_timers_advance_to(timers, last + TICK), 0);
	for (int i = 0; i < COUNT; i++) {
		cr_assert_eq(bells[i].runs, 1);
		cr_assert_eq(bells[i].early, 0);
		cr_assert_eq(bells[i].ran_at[0], rounded(bells[i].asked));
	}
	cr_assert_eq(baton_timers_destroy(timers), 0);
	free(bells);
}

static int note_order(struct bell *bell)
{
	struct journal *journal = bell->argument;

	journal_add(journal, (int)(bell->asked / TICK));
	return 0;
}

Test(timer, ticks_expire_in_order_also_when_the_driver_is_late, .timeout = 5)
{
	struct baton_timers *timers = virtual_timers();
	struct journal journal = {0};
	struct bell bells[500];

	for (uint64_t i = 0; i < 500; i++) {
		uint64_t tick = i * 211 % 500 + 1;

		bell_init(&bells[i], timers, &resource);
		bells[i].asked = tick * TICK;
		bells[i].then = note_order;
		bells[i].argument = &journal;
		cr_assert_eq(baton_timer_arm_at(&bells[i].timer, tick * TICK), 0);
	}
	cr_assert_eq(baton_timers_advance(timers, 1000 * TICK), 500);
	cr_assert(journal_counts_up(&journal, 1, 500));
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(timer, no_delay_and_a_past_time_are_met_by_the_next_advance, .timeout = 5)
{
	struct baton_timers *timers = virtual_timers();
	struct bell bells[2];

	cr_assert_eq(baton_timers_advance(timers, 100 * TICK), 0);
	for (int i = 0; i < 2; i++)
		bell_init(&bells[i], timers, &resource);
	cr_assert_eq(baton_timer_arm_after(&bells[0].timer, 0), 0);
	cr_assert_eq(baton_timer_arm_at(&bells[1].timer, 3), 0);
	cr_assert_eq(baton_timers_advance_to(timers, 50), 0, "the clock does not go back");
	cr_assert_eq(baton_timers_advance(timers, 0), 2);
	cr_assert_eq(bells[0].runs + bells[1].runs, 2);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(timer, for_ever_never_comes, .timeout = 5)
{
	struct baton_timers *timers = virtual_timers();
	struct bell bells[3];

	for (int i = 0; i < 3; i++)
		bell_init(&bells[i], timers, &resource);
	cr_assert_eq(baton_timers_advance(timers, 12345), 0);
	cr_assert_eq(baton_timer_arm_after(&bells[0].timer, BATON_NEVER), 0);
	cr_assert_eq(baton_timer_arm_at(&bells[1].timer, BATON_NEVER - 1), 0);
	cr_assert_eq(baton_timer_arm_at(&bells[2].timer, UINT64_MAX / 2), 0);
	cr_assert_eq(baton_timers_advance_to(timers, UINT64_MAX), 1);
	cr_assert_eq(baton_timers_now(timers), UINT64_MAX);
	cr_assert_eq(bells[2].runs, 1);
	cr_assert_eq(baton_timer_stop(&bells[0].timer).met, BATON_STOP_PREVENTED);
	cr_assert_eq(baton_timer_stop(&bells[1].timer).met, BATON_STOP_PREVENTED);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(timer, a_fixed_rate_does_not_drift, .timeout = 5)
{
	struct baton_timers *timers = virtual_timers();
	struct bell bell;
	uint64_t period = 3 * TICK + 7;

	bell_init(&bell, timers, &resource);
	cr_assert_eq(baton_timer_arm_every(&bell.timer, 10, period, BATON_TIMER_SKIP), 0);
	cr_assert_eq(baton_timers_advance_to(timers, 10 + 49 * period), 50);
	for (uint64_t i = 0; i < 50; i++)
		cr_assert_eq(bell.ran_at[i], 10 + i * period);
	cr_assert_eq(baton_timer_stop(&bell.timer).met, BATON_STOP_PREVENTED);
	cr_assert_eq(baton_timers_advance(timers, 100 * period), 0);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

/* Runs lie in a manual executor while the clock goes on: overdue by 5 periods. */
static unsigned overdue(enum baton_timer_policy policy, struct bell *bell,
                        struct baton_timers_stats *late_stats)
{
	struct baton_timers *timers = virtual_timers();
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource late;
	struct baton_manual *manual;

	MUST(baton_manual_create(&manual) == 0);
	config.capture_max = BATON_CAPTURE_NONE;
	config.executor = baton_manual_executor(manual);
	baton_resource_init(&late, &config);
	bell_init(bell, timers, &late);
	MUST(baton_timer_arm_every(&bell->timer, 10 * TICK, 10 * TICK, policy) == 0);
	MUST(baton_timers_advance_to(timers, 55 * TICK) == 1);
	for (int i = 0; i < 20; i++) {
		(void)baton_manual_run(manual, 0);
		MUST(baton_timers_advance(timers, TICK / 2) >= 0);
	}
	(void)baton_manual_run(manual, 0);
	*late_stats = stats_of(timers);
	/* 65 ticks: 10, 20, ... 60 */
	MUST(baton_timer_stop(&bell->timer).met == BATON_STOP_PREVENTED);
	MUST(baton_resource_close(&late) == 0);
	MUST(baton_resource_await(&late) == 0);
	baton_manual_destroy(manual);
	MUST(baton_timers_destroy(timers) == 0);
	return bell->runs;
}

Test(timer, overdue_runs_are_skipped_or_caught_up, .timeout = 5)
{
	struct baton_timers_stats stats;
	struct bell bell;

	cr_assert_eq(overdue(BATON_TIMER_SKIP, &bell, &stats), 2);
	cr_assert_eq(bell.ran_at[0], 55 * TICK);
	cr_assert_eq(bell.ran_at[1], 60 * TICK);
	cr_assert_eq(overdue(BATON_TIMER_CATCH_UP, &bell, &stats), 6);
	for (int i = 0; i < 5; i++)
		cr_assert_eq(bell.ran_at[i], 55 * TICK, "at once, without an advance");
	cr_assert_eq(bell.ran_at[5], 60 * TICK);
	/* The runs for 20, 30, 40 and 50 are late by 35, 25, 15 and 5 ticks; 10 and 60 are not. */
	cr_assert_eq(stats.fired, 6);
	cr_assert_eq(stats.late[0], 2);
	for (int bucket = 3; bucket <= 6; bucket++)
		cr_assert_eq(stats.late[bucket], 1, "%d", bucket);
}

Test(timer, a_run_that_is_due_when_the_run_before_ends_is_skipped, .timeout = 5)
{
	struct baton_timers *timers = virtual_timers();
	struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE};
	struct baton_resource late;
	struct baton_manual *manual;
	struct bell bell;

	MUST(baton_manual_create(&manual) == 0);
	config.executor = baton_manual_executor(manual);
	baton_resource_init(&late, &config);
	bell_init(&bell, timers, &late);
	MUST(baton_timer_arm_every(&bell.timer, 10 * TICK, 10 * TICK, BATON_TIMER_SKIP) == 0);
	cr_assert_eq(baton_timers_advance_to(timers, 20 * TICK), 1);
	cr_assert_eq(baton_manual_run(manual, 0), 1);
	cr_assert_eq(baton_timers_advance_to(timers, 30 * TICK - 1), 0);
	cr_assert_eq(baton_timers_advance_to(timers, 30 * TICK), 1);
	MUST(baton_timer_stop(&bell.timer).met == BATON_STOP_QUEUED);
	(void)baton_manual_run(manual, 0);
	resource_end(&late);
	baton_manual_destroy(manual);
	MUST(baton_timers_destroy(timers) == 0);
}

/* ---- Functions that take time: the clock goes on within them ---- */

#define TAKES (30 * TICK)

static int takes_time(struct bell *bell)
{
	if (bell->runs <= 3)
		MUST(baton_timers_advance(bell->timers, TAKES) >= 0);
	return 0;
}

struct taken {
	const char *name;
	int (*arm)(struct baton_timer *timer);
	unsigned count; /* of runs that are looked at */
	unsigned at[8]; /* in ticks */
};

/* Runs in a manual executor, so that each function may turn the clock. The third run is the last
 * that takes time. */
static void take_time(struct bell *bell, const struct taken *taken)
{
	struct baton_timers *timers = virtual_timers();
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource slow;
	struct baton_manual *manual;
	uint64_t sum = 0;

	MUST(baton_manual_create(&manual) == 0);
	config.capture_max = BATON_CAPTURE_NONE;
	config.executor = baton_manual_executor(manual);
	baton_resource_init(&slow, &config);
	bell_init(bell, timers, &slow);
	bell->then = takes_time;
	MUST(taken->arm(&bell->timer) == 0);
	for (int i = 0; bell->runs < taken->count && i < 1000; i++) {
		MUST(baton_timers_advance(timers, TICK) >= 0);
		(void)baton_manual_run(manual, 0);
	}
	for (unsigned i = 0; i < taken->count; i++)
		cr_expect_eq(bell->ran_at[i], taken->at[i] * TICK,
		             "%s, run %u: at %g ticks, not %u", taken->name, i,
		             (double)bell->ran_at[i] / TICK, taken->at[i]);
	BATON_IGNORE(baton_timer_stop(&bell->timer).met);
	(void)baton_manual_run(manual, 0);
	for (size_t i = 0; i < BATON_TIMERS_LATE_BUCKETS; i++)
		sum += stats_of(timers).late[i];
	cr_expect_eq(sum, stats_of(timers).fired, "%s: each run is counted once", taken->name);
	MUST(baton_resource_close(&slow) == 0);
	MUST(baton_resource_await(&slow) == 0);
	baton_manual_destroy(manual);
	MUST(baton_timers_destroy(timers) == 0);
}

static int arm_skip(struct baton_timer *timer)
{
	return baton_timer_arm_every(timer, 10 * TICK, 20 * TICK, BATON_TIMER_SKIP);
}

static int arm_catch_up(struct baton_timer *timer)
{
	return baton_timer_arm_every(timer, 10 * TICK, 20 * TICK, BATON_TIMER_CATCH_UP);
}

static int arm_delay(struct baton_timer *timer)
{
	return baton_timer_arm_again_after(timer, 20 * TICK);
}

Test(timer, a_period_goes_by_the_deadlines_and_a_delay_by_the_end_of_the_function, .timeout = 10)
{
	static const struct taken rows[] = {
		/* 30 is over when the first run ends at 40; and so on. */
		{"skip", arm_skip, 6, {10, 50, 90, 130, 150, 170}},
		{"catch up", arm_catch_up, 8, {10, 40, 70, 100, 100, 110, 130, 150}},
		{"delay", arm_delay, 6, {20, 70, 120, 170, 190, 210}},
	};
	struct bell bell;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		take_time(&bell, &rows[i]);
}

Test(timer, an_advance_by_nothing_changes_nothing, .timeout = 5)
{
	struct baton_timers *timers = virtual_timers();
	struct bell bell;

	cr_assert_eq(baton_timers_advance_to(timers, 0), 0);
	bell_init(&bell, timers, &resource);
	for (uint64_t at = 3 * TICK; at < 300 * TICK; at *= 3) {
		cr_assert_eq(baton_timers_advance(timers, 0), 0);
		cr_assert_eq(baton_timer_arm_at(&bell.timer, at), 0);
		cr_assert_eq(baton_timers_advance_to(timers, at - 1), 0);
		cr_assert_eq(baton_timers_advance(timers, 0), 0);
		cr_assert_eq(baton_timers_advance_to(timers, at), 1);
	}
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(timer, a_fixed_delay_begins_after_each_run, .timeout = 5)
{
	struct baton_timers *timers = virtual_timers();
	struct bell bell;

	bell_init(&bell, timers, &resource);
	cr_assert_eq(baton_timer_arm_again_after(&bell.timer, 2 * TICK - 9), 0);
	cr_assert_eq(baton_timers_advance(timers, 10 * (2 * TICK - 9)), 10);
	for (uint64_t i = 0; i < 10; i++)
		cr_assert_eq(bell.ran_at[i], (i + 1) * (2 * TICK - 9));
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

static int again(struct bell *bell)
{
	MUST(baton_timer_state(&bell->timer) == BATON_TIMER_RUNNING);
	if (bell->runs < 5)
		MUST(baton_timer_arm_after(&bell->timer, 4 * TICK) == 0);
	return 0;
}

Test(timer, is_armed_again_from_its_own_function, .timeout = 5)
{
	struct baton_timers *timers = virtual_timers();
	struct bell bell;

	bell_init(&bell, timers, &resource);
	bell.then = again;
	cr_assert_eq(baton_timer_arm_after(&bell.timer, TICK), 0);
	cr_assert_eq(baton_timers_advance(timers, 100 * TICK), 5);
	cr_assert_eq(bell.ran_at[4], 17 * TICK);
	cr_assert_eq(baton_timer_stop(&bell.timer).met, BATON_STOP_NOTHING);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

static int arm_once(struct bell *bell)
{
	if (bell->runs == 3)
		MUST(baton_timer_arm_after(&bell->timer, 50 * TICK) == 0);
	return 0;
}

Test(timer, a_plain_arm_ends_the_repetition, .timeout = 5)
{
	struct baton_timers *timers = virtual_timers();
	struct bell bell;

	bell_init(&bell, timers, &resource);
	bell.then = arm_once;
	cr_assert_eq(baton_timer_arm_every(&bell.timer, TICK, TICK, BATON_TIMER_CATCH_UP), 0);
	cr_assert_eq(baton_timers_advance(timers, 1000 * TICK), 4);
	cr_assert_eq(bell.ran_at[3], 53 * TICK);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(timer, a_million_at_once, .timeout = 60)
{
	int count = scaled(1000000);
	struct baton_timers *timers = virtual_timers();
	struct bell *bells = calloc((size_t)count, sizeof(*bells));
	uint64_t state = rng_fork(test_seed(), 2);
	unsigned wrong = 0;

	for (int i = 0; i < count; i++) {
		bell_init(&bells[i], timers, &resource);
		bells[i].asked = 1 + rng_below(&state, 1U << 30);
		MUST(baton_timer_arm_at(&bells[i].timer, bells[i].asked) == 0);
	}
	cr_assert_eq(stats_of(timers).pending, (uint64_t)count);
	for (int i = 0; i < count; i += 2)
		wrong += baton_timer_stop(&bells[i].timer).met != BATON_STOP_PREVENTED;
	cr_assert_eq(baton_timers_advance(timers, (uint64_t)1 << 31), count / 2);
	for (int i = 0; i < count; i++)
		wrong += bells[i].runs != (unsigned)(i % 2) || bells[i].early;
	cr_assert_eq(wrong, 0);
	cr_assert_eq(stats_of(timers).pending, 0);
	cr_assert_eq(stats_of(timers).cancelled, (uint64_t)(count - count / 2));
	cr_assert_eq(baton_timers_destroy(timers), 0);
	free(bells);
}

Test(timer, refuses_bad_arguments, .timeout = 5)
{
	struct baton_timers *timers = virtual_timers();
	struct baton_timers_options config = BATON_TIMERS_OPTIONS_INIT;
	struct bell bell;

	bell_init(&bell, timers, &resource);
	cr_assert_eq(baton_timer_arm_every(&bell.timer, 0, 0, BATON_TIMER_SKIP), -EINVAL);
	cr_assert_eq(baton_timer_arm_every(&bell.timer, 0, 1, (enum baton_timer_policy)2), -EINVAL);
	cr_assert_eq(baton_timer_state(&bell.timer), BATON_TIMER_IDLE);
	cr_assert_eq(baton_timers_poll(timers), -EINVAL);
	cr_assert_eq(baton_timers_close(timers, (enum baton_timers_pending)2), -EINVAL);
	cr_assert_eq(baton_timer_arm_after(&bell.timer, 1), 0, "not closed");
	cr_assert_eq(baton_timer_stop(&bell.timer).met, BATON_STOP_PREVENTED);
	config.source = (enum baton_timers_source)3;
	cr_assert_eq(baton_timers_create(&config, &timers), -EINVAL);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}
