/* SPDX-License-Identifier: MIT */
/* Failing calls in: creating a pool, and its jobs. The end of a pool is in pool_end.c. */
#include "job.h"

#include <baton/blocking.h>

#include <sched.h>

#define WORKERS 3
#define JOBS 4
#define LOOK_US 50

static bool stats_balance(const struct baton_pool *pool, uint64_t jobs)
{
	struct baton_pool_stats sum;
	struct baton_pool_stats one;
	uint64_t executed = 0;

	for (size_t i = 0; i < USE(baton_pool_workers(pool)); i++) {
		EXPECT(TRY(baton_pool_worker_stats_read(pool, i, &one)) == 0);
		executed += one.executed;
	}
	EXPECT(TRY(baton_pool_worker_stats_read(pool, USE(baton_pool_workers(pool)), &one)) ==
	       -EINVAL);
	USE(baton_pool_stats_read(pool, &sum));
	return executed == jobs && sum.executed == jobs;
}

/* Is it one that works? */
static void use_pool(struct baton_pool *pool)
{
	struct job job;

	job_init(&job, pool);
	INSIST(baton_pool_submit(pool, &job.plain), job_untouched(&job));
	gate_pass(&job.over);
	EXPECT(job_ran(&job));
}

SCENARIO(pool, create)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	struct baton_pool *pool = NULL;

	options.workers = WORKERS;
	INSIST(baton_pool_create(&options, &pool), !pool);
	EXPECT(USE(baton_pool_workers(pool)) == WORKERS);
	use_pool(pool);
	EXPECT(stats_balance(pool, 1));
	EXPECT(TRY(baton_pool_destroy(pool)) == 0);
}

SCENARIO(pool, create_with_all_options)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	struct baton_pool *pool = NULL;
	int cpu = sched_getcpu();

	options.workers = WORKERS;
	options.name = "a long name";
	options.stack_size = 200000;
	options.cpus = &cpu;
	options.cpu_count = 1;
	INSIST(baton_pool_create(&options, &pool), !pool);
	use_pool(pool);
	EXPECT(TRY(baton_pool_destroy(pool)) == 0);
}

/* The block of such a pool has a second ring for each worker. */
SCENARIO(pool, create_with_two_rings)
{
	const struct baton_pool_policy policy = {.order = BATON_POOL_YIELDS, .hot_from = 1};
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	struct baton_pool *pool = NULL;
	struct baton_pool_stats stats;

	options.workers = WORKERS;
	options.policy = &policy;
	options.count_accepted = true;
	INSIST(baton_pool_create(&options, &pool), !pool);
	for (int i = 0; i < JOBS; i++)
		use_pool(pool);
	EXPECT(stats_balance(pool, JOBS));
	USE(baton_pool_stats_read(pool, &stats));
	EXPECT(stats.accepted == JOBS);
	EXPECT(TRY(baton_pool_destroy(pool)) == 0);
}

/* A sleep or a wake that fails loses no job and no submitter. */
SCENARIO(pool, waits_for_room)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	struct baton_pool *pool = NULL;
	struct baton_pool_stats stats;
	struct job jobs[JOBS];

	options.workers = 1;
	options.waiting_max = 1;
	INSIST(baton_pool_create(&options, &pool), !pool);
	for (int i = 0; i < JOBS; i++) {
		job_init(&jobs[i], pool);
		if (i % 2)
			INSIST(baton_pool_submit_wait(pool, &jobs[i].plain),
			       job_untouched(&jobs[i]));
		else
			INSIST(baton_pool_submit_wait_until(pool, &jobs[i].plain, in_ms(LONG_MS)),
			       job_untouched(&jobs[i]));
	}
	for (int i = 0; i < JOBS; i++) {
		gate_pass(&jobs[i].over);
		EXPECT(job_ran(&jobs[i]));
	}
	USE(baton_pool_stats_read(pool, &stats));
	EXPECT(stats.waiting == 0);
	EXPECT(TRY(baton_pool_destroy(pool)) == 0);
}

