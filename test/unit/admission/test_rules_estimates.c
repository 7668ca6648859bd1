/* SPDX-License-Identifier: MIT */
/*
 * The rules of admission: when an estimate is told. Whether estimates hold is tested in
 * test_rules_model.c.
 */
#include "rules_support.h"

/* At most 64 tasks wait, so the arrival of another renews a stale plan within the call. */
Test(rules_estimates, an_estimate_is_told_within_the_call_and_renewed_after_100_ms, .timeout = 5)
{
	static const struct baton_rules_config single = {.limit = {1, 1, 1}};

	begin(&single);
	arrive(0, 2, 0);
	arrive(1, 2, 0);
	arrive(2, 2, 0);
	cr_assert_eq(jobs[1].estimate, 30 * S);
	cr_assert_eq(jobs[2].estimate, 60 * S);
	cr_assert_eq(baton_rules_next(&rules), 30 * S + 1);
	cr_assert_eq(baton_rules_finish(&rules, &jobs[0].entry, 40 * MS), 0);
	cr_assert_eq(jobs[2].told, 1, "not within 100 ms");
	cr_assert_eq(baton_rules_next(&rules), 100 * MS);
	cr_assert_eq(baton_rules_tick(&rules, 100 * MS), 30 * S + 40 * MS + 1);
	cr_assert_eq(jobs[2].told, 2);
	cr_assert_eq(jobs[2].estimate, 30 * S - 60 * MS);
	cr_assert_eq(baton_rules_finish(&rules, &jobs[1].entry, 29 * S), 0);
	cr_assert_eq(jobs[2].told, 2, "it runs");
}

Test(rules_estimates, an_arrival_renews_the_estimates_of_64_that_wait_at_most, .timeout = 5)
{
	static struct job many[67];

	for (uint32_t waiting = 63; waiting <= 65; waiting++) {
		begin(&(struct baton_rules_config){.limit = {1, 1, 1}});
		memset(many, 0, sizeof(many));
		for (uint32_t i = 0; i <= waiting; i++)
			cr_assert_eq(baton_rules_arrive(&rules, &many[i].entry, 0), 0);
		cr_assert_eq(baton_rules_finish(&rules, &many[0].entry, 1), 0, "early");
		cr_assert_eq(baton_rules_next(&rules), 100 * MS);
		cr_assert_eq(waiting % 2 ? baton_rules_arrive(&rules, &many[waiting + 1].entry, 1)
		                         : baton_rules_arrive_at(&rules, &many[waiting + 1].entry,
		                                                 waiting + 1, 1),
		             0);
		cr_assert_eq(baton_rules_waiting(&rules), waiting);
		/* what has moved is told after another 100 ms */
		cr_assert_eq(baton_rules_next(&rules), 100 * MS + (waiting <= 64), "%u", waiting);
	}
}

Test(rules_estimates, a_tick_plans_256_and_another_call_64, .timeout = 5)
{
	static const uint32_t counts[] = {63, 64, 65, 319, 320, 321};
	static struct job many[322];

	for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++) {
		uint32_t count = counts[n];

		begin(&(struct baton_rules_config){.limit = {1, 1, 1}});
		memset(many, 0, sizeof(many));
		for (uint32_t i = 0; i <= count; i++) /* the first runs, `count` wait */
			cr_assert_eq(baton_rules_arrive(&rules, &many[i].entry, 0), 0);
		cr_assert_eq(baton_rules_set_limits(&rules, (uint32_t[]){1, 1, 1}, 0, 1), 0);
		cr_assert_eq(baton_rules_next(&rules) == 1 + MS, count > 64, "%u", count);
		cr_assert_eq(baton_rules_tick(&rules, 2) == 2 + MS, count > 320, "%u", count);
		(void)baton_rules_tick(&rules, 3);
		cr_assert_eq(baton_rules_next(&rules), 3 * S + 1);
	}
}

