/* SPDX-License-Identifier: MIT */
/* A place whose thread blocks is taken by a spare when the block has lasted. The library's clock is
 * the test's own: it stands still unless a test moves it, so that a block is as long as it is said
 * to be, however long the machine takes. */
#include "support.h"

#include <baton/all.h>

#include "base/atomic.h"
#include "pool/pool.h"
#include "pool/vacancy.h"
#include "pool/worker.h"

#define LASTING_NS 50000
#define LOOKS 50
#define SHORT_BLOCKS 4 /* in a row, after which a pool takes the next one for short, too */

/* Later than 0, which says never, and long ago for the kernel: no sleep until then lasts. */
static atomic_uint_least64_t now_ns_of_all = 1000000000;
static atomic_uint looks;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	uint64_t ns = atomic_load(&now_ns_of_all);

	if (clock != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, clock, time);
	atomic_fetch_add(&looks, 1);
	*time = (struct timespec){(time_t)(ns / 1000000000U), (long)(ns % 1000000000U)};
	return 0;
}

/* A job that leaves another one in its worker's queue, then blocks. */
struct block {
	struct baton_plain_job job;
	struct baton_plain_job other;
	struct baton_pool *pool;
	uint64_t lasts_ns;
	pthread_t thread;
	pthread_t other_thread;
	atomic_bool other_ran;
	bool taken; /* a spare has run the other one meanwhile */
	atomic_int over;
};

static void run_other(struct baton_plain_job *job)
{
	struct block *block = baton_container_of(job, struct block, other);

	block->other_thread = pthread_self();
	atomic_store(&block->other_ran, true);
	atomic_fetch_add(&block->over, 1);
}

static void run_block(struct baton_plain_job *job)
{
	struct block *block = baton_container_of(job, struct block, job);
	unsigned before;

	block->thread = pthread_self();
	baton_plain_job_init(&block->other, run_other, NULL);
	MUST(baton_pool_submit(block->pool, &block->other) == 0);
	baton_blocking_begin();
	atomic_fetch_add(&now_ns_of_all, block->lasts_ns);
	before = atomic_load(&looks);
	/* Until a spare has come, or has looked again and again and has not taken the place. */
	while (!atomic_load(&block->other_ran) && atomic_load(&looks) - before < LOOKS)
		sched_yield();
	baton_blocking_end();
	block->taken = atomic_load(&block->other_ran);
	atomic_fetch_add(&block->over, 1);
}

static struct baton_pool *pool_of_one(void)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	struct baton_pool *pool = NULL;

	options.workers = 1;
	options.spare_keep_ns = UINT64_MAX;
	MUST(baton_pool_create(&options, &pool) == 0);
	return pool;
}

/* Blocks for so long: did a spare take the place? */
static bool taken(struct baton_pool *pool, uint64_t lasts_ns)
{
	static struct block block;

	memset(&block, 0, sizeof(block));
	block.pool = pool;
	block.lasts_ns = lasts_ns;
	baton_plain_job_init(&block.job, run_block, NULL);
	MUST(baton_pool_submit(pool, &block.job) == 0);
	until_at_least(&block.over, 2);
	cr_assert_neq(block.taken, pthread_equal(block.thread, block.other_thread) != 0);
	return block.taken;
}

/* Jobs that block while there is nothing else to do, and so come back to their places. */
static void run_shortly(struct baton_plain_job *job)
{
	struct block *block = baton_container_of(job, struct block, job);

	baton_blocking_begin();
	baton_blocking_end();
	atomic_fetch_add(&block->over, 1);
}

static void block_shortly(struct baton_pool *pool, int count)
{
	struct block block = {.pool = pool};

	for (int i = 0; i < count; i++) {
		baton_plain_job_init(&block.job, run_shortly, NULL);
		MUST(baton_pool_submit(pool, &block.job) == 0);
		until_at_least(&block.over, i + 1);
	}
}

Test(vacancy, short_blocks_cost_no_place_and_one_spare_watches, .timeout = 20)
{
	struct baton_pool *pool = pool_of_one();
	struct baton_pool_stats stats;

	for (int i = 0; i < scaled(100); i++)
		cr_assert_not(taken(pool, 0));
	cr_assert_not(taken(pool, LASTING_NS - 1));
	baton_pool_stats_read(pool, &stats);
	cr_assert_eq(stats.spares_started, 1);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(vacancy, a_block_that_lasts_costs_the_place, .timeout = 20)
{
	struct baton_pool *pool = pool_of_one();

	cr_assert(taken(pool, LASTING_NS));
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(vacancy, after_a_block_that_lasted_the_next_ones_are_taken_to_last, .timeout = 20)
{
	struct baton_pool *pool = pool_of_one();

	for (int round = 0; round < scaled(20); round++) {
		cr_assert(taken(pool, LASTING_NS));
		for (int i = 0; i < 2 * SHORT_BLOCKS; i++)
			cr_assert(taken(pool, 0), "the spare comes at once");
		block_shortly(pool, SHORT_BLOCKS - 1);
		cr_assert(taken(pool, 0), "still");
		block_shortly(pool, 1);
		cr_assert_not(taken(pool, 0));
	}
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* The spare is the test: it sleeps until moments that have passed for the kernel. */
Test(vacancy, a_spare_watches_twice_as_long_each_time_as_long_as_brackets_begin, .timeout = 5)
{
	struct baton_pool *pool = pool_of_one();
	struct baton__watch watch = {0};

	for (uint64_t span_ns = LASTING_NS; span_ns < 64 * LASTING_NS; span_ns *= 2) {
		atomic_fetch_add(&now_ns_of_all, 1);
		baton__vacancy_begin(&pool->workers[0], false);
		atomic_fetch_add(&now_ns_of_all, 1);
		cr_assert(baton__vacancy_watch(pool, &watch));
		cr_assert_eq(watch.span_ns, span_ns < 32 * LASTING_NS ? span_ns : 32 * LASTING_NS);
		cr_assert_not(baton__vacancy_watch(pool, &watch), "no bracket has begun since");
	}
	atomic_fetch_add(&now_ns_of_all, 1);
	baton__vacancy_begin(&pool->workers[0], false);
	store_relaxed(&pool->haste, 1);
	cr_assert_not(baton__vacancy_watch(pool, &watch), "brackets last");
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

static uint64_t kernel_ns(void)
{
	struct timespec time;

	MUST(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time) == 0);
	return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

Test(vacancy, a_spare_that_watches_sleeps, .timeout = 5)
{
	struct baton_pool *pool = pool_of_one();
	struct baton__watch watch = {0};

	for (uint64_t span_ns = LASTING_NS; span_ns < 64 * LASTING_NS; span_ns *= 2) {
		atomic_store(&now_ns_of_all, kernel_ns());
		baton__vacancy_begin(&pool->workers[0], false);
		cr_assert(baton__vacancy_watch(pool, &watch));
		cr_assert_geq(kernel_ns(), watch.since_ns + watch.span_ns);
	}
	cr_assert_eq(baton_pool_destroy(pool), 0);
}
