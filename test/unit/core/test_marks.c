/* SPDX-License-Identifier: MIT */
/* Marks, of close_then and await, where tasks of their resource do not run at once. */
#include "fixture.h"
#include "pool_support.h"

struct awaiter {
	struct baton_resource *resource;
	pthread_t thread;
	atomic_int tid;
	int result;
};

static void *awaiter_main(void *arg)
{
	struct awaiter *awaiter = arg;

	atomic_store(&awaiter->tid, thread_id());
	awaiter->result = baton_resource_await(awaiter->resource);
	return NULL;
}

/* Returns when it sleeps. */
static void awaiter_start(struct awaiter *awaiter, struct baton_resource *resource)
{
	memset(awaiter, 0, sizeof(*awaiter));
	awaiter->resource = resource;
	awaiter->result = 1;
	awaiter->thread = thread_start(awaiter_main, awaiter);
	until_at_least(&awaiter->tid, 1);
	until_asleep(atomic_load(&awaiter->tid));
}

/* Limit 0: nothing of it runs on other threads than the executor's. */
static struct baton_manual *later(struct baton_resource_config *config)
{
	struct baton_manual *manual = NULL;

	MUST(baton_manual_create(&manual) == 0);
	*config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	config->executor = baton_manual_executor(manual);
	config->capture_max = BATON_CAPTURE_NONE;
	return manual;
}

Test(marks, with_limit_0_the_finaliser_of_an_idle_resource_runs_on_its_executor, .timeout = 10)
{
	struct baton_resource_config config;
	struct baton_manual *manual = later(&config);
	struct baton_resource resource;
	struct journal journal = {0};
	struct step finaliser;

	baton_resource_init(&resource, &config);
	step_init(&finaliser, &journal, 0, NULL);
	cr_assert_eq(baton_resource_close_then(&resource, &finaliser.task), 0);
	cr_assert_eq(journal.count, 0);
	cr_assert(baton_manual_run(manual, 1));
	cr_assert(journal_counts_up(&journal, 0, 1));
	baton_manual_destroy(manual);
}

Test(marks, a_finaliser_goes_behind_all_who_await, .timeout = 10)
{
	struct baton_resource_config config;
	struct baton_manual *manual = later(&config);
	struct baton_resource resource;
	struct awaiter awaiters[2];
	struct journal journal = {0};
	struct step step, finaliser;

	baton_resource_init(&resource, &config);
	step_init(&step, &journal, 0, NULL);
	step_init(&finaliser, &journal, 1, NULL);
	cr_assert_eq(baton_submit(&resource, &step.task), 0);
	cr_assert_eq(baton_resource_close_then(&resource, &finaliser.task), 0);
	awaiter_start(&awaiters[0], &resource);
	awaiter_start(&awaiters[1], &resource);
	cr_assert_eq(baton_manual_run(manual, 0), 1);
	for (int i = 0; i < 2; i++) {
		thread_join(awaiters[i].thread);
		cr_assert_eq(awaiters[i].result, 0);
	}
	cr_assert(journal_counts_up(&journal, 0, 2));
	baton_manual_destroy(manual);
}

Test(marks, the_end_of_a_manual_executor_cancels_tasks_and_answers_who_awaits, .timeout = 10)
{
	struct baton_resource_config config;
	struct baton_manual *manual = later(&config);
	struct baton_future futures[2] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT};
	struct baton_resource resource;
	struct awaiter awaiter;
	struct journal journal = {0};
	struct step steps[2];

	baton_resource_init(&resource, &config);
	for (int i = 0; i < 2; i++)
		step_init(&steps[i], &journal, i, &futures[i]);
	cr_assert_eq(baton_submit(&resource, &steps[0].task), 0);
	awaiter_start(&awaiter, &resource);
	cr_assert_eq(baton_submit(&resource, &steps[1].task), 0);
	baton_manual_destroy(manual);
	thread_join(awaiter.thread);
	cr_assert_eq(awaiter.result, 0);
	cr_assert_eq(journal.count, 0);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(baton_future_state(&futures[i]), BATON_CANCELLED);
	resource_end(&resource);
}

struct releaser {
	struct occupant *occupant;
	int tid; /* of who is to sleep first */
};

static void *releaser_main(void *arg)
{
	struct releaser *releaser = arg;

	until_asleep(releaser->tid);
	gate_open(&releaser->occupant->leave);
	return NULL;
}

/* The owner waits for what runs elsewhere: it looks for jobs to drive, finds none, and sleeps. */
Test(marks, an_owner_with_nothing_to_drive_sleeps_until_the_runner_is_done, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct releaser releaser = {&fix.occupant, thread_id()};
	pthread_t thread;

	fixture_manual();
	occupy(&fix.occupant, &fix.resource);
	step_init(&fix.steps[0], &fix.journal, 0, &future);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	thread = thread_start(releaser_main, &releaser);
	cr_assert_eq(baton_future_wait(&future), 0);
	thread_join(thread);
	thread_join(fix.occupant.thread);
	cr_assert(journal_counts_up(&fix.journal, 0, 1));
	cr_assert_not(journal_here(&fix.journal, 0));
	fixture_end();
}

/* On the only worker of a pool: before it awaits a closed resource it queues a job. */
struct closer {
	struct baton_task task;
	struct baton_resource *closed;
	struct baton_pool *pool;
	struct work other;
	struct step *finaliser;
	int results[3];
	int others; /* that had run when the await was over */
};

static int closer_run(struct baton_task *task)
{
	struct closer *closer = baton_container_of(task, struct closer, task);

	closer->results[0] = baton_pool_submit(closer->pool, &closer->other.job);
	closer->results[1] = baton_resource_close_then(closer->closed, &closer->finaliser->task);
	closer->results[2] = baton_resource_await(closer->closed);
	closer->others = atomic_load(&closer->other.ran);
	return 0;
}

Test(marks, a_worker_that_awaits_takes_the_closed_one_alone_out_of_its_queue, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource, closed;
	struct journal journal = {0};
	struct step finaliser;
	struct closer closer = {.task = BATON_TASK_INIT(closer_run, NULL),
	                        .closed = &closed,
	                        .pool = pool_of(1),
	                        .finaliser = &finaliser,
	                        .results = {1, 1, 1}};

	config.executor = baton_pool_executor(closer.pool);
	config.capture_max = BATON_CAPTURE_NONE;
	baton_resource_init(&resource, &config);
	baton_resource_init(&closed, &config);
	step_init(&finaliser, &journal, 0, NULL);
	work_init(&closer.other, work_run, closer.pool, NULL);
	cr_assert_eq(baton_submit(&resource, &closer.task), 0);
	resource_end(&resource);
	cr_assert_eq(baton_pool_destroy(closer.pool), 0);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(closer.results[i], 0);
	cr_assert(journal_counts_up(&journal, 0, 1));
	cr_assert_eq(closer.others, 0);
	cr_assert_eq(atomic_load(&closer.other.ran), 1);
}