Test(rules_estimates, ten_thousand_that_wait_are_told_in_slices_of_256, .timeout = 10)
{
	enum { COUNT = 10000 };
	static const struct baton_rules_config wide = {.limit = {100, 50, 20}};
	static const uint32_t less[] = {90, 50, 20};
	struct job *many = calloc(COUNT, sizeof(*many));
	uint64_t now = S;
	uint32_t before = 0;
	uint32_t slices = 0;

	cr_assert(many);
	begin(&wide);
	for (uint32_t i = 0; i < COUNT; i++) {
		baton_rules_entry_init(&many[i].entry, i % 3);
		many[i].may_run = NONE;
		cr_assert_eq(baton_rules_arrive(&rules, &many[i].entry, now), 0);
		cr_assert(many[i].may_run != NONE || many[i].told == 1, "at once: %u", i);
	}
	cr_assert_eq(baton_rules_set_limits(&rules, less, 0, now += 200 * MS), 0);
	for (uint32_t i = 0; i < COUNT; i++)
		before += many[i].told > 1;
	cr_assert_leq(before, 64, "a call that is no tick: %u", before);
	while (baton_rules_next(&rules) <= now + MS) {
		uint32_t told = 0;

		(void)baton_rules_tick(&rules, now += MS);
		for (uint32_t i = 0; i < COUNT; i++)
			told += many[i].told > 1;
		cr_assert_leq(told - before, 256);
		before = told;
		slices++;
	}
	cr_assert_gt(slices, COUNT / 256 - 5);
	cr_assert_lt(slices, COUNT / 256 + 5);
	(void)baton_rules_tick(&rules, now += 200 * MS);
	free(many);
}

/* A job ends early in each millisecond, so the plan is always stale. */
static uint32_t ticks_of_a_second(struct job *many, uint32_t waiting, uint32_t running)
{
	const struct baton_rules_config wide = {.limit = {running, running, running}};
	uint64_t now = S;
	uint32_t ticks = 0;

	begin(&wide);
	memset(many, 0, (waiting + running) * sizeof(*many));
	for (uint32_t i = 0; i < waiting + running; i++)
		cr_assert_eq(baton_rules_arrive(&rules, &many[i].entry, now), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		now += MS;
		cr_assert_eq(baton_rules_finish(&rules, &many[i].entry, now), 0);
		cr_assert_eq(baton_rules_arrive(&rules, &many[i].entry, now), 0);
		if (baton_rules_next(&rules) > now + MS)
			continue;
		cr_assert_gt(baton_rules_tick(&rules, now), now, "one in a millisecond");
		ticks++;
	}
	return ticks;
}

/* Counted, since a time is not the same on each machine. */
Test(rules_estimates, the_work_on_renewed_estimates_does_not_grow_with_those_that_wait,
     .timeout = 20)
{
	enum { RUNNING = 100, MOST = 40000 };
	struct job *many = calloc(MOST + RUNNING, sizeof(*many));
	uint32_t at[3] = {0};

	cr_assert(many);
	for (uint32_t i = 0, waiting = 2500; i < 3; i++, waiting *= 4)
		at[i] = ticks_of_a_second(many, waiting, RUNNING);
	/* A finish, an arrival and a tick make 384 estimates: 105 of them a pass over 40,000. */
	for (uint32_t i = 0; i < 3; i++)
		cr_assert_leq(at[i], 120, "%u %u %u", at[0], at[1], at[2]);
	free(many);
}

