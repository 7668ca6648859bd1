/* SPDX-License-Identifier: MIT */
/*
 * A worker's single steps, without its thread: where the next job comes from, how many jobs move,
 * what is counted, who is woken. For what the clock decides: test_worker_clock.c.
 */
#include "bare_pool.h"

/* In place of sleeps: a sleep with a limit times out, one without a limit is ended by a wake. */
static int limited;
static int unlimited;

static bool sleeps(struct baton__idle *idle, size_t worker, uint64_t deadline_ns)
{
	(void)idle;
	(void)worker;
	limited += deadline_ns != BATON_FOREVER;
	unlimited += deadline_ns == BATON_FOREVER;
	return deadline_ns == BATON_FOREVER || limited > 1;
}

#define baton__idle_wait sleeps

#include "pool/park.c"
#include "pool/pool_stats.c"
#include "pool/vacancy.c"
#include "pool/worker.c"
#include "pool/steal.c"

/* ---- Counters ---- */

#define COUNT(member)                                                                              \
	{                                                                                          \
		offsetof(struct baton__worker_counts, member),                                     \
			offsetof(struct baton_pool_stats, member)                                  \
	}

static uint64_t at(const void *base, size_t offset)
{
	return *(const uint64_t *)(const void *)((const char *)base + offset);
}

Test(worker_steps, each_counter_is_read_as_itself, .timeout = 5)
{
	static const size_t rows[][2] = {
		COUNT(executed), COUNT(stolen),    COUNT(parked),
		COUNT(woken),    COUNT(lifo_hits), COUNT(injection_batches),
		COUNT(steals),   COUNT(hot),       COUNT(accepted)};
	const size_t count = sizeof(rows) / sizeof(*rows);
	struct baton_pool_stats stats, one, rest = {0};
	uint64_t other = 0;

	begin(2);
	for (size_t i = 0; i < count; i++)
		for (uint64_t w = 0; w < 2; w++)
			*(uint64_t *)(void *)((char *)&bare.workers[w].counts + rows[i][0]) =
				(1000 << w) + i;
	bare.pool.accepted = 50000;
	bare.workers[0].counts.interval = 7;
	bare.workers[1].counts.interval = 5;
	bare.workers[0].counts.awake = 11 | BATON__ASLEEP;
	bare.workers[1].counts.awake = clock_ns - 13;
	bare.pool.crew_counts = (struct baton__crew_counts){21, 22, 23, 24};
	bare.pool.threads = 5;
	cr_assert_eq(baton_pool_worker_stats_read(&bare.pool, 2, &one), -EINVAL);
	baton_pool_stats_read(&bare.pool, &stats);
	for (size_t w = 0; w < 2; w++) {
		cr_assert_eq(baton_pool_worker_stats_read(&bare.pool, w, &one), 0);
		for (size_t i = 0; i < count; i++)
			cr_assert_eq(at(&one, rows[i][1]), (1000U << w) + i, "%zu", i);
		cr_assert_eq(one.interval, w ? 5 : 7);
		cr_assert_eq(one.awake_ns, w ? 13 : 11);
		cr_assert_eq(one.spares + one.spares_started + one.spares_retired +
		                     one.spares_refused + one.spares_failed,
		             0);
	}
	for (size_t i = 0; i < count; i++) {
		other = rows[i][1] == offsetof(struct baton_pool_stats, accepted) ? 50000 : 0;
		cr_assert_eq(at(&stats, rows[i][1]), 3000 + 2 * i + other, "%zu", i);
	}
	cr_assert_eq(stats.interval, 7);
	cr_assert_eq(stats.awake_ns, 24);
	cr_assert_eq(stats.spares, 3);
	cr_assert_eq(stats.spares_started, 21);
	cr_assert_eq(stats.spares_retired, 22);
	cr_assert_eq(stats.spares_refused, 23);
	cr_assert_eq(stats.spares_failed, 24);
	cr_assert_eq(memcmp(stats._reserved, rest._reserved, sizeof(rest._reserved)), 0);
	bare.pool.threads = 2;
	baton_pool_stats_read(&bare.pool, &stats);
	cr_assert_eq(stats.spares, 0);
	bare.pool.threads = 1;
	baton_pool_stats_read(&bare.pool, &stats);
	cr_assert_eq(stats.spares, 0, "some threads have ended");
}

