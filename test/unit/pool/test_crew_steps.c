/* SPDX-License-Identifier: MIT */
/*
 * The single steps of places and spares, without threads: the test writes the counts of `staff`,
 * and looks at what a step makes of them. Starting, joining and pinning a thread are counted.
 */
#include "pool_support.h"

#include "pool/spawn.h"

static struct {
	int error; /* of each start */
	int started, joined, pinned;
} made;

static int thread_started(struct baton_pool *pool)
{
	made.started++;
	return made.error;
}

static void thread_joined(struct baton__mate *mate)
{
	made.joined++;
}

static int thread_pinned(const struct baton__worker *worker)
{
	made.pinned++;
	return -EINVAL;
}

#define baton__spawn_spare thread_started
#define baton__join_mate thread_joined
#define baton__pin thread_pinned
#include "pool/crew.c"

enum { WORKERS = 3 };

static struct baton_pool pool;
static struct baton__worker workers[WORKERS];
static struct baton__sleeper sleepers[WORKERS];
static struct baton__mate mates[WORKERS + 1];

static uint64_t staff_of(uint64_t vacant, uint64_t away, uint64_t coming, uint64_t resting)
{
	return vacant * BATON__STAFF_VACANT + away * BATON__STAFF_AWAY +
	       coming * BATON__STAFF_COMING + resting * BATON__STAFF_RESTING;
}

/* Anew: each place has its first thread, one worker sleeps. */
static void begin(uint64_t staff)
{
	memset(&pool, 0, sizeof(pool));
	memset(&made, 0, sizeof(made));
	memset(mates, 0, sizeof(mates));
	MUST(baton__thread_attach() == 0);
	pool.worker_count = WORKERS;
	pool.workers = workers;
	pool.mates = mates;
	pool.mate_count = WORKERS + 1;
	pool.threads = WORKERS;
	pool.threads_max = WORKERS + 1;
	pool.staff = staff;
	baton__idle_init(&pool.idle, sleepers, WORKERS);
	baton__injection_init(&pool.injection);
	for (uint32_t i = 0; i < WORKERS; i++) {
		baton__worker_init(&workers[i], &pool, i, NULL);
		workers[i].holder = i + 1;
	}
	for (uint32_t i = 0; i <= WORKERS; i++) {
		mates[i].pool = &pool;
		mates[i].index = i;
	}
	(void)baton__idle_enter(&pool.idle, 2, false, false);
}

static bool woke(void)
{
	return baton__idle_asleep(&pool.idle) == 0;
}

