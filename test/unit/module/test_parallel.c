/* SPDX-License-Identifier: MIT */
/* Parallel loops: each index once, the first failure, nesting, tasks. */
#include "fixture.h"
#include "parallel_support.h"

Test(parallel, runs_each_index_once, .timeout = 20)
{
	static const size_t counts[] = {0, 1, 2, 3, 7, 64, 1999, 2000};
	static const size_t grains[] = {0, 1, 2, 3, 100, 5000, SIZE_MAX};

	for (size_t workers = 1; workers <= 4; workers++) {
		struct baton_pool *pool = pool_of(workers);

		for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
			for (size_t g = 0; g < sizeof(grains) / sizeof(*grains); g++) {
				struct marks *marks = marks_create(counts[c]);

				marks->grain = grains[g];
				cr_assert_eq(
					baton_parallel_for(pool, counts[c], grains[g], mark, marks),
					0);
				expect_each_once(marks);
				cr_assert_leq(atomic_load(&marks->small), 1, "the last chunk");
				if (counts[c] <= grains[g])
					cr_assert_eq(atomic_load(&marks->chunks), counts[c] > 0);
				free(marks);
			}
		}
		cr_assert_eq(baton_pool_destroy(pool), 0);
	}
}

/* The chunks of a loop too long to mark its indices. */
struct sums {
	_Atomic size_t indices;
	_Atomic size_t greatest;
	atomic_int chunks;
	size_t grain;
	atomic_int small;
};

static int sum(void *arg, size_t begin, size_t end)
{
	struct sums *sums = arg;

	atomic_fetch_add(&sums->chunks, 1);
	atomic_fetch_add(&sums->indices, end - begin);
	if (end == SIZE_MAX)
		atomic_store(&sums->greatest, end);
	else if (end - begin < sums->grain)
		atomic_fetch_add(&sums->small, 1);
	return 0;
}

