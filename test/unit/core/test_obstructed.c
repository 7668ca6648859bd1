/* SPDX-License-Identifier: MIT */
/* Waiters that another thread obstructs, or that have nothing to do yet, sleep, and are woken. */
#include "pool_support.h"
#include "fixture.h"

/* A task of a queued resource that stays; it runs on the thread that helps. */
struct stay {
	struct baton_task task;
	sem_t entered;
	sem_t leave;
};

static int stay_run(struct baton_task *task)
{
	struct stay *stay = baton_container_of(task, struct stay, task);

	gate_open(&stay->entered);
	gate_pass(&stay->leave);
	return 0;
}

/* Waits for all of some futures. */
struct waiter {
	struct baton_future *futures[2];
	size_t count;
	atomic_int tid;
	int result;
};

static void *waiter_main(void *arg)
{
	struct waiter *waiter = arg;

	atomic_store(&waiter->tid, thread_id());
	waiter->result = baton_future_wait_all(waiter->futures, waiter->count);
	return NULL;
}

Test(obstructed, at_the_last_of_all_it_sleeps, .timeout = 10)
{
	struct baton_future promise = BATON_PROMISE_INIT;
	struct baton_future future = BATON_FUTURE_INIT;
	struct waiter helper = {.futures = {&future}, .count = 1, .result = 1};
	struct waiter waiter = {.futures = {&promise, &future}, .count = 2, .result = 1};
	pthread_t threads[2];
	struct stay stay;

	fixture_stash();
	baton_task_init(&stay.task, stay_run, NULL);
	gate_init(&stay.entered);
	gate_init(&stay.leave);
	step_init(&fix.steps[0], &fix.journal, 0, &future);
	cr_assert_eq(baton_submit_later(&fix.resource, &stay.task), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	threads[0] = thread_start(waiter_main, &helper);
	gate_pass(&stay.entered);
	threads[1] = thread_start(waiter_main, &waiter);
	until_at_least(&waiter.tid, 1);
	until_asleep(atomic_load(&waiter.tid));
	gate_open(&stay.leave);
	thread_join(threads[0]);
	cr_assert_eq(helper.result, 0);
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	thread_join(threads[1]);
	cr_assert_eq(waiter.result, 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 1));
	stash_run(&fix.stash);
	fixture_end();
}

/* The only worker of a pool, asleep in a wait for what comes to its pool afterwards. */
struct lone {
	struct baton_plain_job job;
	struct waiter waiter;
};

static void lone_run(struct baton_plain_job *job)
{
	(void)waiter_main(&baton_container_of(job, struct lone, job)->waiter);
}

Test(obstructed, by_itself_the_only_worker_runs_what_is_submitted_later, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct lone lone = {BATON_PLAIN_JOB_INIT(lone_run, NULL), {{&future}, 1, 0, 1}};

	fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_pool(1);
	step_init(&fix.steps[0], &fix.journal, 0, &future);
	cr_assert_eq(baton_pool_submit(fix.pool, &lone.job), 0);
	until_at_least(&lone.waiter.tid, 1);
	until_asleep(atomic_load(&lone.waiter.tid));
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_pool_destroy(fix.pool), 0);
	cr_assert_eq(lone.waiter.result, 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 1));
	resource_end(&fix.resource);
}