/* ---- Its own queues ---- */

Test(worker_steps, after_three_jobs_of_the_slot_comes_one_of_the_queue, .timeout = 5)
{
	/* each job that runs puts one into the slot; what runs, and the hits counted by then */
	static const int rows[][2] = {{3, 1}, {4, 2}, {5, 3}, {0, 3}, {7, 4},
	                              {8, 5}, {9, 6}, {1, 6}, {11, 7}};
	struct baton__worker *worker = begin(2);

	for (bare.next = 0; bare.next < 4; bare.next++)
		cr_assert_eq(baton__worker_schedule(worker, job(bare.next)), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		cr_assert_eq(number(next_own(worker)), rows[i][0], "%zu", i);
		cr_assert_eq(worker->counts.lifo_hits, rows[i][1], "%zu", i);
		(void)baton__worker_schedule(worker, job(bare.next++));
	}
}

Test(worker_steps, own_jobs_are_found_wherever_they_are, .timeout = 5)
{
	/* streak before, job in the slot, in the queue; what is found, streak and hits after */
	static const int rows[][6] = {
		{0, 0, 0, -1, 0, 0}, {2, 0, 0, -1, 0, 0}, {3, 0, 0, -1, 0, 0},
		{2, 0, 1, 0, 0, 0},  {3, 0, 1, 0, 0, 0},  {2, 1, 1, 1, 3, 1},
		{3, 1, 1, 0, 0, 0},  {3, 1, 0, 0, 1, 1},  {0, 1, 0, 0, 1, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct baton__worker *worker = begin(2);

		worker->lifo_streak = (uint32_t)rows[i][0];
		queue_up(worker, rows[i][2]);
		if (rows[i][1])
			(void)baton__worker_schedule(worker, job(bare.next));
		cr_assert_eq(baton__worker_has_work(worker), rows[i][1] || rows[i][2], "%zu", i);
		cr_assert_eq(baton__worker_holds_jobs(worker), rows[i][1] || rows[i][2], "%zu", i);
		cr_assert_eq(number(next_own(worker)), rows[i][3], "%zu", i);
		cr_assert_eq(worker->lifo_streak, rows[i][4], "%zu", i);
		cr_assert_eq(worker->counts.lifo_hits, rows[i][5], "%zu", i);
	}
}

Test(worker_steps, a_full_queue_gives_its_older_half_away, .timeout = 5)
{
	struct baton__worker *worker = begin(2);
	struct baton__joblist list = BATON__JOBLIST_INIT;

	queue_up(worker, 256);
	cr_assert_eq(baton__injection_length(&bare.pool.injection), 0);
	queue_up(worker, 1);
	cr_assert_eq(queued(worker), 128);
	cr_assert_eq(baton__injection_length(&bare.pool.injection), 129);
	cr_assert_eq(number(next_own(worker)), 128);
	cr_assert_eq(worker->counts.hot, 0);
	/* shutdown_now has closed the injection queue: the worker keeps them, and they go first */
	worker = begin(2);
	cr_assert(baton__injection_close_if_empty(&bare.pool.injection));
	queue_up(worker, 257);
	cr_assert_eq(worker->kept.count, 129);
	for (int i = 0; i < 128; i++)
		cr_assert_eq(number(next_own(worker)), i);
	cr_assert_eq(number(next_own(worker)), 256);
	cr_assert_eq(number(next_own(worker)), 128);
	/* shutdown_now itself takes what is in the queue, and then the slot */
	worker = begin(2);
	queue_up(worker, 2);
	(void)baton__worker_schedule(worker, job(2));
	baton__worker_collect(worker, &list);
	cr_assert_eq(list.count, 3);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(number(baton__joblist_pop(&list)), i);
	baton__worker_collect(worker, &list);
	cr_assert_eq(list.count, 0);
}

Test(worker_steps, a_resource_that_leaves_is_announced_unless_it_is_the_only_job, .timeout = 5)
{
	/* in the queue, in the slot before; unannounced */
	static const int rows[][3] = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct baton__worker *worker = begin(2);

		queue_up(worker, rows[i][0]);
		if (rows[i][1])
			(void)baton__worker_schedule(worker, job(100));
		(void)woke();
		worker->running = baton__self->leaving = job(50);
		cr_assert_eq(baton__worker_schedule(worker, job(50)), 0);
		baton__self->leaving = NULL;
		cr_assert_eq(queued(worker), rows[i][0] + 1);
		cr_assert_eq(worker->unannounced, rows[i][2], "%zu", i);
		cr_assert_eq(woke(), !rows[i][2], "%zu", i);
		/* the worker blocks: then it is announced */
		for (int again = 0; again < 2; again++) {
			baton__worker_blocks(worker);
			cr_assert_not(worker->unannounced);
			cr_assert_eq(woke(), rows[i][2] && !again, "%zu", i);
		}
	}
}

