/* SPDX-License-Identifier: MIT */
/* The pool at work: every job once, no wake-up lost, newest first, stealing, counting. */
#include "pool_support.h"

#include <baton/blocking.h>

enum { SUBMITTERS = 4, EACH = 20000 };

struct submitters {
	struct baton_pool *pool;
	struct work *works;
	atomic_int next;
	atomic_int failed;
	int each;
};

static void *submit_all(void *arg)
{
	struct submitters *all = arg;
	int first = atomic_fetch_add(&all->next, 1) * all->each;

	for (int i = first; i < first + all->each; i++)
		if (baton_pool_submit(all->pool, &all->works[i].job))
			atomic_fetch_add(&all->failed, 1);
	return NULL;
}

static void check_submitters(size_t workers, int each)
{
	struct submitters all = {.pool = pool_of(workers), .each = each};
	size_t count = (size_t)(SUBMITTERS * each);
	atomic_int done = 0;
	pthread_t threads[SUBMITTERS];

	all.works = works_create(count, all.pool, &done);
	for (int i = 0; i < SUBMITTERS; i++)
		threads[i] = thread_start(submit_all, &all);
	for (int i = 0; i < SUBMITTERS; i++)
		thread_join(threads[i]);
	until_at_least(&done, (int)count);
	cr_assert_eq(atomic_load(&all.failed), 0);
	cr_assert_eq(baton_pool_destroy(all.pool), 0);
	for (size_t i = 0; i < count; i++)
		cr_assert_eq(atomic_load(&all.works[i].ran), 1);
	free(all.works);
}

Test(pool, runs_each_job_once_for_many_submitters, .timeout = 60)
{
	check_submitters(1, scaled(EACH));
	check_submitters(2, scaled(EACH));
	check_submitters(5, scaled(EACH));
}

Test(pool, has_more_than_64_workers, .timeout = 60)
{
	check_submitters(100, scaled(EACH / 4));
}

Test(pool, takes_more_jobs_than_the_ring_has_room_for, .timeout = 60)
{
	enum { BURST = 200000 };
	struct baton_pool *pool = pool_of(1);
	atomic_int done = 0;
	struct work *works = works_create(BURST, pool, &done);
	struct plug plug;

	plug_in(&plug, pool);
	for (size_t i = 0; i < BURST; i++)
		cr_assert_eq(baton_pool_submit(pool, &works[i].job), 0);
	gate_open(&plug.leave);
	until_at_least(&done, BURST);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	for (size_t i = 0; i < BURST; i++)
		cr_assert_eq(atomic_load(&works[i].ran), 1);
	free(works);
}

