/* SPDX-License-Identifier: MIT */
/*
 * The rules of admission: configs, errors, and single decisions. Whether promised starts hold is
 * tested in test_rules_model.c.
 */
#include "rules_support.h"
#include "support.h"

static const struct baton_rules_events start_alone = {.start = on_start};

static const struct baton_rules_config three = {.limit = {3, 2, 1}};

/* ---- Configs ---- */

Test(rules, a_config_that_makes_no_sense_is_refused, .timeout = 5)
{
	static const struct baton_rules_config bad[] = {
		{.limit = {0, 0, 0}},
		{.limit = {1, 1, 0}},
		{.limit = {2, 1, 2}},
		{.limit = {1, 2, 1}},
		{.limit = {2, 2, 2}, .reserve = 2},
		{.class_count = BATON_RULES_CLASSES_MAX + 1,
	         .limit = {1, 1, 1, 1, 1, 1, 1, 1},
	         .duration_ns = {1}},
		{.class_count = 2, .limit = {1, 1}},
		{.class_count = 2, .limit = {1, 1}, .duration_ns = {2, 1}},
		{.class_count = 2, .limit = {1, 1}, .duration_ns = {0, 1}},
		{.limit = {1, 1, 1}, .duration_ns = {1, 0, 1}},
		{.limit = {1, 1, 1}, .policy = (enum baton_rules_policy)3},
		{.limit = {1, 1, 1}, .stuck = (enum baton_rules_stuck)2},
		{.limit = {1, 1, 1}, ._reserved = {0, 0, 0, 1}},
	};
	static const struct baton_rules_events none = {.halt = on_halt};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(baton_rules_init(&rules, &bad[i], &events), -EINVAL, "%zu", i);
	cr_assert_eq(baton_rules_init(&rules, &three, &none), -EINVAL);
}

