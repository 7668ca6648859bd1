/* SPDX-License-Identifier: MIT */
/* The rules of admission: configs, errors, single decisions. For promises: test_rules_model.c. */
#include <baton/rules.h>

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#define S BATON_SECOND
#define MS (BATON_SECOND / 1000)
#define NONE ((uint64_t)-2)

struct job {
	struct baton_rules_entry entry;
	uint64_t may_run; /* NONE: not started */
	uint64_t estimate;
	uint32_t shortened;
	uint32_t told;
	bool halted;
	bool overran;
};

static struct job jobs[16];
static struct baton_rules rules;

static struct job *job_of(struct baton_rules_entry *entry)
{
	return (struct job *)entry; /* the first member */
}

static void on_start(struct baton_rules *machine, struct baton_rules_entry *entry, uint64_t ns)
{
	(void)machine;
	job_of(entry)->may_run = ns;
}

static void on_shorten(struct baton_rules *machine, struct baton_rules_entry *entry, uint64_t ns)
{
	(void)machine;
	job_of(entry)->may_run = ns;
	job_of(entry)->shortened++;
}

static void on_halt(struct baton_rules *machine, struct baton_rules_entry *entry)
{
	(void)machine;
	job_of(entry)->halted = true;
}

static void on_estimate(struct baton_rules *machine, struct baton_rules_entry *entry, uint64_t ns)
{
	(void)machine;
	job_of(entry)->estimate = ns;
	job_of(entry)->told++;
}

static void on_overrun(struct baton_rules *machine, struct baton_rules_entry *entry)
{
	(void)machine;
	job_of(entry)->overran = true;
}

static const struct baton_rules_events events = {
	.start = on_start,
	.shorten = on_shorten,
	.halt = on_halt,
	.estimate = on_estimate,
	.overrun = on_overrun,
};
static const struct baton_rules_events start_alone = {.start = on_start};

static const struct baton_rules_config three = {.limit = {3, 2, 1}};

static void begin(const struct baton_rules_config *config)
{
	cr_assert_eq(baton_rules_init(&rules, config, &events), 0);
}

static struct baton_rules_entry *arrive(uint32_t job, uint32_t kind, uint64_t now)
{
	baton_rules_entry_init(&jobs[job].entry, kind);
	jobs[job].may_run = NONE;
	cr_assert_eq(baton_rules_arrive(&rules, &jobs[job].entry, now), 0);
	return &jobs[job].entry;
}

/* ---- Configs ---- */

Test(rules, a_config_that_makes_no_sense_is_refused, .timeout = 5)
{
	static const struct baton_rules_config bad[] = {
		{.limit = {0, 0, 0}},
		{.limit = {1, 1, 0}},
		{.limit = {2, 1, 2}},
		{.limit = {1, 2, 1}},
		{.limit = {2, 2, 2}, .reserve = 2},
		{.class_count = 9, .limit = {1, 1, 1, 1, 1, 1, 1, 1}, .duration_ns = {1}},
		{.class_count = 2, .limit = {1, 1}},
		{.class_count = 2, .limit = {1, 1}, .duration_ns = {2, 1}},
		{.class_count = 2, .limit = {1, 1}, .duration_ns = {0, 1}},
		{.limit = {1, 1, 1}, .duration_ns = {1, 0, 1}},
		{.limit = {1, 1, 1}, .policy = (enum baton_rules_policy)3},
		{.limit = {1, 1, 1}, .stuck = (enum baton_rules_stuck)2},
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

/* ---- Errors ---- */

Test(rules, what_cannot_be_leaves_all_as_it_was, .timeout = 5)
{
	static const struct baton_rules_run later = {.started_ns = 2 * S};
	static const struct baton_rules_run no_class = {.assigned = 3};
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

/* ---- Estimates ---- */

/* Nobody may wait long for the 64th place: with more, estimates are renewed every 100 ms. */
Test(rules, an_estimate_is_told_within_the_call_and_renewed_after_100_ms, .timeout = 5)
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

Test(rules, ten_thousand_that_wait_are_told_in_slices_of_256, .timeout = 10)
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
	cr_assert_eq(baton_rules_set_limits(&rules, less, 0, now), 0);
	while (baton_rules_next(&rules) <= now) {
		uint32_t told = 0;

		(void)baton_rules_tick(&rules, now += MS);
		for (uint32_t i = 0; i < COUNT; i++)
			told += many[i].told > 1;
		cr_assert_leq(told - before, 512);
		before = told;
		slices++;
	}
	cr_assert_gt(slices, COUNT / 256 - 5);
	cr_assert_lt(slices, COUNT / 256 + 5);
	(void)baton_rules_tick(&rules, now += 200 * MS);
	free(many);
}