Test(crew_steps, a_call_takes_a_spare_that_rests_or_starts_one, .timeout = 5)
{
	static const struct {
		uint32_t vacant, coming, resting;
		bool reserved;
		int error;
		enum called called;
		int coming_more, resting_less, started;
	} rows[] = {
		{0, 0, 1, true, 0, NEEDLESS, 0, 0, 0},      {1, 1, 1, true, 0, CALLED, 0, 0, 0},
		{1, 2, 1, true, 0, CALLED, 0, 0, 0},        {1, 0, 0, false, 0, MISSING, 0, 0, 0},
		{1, 0, 1, false, 0, CALLED, 1, 1, 0},       {1, 0, 2, true, 0, CALLED, 1, 1, 0},
		{1, 0, 0, true, 0, CALLED, 1, 0, 1},        {2, 1, 1, false, 0, CALLED, 1, 1, 0},
		{1, 0, 0, true, -EAGAIN, MISSING, 1, 0, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t before = staff_of(rows[i].vacant, 7, rows[i].coming, rows[i].resting);
		bool reserved = rows[i].reserved;

		begin(before);
		made.error = rows[i].error;
		cr_assert_eq(call_or_start(&pool, &reserved), rows[i].called, "%zu", i);
		cr_assert_eq(pool.staff,
		             before + staff_of(0, 0, (uint64_t)rows[i].coming_more, 0) -
		                     staff_of(0, 0, 0, (uint64_t)rows[i].resting_less),
		             "%zu", i);
		cr_assert_eq(pool.calls, rows[i].resting_less, "%zu", i);
		cr_assert_eq(made.started, rows[i].started, "%zu", i);
		cr_assert_eq(reserved, rows[i].reserved && !rows[i].started, "%zu", i);
	}
}

Test(crew_steps, a_pool_without_free_threads_starts_a_spare_unless_it_has_all, .timeout = 5)
{
	static const struct {
		bool busy;
		uint32_t vacant, threads;
		int error;
		int status, started, coming;
		uint64_t refused, failed;
		bool stuck; /* if asked the next time */
	} rows[] = {
		{true, 1, 3, 0, 0, 1, 1, 0, 0, false},
		{true, 3, 3, 0, 0, 1, 1, 0, 0, true},
		{false, 1, 3, 0, 0, 0, 0, 0, 0, false},
		{true, 1, 4, 0, 1, 0, 0, 1, 0, false},
		{true, 3, 4, 0, 1, 0, 0, 1, 0, true},
		{true, 3, 3, -EAGAIN, 1, 1, 0, 0, 1, true},
		{true, 2, 3, -EAGAIN, 1, 1, 0, 0, 1, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		begin(staff_of(rows[i].vacant, 0, 0, 0));
		pool.threads = rows[i].threads;
		made.error = rows[i].error;
		cr_assert_eq(baton__crew_call(&pool, rows[i].busy), rows[i].status, "%zu", i);
		cr_assert_eq(made.started, rows[i].started, "%zu", i);
		cr_assert_eq(pool.threads,
		             rows[i].threads + (uint32_t)(rows[i].started && !rows[i].error));
		cr_assert_eq(pool.staff, staff_of(rows[i].vacant, 0, (uint64_t)rows[i].coming, 0),
		             "%zu", i);
		cr_assert_eq(pool.crew_counts.refused, rows[i].refused, "%zu", i);
		cr_assert_eq(pool.crew_counts.failed, rows[i].failed, "%zu", i);
		cr_assert_eq(baton__crew_stuck(&pool.executor), rows[i].stuck, "%zu", i);
	}
}

Test(crew_steps, a_pool_may_end_when_no_thread_is_away, .timeout = 5)
{
	/* state, away; may it end; away before the last came home: is a worker woken? */
	static const uint32_t rows[][4] = {{0, 0, false, false},
	                                   {BATON__POOL_SHUTDOWN, 0, true, false},
	                                   {BATON__POOL_SHUTDOWN, 1, false, true},
	                                   {BATON__POOL_SHUTDOWN, 2, false, false},
	                                   {BATON__POOL_STOP, 1, false, false},
	                                   {0, 1, false, false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		begin(staff_of(1, rows[i][1], 1, 1));
		pool.state = rows[i][0];
		cr_assert_eq(baton__pool_may_end(&pool), rows[i][2], "%zu", i);
		come_home(&pool, pool.staff);
		cr_assert_eq(woke(), rows[i][3], "%zu", i);
	}
}

Test(crew_steps, a_thread_that_blocks_leaves_its_place_and_comes_back, .timeout = 5)
{
	static struct baton_job running;

	/* the place was taken meanwhile, the block was taken to last */
	for (uint32_t taken = 0; taken < 2; taken++)
		for (int lasts = 0; lasts < 2; lasts++) {
			struct baton__mate *mate = &mates[1];

			begin(0);
			pool.haste = 3;
			baton__worker_become(&workers[1]);
			workers[1].running = &running;
			baton__crew_blocks(mate, lasts);
			baton__crew_blocks(mate, !lasts); /* nested: the outer one counts */
			cr_assert_eq(pool.staff, staff_of(1, 1, 0, 0));
			cr_assert_eq(workers[1].holder, 0);
			cr_assert_eq(workers[1].vacant_ns == 0, lasts);
			cr_assert_null(baton__worker_current());
			cr_assert_not(woke(), "no job waits");
			cr_assert_eq(any_vacant(&pool), true);
			workers[1].running = NULL;
			if (taken)
				cr_assert_eq(take_any(&mates[3]), &workers[1], "in haste");
			baton__crew_unblocks(mate);
			cr_assert_null(baton__worker_current(), "still inside the outer one");
			baton__crew_unblocks(mate);
			cr_assert_eq(pool.staff, staff_of(taken, taken, 0, 0));
			cr_assert_eq(workers[1].holder, taken ? 4 : 2);
			cr_assert_eq(baton__worker_current(), taken ? NULL : &workers[1]);
			cr_assert_eq(workers[1].running, taken ? NULL : &running);
			cr_assert_eq(pool.haste, 3 - (uint32_t)(!taken && !lasts));
			cr_assert_eq(any_vacant(&pool), false);
			baton__worker_become(NULL);
			/* without a place it leaves none */
			baton__crew_blocks(mate, false);
			baton__crew_unblocks(mate);
			cr_assert_eq(pool.staff, staff_of(taken, taken, 0, 0));
		}
	/* a job in the queues that it leaves, and no worker awake but this one */
	begin(0);
	MUST(baton__injection_push(&pool.injection, &running) == 0);
	baton__worker_become(&workers[0]);
	baton__crew_blocks(&mates[0], true);
	cr_assert(woke());
}

Test(crew_steps, a_spare_takes_a_vacant_place_or_rests_and_retires, .timeout = 5)
{
	/* a place: counted out of VACANT and of what the spare was, and pinned */
	for (uint32_t away = 0; away < 2; away++) {
		begin(staff_of(1, away, !away, 0));
		workers[1].holder = 0;
		workers[1].vacant_ns = 0;
		cr_assert_eq(find_place(&mates[3], away ? BATON__STAFF_AWAY : BATON__STAFF_COMING),
		             &workers[1]);
		cr_assert_eq(pool.staff, 0);
		cr_assert_eq(workers[1].holder, 4);
		cr_assert_eq(made.pinned, 1);
		/* none, and nothing to wait for: it retires, and joins the one before it */
		pool.staff = staff_of(0, away, !away, 0);
		pool.retired = away;
		pool.state = BATON__POOL_SHUTDOWN;
		cr_assert_null(
			find_place(&mates[3], away ? BATON__STAFF_AWAY : BATON__STAFF_COMING));
		cr_assert_eq(pool.staff, 0);
		cr_assert_eq(pool.retired, 4);
		cr_assert_eq(made.joined, away);
		cr_assert_eq(pool.crew_counts.retired, 1);
		cr_assert_eq(woke(), away, "the last that was away");
	}
}

Test(crew_steps, a_spare_rests_until_a_call_or_the_end, .timeout = 5)
{
	static const struct {
		uint32_t calls;
		uint64_t resting;
		bool called;
		uint32_t calls_after;
		uint64_t resting_after;
	} rows[] = {
		{1, 0, true, 0, 0},
		{3, 1, true, 2, 1},
		{CALLS_END | 1, 1, true, CALLS_END, 1},
		{CALLS_END, 2, false, CALLS_END, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		begin(staff_of(0, 0, 0, rows[i].resting));
		pool.calls = rows[i].calls;
		pool.spare_keep_ns = UINT64_MAX;
		cr_assert_eq(rest_until_called(&mates[3]), rows[i].called, "%zu", i);
		cr_assert_eq(pool.calls, rows[i].calls_after, "%zu", i);
		cr_assert_eq(pool.staff, staff_of(0, 0, 0, rows[i].resting_after), "%zu", i);
		cr_assert_eq(pool.retired, 0);
	}
	begin(0);
	pool.calls = 5;
	baton__crew_wake_all(&pool);
	cr_assert_eq(pool.calls, CALLS_END | 5);
}

Test(crew_steps, a_thread_that_ends_is_counted_out_and_looks_for_work, .timeout = 5)
{
	static struct baton_job waiting;

	for (int vacant = 0; vacant < 2; vacant++)
		for (int jobs = 0; jobs < 2; jobs++) {
			begin(0);
			pool.state = BATON__POOL_STOP;
			if (jobs)
				MUST(baton__injection_push(&pool.injection, &waiting) == 0);
			workers[0].holder = vacant ? 0 : 1;
			mates[1].first = &workers[1];
			baton__crew_serve(&mates[1]);
			cr_assert_null(baton__mate_current());
			cr_assert_eq(pool.threads, WORKERS - 1);
			cr_assert_eq(woke(), vacant && jobs);
		}
}
