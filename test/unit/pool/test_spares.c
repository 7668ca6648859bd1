/* SPDX-License-Identifier: MIT */
/*
 * Spare threads take a worker's place while the worker blocks, and the bracket with which a job
 * says that it blocks.
 */
#include "support.h"

#include <baton/all.h>

#include <signal.h>
#include <sys/wait.h>

/* A plain job with a body. */
struct deed {
	struct baton_plain_job job;
	void (*body)(struct deed *deed);
	struct baton_future *future;
	atomic_int *ran;
	sem_t *gate;
	struct baton_pool *pool;
};

static void deed_run(struct baton_plain_job *job)
{
	struct deed *deed = baton_container_of(job, struct deed, job);
	atomic_int *ran = deed->ran;

	if (deed->body)
		deed->body(deed);
	atomic_fetch_add(ran, 1);
}

static void deed_submit(struct deed *deed, struct baton_pool *pool, atomic_int *ran,
                        void (*body)(struct deed *deed))
{
	baton_plain_job_init(&deed->job, deed_run, NULL);
	deed->body = body;
	deed->ran = ran;
	MUST(baton_pool_submit(pool, &deed->job) == 0);
}

static struct baton_pool *pool_with(size_t workers, size_t spares, uint64_t keep_ns)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	struct baton_pool *pool = NULL;

	options.workers = workers;
	options.spares_max = spares;
	options.spare_keep_ns = keep_ns;
	MUST(baton_pool_create(&options, &pool) == 0);
	return pool;
}

static void deed_wait(struct deed *deed)
{
	MUST(baton_future_wait(deed->future) == 0);
}

static void deed_fulfil(struct deed *deed)
{
	MUST(baton_future_complete(deed->future, 0, NULL) == 0);
}

#define WAITERS 20