static void block(struct baton_plain_job *plain)
{
	struct plug *plug = baton_container_of(plain, struct plug, plain);

	gate_open(&plug->entered);
	USE(baton_blocking_begin());
	gate_pass(&plug->leave);
	USE(baton_blocking_end());
}

/* Where no spare can be had, the job behind the one that blocks waits for it. */
SCENARIO(pool, spare)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	struct baton_pool *pool = NULL;
	struct baton_pool_stats stats;
	struct plug plug;
	struct job job;

	options.workers = 1;
	INSIST(baton_pool_create(&options, &pool), !pool);
	gate_init(&plug.entered);
	gate_init(&plug.leave);
	baton_plain_job_init(&plug.plain, block, NULL);
	INSIST(baton_pool_submit(pool, &plug.plain), true);
	gate_pass(&plug.entered);
	job_init(&job, pool);
	INSIST(baton_pool_submit(pool, &job.plain), job_untouched(&job));
	/* Ended by the spare, or by the count of a failure. */
	do
		USE(baton_pool_stats_read(pool, &stats));
	while (!atomic_load(&job.runs) && !stats.spares_failed);
	gate_open(&plug.leave);
	gate_pass(&job.over);
	EXPECT(job_ran(&job));
	EXPECT(TRY(baton_pool_destroy(pool)) == 0);
}

struct sleeper {
	struct baton_plain_job plain;
	struct baton_future promise;
	sem_t entered;
	sem_t over;
};

static void sleep_in_job(struct baton_plain_job *plain)
{
	struct sleeper *sleeper = baton_container_of(plain, struct sleeper, plain);

	gate_open(&sleeper->entered);
	INSIST(baton_future_wait(&sleeper->promise), true);
	gate_open(&sleeper->over);
}

/* The same for a wait. */
SCENARIO(pool, spare_for_a_wait)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	struct baton_pool *pool = NULL;
	struct baton_pool_stats stats;
	struct sleeper sleeper;
	struct job job;
	int cpu = sched_getcpu();

	options.workers = 1;
	options.cpus = &cpu;
	options.cpu_count = 1;
	options.spare_keep_ns = UINT64_MAX;
	INSIST(baton_pool_create(&options, &pool), !pool);
	gate_init(&sleeper.entered);
	gate_init(&sleeper.over);
	USE(baton_promise_init(&sleeper.promise));
	baton_plain_job_init(&sleeper.plain, sleep_in_job, NULL);
	INSIST(baton_pool_submit(pool, &sleeper.plain), true);
	gate_pass(&sleeper.entered);
	job_init(&job, pool);
	INSIST(baton_pool_submit(pool, &job.plain), job_untouched(&job));
	/* As in `spare`. */
	do {
		fault_pause_us(LOOK_US);
		USE(baton_pool_stats_read(pool, &stats));
	} while (!atomic_load(&job.runs) && !stats.spares_failed);
	EXPECT(TRY(baton_future_complete(&sleeper.promise, 0, NULL)) == 0);
	gate_pass(&sleeper.over);
	gate_pass(&job.over);
	EXPECT(job_ran(&job));
	EXPECT(TRY(baton_pool_destroy(pool)) == 0);
}

/* Asks the system how many CPUs there are; where it cannot, one worker will do. */
SCENARIO(pool, create_with_defaults)
{
	struct baton_pool *pool = NULL;

	INSIST(baton_pool_create(NULL, &pool), !pool);
	EXPECT(USE(baton_pool_workers(pool)) >= 1);
	use_pool(pool);
	EXPECT(TRY(baton_pool_destroy(pool)) == 0);
}