Test(worker_steps, what_was_not_announced_is_when_another_job_comes_first, .timeout = 5)
{
	/* jobs in the queue, in the slot; is a worker woken? */
	static const int rows[][3] = {{1, 0, 0}, {1, 1, 1}, {2, 0, 1}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct baton__worker *worker = begin(2);

		queue_up(worker, rows[i][0]);
		if (rows[i][1])
			(void)baton__worker_schedule(worker, job(100));
		(void)woke();
		worker->unannounced = true;
		cr_assert_eq(number(next_job(worker)), rows[i][1] ? 100 : 0);
		cr_assert_not(worker->unannounced);
		cr_assert_eq(woke(), rows[i][2], "%zu", i);
	}
}

/* ---- Other queues ---- */

Test(worker_steps, fetches_its_share_of_what_comes_from_outside, .timeout = 5)
{
	/* waiting, taken: a fourth of them and one, at most 64, in batches of 8 */
	static const int rows[][2] = {{1, 1},   {3, 3},   {8, 8},   {9, 8},    {31, 8},
	                              {32, 16}, {63, 16}, {64, 24}, {247, 64}, {400, 64}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct baton__worker *worker = begin(4);

		cr_assert_null(fetch_share(worker));
		cr_assert_eq(worker->counts.injection_batches, 0);
		inject(rows[i][0]);
		cr_assert_eq(number(fetch_share(worker)), 0);
		cr_assert_eq(queued(worker) + 1, rows[i][1], "%d", rows[i][0]);
		cr_assert_eq(worker->counts.injection_batches, 1);
		cr_assert_eq(woke(), rows[i][0] > 1, "%d", rows[i][0]);
	}
}