Test(spares, all_workers_wait_for_what_is_submitted_last, .timeout = 20)
{
	struct baton_pool *pool = pool_with(2, 0, 0);
	struct deed deeds[WAITERS + 1];

	/* From the second round on one of several spares that rest is called. */
	for (int round = 0; round < 20; round++) {
		struct baton_future promise = BATON_PROMISE_INIT;
		const int waiters = round ? 2 : WAITERS;
		atomic_int ran = 0;

		for (int i = 0; i <= waiters; i++) {
			deeds[i].future = &promise;
			deed_submit(&deeds[i], pool, &ran, i < waiters ? deed_wait : deed_fulfil);
		}
		until_at_least(&ran, waiters + 1);
	}
	cr_assert_leq(pool_stats(pool).spares_started, BATON_POOL_SPARES);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

static struct baton_future late = BATON_FUTURE_INIT;

static int task_wait(struct baton_task *task)
{
	return baton_future_wait(&late);
}

Test(spares, workers_in_tasks_wait_for_a_task_from_outside, .timeout = 20)
{
	struct baton_pool *pool = pool_with(2, 0, 0);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource target;
	struct baton_resource waiters[4];
	struct baton_task tasks[4];
	struct baton_future futures[4];
	struct journal journal = {0};
	struct step step;

	config.capture_max = BATON_CAPTURE_NONE;
	config.executor = baton_pool_executor(pool);
	baton_resource_init(&target, &config);
	for (int i = 0; i < 4; i++) {
		baton_resource_init(&waiters[i], &config);
		baton_future_init(&futures[i]);
		baton_task_init(&tasks[i], task_wait, &futures[i]);
		cr_assert_eq(baton_submit(&waiters[i], &tasks[i]), 0);
	}
	for (int i = 0; i < 4; i++)
		while (baton_future_state(&futures[i]) == BATON_PENDING)
			sched_yield(); /* all are entered, on two workers */
	step_init(&step, &journal, 0, &late);
	cr_assert_eq(baton_submit(&target, &step.task), 0);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(baton_future_wait(&futures[i]), 0);
	cr_assert_geq(pool_stats(pool).spares_started, 2);
	for (int i = 0; i < 4; i++)
		resource_end(&waiters[i]);
	resource_end(&target);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* ---- The bracket ---- */

static void deed_block(struct deed *deed)
{
	baton_blocking_begin();
	baton_blocking_begin(); /* they nest */
	baton_blocking_end();
	gate_pass(deed->gate);
	baton_blocking_end();
}

static void deed_open(struct deed *deed)
{
	gate_open(deed->gate);
}

Test(spares, a_bracket_lets_the_only_worker_s_next_job_run, .timeout = 10)
{
	struct baton_pool *pool = pool_with(1, 0, 0);
	struct deed blocks, opens;
	atomic_int ran = 0;
	sem_t gate;

	gate_init(&gate);
	blocks.gate = opens.gate = &gate;
	deed_submit(&blocks, pool, &ran, deed_block);
	deed_submit(&opens, pool, &ran, deed_open);
	until_at_least(&ran, 2);
	cr_assert_eq(pool_stats(pool).spares_failed, 0);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

static struct deed own_next;

static void deed_give_and_block(struct deed *deed)
{
	/* To the LIFO slot: of a worker that is blocked nobody else would come to it at once. */
	own_next.gate = deed->gate;
	deed_submit(&own_next, deed->pool, deed->ran, deed_open);
	deed_block(deed);
}

Test(spares, a_bracket_hands_over_the_lifo_slot, .timeout = 10)
{
	struct baton_pool *pool = pool_with(1, 0, 0);
	struct deed blocks;
	atomic_int ran = 0;
	sem_t gate;

	gate_init(&gate);
	blocks.gate = &gate;
	blocks.pool = pool;
	deed_submit(&blocks, pool, &ran, deed_give_and_block);
	until_at_least(&ran, 2);
	cr_assert_eq(pool_stats(pool).spares_started, 1);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

static atomic_int blocked_now, blocked_most;
static int together; /* no job's sleep begins before so many jobs have been blocked at once */

static void deed_sleep(struct deed *deed)
{
	const struct timespec ms = {0, 20 * 1000000};
	int now;

	baton_blocking_begin();
	now = atomic_fetch_add(&blocked_now, 1) + 1;
	for (int most = atomic_load(&blocked_most);
	     now > most && !atomic_compare_exchange_weak(&blocked_most, &most, now);)
		continue;
	while (atomic_load(&blocked_most) < together)
		sched_yield();
	nanosleep(&ms, NULL);
	atomic_fetch_sub(&blocked_now, 1);
	baton_blocking_end();
}

Test(spares, sleeping_jobs_overlap_up_to_the_bound, .timeout = 20)
{
	struct baton_pool *pool = pool_with(1, 3, 0);
	struct deed deeds[12];
	atomic_int ran = 0;
	struct baton_pool_stats stats;

	together = 4;
	for (int i = 0; i < 12; i++)
		deed_submit(&deeds[i], pool, &ran, deed_sleep);
	until_at_least(&ran, 12);
	stats = pool_stats(pool);
	cr_assert_eq(atomic_load(&blocked_most), 4);
	cr_assert_eq(stats.spares_started, 3);
	cr_assert_gt(stats.spares_refused, 0);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(spares, spares_end_when_idle_and_come_again, .timeout = 20)
{
	struct baton_pool *pool = pool_with(1, 4, 1000000);
	atomic_int ran = 0;

	for (int round = 1; round <= 3; round++) {
		struct deed deeds[4];

		for (int i = 0; i < 4; i++)
			deed_submit(&deeds[i], pool, &ran, deed_sleep);
		until_at_least(&ran, 4 * round);
		while (pool_stats(pool).spares)
			sched_yield();
	}
	cr_assert_geq(pool_stats(pool).spares_retired, 3);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(spares, none_if_none_are_wanted, .timeout = 10)
{
	struct baton_pool *pool = pool_with(1, BATON_POOL_NO_SPARES, 0);
	struct deed deeds[3];
	atomic_int ran = 0;

	for (int i = 0; i < 3; i++)
		deed_submit(&deeds[i], pool, &ran, deed_sleep);
	until_at_least(&ran, 3);
	cr_assert_eq(atomic_load(&blocked_most), 1);
	cr_assert_eq(pool_stats(pool).spares_started, 0);
	cr_assert_gt(pool_stats(pool).spares_refused, 0);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

static int only_cpu;
static atomic_int misplaced;

static void deed_check_place(struct deed *deed)
{
	cpu_set_t set;
	pthread_attr_t attributes;
	size_t size = 0;

	deed_sleep(deed);
	if (sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) != 1 ||
	    !CPU_ISSET((size_t)only_cpu, &set))
		atomic_fetch_add(&misplaced, 1);
	MUST(pthread_getattr_np(pthread_self(), &attributes) == 0);
	MUST(pthread_attr_getstacksize(&attributes, &size) == 0);
	if (!BATON_TEST_SANITIZED && size > 512 * 1024) /* they make stacks larger */
		atomic_fetch_add(&misplaced, 1);
	MUST(pthread_attr_destroy(&attributes) == 0);
}

Test(spares, have_the_pool_s_cpus_and_stack_size, .timeout = 10)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	struct baton_pool *pool = NULL;
	struct deed deeds[4];
	atomic_int ran = 0;
	cpu_set_t set;

	cr_assert_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET((size_t)only_cpu, &set))
		only_cpu++;
	options.workers = 1;
	options.cpus = &only_cpu;
	options.cpu_count = 1;
	options.stack_size = 256 * 1024;
	cr_assert_eq(baton_pool_create(&options, &pool), 0);
	for (int i = 0; i < 4; i++)
		deed_submit(&deeds[i], pool, &ran, deed_check_place);
	until_at_least(&ran, 4);
	cr_assert_gt(pool_stats(pool).spares_started, 0);
	cr_assert_eq(atomic_load(&misplaced), 0);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* ---- The end ---- */

Test(spares, shutdown_waits_for_a_job_without_a_place, .timeout = 10)
{
	struct baton_pool *pool = pool_with(1, 1, 0);
	struct deed blocks, next;
	atomic_int ran = 0;
	sem_t gate;
	uint64_t soon = deadline_in_ms(30);

	gate_init(&gate);
	blocks.gate = &gate;
	deed_submit(&blocks, pool, &ran, deed_block);
	deed_submit(&next, pool, &ran, NULL);
	until_at_least(&ran, 1); /* a spare has the place now */
	cr_assert_eq(baton_pool_shutdown(pool), 0);
	cr_assert_eq(baton_pool_await_until(pool, soon), -ETIMEDOUT);
	gate_open(&gate);
	cr_assert_eq(baton_pool_await(pool), 0);
	cr_assert_eq(atomic_load(&ran), 2);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

static atomic_int said;

static void deed_destroy_own(struct deed *deed)
{
	deed_block(deed); /* without a place now, if the other has run */
	atomic_store(&said, baton_pool_destroy(deed->pool));
}

Test(spares, a_job_without_a_place_may_not_destroy_its_pool, .timeout = 10)
{
	struct baton_pool *pool = pool_with(1, 1, 0);
	struct deed blocks, next;
	atomic_int ran = 0;
	sem_t gate;

	gate_init(&gate);
	blocks.gate = &gate;
	blocks.pool = pool;
	deed_submit(&blocks, pool, &ran, deed_destroy_own);
	deed_submit(&next, pool, &ran, NULL);
	until_at_least(&ran, 1);
	gate_open(&gate);
	until_at_least(&ran, 2);
	cr_assert_eq(atomic_load(&said), -EDEADLK);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(spares, a_bracket_outside_a_pool_does_nothing, .timeout = 5)
{
	baton_blocking_begin();
	baton_blocking_begin();
	baton_blocking_end();
	baton_blocking_end();
	baton_blocking_end();
}

/* ---- Misuse ---- */

static void deed_forget(struct deed *deed)
{
	baton_blocking_begin();
}

static void deed_end_only(struct deed *deed)
{
	baton_blocking_end();
}

static bool dies(void (*body)(struct deed *deed))
{
	pid_t child = fork();
	int status = 0;

	MUST(child >= 0);
	if (child == 0) {
		struct baton_pool *pool = pool_with(1, 0, 0);
		struct deed deed;
		atomic_int ran = 0;

		MUST(freopen("/dev/null", "w", stderr));
		deed_submit(&deed, pool, &ran, body);
		BATON_IGNORE(baton_pool_destroy(pool));
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

Test(spares, a_job_that_ends_inside_its_bracket_is_stopped, .timeout = 10)
{
	cr_assert(dies(deed_forget));
}

Test(spares, an_end_without_a_begin_is_stopped, .timeout = 10)
{
	cr_assert(dies(deed_end_only));
}