Test(rules_estimates, a_pass_begins_100_ms_or_50_us_for_each_that_waits_after_the_last,
     .timeout = 10)
{
	static const uint64_t after[][2] = {{100, 100 * MS}, {2000, 100 * MS}, {2001, 100050000}};
	static struct job many[2002];

	for (size_t n = 0; n < 3; n++) {
		uint64_t waiting = after[n][0];

		begin(&(struct baton_rules_config){.limit = {1, 1, 1}});
		memset(many, 0, sizeof(many));
		for (uint64_t i = 0; i <= waiting; i++)
			cr_assert_eq(baton_rules_arrive(&rules, &many[i].entry, 0), 0);
		cr_assert_eq(baton_rules_withdraw(&rules, &many[waiting].entry, 0), 0);
		cr_assert_eq(baton_rules_arrive(&rules, &many[waiting].entry, 0), 0);
		cr_assert_eq(baton_rules_next(&rules), after[n][1]);
		(void)baton_rules_tick(&rules, after[n][1] - 1);
		cr_assert_eq(baton_rules_next(&rules), after[n][1], "not yet");
		(void)baton_rules_tick(&rules, after[n][1]);
		cr_assert_neq(baton_rules_next(&rules), after[n][1], "it has begun");
	}
}

enum { WAITING = 400 };
static struct job line[WAITING + 2]; /* of `start_line`: the first runs */

/* More wait than two calls and a tick plan: so the last has an estimate in the middle of a pass
 * only if the estimate of the pass before still holds. */
static void start_line(const struct baton_rules_config *config, uint32_t kind)
{
	begin(config);
	memset(line, 0, sizeof(line));
	for (uint32_t i = 0; i <= WAITING; i++) {
		baton_rules_entry_init(&line[i].entry, kind);
		cr_assert_eq(baton_rules_arrive(&rules, &line[i].entry, 0), 0);
	}
	cr_assert_eq(baton_rules_waiting(&rules), WAITING);
}

static void last_is_told(const char *when)
{
	cr_assert_neq(baton_rules_estimate(&rules, &line[WAITING].entry), BATON_NEVER, "%s", when);
}

Test(rules_estimates, an_end_and_a_start_in_the_last_moment_that_was_planned_spoil_none,
     .timeout = 5)
{
	start_line(&(struct baton_rules_config){.limit = {1, 1, 1}}, 0);
	last_is_told("at once");
	cr_assert_eq(baton_rules_withdraw(&rules, &line[10].entry, 3 * S), 0);
	last_is_told("in a pass that begins when a task has to end");
	cr_assert_eq(baton_rules_finish(&rules, &line[0].entry, 3 * S), 0);
	cr_assert_eq(line[1].may_run, 3 * S, "it has started");
	while (baton_rules_next(&rules) <= 3 * S + 10 * MS)
		(void)baton_rules_tick(&rules, baton_rules_next(&rules));
	last_is_told("after a pass");
	cr_assert_eq(baton_rules_withdraw(&rules, &line[11].entry, 4 * S), 0);
	last_is_told("in the pass after the end and the start");
	cr_assert_eq(baton_rules_next(&rules), 4 * S + MS, "that pass is under way");
}

/* The end was later than planned, and so was the start of the next. */
Test(rules_estimates, a_late_end_spoils_one_pass_alone, .timeout = 5)
{
	start_line(&(struct baton_rules_config){.limit = {1, 1, 1}}, 0);
	cr_assert_eq(baton_rules_finish(&rules, &line[0].entry, 3 * S + 1), 0);
	while (baton_rules_next(&rules) <= 4 * S)
		(void)baton_rules_tick(&rules, baton_rules_next(&rules));
	cr_assert_eq(baton_rules_withdraw(&rules, &line[11].entry, 5 * S), 0);
	last_is_told("in the pass after the one that knew of the late end");
	cr_assert_eq(baton_rules_next(&rules), 5 * S + MS, "that pass is under way");
}

/* A task that starts, and ends late, before a pass under way has come to it: the start of the next
 * task tells that the estimates of the pass before are too small. */
