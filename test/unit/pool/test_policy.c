/* SPDX-License-Identifier: MIT */
/* The pool's policy: its table of cases, its ranges, and what a busy worker makes of it. */
#include "pool_support.h"

#include "pool/policy.h"

#define UNIT 256U
#define US UINT64_C(1000)

static struct baton_pool_policy filled(const struct baton_pool_policy *asked)
{
	struct baton_pool_policy policy;

	cr_assert_eq(baton__policy_fill(&policy, asked), 0);
	return policy;
}

/* The parameters that the 61 of Go, our default, and an exponential mean of a millisecond have. */
static const struct baton_pool_policy fixed = {.injection_min = 61, .injection_max = 61};
static const struct baton_pool_policy patient = {
	.injection_ns = 1000 * US,
	.injection_min = 8,
	.injection_max = 255,
	.smoothing = 26,
	.tick_budget = 256,
};

Test(policy, has_a_table_of_intervals, .timeout = 5)
{
	static const struct {
		const struct baton_pool_policy *asked; /* NULL: the defaults */
		uint64_t job_ns;
		uint32_t interval;
	} rows[] = {
		{&patient, 1 * US, 255},
		{&patient, 10 * US, 100},
		{&patient, 50 * US, 20},
		{&patient, 100 * US, 10},
		{&patient, 1000 * US, 8},
		{&patient, UINT64_MAX / UNIT, 8},
		{NULL, 0, 61},
		{NULL, 100, 61},
		{NULL, 163, 61},
		{NULL, 164, 60},
		{NULL, 1 * US, 10},
		{NULL, 5 * US, 2},
		{NULL, 10 * US, 2},
		{NULL, 1000 * US, 2},
		{&fixed, 0, 61},
		{&fixed, 1 * US, 61},
		{&fixed, 1000 * US, 61},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct baton_pool_policy policy = filled(rows[i].asked);

		cr_assert_eq(baton__policy_interval(&policy, rows[i].job_ns * UNIT),
		             rows[i].interval, "row %zu", i);
	}
}

Test(policy, zero_is_each_default, .timeout = 5)
{
	static const struct baton_pool_policy zeroes;
	const struct baton_pool_policy written = {
		.injection_ns = 10 * US,
		.injection_min = 2,
		.injection_max = 61,
		.smoothing = UNIT,
		.tick_budget = 128,
		.steal_max = 128,
		.hot_from = 4,
		.hot_share = 3,
	};
	struct baton_pool_policy policies[] = {filled(NULL), filled(&zeroes), filled(&written)};

	for (size_t i = 0; i < 2; i++)
		cr_assert_eq(memcmp(&policies[i], &policies[2], sizeof(policies[i])), 0);
}

Test(policy, looks_within_its_time_and_two_jobs_when_jobs_are_steady, .timeout = 5)
{
	struct baton_pool_policy policies[] = {filled(NULL), filled(&patient)};

	policies[1].injection_min = 2;
	for (size_t i = 0; i < 2; i++)
		for (uint64_t job_ns = 1; job_ns < 10000 * US; job_ns += 1 + job_ns / 7) {
			uint64_t mean = baton__policy_per_job(61 * job_ns, 61);
			uint32_t interval = baton__policy_interval(&policies[i], mean);

			cr_assert_leq(interval * job_ns, policies[i].injection_ns + 2 * job_ns,
			              "%zu ns", (size_t)job_ns);
		}
}

Test(policy, the_tick_budget_ends_the_longest_interval, .timeout = 5)
{
	const struct baton_pool_policy asked = {.injection_max = 255};
	struct baton_pool_policy policy = filled(&asked);

	cr_assert_eq(baton__policy_interval(&policy, 0), 128);
	policy.tick_budget = 16;
	cr_assert_eq(baton__policy_interval(&policy, 0), 16);
}

Test(policy, a_mean_jumps_up_at_once_and_comes_down_slowly, .timeout = 5)
{
	static const struct {
		uint32_t smoothing;
		uint64_t mean, last, next;
	} rows[] = {
		{26, 100, 300, 300},
		{26, 100, 100, 100},
		{26, 2560, 0, 2300},
		{26, 256 + 7, 7, 237},
		{26, 8, 7, 7}, /* it reaches the last round */
		{26, UINT64_MAX, 0, UINT64_MAX - (UINT64_MAX / 256 * 26 + 26)},
		{0, 1000, 10, 10},
		{256, 1000, 10, 10},
		{128, 1000, 0, 500},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct baton_pool_policy asked = {.smoothing = rows[i].smoothing};
		struct baton_pool_policy policy = filled(&asked);

		cr_assert_eq(baton__policy_mean(&policy, rows[i].mean, rows[i].last), rows[i].next,
		             "row %zu", i);
	}
	cr_assert_eq(baton__policy_per_job(1000, 10), 100 * UNIT);
	cr_assert_eq(baton__policy_per_job(UINT64_MAX, 2), (UINT64_MAX - UNIT + 1) / 2);
}