SCENARIO(pool, default)
{
	struct baton_pool *pool = NULL;
	struct baton_pool *again = NULL;

	INSIST(baton_pool_default(&pool), !pool);
	INSIST(baton_pool_default(&again), !again);
	EXPECT(again == pool);
	use_pool(pool);
	EXPECT(TRY(baton_pool_destroy(pool)) == -EPERM);
	use_pool(pool);
	EXPECT(TRY(baton_pool_default_destroy()) == 0);
	EXPECT(TRY(baton_pool_default_destroy()) == 0);
	INSIST(baton_pool_default(&again), again == pool);
	use_pool(again);
}

static void *get_default(void *arg)
{
	struct baton_pool **pool = arg;

	INSIST(baton_pool_default(pool), !*pool);
	return NULL;
}

/* Who waits for a creator that fails becomes the next. */
SCENARIO(pool, default_for_two)
{
	struct baton_pool *pools[2] = {NULL, NULL};
	pthread_t other = thread_start(get_default, &pools[0]);

	(void)get_default(&pools[1]);
	thread_join(other);
	EXPECT(pools[0] && pools[0] == pools[1]);
}

static void *submit_jobs(void *arg)
{
	struct job *jobs = arg;

	for (int i = 0; i < JOBS; i++)
		INSIST(baton_pool_submit(jobs[i].pool, &jobs[i].plain), job_untouched(&jobs[i]));
	return NULL;
}

SCENARIO(pool, submit)
{
	struct baton_pool *pool = pool_get();
	struct job jobs[JOBS];
	struct job last;

	for (int i = 0; i < JOBS; i++)
		job_init(&jobs[i], pool);
	elsewhere(submit_jobs, jobs);
	for (int i = 0; i < JOBS; i++) {
		gate_pass(&jobs[i].over);
		EXPECT(job_ran(&jobs[i]));
	}
	job_init(&last, pool);
	INSIST(baton_executor_schedule(USE(baton_pool_executor(pool)), &last.plain.job),
	       job_untouched(&last));
	gate_pass(&last.over);
	EXPECT(job_ran(&last));
	EXPECT(stats_balance(pool, JOBS + 1));
	pool_put(pool);
}

struct nest {
	struct job outer;
	struct job inner;
};

static void run_nest(struct baton_plain_job *plain)
{
	struct nest *nest = baton_container_of(plain, struct nest, outer.plain);

	INSIST(baton_pool_submit(nest->outer.pool, &nest->inner.plain),
	       job_untouched(&nest->inner));
	gate_open(&nest->outer.over);
}

SCENARIO(pool, submit_in_a_job)
{
	struct baton_pool *pool = pool_get();
	struct nest nest;

	job_init(&nest.outer, pool);
	job_init(&nest.inner, pool);
	nest.outer.plain._run = run_nest;
	INSIST(baton_pool_submit(pool, &nest.outer.plain), true);
	gate_pass(&nest.outer.over);
	gate_pass(&nest.inner.over);
	EXPECT(job_ran(&nest.inner));
	pool_put(pool);
}

/* A resource that goes through the pool many times. */
SCENARIO(pool, resource)
{
	struct baton_pool *pool = pool_get();
	const struct baton_resource_config config = {
		.capture_max = 1,
		.quantum = 1,
		.quantum_ns = 1000,
		.capture_ns = 1000,
		.executor = USE(baton_pool_executor(pool)),
	};
	struct baton_resource resource = BATON_RESOURCE_INIT(&config);
	struct occupant occupant;
	struct probe probes[JOBS];

	occupy(&occupant, &resource);
	for (int i = 0; i < JOBS; i++) {
		probe_init(&probes[i]);
		INSIST(baton_submit(&resource, &probes[i].task), probe_untouched(&probes[i]));
	}
	leave(&occupant);
	for (int i = 0; i < JOBS; i++) {
		INSIST(baton_future_wait_until(&probes[i].future, in_ms(LONG_MS)), true);
		EXPECT(probe_done(&probes[i]));
	}
	resource_end(&resource);
	pool_put(pool);
}
