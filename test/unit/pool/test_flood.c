/* SPDX-License-Identifier: MIT */
/*
 * Up to ten million jobs wait in a pool (L12). Nothing may depend on how many there are: how often
 * a job is moved, how many jobs one step moves, how far jobs run out of their order, how long the
 * oldest job from outside waits. Steps are counted, not timed. A job is moved when a queue reverses
 * the chain in which it is, or when it is pushed to a run queue.
 */
#include "bare_pool.h"

#include "queue/joblist.h"
#include "queue/runqueue.h"

static uint64_t total;

static struct baton__joblist counted_reversed(struct baton_job *newest)
{
	struct baton__joblist list = baton__joblist_reversed(newest);

	total += list.count;
	return list;
}

static bool counted_push(struct baton__runqueue *queue, struct baton_job *job)
{
	total++;
	return baton__runqueue_push(queue, job);
}

#define baton__joblist_reversed counted_reversed
#define baton__runqueue_push counted_push

#include "pool/park.c"
#include "pool/vacancy.c"
#include "pool/worker.c"
#include "pool/steal.c"
#include "queue/injection.c"
#include "pool/withdraw.c"

enum { FEW = 1000, SOME = 100000, MANY = 10000000 };

/* A growing number of jobs, and what the steps with them came to. */
struct flood {
	struct baton_job *jobs;
	size_t count;
	size_t next; /* the one that is pushed next */
	size_t highest;
	size_t ran;
	size_t back;  /* at most so many places behind a later one */
	size_t burst; /* at most so many moved by one step */
};

static struct flood *flood_of(size_t count)
{
	struct flood *flood = calloc(1, sizeof(*flood));

	MUST(flood);
	flood->count = count;
	flood->jobs = calloc(count, sizeof(*flood->jobs));
	MUST(flood->jobs);
	total = 0;
	return flood;
}

static void flood_end(struct flood *flood)
{
	free(flood->jobs);
	free(flood);
}

static bool is_of(const struct flood *flood, const struct baton_job *job)
{
	return job >= flood->jobs && job < flood->jobs + flood->count;
}

static void push_next(struct flood *flood, struct baton__injection *queue)
{
	MUST(baton__injection_push(queue, &flood->jobs[flood->next++]) == 0);
}

static void run_one(struct flood *flood, const struct baton_job *job)
{
	size_t number = (size_t)(job - flood->jobs);

	MUST(is_of(flood, job));
	flood->ran++;
	if (number > flood->highest)
		flood->highest = number;
	else if (flood->highest - number > flood->back)
		flood->back = flood->highest - number;
}

static struct baton__injection *queue_of_test(void)
{
	static struct baton__injection queue;

	baton__injection_init(&queue);
	return &queue;
}

/* Takes jobs as a worker does, `share` at a time. */
static void take_some(struct flood *flood, struct baton__injection *queue, size_t share)
{
	struct baton__joblist list = BATON__JOBLIST_INIT;
	uint64_t before = total;
	struct baton_job *job;

	baton__injection_fetch(queue, share, &list);
	if (total - before > flood->burst)
		flood->burst = (size_t)(total - before);
	cr_assert_leq(list.count, share + 31, "it fits into a run queue");
	while ((job = baton__joblist_pop(&list)))
		run_one(flood, job);
}

/* `rate`: jobs come while others are taken; 0: all come first. */
static struct flood *through_the_queue(size_t count, size_t share, size_t rate)
{
	struct baton__injection *queue = queue_of_test();
	struct flood *flood = flood_of(count);

	while (flood->next < (rate ? count / 2 : count))
		push_next(flood, queue);
	while (flood->ran < count) {
		for (size_t i = 0; i < rate && flood->next < count; i++)
			push_next(flood, queue);
		take_some(flood, queue, share);
	}
	cr_assert(baton__injection_is_empty(queue));
	cr_assert_eq(baton__injection_length(queue), 0);
	cr_assert(baton__injection_close_if_empty(queue), "nothing is left of them");
	return flood;
}

