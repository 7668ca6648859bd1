/* SPDX-License-Identifier: MIT */
/* What the clock decides in a worker without its thread; and how the worker ends. */
#include "bare_pool.h"

#include "pool/park.c"
#include "pool/pool_stats.c"
#include "pool/vacancy.c"
#include "pool/worker.c"
#include "pool/steal.c"

Test(worker_clock, after_its_interval_it_tunes_evens_out_and_looks_outside, .timeout = 5)
{
	/* since it was evened out; is it again? */
	static const uint64_t rows[][2] = {{19999, 0}, {20000, 1}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct baton__worker *worker = begin(3);
		uint64_t mean;

		inject(9); /* a batch of 8, and one */
		queue_up(worker, 2);
		queue_up(&bare.workers[1], 20);
		aim(worker, 1);
		worker->to_injection = 2;
		worker->interval = 10;
		worker->tuned_ns = clock_ns - 40000;
		worker->evened_ns = clock_ns - rows[i][0];
		cr_assert_eq(number(next_job(worker)), 9, "its own first");
		cr_assert_eq(worker->to_injection, 1);
		cr_assert_eq(number(next_job(worker)), 0, "from outside");
		mean = baton__policy_per_job(40000, 10);
		cr_assert_eq(worker->mean, mean);
		cr_assert_eq(worker->interval, 2, "10 us of jobs of 4 us each");
		cr_assert_eq(worker->to_injection, 2);
		cr_assert_eq(worker->counts.interval, 2);
		cr_assert_eq(worker->tuned_ns, clock_ns);
		cr_assert_eq(queued(&bare.workers[1]) < 20, rows[i][1]);
		cr_assert_eq(worker->evened_ns == clock_ns, rows[i][1]);
		cr_assert_eq(baton__injection_length(&bare.pool.injection), 1);
	}
}

Test(worker_clock, looks_around_as_often_and_as_long_as_it_has_learnt, .timeout = 5)
{
	/* fresh, looks, ns between clock readings; readings */
	static const int rows[][4] = {
		{0, 3, 500, 2 * LOOK_READS + 1}, {0, 1, 500, 1},
		{0, 2, 0, 1 + 256 + 1},          {0, 2, 2000, 1 + 1 + 1},
		{0, 2, 1999, 1 + 2 + 1},         {1, 3, 500, 15 * LOOK_READS + 1}};
	struct baton__worker *worker;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		worker = begin(3);
		worker->fresh = rows[i][0];
		worker->looks = (uint32_t)rows[i][1];
		clock_step = (uint64_t)rows[i][2];
		cr_assert_null(look_around(worker));
		cr_assert_eq(clock_reads, rows[i][3], "%zu: %d", i, clock_reads);
	}
	/* the slot of another worker is left alone for 8 looks; the other's queue is not */
	for (int in_slot = 0; in_slot < 2; in_slot++) {
		worker = begin(3);
		if (in_slot)
			(void)baton__worker_schedule(&bare.workers[1], job(0));
		else
			queue_up(&bare.workers[1], 1);
		clock_step = 500;
		cr_assert_eq(number(look_around(worker)), 0);
		cr_assert_eq(clock_reads, in_slot ? 8 * LOOK_READS : 0);
	}
	worker = begin(3);
	bare.pool.state = BATON__POOL_STOP;
	cr_assert_null(look_around(worker));
	cr_assert_eq(clock_reads, 0, "the pool ends");
	inject(1);
	cr_assert_null(find(worker));
	bare.pool.state = 0;
	cr_assert_eq(number(find(worker)), 0);
	queue_up(&bare.workers[1], 1);
	cr_assert_eq(number(find(worker)), 1);
	cr_assert_not(worker->searching, "it has found one");
	cr_assert(baton__idle_try_search(&bare.pool.idle) &&
	          !baton__idle_try_search(&bare.pool.idle));
}

static unsigned yields;

int sched_yield(void)
{
	yields++;
	return 0;
}

/* Nothing runs beside it: each yield is the worker's. */
Test(worker_clock, yields_between_its_looks, .timeout = 5)
{
	struct baton__worker *worker = begin(2);

	clock_step = 500;
	worker->fresh = false;
	worker->looks = 1;
	cr_assert_null(look_around(worker));
	cr_assert_eq(yields, 0, "after the last look it sleeps");
	worker->looks = 16;
	cr_assert_null(look_around(worker));
	cr_assert_geq(yields, 1);
	cr_assert_leq(yields, 15);
}

Test(worker_clock, learns_from_its_sleep_how_long_to_look, .timeout = 5)
{
	/* looks before, slept; looks after */
	static const uint64_t rows[][3] = {{16, 31999, 16}, {3, 31999, 16}, {16, 32000, 8},
	                                   {5, 32000, 3},   {2, 32000, 1},  {1, 32000, 1}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct baton__worker *worker = begin(2);

		cr_assert_eq(worker->looks, 16);
		worker->looks = (uint32_t)rows[i][0];
		learn_looks(worker, rows[i][1]);
		cr_assert_eq(worker->looks, rows[i][2], "%zu", i);
		cr_assert(worker->fresh);
	}
}

