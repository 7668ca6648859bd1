/* SPDX-License-Identifier: MIT */
/* When baton_should_yield() tells a long task or job to make room, and when not. */
#include "support.h"

#define MS ((uint64_t)1000000)

struct asker {
	struct baton_task task;
	struct baton_resource *resource; /* NULL, or where it submits `others` before it asks */
	struct baton_task *other;
	uint64_t spin_ns;
	bool before, after, at_once;
};

static int asker_run(struct baton_task *task)
{
	struct asker *asker = baton_container_of(task, struct asker, task);

	asker->before = baton_should_yield();
	if (asker->other)
		MUST(baton_submit(asker->resource, asker->other) == 0);
	asker->at_once = baton_should_yield();
	work_for_ns(asker->spin_ns);
	asker->after = baton_should_yield();
	return 0;
}

static int no_op(struct baton_task *task)
{
	return 0;
}

Test(should_yield, is_false_outside_tasks_and_for_a_task_that_nobody_waits_for, .timeout = 5)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL, NULL, NULL);
	struct asker asker = {.task = BATON_TASK_INIT(asker_run, NULL)};

	cr_assert_not(baton_should_yield());
	cr_assert_eq(baton_submit(&resource, &asker.task), 0);
	cr_assert_not(asker.before);
	cr_assert_not(asker.after);
	resource_end(&resource);
}

Test(should_yield, a_task_that_waits_at_the_same_resource_counts, .timeout = 5)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL, NULL, NULL);
	struct baton_resource another = BATON_RESOURCE_INIT(NULL, NULL, NULL);
	struct baton_task other = BATON_TASK_INIT(no_op, NULL);
	struct asker asker = {BATON_TASK_INIT(asker_run, NULL), &another, &other, 0, 1, 1, 1};

	cr_assert_eq(baton_submit(&resource, &asker.task), 0);
	cr_assert_not(asker.before);
	cr_assert_not(asker.after, "the other resource's task has run within the submit");
	baton_task_init(&other, no_op, NULL);
	baton_task_init(&asker.task, asker_run, NULL);
	asker.resource = &resource;
	cr_assert_eq(baton_submit(&resource, &asker.task), 0);
	cr_assert_not(asker.before);
	cr_assert(asker.at_once);
	resource_end(&resource);
	resource_end(&another);
}

/* A batch of two: the second is asked within the drain. */
Test(should_yield, a_time_limit_counts_from_the_second_task_or_the_first_question, .timeout = 5)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	struct asker askers[2] = {
		{.task = BATON_TASK_INIT(asker_run, NULL), .spin_ns = 3 * MS},
		{.task = BATON_TASK_INIT(asker_run, NULL), .spin_ns = 3 * MS},
	};
	struct baton_task *tasks[] = {&askers[0].task, &askers[1].task};

	config.capture_limit_ns = 2 * MS;
	baton_resource_init(&resource, NULL, NULL, &config);
	cr_assert_eq(baton_submit_batch(&resource, tasks, 2), 0);
	cr_assert(askers[0].before, "its neighbour waits");
	cr_assert_not(askers[1].before);
	cr_assert(askers[1].after);
	config.capture_limit_ns = 60 * (1000 * MS);
	for (int i = 0; i < 2; i++)
		baton_task_init(&askers[i].task, asker_run, NULL);
	cr_assert_eq(baton_submit_batch(&resource, tasks, 2), 0);
	cr_assert_not(askers[1].after);
	resource_end(&resource);
}

struct job {
	struct baton_plain_job job;
	struct baton_pool *pool;
	struct baton_plain_job *own; /* submitted before it asks */
	sem_t entered, leave;
	bool before, after;
	atomic_int done;
};

static void job_run(struct baton_plain_job *plain)
{
	struct job *job = baton_container_of(plain, struct job, job);

	job->before = baton_should_yield();
	if (job->own)
		MUST(baton_pool_submit(job->pool, job->own) == 0);
	gate_open(&job->entered);
	gate_pass(&job->leave);
	job->after = baton_should_yield();
	atomic_store(&job->done, 1);
}

static void nothing(struct baton_plain_job *plain)
{
}

/* A job that runs when all workers are busy, with one from outside, its own, or none behind it. */
static bool told(bool outside, bool own)
{
	struct baton_pool *pool = pool_of(1);
	struct job job = {.job = BATON_PLAIN_JOB_INIT(job_run, NULL), .pool = pool};
	struct baton_plain_job other = BATON_PLAIN_JOB_INIT(nothing, NULL);

	job.own = own ? &other : NULL;
	gate_init(&job.entered);
	gate_init(&job.leave);
	cr_assert_eq(baton_pool_submit(pool, &job.job), 0);
	gate_pass(&job.entered);
	cr_assert(!outside || baton_pool_submit(pool, &other) == 0);
	gate_open(&job.leave);
	until_at_least(&job.done, 1);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	cr_assert_not(job.before);
	return job.after;
}

Test(should_yield, a_job_that_no_worker_is_free_for_counts, .timeout = 10)
{
	cr_assert_not(told(false, false));
	cr_assert(told(true, false));
	cr_assert(told(false, true));
}

Test(should_yield, so_does_a_job_of_the_loop_that_runs_the_task, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct asker asker = {.task = BATON_TASK_INIT(asker_run, NULL)};
	struct baton_plain_job other = BATON_PLAIN_JOB_INIT(nothing, NULL);
	struct baton_resource resource;
	struct baton_loop *loop = NULL;

	cr_assert_eq(baton_loop_create(&loop), 0);
	cr_assert_eq(baton_loop_adopt(loop), 0);
	config.executor = baton_loop_executor(loop);
	config.capture_limit = 0;
	baton_resource_init(&resource, NULL, NULL, &config);
	for (int others = 0; others < 2; others++) {
		cr_assert_eq(baton_submit(&resource, &asker.task), 0);
		if (others)
			cr_assert_eq(baton_executor_schedule(config.executor, &other.job), 0);
		cr_assert_eq(baton_loop_run(loop, 0), 1 + others);
		cr_assert_eq(asker.after, others == 1);
		baton_task_init(&asker.task, asker_run, NULL);
	}
	cr_assert_eq(baton_resource_close(&resource), 0);
	cr_assert_eq(baton_resource_await(&resource, NULL), 0);
	baton_loop_destroy(loop);
}
