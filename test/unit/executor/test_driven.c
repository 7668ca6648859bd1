/* SPDX-License-Identifier: MIT */
/* Executors that one thread drives: which thread that is, and how they end. */
#include "support.h"

struct asker {
	struct baton_task task;
	struct baton_future *awaited;
	int result;
};

static int asker_run(struct baton_task *task)
{
	struct asker *asker = baton_container_of(task, struct asker, task);

	asker->result = baton_future_wait(asker->awaited);
	return 0;
}

static struct baton_loop *loop_of(struct baton_resource_config *config)
{
	struct baton_loop *loop = NULL;

	MUST(baton_loop_create(&loop) == 0);
	*config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	config->executor = baton_loop_executor(loop);
	config->capture_max = BATON_CAPTURE_NONE;
	return loop;
}

Test(driven, a_loop_being_destroyed_runs_a_task_that_waits_for_a_later_one, .timeout = 10)
{
	struct baton_resource_config config;
	struct baton_loop *loop = loop_of(&config);
	struct baton_future future = BATON_FUTURE_INIT;
	struct asker asker = {BATON_TASK_INIT(asker_run, NULL), &future, 1};
	struct baton_resource resources[2];
	struct journal journal = {0};
	struct step step;

	cr_assert_eq(baton_loop_adopt(loop), 0);
	for (int i = 0; i < 2; i++)
		baton_resource_init(&resources[i], &config);
	step_init(&step, &journal, 0, &future);
	cr_assert_eq(baton_submit(&resources[0], &asker.task), 0);
	cr_assert_eq(baton_submit(&resources[1], &step.task), 0);
	baton_loop_destroy(loop);
	cr_assert_eq(asker.result, 0);
	cr_assert(journal_counts_up(&journal, 0, 1) && journal_here(&journal, 0));
	resource_end(&resources[0]);
	resource_end(&resources[1]);
}

static void *adopts(void *arg)
{
	MUST(baton_loop_adopt(arg) == 0);
	return NULL;
}

struct stranger {
	struct baton_future *awaited;
	int result;
};

static void *stranger_main(void *arg)
{
	struct stranger *stranger = arg;
	uint64_t deadline = deadline_in_ms(20);

	stranger->result = baton_future_wait_until(stranger->awaited, deadline);
	return NULL;
}

/* The dead owner's record is the only one that is free: the stranger gets it. */
Test(driven, the_heir_of_a_dead_owners_record_does_not_drive_its_loop, .timeout = 10)
{
	struct baton_resource_config config;
	struct baton_loop *loop = loop_of(&config);
	struct baton_resource own = BATON_RESOURCE_INIT(NULL);
	struct baton_future future = BATON_FUTURE_INIT;
	struct stranger stranger = {&future, 1};
	struct baton_resource resource;
	struct journal journal = {0};
	struct step mine, step;

	step_init(&mine, &journal, 0, NULL);
	cr_assert_eq(baton_submit(&own, &mine.task), 0, "this thread has a record of its own");
	thread_join(thread_start(adopts, loop));
	baton_resource_init(&resource, &config);
	step_init(&step, &journal, 1, &future);
	cr_assert_eq(baton_submit_later(&resource, &step.task), 0);
	thread_join(thread_start(stranger_main, &stranger));
	cr_assert_eq(stranger.result, -ETIMEDOUT);
	cr_assert_eq(journal.count, 1);
	cr_assert_eq(baton_loop_run(loop, 0), 1);
	cr_assert(journal_counts_up(&journal, 0, 2) && journal_here(&journal, 1));
	resource_end(&resource);
	resource_end(&own);
	baton_loop_destroy(loop);
}

struct reschedules {
	struct baton_plain_job job;
	struct baton_executor *executor;
	int left;
};

static void runs_again(struct baton_plain_job *job)
{
	struct reschedules *own = baton_container_of(job, struct reschedules, job);

	if (own->left-- > 0)
		MUST(baton_executor_schedule(own->executor, &job->job) == 0);
}

Test(driven, a_manual_run_takes_at_most_so_many_jobs_with_0_all, .timeout = 10)
{
	struct baton_manual *manual;
	struct reschedules own = {.left = 5};

	cr_assert_eq(baton_manual_create(&manual), 0);
	own.executor = baton_manual_executor(manual);
	baton_plain_job_init(&own.job, runs_again, NULL);
	cr_assert_eq(baton_executor_schedule(own.executor, &own.job.job), 0);
	cr_assert_eq(baton_manual_run(manual, 1), 1);
	cr_assert_eq(baton_manual_run(manual, 2), 2);
	cr_assert_eq(baton_manual_run(manual, 0), 3, "with the jobs that these jobs schedule");
	cr_assert_eq(baton_manual_run(manual, 0), 0);
	cr_assert_eq(baton_manual_run(manual, SIZE_MAX), 0);
	baton_manual_destroy(manual);
}