Test(parallel, has_no_greatest_count_and_no_greatest_grain, .timeout = 10)
{
	static const size_t grains[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2, SIZE_MAX / 2 + 1,
	                                SIZE_MAX / 1000};
	struct baton_pool *pool = pool_of(3);

	for (size_t g = 0; g < sizeof(grains) / sizeof(*grains); g++) {
		struct sums sums = {.grain = grains[g]};

		cr_assert_eq(baton_parallel_for(pool, SIZE_MAX, grains[g], sum, &sums), 0);
		cr_assert_eq(atomic_load(&sums.indices), SIZE_MAX);
		cr_assert_eq(atomic_load(&sums.greatest), SIZE_MAX);
		cr_assert_eq(atomic_load(&sums.small), 0);
		cr_assert_leq(atomic_load(&sums.chunks), 1001);
	}
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* Chunks of a loop whose indices take a microsecond each. */
struct sizes {
	size_t count;
	size_t most; /* indices in a chunk */
	bool too_large_for_the_rest;
};

static int take_microseconds(void *arg, size_t begin, size_t end)
{
	struct sizes *sizes = arg;
	const size_t rest = sizes->count - begin;

	if (end - begin > sizes->most)
		sizes->most = end - begin;
	if (end - begin > (rest < 4 ? 1 : rest / 4))
		sizes->too_large_for_the_rest = true;
	work_for_ns((end - begin) * 1000);
	return 0;
}

Test(parallel, chunks_grow_to_50_microseconds_and_become_smaller_at_the_end, .timeout = 10)
{
	struct baton_pool *pool = pool_of(1);
	struct sizes sizes = {.count = 5000};

	cr_assert_eq(baton_parallel_for(pool, sizes.count, 0, take_microseconds, &sizes), 0);
	cr_assert_geq(sizes.most, 8, "%zu", sizes.most);
	cr_assert_leq(sizes.most, 50, "%zu", sizes.most);
	cr_assert_not(sizes.too_large_for_the_rest);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(parallel, a_worker_helps_the_caller, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	atomic_int met = 0;

	cr_assert_eq(baton_parallel_for(pool, 2, 1, meet, &met), 0);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* Four chunks that run at the same time, and note the greatest number that did. */
struct crowd {
	atomic_int now;
	atomic_int most;
};

static int crowd_in(void *arg, size_t begin, size_t end)
{
	struct crowd *crowd = arg;
	int now = atomic_fetch_add(&crowd->now, 1) + 1;
	int most = atomic_load(&crowd->most);

	(void)begin;
	(void)end;
	while (most < now && !atomic_compare_exchange_weak(&crowd->most, &most, now))
		;
	work_for_ns(20000);
	atomic_fetch_sub(&crowd->now, 1);
	return 0;
}

Test(parallel, as_many_threads_as_the_pool_has_workers_take_part, .timeout = 20)
{
	for (size_t workers = 1; workers <= 4; workers++) {
		struct baton_pool *pool = pool_of(workers);
		struct crowd crowd = {0};

		for (int round = 0; round < 20; round++)
			cr_assert_eq(baton_parallel_for(pool, 20, 1, crowd_in, &crowd), 0);
		cr_assert_leq(atomic_load(&crowd.most), (int)workers);
		cr_assert_eq(pool_stats(pool).spares_started, 0);
		cr_assert_eq(baton_pool_destroy(pool), 0);
	}
}

/* As many chunks as workers, which wait for each other. */
static int meet_four(void *arg, size_t begin, size_t end)
{
	atomic_int *met = arg;

	(void)begin;
	atomic_fetch_add(met, (int)(end - begin));
	until_at_least(met, 4);
	return 0;
}

Test(parallel, every_worker_but_one_is_invited, .timeout = 10)
{
	struct baton_pool *pool = pool_of(4);

	for (int round = 0; round < 20; round++) {
		atomic_int met = 0;

		cr_assert_eq(baton_parallel_for(pool, 4, 1, meet_four, &met), 0);
	}
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(parallel, the_first_failure_cancels_what_has_not_begun, .timeout = 20)
{
	static const size_t at[] = {0, 1, 1000, INDICES - 1};

	for (size_t workers = 1; workers <= 3; workers += 2) {
		struct baton_pool *pool = pool_of(workers);

		for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
			struct marks *marks = marks_create(INDICES);
			size_t ran = 0;

			marks->fails_at = at[i] + 1;
			cr_assert_eq(baton_parallel_for(pool, INDICES, 1, mark, marks),
			             -(int)at[i] - 1);
			for (size_t k = 0; k < INDICES; k++) {
				cr_assert_leq(atomic_load(&marks->done[k]), 1);
				ran += (size_t)atomic_load(&marks->done[k]);
			}
			cr_assert_eq(atomic_load(&marks->done[at[i]]), 1);
			if (workers == 1)
				cr_assert_leq(ran, at[i] + INDICES / 4 + 1);
			free(marks);
		}
		cr_assert_eq(baton_pool_destroy(pool), 0);
	}
}

/* Two chunks meet; the later index fails first, and then the other one. */
struct late {
	atomic_int met;
	atomic_int failed;
};

static int fail_in_turn(void *arg, size_t begin, size_t end)
{
	struct late *late = arg;

	(void)end;
	atomic_fetch_add(&late->met, 1);
	until_at_least(&late->met, 2);
	if (begin == 1)
		return 7;
	work_for_ns(5000000);
	return 8;
}

Test(parallel, the_first_failure_in_time_is_returned, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	struct late late = {0};

	cr_assert_eq(baton_parallel_for(pool, 2, 1, fail_in_turn, &late), 7);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* ---- Nested ---- */

struct nest {
	struct baton_pool *pool;
	int depth;
	atomic_int leaves;
};

struct level {
	struct nest *nest;
	int depth;
};

static int nested(void *arg, size_t begin, size_t end)
{
	struct level *level = arg;
	struct level below = {level->nest, level->depth - 1};

	for (size_t i = begin; i < end; i++) {
		if (level->depth == 1)
			atomic_fetch_add(&level->nest->leaves, 1);
		else if (baton_parallel_for(level->nest->pool, 5, 1, nested, &below))
			return -1;
	}
	return 0;
}

static void nest_job(struct baton_plain_job *job)
{
	struct work *work = work_of(job);
	struct nest nest = {.pool = work->pool};
	struct level level = {&nest, 3};

	work->result = baton_parallel_for(work->pool, 5, 1, nested, &level);
	work->number = atomic_load(&nest.leaves);
	work_finish(work);
}

Test(parallel, nests_from_outside_and_in_jobs_also_with_one_worker, .timeout = 20)
{
	for (size_t workers = 1; workers <= 3; workers++) {
		struct baton_pool *pool = pool_of(workers);
		struct nest nest = {.pool = pool};
		struct level level = {&nest, 3};
		atomic_int done = 0;
		struct work *works = works_create(20, pool, &done);

		for (size_t i = 0; i < 20; i++) {
			baton_plain_job_init(&works[i].job, nest_job, NULL);
			cr_assert_eq(baton_pool_submit(pool, &works[i].job), 0);
		}
		cr_assert_eq(baton_parallel_for(pool, 5, 1, nested, &level), 0);
		cr_assert_eq(atomic_load(&nest.leaves), 125);
		until_at_least(&done, 20);
		for (size_t i = 0; i < 20; i++) {
			cr_assert_eq(works[i].result, 0);
			cr_assert_eq(works[i].number, 125);
		}
		cr_assert_eq(pool_stats(pool).spares_started, 0);
		cr_assert_eq(baton_pool_destroy(pool), 0);
		free(works);
	}
}

static void *loop_in_call(void *arg)
{
	struct marks *marks = arg;

	return (void *)(intptr_t)baton_parallel_for(marks->pool, marks->count, 1, mark, marks);
}

Test(parallel, runs_in_a_task_on_this_thread_and_on_a_worker, .timeout = 10)
{
	for (int round = 0; round < 2; round++) {
		struct marks *marks = marks_create(INDICES);
		void *result = marks;

		fix.config.capture_max = round ? BATON_CAPTURE_NONE : 10;
		fixture_pool(2);
		marks->pool = fix.pool;
		cr_assert_eq(baton_call(&fix.resource, loop_in_call, marks, &result), 0);
		cr_assert_null(result);
		expect_each_once(marks);
		free(marks);
		fixture_end();
	}
}

/* A chunk that waits for a task of another resource, which the pool runs. */
static int call_in_chunk(void *arg, size_t begin, size_t end)
{
	void *result;

	(void)begin;
	(void)end;
	return baton_call(&fix.resource, loop_in_call, arg, &result);
}

Test(parallel, a_chunk_may_wait_for_a_resource, .timeout = 10)
{
	struct marks *marks = marks_create(1);

	fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_pool(2);
	marks->pool = fix.pool;
	cr_assert_eq(baton_parallel_for(fix.pool, 300, 1, call_in_chunk, marks), 0);
	cr_assert_geq(atomic_load(&marks->done[0]), 1);
	free(marks);
	fixture_end();
}

static void *many_loops(void *arg)
{
	struct marks *marks = arg;
	int status = 0;

	marks->caller = thread_id();
	for (int round = 0; round < scaled(50) && !status; round++) {
		for (size_t i = 0; i < marks->count; i++)
			atomic_store(&marks->done[i], 0);
		status = baton_parallel_for(marks->pool, marks->count, 3, mark, marks);
		for (size_t i = 0; i < marks->count; i++)
			if (atomic_load(&marks->done[i]) != 1)
				status = -1;
	}
	return (void *)(intptr_t)status;
}

Test(parallel, many_callers_share_a_pool, .timeout = 30)
{
	struct baton_pool *pool = pool_of(3);
	struct marks *marks[8];
	pthread_t threads[8];

	for (int i = 0; i < 8; i++) {
		marks[i] = marks_create(500);
		marks[i]->pool = pool;
		threads[i] = thread_start(many_loops, marks[i]);
	}
	for (int i = 0; i < 8; i++) {
		cr_assert_null(thread_join(threads[i]));
		free(marks[i]);
	}
	cr_assert_eq(baton_pool_destroy(pool), 0);
}