Test(rules, a_config_at_the_edge_is_taken, .timeout = 5)
{
	static const struct baton_rules_config good[] = {
		{.limit = {1, 1, 1}},
		{.class_count = 3, .limit = {4, 4, 4}, .reserve = 3},
		{.class_count = 1, .limit = {1}, .duration_ns = {1}},
		{.class_count = 2, .limit = {1, 1}, .duration_ns = {1, 1}},
		{.class_count = BATON_RULES_CLASSES_MAX,
	         .limit = {1, 1, 1, 1, 1, 1, 1, 1},
	         .duration_ns = {1, 2, 3, 4, 5, 6, 7, 8}},
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		cr_assert_eq(baton_rules_init(&rules, &good[i], &start_alone), 0, "%zu", i);
}

Test(rules, three_classes_of_3_10_and_30_seconds_are_the_default, .timeout = 5)
{
	static const struct baton_rules_config wide = {.limit = {8, 8, 8}};

	begin(&wide);
	arrive(0, 0, 0);
	arrive(1, 1, 0);
	arrive(2, 2, 0);
	arrive(3, BATON_RULES_DEFAULT, 0);
	arrive(4, BATON_RULES_INTERACTIVE, 0);
	cr_assert_eq(jobs[0].may_run, 3 * S);
	cr_assert_eq(jobs[1].may_run, 10 * S);
	cr_assert_eq(jobs[2].may_run, 30 * S);
	cr_assert_eq(jobs[3].may_run, 30 * S, "the slowest with room");
	cr_assert_eq(jobs[4].may_run, BATON_NEVER);
	cr_assert_eq(baton_rules_running(&rules, 0), 5);
	cr_assert_eq(baton_rules_running(&rules, 1), 3);
	cr_assert_eq(baton_rules_running(&rules, 2), 2);
	cr_assert_eq(baton_rules_running(&rules, 3), 0, "no such class");
}

/* What is written behind the classes that there are changes nothing. */
Test(rules, members_of_classes_that_there_are_not_are_not_read, .timeout = 5)
{
	static const struct baton_rules_config more = {.limit = {1, 1, 1, 99},
	                                               .duration_ns = {S, S, S, 1}};
	static const struct baton_rules_config eight = {
		.class_count = 8,
		.limit = {1, 1, 1, 1, 1, 1, 1, 1},
		.duration_ns = {1, 1, 1, 1, 1, 1, 1, 1},
	};

	begin(&more);
	arrive(0, BATON_RULES_DEFAULT, 0);
	cr_assert_eq(jobs[0].may_run, S);
	cr_assert_eq(baton_rules_running(&rules, 2), 1);
	cr_assert_eq(baton_rules_running(&rules, 3), 0);
	begin(&eight);
	arrive(0, 0, 0);
	(void)baton_rules_tick(&rules, 5);
	cr_assert_eq(baton_rules_running(&rules, 0), 1, "it is lost, and counts");
	cr_assert_eq(baton_rules_running(&rules, 8), 0);
}

Test(rules, a_duration_without_end_has_none_at_any_time, .timeout = 5)
{
	static const struct baton_rules_config endless = {
		.class_count = 1, .limit = {1}, .duration_ns = {BATON_NEVER}};

	begin(&endless);
	arrive(0, 0, S);
	cr_assert_eq(jobs[0].may_run, BATON_NEVER);
	arrive(1, 0, 2 * S);
	cr_assert_eq(jobs[1].estimate, BATON_NEVER);
	cr_assert_eq(baton_rules_tick(&rules, BATON_NEVER), BATON_NEVER);
}

/* ---- Errors ---- */

Test(rules, what_cannot_be_leaves_all_as_it_was, .timeout = 5)
{
	static const struct baton_rules_run later = {.started_ns = 2 * S};
	static const struct baton_rules_run no_class = {.assigned = 3};
	static const struct baton_rules_run last = {.number = UINT64_MAX};
	static const uint32_t crossed[] = {1, 2, 1};
	struct baton_rules_entry *slow;
	struct baton_rules_entry *waits;
	struct baton_rules_entry other;

	begin(&three);
	slow = arrive(0, 2, S);
	waits = arrive(1, 2, S);
	cr_assert_eq(baton_rules_arrive(&rules, slow, S), -EALREADY);
	cr_assert_eq(baton_rules_arrive(&rules, waits, S), -EALREADY);
	cr_assert_eq(baton_rules_arrive_at(&rules, waits, 7, S), -EALREADY);
	cr_assert_eq(baton_rules_restore(&rules, slow, &no_class, S), -EALREADY);
	cr_assert_eq(baton_rules_withdraw(&rules, slow, S), -EINPROGRESS);
	cr_assert_eq(baton_rules_finish(&rules, waits, S), -EINVAL);
	for (uint32_t kind = 3; kind < 300; kind++) {
		if (kind == BATON_RULES_DEFAULT || kind == BATON_RULES_INTERACTIVE)
			continue;
		baton_rules_entry_init(&other, kind);
		cr_assert_eq(baton_rules_arrive(&rules, &other, S), -EINVAL, "%u", kind);
	}
	baton_rules_entry_init(&other, BATON_RULES_INTERACTIVE);
	cr_assert_eq(baton_rules_arrive_at(&rules, &other, 7, S), -EINVAL);
	baton_rules_entry_init(&other, 2);
	cr_assert_eq(baton_rules_arrive_at(&rules, &other, 1, S), -EEXIST);
	cr_assert_eq(baton_rules_finish(&rules, &other, S), -EINVAL);
	cr_assert_eq(baton_rules_withdraw(&rules, &other, S), -EINVAL);
	cr_assert_eq(baton_rules_restore(&rules, &other, &later, S), -EINVAL);
	baton_rules_entry_init(&other, BATON_RULES_DEFAULT);
	cr_assert_eq(baton_rules_restore(&rules, &other, &no_class, S), -EINVAL);
	cr_assert_eq(baton_rules_restore(&rules, &other, &last, S), -EINVAL);
	cr_assert_eq(baton_rules_arrive_at(&rules, &other, last.number, S), -EINVAL);
	cr_assert_eq(baton_rules_set_limits(&rules, crossed, 0, S), -EINVAL);
	cr_assert_eq(baton_rules_set_limits(&rules, three.limit, 3, S), -EINVAL);
	cr_assert_eq(baton_rules_waiting(&rules), 1);
	cr_assert_eq(baton_rules_running(&rules, 0), 1);
	cr_assert_eq(baton_rules_estimate(&rules, waits), 30 * S);
	cr_assert_eq(baton_rules_finish(&rules, slow, S), 0);
	cr_assert_eq(jobs[1].may_run, 30 * S, "its turn");
	cr_assert_eq(baton_rules_estimate(&rules, waits), 0);
}

Test(rules, time_does_not_go_back, .timeout = 5)
{
	begin(&three);
	arrive(0, 2, 5 * S);
	arrive(1, 2, 3 * S);
	cr_assert_eq(jobs[1].estimate, 30 * S);
	cr_assert_eq(baton_rules_tick(&rules, 4 * S), 35 * S + 1);
}

/* ---- Interactive tasks ---- */

Test(rules, an_interactive_task_is_denied_or_halted_for_others, .timeout = 5)
{
	struct baton_rules_entry denied = BATON_RULES_ENTRY_INIT(BATON_RULES_INTERACTIVE);

	begin(&three);
	arrive(0, BATON_RULES_DEFAULT, 0);
	arrive(1, BATON_RULES_INTERACTIVE, 1 * S);
	arrive(2, BATON_RULES_INTERACTIVE, 2 * S);
	cr_assert_eq(baton_rules_arrive(&rules, &denied, 4 * S), -EAGAIN);
	cr_assert_eq(jobs[0].may_run, 6 * S, "medium now, and 4 s have passed");
	cr_assert_eq(baton_rules_arrive(&rules, &denied, 4 * S), -EAGAIN, "again: it is free");
	cr_assert_eq(jobs[0].may_run, 0, "fast now: stops at once");
	cr_assert_eq(jobs[0].shortened, 2);
	arrive(3, 0, 4 * S);
	cr_assert(jobs[1].halted && !jobs[2].halted);
	cr_assert_eq(jobs[3].may_run, 3 * S);
	cr_assert_eq(baton_rules_withdraw(&rules, &jobs[1].entry, 4 * S), -EINPROGRESS);
	cr_assert_eq(baton_rules_finish(&rules, &jobs[1].entry, 4 * S), 0);
	cr_assert_eq(baton_rules_finish(&rules, &jobs[1].entry, 4 * S), -EINVAL);
}

/* Splitmix64 from seed 0: which of seven are halted is written down with the seed. */
Test(rules, the_random_policy_follows_from_the_seed, .timeout = 5)
{
	static const uint32_t halted[] = {2, 0, 6, 1, 4, 3, 5};
	static const struct baton_rules_config seven = {.limit = {7, 7, 7},
	                                                .policy = BATON_RULES_RANDOM};

	begin(&seven);
	for (uint32_t i = 0; i < 7; i++)
		arrive(i, BATON_RULES_INTERACTIVE, 0);
	for (uint32_t i = 0; i < 7; i++) {
		cr_assert_not(jobs[halted[i]].halted);
		arrive(7 + i, 0, 0);
		cr_assert(jobs[halted[i]].halted, "%u", i);
	}
}

/* ---- The old place ---- */

Test(rules, a_task_comes_back_to_its_old_place, .timeout = 5)
{
	static const struct baton_rules_config single = {.limit = {1, 1, 1}};
	struct baton_rules_entry *first;

	begin(&single);
	first = arrive(0, 0, 0);
	arrive(1, 0, 0);
	arrive(2, 0, 0);
	cr_assert_eq(baton_rules_finish(&rules, first, S), 0, "its backend is lost");
	cr_assert_neq(jobs[1].may_run, NONE);
	cr_assert_eq(baton_rules_arrive_at(&rules, first, 0, S), 0);
	jobs[0].may_run = NONE;
	cr_assert_eq(baton_rules_finish(&rules, &jobs[1].entry, S), 0);
	cr_assert_eq(jobs[0].may_run, 3 * S, "before the one that arrived later");
	cr_assert_eq(jobs[2].may_run, NONE);
}

Test(rules, a_machine_is_rebuilt_from_what_was_written_down, .timeout = 5)
{
	static const struct baton_rules_run fast = {.number = 3, .started_ns = 9 * S};
	static const struct baton_rules_run assigned = {
		.number = 5, .started_ns = 8 * S, .assigned = 1};

	begin(&three);
	baton_rules_entry_init(&jobs[0].entry, 0);
	baton_rules_entry_init(&jobs[1].entry, BATON_RULES_DEFAULT);
	baton_rules_entry_init(&jobs[2].entry, 2);
	cr_assert_eq(baton_rules_restore(&rules, &jobs[0].entry, &fast, 10 * S), 0);
	cr_assert_eq(baton_rules_restore(&rules, &jobs[1].entry, &assigned, 10 * S), 0);
	cr_assert_eq(baton_rules_running(&rules, 0), 2);
	cr_assert_eq(baton_rules_running(&rules, 1), 1);
	cr_assert_eq(baton_rules_running(&rules, 2), 0);
	cr_assert_eq(baton_rules_arrive_at(&rules, &jobs[2].entry, 4, 10 * S), 0);
	cr_assert_eq(jobs[2].may_run, 30 * S);
	arrive(3, 0, 10 * S);
	cr_assert_eq(jobs[3].estimate, 1 * S, "when the restored default ends, as a fast one");
	cr_assert_eq(baton_rules_next(&rules), 11 * S + 1);
}

Test(rules, a_restored_task_has_started_by_now_whichever_now_is_later, .timeout = 5)
{
	/* the machine's time, now, started; and the number of the next arrival after number 1 */
	static const struct {
		uint64_t time, now, started;
		int status;
	} rows[] = {
		{5, 3, 5, 0}, {5, 3, 6, -EINVAL}, {5, 7, 7, 0}, {5, 7, 8, -EINVAL}, {5, 5, 5, 0}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct baton_rules_run run = {.number = 0, .started_ns = rows[i].started * S};

		begin(&(struct baton_rules_config){.limit = {1, 1, 1}});
		(void)baton_rules_tick(&rules, rows[i].time * S);
		baton_rules_entry_init(&jobs[0].entry, 0);
		cr_assert_eq(baton_rules_restore(&rules, &jobs[0].entry, &run, rows[i].now * S),
		             rows[i].status, "%zu", i);
		if (rows[i].status)
			continue;
		arrive(1, 0, 0);
		baton_rules_entry_init(&jobs[2].entry, 0);
		cr_assert_eq(baton_rules_arrive_at(&rules, &jobs[2].entry, 1, 0), -EEXIST);
		cr_assert_eq(baton_rules_arrive_at(&rules, &jobs[2].entry, 0, 0), 0, "it runs");
	}
}

Test(rules, of_defaults_that_started_together_the_first_to_arrive_comes_down, .timeout = 5)
{
	struct baton_rules_entry denied = BATON_RULES_ENTRY_INIT(BATON_RULES_INTERACTIVE);
	struct baton_rules_run run = {.started_ns = S, .assigned = 2};

	begin(&(struct baton_rules_config){.limit = {3, 3, 3}});
	for (uint32_t i = 0; i < 3; i++) {
		run.number = i < 2 ? 1 - i : 2;
		jobs[i].shortened = 0;
		baton_rules_entry_init(&jobs[i].entry, BATON_RULES_DEFAULT);
		cr_assert_eq(baton_rules_restore(&rules, &jobs[i].entry, &run, S), 0);
	}
	cr_assert_eq(baton_rules_arrive(&rules, &denied, S), -EAGAIN);
	cr_assert_eq(jobs[1].shortened, 1, "number 0");
	cr_assert_eq(jobs[0].shortened + jobs[2].shortened, 0);
}

Test(rules, an_old_place_is_found_before_behind_and_between_all_others, .timeout = 5)
{
	static const struct baton_rules_config single = {.limit = {1, 1, 1}};
	static const uint32_t old[] = {1, 3, 5, 7, 9};
	static const uint32_t between[] = {4, 10, 0, 6, 2, 8};
	struct baton_rules_entry other;

	begin(&single);
	arrive(11, 0, 0);
	for (size_t i = 0; i < 5; i++) {
		baton_rules_entry_init(&jobs[old[i]].entry, 0);
		cr_assert_eq(baton_rules_arrive_at(&rules, &jobs[old[i]].entry, old[i], 0), 0);
	}
	baton_rules_entry_init(&other, 0);
	for (size_t i = 0; i < 5; i++)
		cr_assert_eq(baton_rules_arrive_at(&rules, &other, old[i], 0), -EEXIST, "%zu", i);
	for (size_t i = 0; i < 6; i++) {
		baton_rules_entry_init(&jobs[between[i]].entry, 0);
		cr_assert_eq(baton_rules_arrive_at(&rules, &jobs[between[i]].entry, between[i], 0),
		             0);
	}
	for (uint32_t i = 0; i < 11; i++) {
		jobs[i].may_run = NONE;
		cr_assert_eq(baton_rules_finish(&rules, &jobs[i > 0 ? i - 1 : 11].entry, 0), 0);
		cr_assert_neq(jobs[i].may_run, NONE, "%u", i);
	}
}

/* The running task has the highest number, so none of those that wait is simply the last. */
Test(rules, a_machine_with_a_hundred_thousand_that_wait_is_rebuilt_in_their_order, .timeout = 10)
{
	static const struct baton_rules_config single = {.limit = {1, 1, 1}};
	const uint32_t count = (uint32_t)scaled(100000);
	const struct baton_rules_run last = {.number = count, .started_ns = S};
	struct job *many = calloc(count, sizeof(*many));

	cr_assert(many);
	begin(&single);
	baton_rules_entry_init(&jobs[0].entry, 0);
	cr_assert_eq(baton_rules_restore(&rules, &jobs[0].entry, &last, S), 0);
	for (uint32_t i = 0; i < count; i++) {
		baton_rules_entry_init(&many[i].entry, 0);
		many[i].may_run = NONE;
		cr_assert_eq(baton_rules_arrive_at(&rules, &many[i].entry, i, S), 0);
	}
	cr_assert_eq(baton_rules_finish(&rules, &jobs[0].entry, S), 0);
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert_neq(many[i].may_run, NONE);
		cr_assert_eq(many[i + 1].may_run, NONE);
		cr_assert_eq(baton_rules_finish(&rules, &many[i].entry, S), 0);
	}
	free(many);
}