Test(pool, wakes_for_every_job_without_time_outs, .timeout = 120)
{
	struct baton_pool *pool = pool_of(3);
	atomic_int done = 0;
	int count = scaled(20000);

	for (int i = 0; i < count; i++) {
		struct work work;

		work_init(&work, work_run, pool, &done);
		if (i % 8 == 0)
			until_all_asleep(pool);
		cr_assert_eq(baton_pool_submit(pool, &work.job), 0);
		until_at_least(&done, i + 1);
	}
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* ---- On a worker ---- */

static void work_fork(struct baton_plain_job *job)
{
	struct work *work = work_of(job);

	for (int i = 0; i < 3 && work->others[i]; i++)
		MUST(baton_pool_submit(work->pool, &work->others[i]->job) == 0);
	work_finish(work);
}

static void work_number(struct baton_plain_job *job)
{
	struct work *work = work_of(job);

	work->number = atomic_load(work->done);
	work_finish(work);
}

Test(pool, runs_the_newest_job_of_a_worker_first, .timeout = 10)
{
	struct baton_pool *pool = pool_of(1);
	atomic_int done = 0;
	struct work parent;
	struct work child[3];

	work_init(&parent, work_fork, pool, NULL);
	for (int i = 0; i < 3; i++) {
		work_init(&child[i], work_number, pool, &done);
		parent.others[i] = &child[i];
	}
	cr_assert_eq(baton_pool_submit(pool, &parent.job), 0);
	until_at_least(&done, 3);
	cr_assert_eq(child[2].number, 0);
	cr_assert_eq(child[0].number, 1);
	cr_assert_eq(child[1].number, 2);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* Puts a job into its worker's LIFO slot, and stays until that has run. */
static void work_await_child(struct baton_plain_job *job)
{
	struct work *work = work_of(job);

	MUST(baton_pool_submit(work->pool, &work->others[0]->job) == 0);
	until_at_least(&work->others[0]->ran, 1);
	work_finish(work);
}

Test(pool, lets_others_run_the_job_in_the_slot_of_a_stuck_worker, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	atomic_int done = 0;

	for (int i = 0; i < 100; i++) {
		struct work parent;
		struct work child;

		work_init(&parent, work_await_child, pool, &done);
		work_init(&child, work_run, pool, NULL);
		parent.others[0] = &child;
		if (i % 2)
			until_all_asleep(pool);
		cr_assert_eq(baton_pool_submit(pool, &parent.job), 0);
		until_at_least(&done, i + 1);
	}
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* A tree of jobs: each submits two more until the depth is reached. */
struct branch {
	struct baton_plain_job job;
	struct baton_pool *pool;
	atomic_int *done;
	int depth;
};

static void branch_run(struct baton_plain_job *job)
{
	struct branch *branch = baton_container_of(job, struct branch, job);

	for (int i = 0; i < 2 && branch->depth > 0; i++) {
		struct branch *child = malloc(sizeof(*child));

		MUST(child);
		*child = *branch;
		child->depth--;
		MUST(baton_pool_submit(child->pool, &child->job) == 0);
	}
	atomic_fetch_add(branch->done, 1);
	free(branch);
}

Test(pool, runs_a_tree_of_jobs_on_all_workers_and_counts_them, .timeout = 60)
{
	struct baton_pool *pool = pool_of(4);
	atomic_int done = 0;
	int depth = BATON_TEST_SANITIZED ? 12 : 16;
	struct branch *root = malloc(sizeof(*root));
	struct baton_pool_stats sum;
	struct baton_pool_stats one;
	uint64_t executed = 0;

	baton_plain_job_init(&root->job, branch_run, NULL);
	root->pool = pool;
	root->done = &done;
	root->depth = depth;
	cr_assert_eq(baton_pool_submit(pool, &root->job), 0);
	until_at_least(&done, (2 << depth) - 1);
	baton_pool_stats_read(pool, &sum);
	cr_assert_eq(sum.executed, (2U << depth) - 1);
	for (size_t i = 0; i < 4; i++) {
		cr_assert_eq(baton_pool_worker_stats_read(pool, i, &one), 0);
		executed += one.executed;
	}
	cr_assert_eq(executed, sum.executed);
	cr_assert_gt(sum.lifo_hits, 0);
	cr_assert_geq(sum.injection_batches, 1);
	cr_assert_eq(baton_pool_worker_stats_read(pool, 4, &one), -EINVAL);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* ---- With resources ---- */

struct turn {
	struct baton_task task;
	int *turns; /* one worker alone writes them */
	atomic_int *done;
	int resource;
	bool blocks;
};

static int turn_run(struct baton_task *task)
{
	struct turn *turn = baton_container_of(task, struct turn, task);
	int number = atomic_load(turn->done);

	if (turn->blocks)
		baton_blocking_begin();
	if (turn->blocks)
		baton_blocking_end();
	turn->turns[number] = turn->resource;
	atomic_store(turn->done, number + 1); /* last touch */
	return 0;
}

static void put_behind_the_others(bool blocks)
{
	enum { RESOURCES = 3, TASKS = 5 };
	struct baton_pool *pool = pool_of(1);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resources[RESOURCES];
	struct turn turns[RESOURCES * TASKS];
	int order[RESOURCES * TASKS];
	atomic_int done = 0;
	struct plug plug;

	config.capture_max = BATON_CAPTURE_NONE;
	config.quantum = 1;
	config.executor = baton_pool_executor(pool);
	plug_in(&plug, pool);
	for (int i = 0; i < RESOURCES * TASKS; i++) {
		struct baton_resource *resource = &resources[i / TASKS];

		if (i % TASKS == 0)
			baton_resource_init(resource, &config);
		baton_task_init(&turns[i].task, turn_run, NULL);
		turns[i].turns = order;
		turns[i].done = &done;
		turns[i].resource = i / TASKS;
		turns[i].blocks = blocks;
		cr_assert_eq(baton_submit(resource, &turns[i].task), 0);
	}
	gate_open(&plug.leave);
	until_at_least(&done, RESOURCES * TASKS);
	for (int i = 0; i < RESOURCES * TASKS; i++)
		cr_assert_eq(order[i], i % RESOURCES);
	for (int i = 0; i < RESOURCES; i++)
		resource_end(&resources[i]);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(pool, puts_a_resource_behind_the_others_after_its_quantum, .timeout = 10)
{
	put_behind_the_others(false);
	put_behind_the_others(true);
}

/* ---- Evening out ---- */

enum { LEFT = 20 };

/* Fills its worker's queues, and stays. */
static void fill_run(struct baton_plain_job *job)
{
	struct work *fill = work_of(job);

	for (int i = 0; i < LEFT; i++)
		MUST(baton_pool_submit(fill->pool, &fill->others[0][i].job) == 0);
	work_stay(job);
}

/* Submits itself until all jobs but the one in the slot have run. Its worker is never idle. */
static void busy_run(struct baton_plain_job *job)
{
	struct work *busy = work_of(job);

	if (busy->entered) {
		gate_open(busy->entered);
		gate_pass(busy->leave);
		busy->entered = NULL;
	}
	if (atomic_load(busy->others[0]->done) < LEFT - 1)
		MUST(baton_pool_submit(busy->pool, job) == 0);
	else
		work_finish(busy);
}

Test(pool, counts_the_jobs_that_a_busy_worker_takes_from_a_stuck_one, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	struct baton_pool_stats stats;
	struct plug plugs[2];
	atomic_int done = 0, ended = 0;
	struct work *works = works_create(LEFT, pool, &done);
	baton_job_fn runs[2] = {busy_run, fill_run};

	for (int i = 0; i < 2; i++) {
		work_init(&plugs[i].work, runs[i], pool, &ended);
		gate_init(&plugs[i].entered);
		gate_init(&plugs[i].leave);
		plugs[i].work.entered = &plugs[i].entered;
		plugs[i].work.leave = &plugs[i].leave;
		plugs[i].work.others[0] = works;
		cr_assert_eq(baton_pool_submit(pool, &plugs[i].work.job), 0);
		gate_pass(&plugs[i].entered);
	}
	gate_open(&plugs[0].leave);
	until_at_least(&ended, 1);
	baton_pool_stats_read(pool, &stats);
	cr_assert_geq(stats.stolen, LEFT - 1);
	cr_assert_leq(stats.stolen, LEFT, "the job in the slot, too, once the worker is idle");
	gate_open(&plugs[1].leave);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	free(works);
}