Test(worker_steps, steals_half_and_from_the_slot_only_late, .timeout = 5)
{
	/* in the victim's queue, in its slot, may it be the slot; taken, woken */
	static const int rows[][5] = {{0, 0, 1, 0, 0}, {1, 0, 0, 1, 0}, {2, 0, 0, 1, 0},
	                              {5, 0, 0, 3, 1}, {8, 1, 1, 4, 1}, {0, 1, 0, 0, 0},
	                              {0, 1, 1, 1, 0}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (size_t from = 0; from < 4; from++) {
			struct baton__worker *worker = begin(4);
			struct baton__worker *victim = &bare.workers[2];
			const int taken = rows[i][3];

			queue_up(victim, rows[i][0]);
			if (rows[i][1])
				(void)baton__worker_schedule(victim, job(100));
			(void)woke();
			aim(worker, from);
			cr_assert_eq(number(baton__worker_steal(worker, rows[i][2])),
			             !taken       ? -1
			             : rows[i][0] ? 0
			                          : 100,
			             "%zu", i);
			cr_assert_eq(worker->counts.stolen, taken, "%zu", i);
			cr_assert_eq(worker->counts.steals, taken > 0, "%zu", i);
			cr_assert_eq(queued(worker), taken ? taken - 1 : 0, "%zu", i);
			cr_assert_eq(woke(), rows[i][4], "%zu", i);
		}
}

Test(worker_steps, the_last_searcher_that_finds_a_job_looks_for_more, .timeout = 5)
{
	/* searchers beside it, more jobs anywhere, `more`; woken */
	static const bool rows[][4] = {
		{false, false, true, false}, {false, true, false, true}, {true, true, true, false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct baton__worker *worker = begin(4);

		cr_assert(!rows[i][0] || baton__idle_try_search(&bare.pool.idle));
		worker->searching = baton__idle_try_search(&bare.pool.idle);
		cr_assert(worker->searching);
		inject(rows[i][1]);
		baton__worker_got_work(worker, rows[i][2]);
		cr_assert_not(worker->searching);
		cr_assert_eq(woke(), rows[i][3], "%zu", i);
	}
}

Test(worker_steps, evens_out_half_of_a_clear_difference, .timeout = 5)
{
	/* own jobs, the other's; moved */
	static const int rows[][3] = {{0, 0, 0}, {0, 1, 1},  {0, 2, 1},  {0, 3, 2},
	                              {3, 3, 0}, {3, 4, 1},  {4, 5, 0},  {4, 6, 1},
	                              {4, 8, 2}, {8, 10, 0}, {8, 11, 2}, {8, 20, 6}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct baton__worker *worker = begin(3);

		queue_up(worker, rows[i][0]);
		queue_up(&bare.workers[1], rows[i][1]);
		aim(worker, 1);
		worker->tuned_ns = 77;
		baton__worker_even_out(worker);
		cr_assert_eq(worker->evened_ns, 77);
		cr_assert_eq(queued(worker), rows[i][0] + rows[i][2], "%zu", i);
		cr_assert_eq(queued(&bare.workers[1]), rows[i][1] - rows[i][2], "%zu", i);
		cr_assert_eq(worker->counts.stolen, rows[i][2], "%zu", i);
		cr_assert_eq(worker->counts.steals, rows[i][2] > 0, "%zu", i);
		cr_assert_eq(woke(), rows[i][2] > 0, "%zu", i);
	}
}

Test(worker_steps, random_numbers_are_those_of_xorshift64, .timeout = 5)
{
	struct baton__worker *worker = begin(2);

	cr_assert_eq(bare.workers[1].random, 2 * worker->random);
	worker->random = 1;
	cr_assert_eq(next_random(worker), UINT64_C(1082269761));
	cr_assert_eq(next_random(worker), UINT64_C(1152992998833853505));
}

/* ---- The wheel's job ---- */

static struct baton__alarm alarm_of_test;

static int no_thread(struct baton_job *unused)
{
	(void)unused;
	return -EAGAIN;
}

/* The wheel's job, when it has set the next deadline. */
static void wheel_is_done(uint64_t deadline_ns)
{
	store_relaxed(&alarm_of_test.word,
	              deadline_ns << BATON__ALARM_BITS | BATON__ALARM_ATTACHED);
}

/* An open alarm with this deadline. */
static void open_alarm(uint64_t deadline_ns)
{
	alarm_of_test = (struct baton__alarm){.wheel = {job(900), no_thread}};
	baton__sentry_open(&alarm_of_test.sentry);
	store_relaxed(&alarm_of_test.sentry.state, BATON__SENTRY_ENDS); /* no thread */
	bare.pool.alarm = &alarm_of_test;
	wheel_is_done(deadline_ns);
}

Test(worker_steps, the_deadline_that_the_wheel_sets_is_announced_with_the_next_job, .timeout = 5)
{
	struct baton__worker *worker = begin(2);

	open_alarm(1); /* it has passed */
	worker->searching = baton__idle_try_search(&bare.pool.idle);
	cr_assert_eq(number(next_job(worker)), 900);
	cr_assert_not(woke());
	wheel_is_done(UINT64_C(1) << 58);
	queue_up(worker, 2);
	cr_assert_not(woke());
	cr_assert_eq(number(next_job(worker)), 0);
	cr_assert(woke(), "for the deadline");
	cr_assert_eq(number(next_job(worker)), 1);
	cr_assert_not(woke(), "it was announced");
}

Test(worker_steps, a_busy_worker_takes_the_wheels_job_after_its_interval, .timeout = 5)
{
	/* does the deadline come so much later than the look? */
	static const uint64_t rows[] = {0, 1};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct baton__worker *worker = begin(2);

		open_alarm(clock_ns + rows[i]);
		queue_up(worker, 3);
		worker->to_injection = 2;
		cr_assert_eq(number(next_job(worker)), 0, "its own first");
		cr_assert_eq(number(next_job(worker)), rows[i] ? 1 : 900, "%zu", i);
	}
}

Test(worker_steps, a_worker_that_has_given_up_its_deadline_sleeps_without_one, .timeout = 5)
{
	struct baton__worker *worker = begin(2);
	uint64_t claimed;

	open_alarm(1000);
	claimed = baton__alarm_claim(&alarm_of_test);
	cr_assert_eq(claimed, 1000);
	sleep_in_set(worker, claimed);
	cr_assert_eq(limited, 1);
	cr_assert_eq(unlimited, 1);
	cr_assert(woke(), "for the deadline");
}

/* ---- Hot jobs ---- */

Test(worker_steps, a_hot_job_alone_is_work_like_any_other, .timeout = 5)
{
	for (int way = 0; way < 3; way++) {
		struct baton__worker *worker = begin(2);
		struct baton__worker *thief = &bare.workers[1];
		size_t stolen = 0;

		bare.pool.policy.order = BATON_POOL_YIELDS;
		for (size_t i = 0; i < 2; i++)
			baton__worker_init(&bare.workers[i], &bare.pool, i, &bare.hots[i]);
		cr_assert_not(baton__worker_has_work(worker));
		/* a plain job comes back: behind the others, and it is announced */
		worker->entered = job(0);
		cr_assert_eq(baton__worker_schedule(worker, job(0)), 0);
		cr_assert_eq(number(baton__order_pop(&worker->order)), 0);
		cr_assert_not(worker->unannounced);
		cr_assert(woke());
		for (uint32_t i = 1; i < bare.pool.policy.hot_from; i++)
			baton__returns_count(job(0));
		cr_assert_eq(worker->counts.hot, 0);
		queue_up(worker, 1);
		cr_assert_eq(worker->counts.hot, 1);
		cr_assert(baton__worker_has_work(worker));
		cr_assert(baton__worker_holds_jobs(worker));
		cr_assert_eq(number(way == 0   ? baton__order_take(&worker->order)
		                    : way == 1 ? baton__order_pop(&worker->order)
		                               : baton__order_steal(&thief->order, &worker->order,
		                                                    &stolen)),
		             0);
		cr_assert_not(baton__worker_has_work(worker));
	}
}

/* ---- Jobs that are taken out of the queues ---- */

/* A worker, or a thread that is no worker, withdraws one job. The other jobs go back into the
 * queue, and the pool is told. */
Test(worker_steps, what_a_withdrawal_puts_back_is_announced, .timeout = 5)
{
	for (int way = 0; way < 8; way++) {
		const int others = way & 1 ? 3 : 0;
		struct baton__worker *worker = begin(2);

		inject(1 + others);
		if (way & 2)
			worker = NULL;
		cr_assert(way & 4 ? baton__pool_recall(&bare.pool, worker, job(0))
		                  : baton__pool_withdraw(&bare.pool, worker, job(0)));
		cr_assert_eq(woke(), others > 0, "way %d", way);
		cr_assert_eq(queued(&bare.workers[0]), worker ? others : 0);
		cr_assert_eq(baton__injection_length(&bare.pool.injection), worker ? 0 : others);
	}
}