/* ---- Overruns and limits ---- */

Test(rules, a_task_overruns_when_its_grace_is_over_and_keeps_its_place_or_not, .timeout = 5)
{
	for (int gone = 0; gone < 2; gone++) {
		struct baton_rules_config config = {
			.limit = {1, 1, 1},
			.grace_ns = S,
			.stuck = gone ? BATON_RULES_GONE : BATON_RULES_KEEP,
		};

		begin(&config);
		jobs[0].overran = false;
		arrive(0, 0, 0);
		arrive(1, 0, 0);
		cr_assert_eq(jobs[1].estimate, 4 * S, "the grace is counted");
		cr_assert_eq(baton_rules_tick(&rules, 4 * S), 4 * S + 1);
		cr_assert(!jobs[0].overran);
		(void)baton_rules_tick(&rules, 4 * S + 1);
		cr_assert(jobs[0].overran);
		cr_assert_eq(jobs[1].may_run, gone ? 3 * S : NONE);
		cr_assert_eq(baton_rules_running(&rules, 0), 1);
		if (!gone)
			cr_assert_eq(jobs[1].estimate, BATON_NEVER, "not foreseen");
		cr_assert_eq(baton_rules_finish(&rules, &jobs[0].entry, 5 * S), 0);
		cr_assert_eq(jobs[1].may_run, 3 * S);
	}
}

Test(rules, limits_that_shrink_stop_no_task_of_a_class, .timeout = 5)
{
	static const struct baton_rules_config wide = {.limit = {4, 4, 4}};
	static const uint32_t one[] = {1, 1, 1};

	begin(&wide);
	arrive(0, 2, 0);
	arrive(1, 2, 0);
	arrive(2, BATON_RULES_DEFAULT, 0);
	arrive(3, BATON_RULES_INTERACTIVE, 0);
	cr_assert_eq(baton_rules_set_limits(&rules, one, 0, 5 * S), 0);
	cr_assert_eq(jobs[0].shortened + jobs[1].shortened, 0);
	cr_assert_eq(jobs[2].may_run, 0);
	cr_assert(jobs[3].halted);
	arrive(4, 0, 5 * S);
	cr_assert_eq(jobs[4].estimate, 25 * S, "one after the other runs out");
}