Test(flood, a_job_is_moved_as_often_and_in_as_short_steps_however_many_wait, .timeout = 60)
{
	/* jobs taken at a time; jobs that come meanwhile; jobs at most */
	static const size_t rows[][3] = {
		{1, 0, MANY}, {64, 0, MANY / 10}, {1, 20, MANY / 10}, {64, 64, MANY / 10}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (size_t count = FEW; count <= (size_t)scaled((int)rows[i][2]); count *= 10) {
			struct flood *flood = through_the_queue(count, rows[i][0], rows[i][1]);

			cr_assert_leq(total, 3 * count, "%zu, %zu: %lu", i, count, total);
			cr_assert_leq(flood->burst, 5000U, "%zu, %zu", i, count);
			cr_assert_eq(flood->back, 0U, "%zu, %zu: in order", i, count);
			flood_end(flood);
		}
}

/* ---- A worker ---- */

enum { OWN = 200 };

/* A worker with `own` jobs that always come back, and `count` jobs from outside. Each job takes
 * `job_ns`. The answer: how many own jobs ran in a row, at most. */
static size_t through_the_worker(struct flood *flood, size_t own, uint64_t job_ns)
{
	struct baton__worker *worker = begin(2);
	size_t in_a_row = 0;
	size_t most = 0;

	worker->tuned_ns = clock_ns;
	total = 0;
	queue_up(worker, (int)own);
	while (flood->next < flood->count)
		push_next(flood, &bare.pool.injection);
	while (flood->ran < flood->count) {
		struct baton_job *job = next_job(worker);

		MUST(job);
		clock_ns += job_ns;
		if (is_of(flood, job)) {
			run_one(flood, job);
			in_a_row = 0;
			continue;
		}
		baton__worker_put_back(worker, job);
		total--; /* that was no move, but the job that comes back */
		if (++in_a_row > most)
			most = in_a_row;
	}
	cr_assert_null(worker->fetched);
	return most;
}

static void with_a_worker(size_t own, uint64_t job_ns)
{
	size_t back = 0;
	size_t most = 0;

	for (size_t count = FEW; count <= (size_t)scaled(MANY / 10); count *= 10) {
		struct flood *flood = flood_of(count);
		size_t row = through_the_worker(flood, own, job_ns);

		cr_assert_leq(total, 4 * count + own, "%zu, %zu: %lu moves", own, count, total);
		if (count <= SOME && flood->back > back)
			back = flood->back;
		if (count <= SOME && row > most)
			most = row;
		cr_assert_leq(flood->back, back, "%zu, %zu: %zu places", own, count, flood->back);
		cr_assert_leq(row, most, "%zu, %zu: %zu own jobs", own, count, row);
		flood_end(flood);
	}
	cr_assert_leq(back, 2U * BATON_RUNQUEUE_SLOTS);
	cr_assert_leq(most, 61U);
}

Test(flood, a_worker_moves_jobs_from_outside_once_into_its_queue, .timeout = 60)
{
	/* own jobs; what a job takes */
	static const uint64_t rows[][2] = {{0, 50}, {0, 5000}, {1, 5000}, {OWN, 50}, {OWN, 5000}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		with_a_worker(rows[i][0], rows[i][1]);
}

/* ---- Other operations, while many jobs wait ---- */

static void recalls(struct baton__worker *worker)
{
	cr_assert_not(baton__pool_recall(&bare.pool, worker, job(0)));
}

static void steals(struct baton__worker *worker)
{
	cr_assert_null(baton__worker_steal(worker, true));
}

static void steals_from_a_full_queue(struct baton__worker *worker)
{
	queue_up(&bare.workers[1], BATON_RUNQUEUE_SLOTS);
	cr_assert(baton__worker_steal(worker, true));
}

static void evens_out(struct baton__worker *worker)
{
	queue_up(&bare.workers[1], BATON_RUNQUEUE_SLOTS);
	aim(worker, 1);
	baton__worker_even_out(worker);
	cr_assert_eq(queued(worker), 128);
}

static void overflows(struct baton__worker *worker)
{
	queue_up(worker, BATON_RUNQUEUE_SLOTS + 1);
	cr_assert_eq(queued(worker), 128);
}

static void fetches(struct baton__worker *worker)
{
	cr_assert(fetch_share(worker));
}

static void looks(struct baton__worker *worker)
{
	cr_assert(baton__pool_has_work(&bare.pool));
	cr_assert_not(baton__worker_holds_jobs(worker));
	cr_assert_gt(baton__injection_length(&bare.pool.injection), 0);
	cr_assert_not(baton__injection_close_if_empty(&bare.pool.injection));
}

/* Operations that concern some of the jobs: moves are bounded by a number. */
Test(flood, what_concerns_some_jobs_costs_the_same_however_many_wait, .timeout = 30)
{
	static const struct {
		void (*operate)(struct baton__worker *worker);
		size_t moves;
	} rows[] = {{recalls, 0},
	            {steals, 0},
	            {looks, 0},
	            {fetches, 5000},
	            {overflows, 600},
	            {evens_out, 600},
	            {steals_from_a_full_queue, 600}};

	for (size_t count = FEW; count <= (size_t)scaled(MANY / 10); count *= 10) {
		struct flood *flood = flood_of(count);

		for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
			struct baton__worker *worker = begin(3);

			flood->next = 0;
			while (flood->next < count)
				push_next(flood, &bare.pool.injection);
			total = 0;
			rows[i].operate(worker);
			cr_assert_leq(total, rows[i].moves, "%zu, %zu: %lu", i, count, total);
		}
		flood_end(flood);
	}
}

/* A withdrawal concerns all jobs: each is moved a few times, and the order stays. */
Test(flood, a_withdrawal_puts_all_others_back_in_their_order, .timeout = 30)
{
	for (size_t count = FEW; count <= (size_t)scaled(MANY / 10); count *= 10)
		for (int outside = 0; outside < 2; outside++) {
			struct baton__worker *worker = begin(2);
			struct flood *flood = flood_of(count);
			struct baton_job *wanted = &flood->jobs[count / 2];

			while (flood->next < count)
				push_next(flood, &bare.pool.injection);
			total = 0;
			cr_assert(
				baton__pool_withdraw(&bare.pool, outside ? NULL : worker, wanted));
			cr_assert_leq(total, 6 * count, "%zu: %lu", count, total);
			while (flood->ran < count - 1)
				run_one(flood, next_job(worker));
			cr_assert_leq(flood->back, 128U, "%zu: %zu", count, flood->back);
			cr_assert_not(baton__worker_has_work(worker));
			cr_assert(baton__injection_is_empty(&bare.pool.injection));
			flood_end(flood);
		}
}

/* What a busy worker has fetched, and not queued, is there for thieves. */
Test(flood, what_a_worker_has_at_hand_is_stolen_withdrawn_and_collected, .timeout = 10)
{
	for (int way = 0; way < 4; way++) {
		struct baton__worker *worker = begin(3);
		struct baton__worker *thief = &bare.workers[1];
		struct baton__joblist list = BATON__JOBLIST_INIT;
		size_t stolen = 0;

		queue_up(worker, BATON_RUNQUEUE_SLOTS / 2);
		inject(8);
		cr_assert_eq(number(fetch(worker, 1)), 128);
		cr_assert_eq(queued(worker), 128);
		cr_assert(worker->fetched);
		cr_assert(baton__worker_has_work(worker));
		while (way < 3 && queued(worker) > 0)
			(void)baton__order_pop(&worker->order);
		cr_assert(baton__worker_has_work(worker));
		cr_assert(baton__worker_holds_jobs(worker));
		if (way == 0) {
			cr_assert_eq(number(baton__worker_steal(thief, false)), 129);
			stolen = thief->counts.stolen;
			cr_assert_eq(stolen, 7);
			cr_assert_null(worker->fetched);
			for (int i = 130; i < 136; i++)
				cr_assert_eq(number(next_own(thief)), i);
		} else if (way == 1) {
			for (int i = 129; i < 136; i++)
				cr_assert_eq(number(next_own(worker)), i);
			cr_assert_null(next_own(worker));
		} else if (way == 2) {
			baton__worker_collect(worker, &list);
			for (int i = 129; i < 136; i++)
				cr_assert_eq(number(baton__joblist_pop(&list)), i);
			cr_assert_eq(list.count, 0);
		} else {
			cr_assert(baton__pool_withdraw(&bare.pool, worker, job(131)));
			cr_assert_not(baton__pool_withdraw(&bare.pool, worker, job(131)));
		}
		cr_assert_eq(baton__worker_has_work(worker), way == 3);
	}
}