Test(rules_estimates, a_late_start_spoils_the_estimates_behind_it, .timeout = 5)
{
	start_line(&(struct baton_rules_config){.limit = {2, 1, 1}}, 2);
	for (uint32_t i = 0; i < 4; i++)
		arrive(i, 0, 0);
	while (baton_rules_next(&rules) <= 500 * MS)
		(void)baton_rules_tick(&rules, baton_rules_next(&rules));
	cr_assert_eq(baton_rules_estimate(&rules, &jobs[3].entry), 9 * S - rules._now);
	cr_assert_eq(baton_rules_withdraw(&rules, &line[10].entry, S), 0);
	cr_assert_eq(baton_rules_finish(&rules, &jobs[0].entry, 3 * S), 0);
	cr_assert_eq(jobs[1].may_run, 3 * S);
	cr_assert_eq(baton_rules_next(&rules), 3 * S + MS, "the pass is under way");
	cr_assert_eq(baton_rules_finish(&rules, &jobs[1].entry, 11 * S), 0);
	cr_assert_eq(jobs[2].may_run, 3 * S);
	while (baton_rules_next(&rules) <= 12 * S)
		(void)baton_rules_tick(&rules, baton_rules_next(&rules));
	cr_assert_eq(baton_rules_estimate(&rules, &jobs[3].entry), 14 * S - rules._now);
}

/* The places of two that have left stay taken until both would have ended. */
Test(rules_estimates, a_pass_in_which_tasks_leave_tells_no_later_start_than_the_pass_before,
     .timeout = 5)
{
	uint64_t before;

	begin(&(struct baton_rules_config){.limit = {2, 2, 2}, .duration_ns = {S, S, 10000 * S}});
	memset(line, 0, sizeof(line));
	for (uint32_t i = 0; i < WAITING + 2; i++) {
		baton_rules_entry_init(&line[i].entry, i == 40 ? 2 : 0);
		cr_assert_eq(baton_rules_arrive(&rules, &line[i].entry, 0), 0);
	}
	before = baton_rules_estimate(&rules, &line[WAITING].entry);
	cr_assert_eq(baton_rules_withdraw(&rules, &line[WAITING + 1].entry, 200 * MS), 0);
	cr_assert_eq(baton_rules_withdraw(&rules, &line[40].entry, 200 * MS), 0);
	for (uint32_t i = 100; i < 140; i++)
		cr_assert_eq(baton_rules_withdraw(&rules, &line[i].entry, 200 * MS), 0);
	while (baton_rules_next(&rules) <= 250 * MS)
		(void)baton_rules_tick(&rules, baton_rules_next(&rules));
	cr_assert_leq(baton_rules_estimate(&rules, &line[WAITING].entry), before);
}

/*
 * One place for slow tasks, which all arrived first, and one for fast tasks. A slow task leaves
 * whose planned start is later than that of each fast task so far. The next slow task takes its
 * place, so fast tasks that arrive later still have one place.
 */
Test(rules_estimates, a_task_that_leaves_before_its_planned_start_gives_no_place_to_later_ones,
     .timeout = 5)
{
	enum { SLOW = 11, FAST = 100 };
	const struct baton_rules_config two = {.limit = {2, 1, 1}};

	begin(&two);
	memset(line, 0, sizeof(line));
	for (uint32_t i = 0; i < SLOW + FAST; i++) {
		if (i == SLOW + 75) /* the last has an estimate of 222 s, and the slow one leaves */
			cr_assert_eq(baton_rules_withdraw(&rules, &line[8].entry, 0), 0);
		baton_rules_entry_init(&line[i].entry, i < SLOW ? 2 : 0);
		cr_assert_eq(baton_rules_arrive(&rules, &line[i].entry, 0), 0);
		if (i == 8)
			cr_assert_eq(baton_rules_estimate(&rules, &line[i].entry), 240 * S);
		if (i >= SLOW)
			cr_assert_geq(baton_rules_estimate(&rules, &line[i].entry),
			              (i - SLOW) * 3 * S, "%u", i);
	}
	cr_assert_eq(baton_rules_estimate(&rules, &line[SLOW + 74].entry), 222 * S);
}