Test(policy, refuses_numbers_out_of_range, .timeout = 5)
{
	static const struct {
		struct baton_pool_policy policy;
		int error;
	} rows[] = {
		{{.injection_ns = BATON_POOL_INJECTION_NS_MAX}, 0},
		{{.injection_ns = BATON_POOL_INJECTION_NS_MAX + 1}, -EINVAL},
		{{.injection_min = 1}, -EINVAL},
		{{.injection_min = 61}, 0},
		{{.injection_min = 62}, -EINVAL},
		{{.injection_min = 62, .injection_max = 62}, 0},
		{{.injection_max = 1}, -EINVAL},
		{{.injection_max = 2}, 0},
		{{.injection_max = BATON_POOL_JOBS_MAX}, 0},
		{{.injection_max = BATON_POOL_JOBS_MAX + 1}, -EINVAL},
		{{.smoothing = 256}, 0},
		{{.smoothing = 257}, -EINVAL},
		{{.tick_budget = 1}, -EINVAL},
		{{.tick_budget = 2}, 0},
		{{.tick_budget = BATON_POOL_JOBS_MAX}, 0},
		{{.tick_budget = BATON_POOL_JOBS_MAX + 1}, -EINVAL},
		{{.steal_max = 256}, 0},
		{{.steal_max = 257}, -EINVAL},
		{{.order = BATON_POOL_YIELDS}, 0},
		{{.order = (enum baton_pool_order)2}, -EINVAL},
		{{.hot_from = 0x7FFF}, 0},
		{{.hot_from = 0x8000}, -EINVAL},
		{{.hot_share = BATON_POOL_JOBS_MAX}, 0},
		{{.hot_share = BATON_POOL_JOBS_MAX + 1}, -EINVAL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct baton_pool_options options = {.workers = 1, .policy = &rows[i].policy};
		struct baton_pool *pool = NULL;

		cr_assert_eq(baton_pool_create(&options, &pool), rows[i].error, "row %zu", i);
		cr_assert_eq(!pool, rows[i].error != 0, "row %zu", i);
		cr_assert(!pool || baton_pool_destroy(pool) == 0);
	}
}

/* Own jobs that never end, each so long that the interval is the least; and one from outside. */
struct saturation {
	struct baton_pool *pool;
	struct baton_plain_job own;
	struct baton_plain_job outside;
	atomic_int own_runs;
	atomic_int own_runs_at_start;
	atomic_int ends;
};

static void own_run(struct baton_plain_job *job)
{
	struct saturation *saturation = baton_container_of(job, struct saturation, own);
	uint64_t until = now_ns() + 30 * US;

	atomic_fetch_add(&saturation->own_runs, 1);
	while (now_ns() < until)
		;
	if (!atomic_load(&saturation->ends))
		MUST(baton_pool_submit(saturation->pool, job) == 0);
}

static void outside_run(struct baton_plain_job *job)
{
	struct saturation *saturation = baton_container_of(job, struct saturation, outside);

	atomic_store(&saturation->own_runs_at_start, atomic_load(&saturation->own_runs));
}

Test(policy, a_job_from_outside_waits_for_two_long_jobs_at_most, .timeout = 20)
{
	struct baton_pool_options options = {.workers = 1};
	struct saturation saturation = {.own_runs = 0};

	cr_assert_eq(baton_pool_create(&options, &saturation.pool), 0);
	baton_plain_job_init(&saturation.own, own_run, NULL);
	cr_assert_eq(baton_pool_submit(saturation.pool, &saturation.own), 0);
	until_at_least(&saturation.own_runs, 200); /* several rounds */
	for (int i = 0; i < 20; i++) {
		int after;

		baton_plain_job_init(&saturation.outside, outside_run, NULL);
		atomic_store(&saturation.own_runs_at_start, 0);
		cr_assert_eq(baton_pool_submit(saturation.pool, &saturation.outside), 0);
		after = atomic_load(&saturation.own_runs);
		until_at_least(&saturation.own_runs_at_start, 1);
		cr_assert_leq(atomic_load(&saturation.own_runs_at_start), after + 2);
	}
	atomic_store(&saturation.ends, 1);
	cr_assert_eq(baton_pool_destroy(saturation.pool), 0);
}

/* One worker makes jobs, and waits; the other one must come for each. */
struct maker {
	struct work work;
	struct work *works;
	struct plug *plug;
	atomic_int made_done;
};

enum { MADE = 100 };

static void maker_run(struct baton_plain_job *job)
{
	struct maker *maker = baton_container_of(job, struct maker, work.job);

	for (int i = 0; i < MADE; i++)
		MUST(baton_pool_submit(maker->work.pool, &maker->works[i].job) == 0);
	gate_open(&maker->plug->leave); /* all are there when the thief comes */
	until_at_least(&maker->made_done, MADE);
	work_finish(&maker->work);
}

static struct baton_pool_stats stats_of_thefts(uint32_t steal_max)
{
	/* No round ends: even_out moves nothing. */
	const struct baton_pool_policy policy = {
		.injection_min = BATON_POOL_JOBS_MAX,
		.injection_max = BATON_POOL_JOBS_MAX,
		.tick_budget = BATON_POOL_JOBS_MAX,
		.steal_max = steal_max,
	};
	struct baton_pool_options options = {.workers = 2, .policy = &policy};
	struct baton_pool_stats stats;
	struct baton_pool *pool;
	struct maker maker = {.made_done = 0};
	struct plug plug;
	atomic_int done = 0;

	options.spares_max = BATON_POOL_NO_SPARES;
	options.count_accepted = true;
	cr_assert_eq(baton_pool_create(&options, &pool), 0);
	plug_in(&plug, pool);
	maker.works = works_create(MADE, pool, &maker.made_done);
	maker.plug = &plug;
	work_init(&maker.work, maker_run, pool, &done);
	cr_assert_eq(baton_pool_submit(pool, &maker.work.job), 0);
	until_at_least(&done, 1);
	baton_pool_stats_read(pool, &stats);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	free(maker.works);
	return stats;
}

Test(policy, a_thief_takes_the_share_that_it_is_told, .timeout = 20)
{
	struct baton_pool_stats single = stats_of_thefts(1);
	struct baton_pool_stats all = stats_of_thefts(256);
	struct baton_pool_stats half = stats_of_thefts(0);

	cr_assert_eq(single.stolen, MADE);
	cr_assert_eq(single.steals, MADE, "one by one");
	cr_assert_eq(all.stolen, MADE);
	cr_assert_eq(all.steals, 2, "the queue, and the LIFO slot");
	cr_assert_eq(half.stolen, MADE);
	cr_assert_eq(half.steals, 8, "99, of which 50, 25, 12, 6, 3, 2, 1; and the LIFO slot");
	cr_assert_eq(half.accepted, MADE + 2);
}

Test(policy, accepted_jobs_are_counted_when_asked_for, .timeout = 20)
{
	static const struct baton_pool_policy long_rounds = {.injection_min = 10};
	struct baton_pool_options options = {
		.workers = 1, .count_accepted = true, .policy = &long_rounds};
	struct baton_pool_stats stats;
	struct baton_pool *pool;
	struct work works[3];
	atomic_int done = 0;

	for (int counted = 1; counted >= 0; counted--) {
		options.count_accepted = counted;
		cr_assert_eq(baton_pool_create(&options, &pool), 0);
		for (int i = 0; i < 3; i++)
			work_init(&works[i], work_run, pool, &done);
		cr_assert_eq(baton_pool_submit(pool, &works[0].job), 0);
		cr_assert_eq(baton_executor_schedule(baton_pool_executor(pool), &works[1].job.job),
		             0);
		cr_assert_eq(baton_pool_shutdown(pool), 0);
		cr_assert_eq(baton_pool_submit(pool, &works[2].job), -ESHUTDOWN);
		cr_assert_eq(baton_pool_await(pool), 0);
		baton_pool_stats_read(pool, &stats);
		cr_assert_eq(stats.accepted, counted ? 2 : 0, "the refused one is not counted");
		cr_assert_eq(stats.executed, 2);
		cr_assert_eq(stats.interval, 0, "no round has ended");
		cr_assert_eq(baton_pool_destroy(pool), 0);
	}
}

Test(policy, time_awake_goes_on_in_a_job_and_stands_still_asleep, .timeout = 20)
{
	struct baton_pool *pool = pool_of(1);
	struct baton_pool_stats before, after;
	struct plug plug;

	plug_in(&plug, pool);
	baton_pool_stats_read(pool, &before);
	work_for_ns(2000 * US);
	baton_pool_stats_read(pool, &after);
	cr_assert_geq(after.awake_ns - before.awake_ns, 2000 * US);
	gate_open(&plug.leave);
	until_all_asleep(pool);
	do { /* the counter is written before the sleep */
		baton_pool_stats_read(pool, &before);
		sched_yield();
		baton_pool_stats_read(pool, &after);
	} while (before.awake_ns != after.awake_ns);
	work_for_ns(2000 * US);
	baton_pool_stats_read(pool, &after);
	cr_assert_eq(after.awake_ns, before.awake_ns);
	cr_assert_geq(after.awake_ns, 2000 * US);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}