Test(worker_clock, a_vacancy_lasts_after_50_us_or_in_haste, .timeout = 5)
{
	enum { STOP = BATON__POOL_STOP, ENDED = BATON__POOL_ENDED };
	/* vacant since, haste before, state, now; does it last, haste after */
	static const uint32_t rows[][6] = {
		{0, 0, 0, 1000, 1, 0},    {1000, 0, 0, 50999, 0, 0},   {1000, 0, 0, 51000, 1, 4},
		{1000, 1, 0, 1001, 1, 1}, {1000, 0, STOP, 1001, 1, 0}, {1000, 0, ENDED, 1001, 1, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct baton__worker *worker = begin(2);

		worker->vacant_ns = rows[i][0];
		bare.pool.haste = rows[i][1];
		bare.pool.state = rows[i][2];
		cr_assert_eq(baton__vacancy_lasts(worker, rows[i][3]), rows[i][4], "%zu", i);
		cr_assert_eq(bare.pool.haste, rows[i][5], "%zu", i);
		baton__vacancy_short(&bare.pool);
		cr_assert_eq(bare.pool.haste, rows[i][5] ? rows[i][5] - 1 : 0, "%zu", i);
		baton__vacancy_begin(worker, false);
		cr_assert_eq(worker->vacant_ns, clock_ns);
		baton__vacancy_begin(worker, true);
		cr_assert_eq(worker->vacant_ns, 0);
	}
}

/* ---- The end ---- */

Test(worker_clock, the_last_worker_ends_the_pool_if_nothing_is_left, .timeout = 5)
{
	enum {
		SHUT = BATON__POOL_SHUTDOWN,
		ENDING = BATON__POOL_ENDING,
		ENDED = BATON__POOL_ENDED
	};
	/* searching, threads with jobs in their hands, jobs from outside, state before; after */
	static const uint32_t rows[][5] = {
		{1, 0, 0, SHUT, SHUT | ENDING | ENDED},
		{1, 1, 0, SHUT, SHUT},
		{1, 0, 1, SHUT, SHUT},
		{0, 0, 0, SHUT, SHUT},
		{1, 0, 0, SHUT | ENDING, SHUT | ENDING},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct baton__worker *worker = begin(2);
		bool ends;

		worker->searching = rows[i][0] && baton__idle_try_search(&bare.pool.idle);
		bare.pool.hands = rows[i][1];
		inject((int)rows[i][2]);
		bare.pool.state = rows[i][3];
		baton__worker_park(worker);
		ends = rows[i][4] & ENDED;
		cr_assert_eq(bare.pool.state, rows[i][4], "%zu", i);
		cr_assert_eq(bare.sleepers[1].wake & 1, ends, "%zu", i);
		cr_assert_eq(bare.pool.calls != 0, ends, "%zu", i);
		cr_assert_eq(worker->counts.parked, 0);
		cr_assert_eq(worker->searching, rows[i][0], "%zu", i);
	}
	/* it does not sleep when the pool has ended */
	for (uint32_t state = BATON__POOL_STOP; state <= ENDED; state *= 2) {
		struct baton__worker *worker = begin(2);

		bare.pool.state = state;
		worker->searching = baton__idle_try_search(&bare.pool.idle);
		baton__worker_park(worker);
		cr_assert_eq(worker->counts.parked, 0);
		cr_assert_not(worker->searching);
	}
}

static struct baton__worker seen;

static void see_run(struct baton_plain_job *plain)
{
	seen = *current_worker;
	cr_assert_eq(seen.entered, &plain->job);
}

Test(worker_clock, the_loop_counts_and_ends_when_the_pool_does, .timeout = 5)
{
	struct baton__worker *worker = begin(2);

	for (int i = 0; i < 3; i++)
		baton_plain_job_init(&bare.jobs[i], see_run, NULL);
	queue_up(worker, 3);
	worker->to_injection = 10; /* it is not tuned meanwhile */
	bare.pool.state = BATON__POOL_STOP;
	worker->fresh = true;
	current_worker = NULL;
	clock_step = 10;
	cr_assert(baton__worker_loop(worker));
	cr_assert_null(current_worker);
	cr_assert_eq(worker->counts.executed, 3);
	cr_assert_eq(seen.counts.executed, 3, "counted before it runs");
	cr_assert_null(seen.running, "not a resource's");
	cr_assert_not(seen.fresh);
	cr_assert_eq(seen.tuned_ns, 1000000010);
	cr_assert_eq(worker->counts.awake, 10 | BATON__ASLEEP);
}

enum { OWN = 0, OUTSIDE = 1 };

/* The worker runs so many of its own jobs; each takes `job_ns`, and comes back. */
static void run_own(struct baton__worker *worker, int count, uint64_t job_ns)
{
	for (int i = 0; i < count; i++) {
		cr_assert_eq(number(next_job(worker)), OWN);
		clock_ns += job_ns;
		baton__worker_put_back(worker, job(OWN));
	}
}

/* A job comes from outside when the worker has just taken one of its own: how many of these start
 * before it. */
static int own_before_outside(struct baton__worker *worker, uint64_t job_ns)
{
	int count = 0;

	cr_assert_eq(number(next_job(worker)), OWN);
	bare.next = OUTSIDE;
	inject(1);
	do {
		count++;
		clock_ns += job_ns;
		baton__worker_put_back(worker, job(OWN));
	} while (number(next_job(worker)) == OWN);
	return count;
}

static struct baton__worker *begin_with(const struct baton_pool_policy *policy)
{
	struct baton__worker *worker = begin(2);

	MUST(baton__policy_fill(&bare.pool.policy, policy) == 0);
	baton__worker_init(worker, &bare.pool, 0, NULL);
	worker->tuned_ns = clock_ns;
	queue_up(worker, 1);
	return worker;
}

Test(worker_clock, a_job_from_outside_starts_within_injection_ns_and_two_jobs, .timeout = 20)
{
	static const struct baton_pool_policy policies[] = {
		{0}, {.smoothing = 26}, {.injection_ns = 200000, .injection_max = 255}};
	static const uint64_t lengths[] = {1,    100,  1000,  4999,  5000,
	                                   5001, 9999, 10000, 70000, 1000000};

	for (size_t i = 0; i < sizeof(policies) / sizeof(*policies); i++)
		for (size_t k = 0; k < sizeof(lengths) / sizeof(*lengths); k++) {
			struct baton__worker *worker = begin_with(&policies[i]);
			uint64_t bound = bare.pool.policy.injection_ns + 2 * lengths[k];

			run_own(worker, 1000, lengths[k]); /* it learns */
			for (int phase = 0; phase < 140; phase++) {
				uint64_t since;

				run_own(worker, phase, lengths[k]);
				since = clock_ns;
				(void)own_before_outside(worker, lengths[k]);
				cr_assert_leq(clock_ns - since, bound, "%zu, %zu, %d", i, k, phase);
				clock_ns += lengths[k];
			}
		}
}

/* It does not know yet how long its jobs are. */
Test(worker_clock, a_fresh_worker_takes_a_job_from_outside_as_soon, .timeout = 20)
{
	static const uint64_t lengths[] = {1, 1000, 5000, 70000, 10000000};

	for (size_t k = 0; k < sizeof(lengths) / sizeof(*lengths); k++)
		for (int phase = 0; phase < 140; phase++) {
			struct baton__worker *worker = begin_with(NULL);
			uint64_t since;

			run_own(worker, phase, lengths[k]);
			since = clock_ns;
			(void)own_before_outside(worker, lengths[k]);
			cr_assert_leq(clock_ns - since,
			              bare.pool.policy.injection_ns + 2 * lengths[k], "%zu, %d", k,
			              phase);
		}
}

Test(worker_clock, a_fresh_worker_looks_seldom_after_a_hundred_short_jobs, .timeout = 5)
{
	struct baton__worker *worker = begin_with(NULL);
	uint32_t intervals[] = {2, 6, 14, 30, 61, 61};

	for (size_t i = 0; i < sizeof(intervals) / sizeof(*intervals); i++) {
		cr_assert_eq(worker->interval, intervals[i], "%zu", i);
		run_own(worker, (int)intervals[i], 10);
	}
}

Test(worker_clock, a_job_from_outside_waits_for_one_long_job, .timeout = 5)
{
	struct baton__worker *worker = begin_with(NULL);

	run_own(worker, 100, 5000);
	for (int i = 0; i < 10; i++) {
		run_own(worker, 1 + i, 5000);
		cr_assert_eq(own_before_outside(worker, 5000), 1);
		clock_ns += 5000;
	}
	/* They come one after the other: of two jobs one is the worker's own. */
	for (int i = 0; i < 10; i++) {
		bare.next = OUTSIDE;
		inject(1);
		run_own(worker, 1, 5000);
		cr_assert_eq(number(next_job(worker)), OUTSIDE);
		clock_ns += 5000;
	}
	run_own(worker, 100, 3000);
	cr_assert_eq(worker->interval, 3, "jobs that are not so long");
}

Test(worker_clock, when_jobs_become_longer_one_round_goes_by, .timeout = 20)
{
	for (int phase = 0; phase < 70; phase++) {
		struct baton__worker *worker = begin_with(NULL);

		run_own(worker, 1000 + phase, 100);
		cr_assert_leq(own_before_outside(worker, 1000000), 61);
		clock_ns += 1000000;
		cr_assert_leq(own_before_outside(worker, 1000000), 2);
	}
}