/* The default runs as long as class 0 allows, as the plan has it. */
Test(rules_estimates, a_default_that_comes_down_within_its_time_spoils_none, .timeout = 5)
{
	start_line(&(struct baton_rules_config){.limit = {4, 2, 1}}, 2);
	arrive(0, BATON_RULES_DEFAULT, 0);
	cr_assert_eq(jobs[0].may_run, 10 * S, "it is assigned class 1");
	last_is_told("before");
	arrive(1, 1, 0);
	cr_assert_eq(jobs[0].may_run, 3 * S, "it has come down");
	cr_assert_eq(jobs[1].may_run, 10 * S);
	last_is_told("after");
}

/* A task that runs longer than it may, and of which no tick has told yet. */
Test(rules_estimates, an_estimate_made_beside_an_overrun_is_not_kept, .timeout = 5)
{
	begin(&(struct baton_rules_config){.limit = {1, 1, 1}});
	for (uint32_t i = 0; i < 5; i++)
		arrive(i, 0, 0);
	cr_assert_eq(baton_rules_withdraw(&rules, &jobs[3].entry, 5 * S), 0);
	cr_assert_eq(baton_rules_estimate(&rules, &jobs[2].entry), S, "as it was told");
	cr_assert_eq(baton_rules_withdraw(&rules, &jobs[4].entry, 6 * S), 0);
	cr_assert_eq(baton_rules_estimate(&rules, &jobs[2].entry), 3 * S, "it still runs");
}

/* A pass begins when a task of class 1 is over its time, and so may end at once. It ends after
 * tasks of class 0 were planned, and before one of class 1 is, in the same pass. */
Test(rules_estimates, the_place_of_an_overrun_is_free_for_its_class_too, .timeout = 5)
{
	const uint64_t now = 10 * S + 5;

	begin(&(struct baton_rules_config){.limit = {2, 1, 1}});
	arrive(0, 1, 0);
	arrive(1, 0, 9 * S);
	memset(line, 0, sizeof(line));
	for (uint32_t i = 0; i < 70; i++)
		cr_assert_eq(baton_rules_arrive(&rules, &line[i].entry, now), 0);
	cr_assert_eq(baton_rules_waiting(&rules), 70);
	cr_assert_eq(baton_rules_finish(&rules, &jobs[0].entry, now + 5), 0);
	arrive(2, 1, now + 5);
	cr_assert_eq(jobs[2].estimate, 105 * S - 5, "35 times 3 s from the overrun on");
}

Test(rules_estimates, where_none_waits_no_tick_is_wanted_before_an_overrun, .timeout = 5)
{
	begin(&(struct baton_rules_config){.limit = {1, 1, 1}});
	cr_assert_eq(baton_rules_next(&rules), BATON_NEVER);
	arrive(0, 0, S);
	cr_assert_eq(baton_rules_next(&rules), 4 * S + 1);
	cr_assert_eq(baton_rules_finish(&rules, &jobs[0].entry, 2 * S), 0);
	cr_assert_eq(baton_rules_next(&rules), BATON_NEVER);
}

/* It came down after its time of class 0, and has its grace from then on. */
Test(rules_estimates, a_default_that_comes_down_late_is_waited_for, .timeout = 5)
{
	begin(&(struct baton_rules_config){.limit = {3, 2, 1}, .grace_ns = S});
	arrive(0, 2, 0);
	arrive(1, BATON_RULES_DEFAULT, 0);
	cr_assert_eq(jobs[1].may_run, 10 * S, "it is assigned class 1");
	arrive(2, 2, 0);
	cr_assert_eq(jobs[2].estimate, 31 * S);
	arrive(3, 1, 5 * S);
	cr_assert_eq(jobs[1].may_run, 0, "it stops at once");
	cr_assert_eq(jobs[3].may_run, 10 * S);
	arrive(4, 0, 5 * S);
	cr_assert_eq(jobs[4].may_run, NONE);
	cr_assert_eq(jobs[4].estimate, S);
}
