/* SPDX-License-Identifier: MIT */
/* The ways in which a pool ends: what runs, what is refused, what is given back. */
#include "pool_support.h"
#include "thread/thread.h"

#include <baton/blocking.h>

Test(pool_end, runs_what_was_accepted_before_destroy, .timeout = 10)
{
	for (int round = 0; round < 200; round++) {
		struct baton_pool *pool = pool_of(3);
		atomic_int done = 0;
		struct work *works = works_create(50, pool, &done);

		for (size_t i = 0; i < 50; i++)
			cr_assert_eq(baton_pool_submit(pool, &works[i].job), 0);
		cr_assert_eq(baton_pool_destroy(pool), 0);
		cr_assert_eq(atomic_load(&done), 50);
		free(works);
	}
}

Test(pool_end, ends_when_it_is_shut_down_at_any_time_of_its_sleep, .timeout = 30)
{
	for (int round = 0; round < scaled(1000); round++) {
		struct baton_pool *pool = pool_of((size_t)(1 + round % 4));

		work_for_ns((uint64_t)(round % 100) * 1000);
		cr_assert_eq(baton_pool_shutdown(pool), 0);
		cr_assert_eq(baton_pool_await(pool), 0);
		cr_assert_eq(baton_pool_destroy(pool), 0);
	}
}

static void work_shut_down(struct baton_plain_job *job)
{
	struct work *work = work_of(job);

	work->result = baton_pool_shutdown(work->pool);
	work_finish(work);
}

Test(pool_end, can_be_shut_down_inside_a_job, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	struct work *works = works_create(20, pool, NULL);
	struct work last;

	baton_plain_job_init(&works[10].job, work_shut_down, NULL);
	for (size_t i = 0; i < 20; i++) {
		int error = baton_pool_submit(pool, &works[i].job);

		cr_assert(error == 0 || error == -ESHUTDOWN);
		works[i].number = error == 0;
	}
	until_at_least(&works[10].ran, 1);
	cr_assert_eq(baton_pool_await(pool), 0);
	cr_assert_eq(works[10].result, 0);
	for (size_t i = 0; i < 20; i++)
		cr_assert_eq(atomic_load(&works[i].ran), works[i].number);
	cr_assert_eq(baton_pool_shutdown(pool), -EALREADY);
	work_init(&last, work_run, pool, NULL);
	cr_assert_eq(baton_pool_submit(pool, &last.job), -ESHUTDOWN);
	cr_assert_eq(baton_executor_schedule(baton_pool_executor(pool), &last.job.job), -ESHUTDOWN);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	free(works);
}

Test(pool_end, accepts_hand_offs_after_shutdown_until_all_has_run, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	uint64_t soon;
	struct work work;
	struct work refused;
	struct plug plug;
	atomic_int done = 0;

	plug_in(&plug, pool);
	cr_assert_eq(baton_pool_await(pool), -EINVAL);
	cr_assert_eq(baton_pool_shutdown(pool), 0);
	work_init(&refused, work_run, pool, NULL);
	for (int i = 0; i < 100; i++) {
		work_init(&work, work_run, pool, &done);
		cr_assert_eq(baton_pool_submit(pool, &refused.job), -ESHUTDOWN);
		cr_assert_eq(baton_executor_schedule(baton_pool_executor(pool), &work.job.job), 0);
		until_at_least(&done, i + 1);
	}
	soon = deadline_in_ms(20);
	cr_assert_eq(baton_pool_await_until(pool, soon), -ETIMEDOUT);
	gate_open(&plug.leave);
	cr_assert_eq(baton_pool_await(pool), 0);
	cr_assert_eq(baton_executor_schedule(baton_pool_executor(pool), &refused.job.job),
	             -ESHUTDOWN);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(pool_end, shutdown_now_returns_the_jobs_that_nobody_has_taken, .timeout = 10)
{
	struct baton_pool *pool = pool_of(1);
	struct work *works = works_create(300, pool, NULL);
	struct baton_job *jobs = NULL;
	struct baton_job *unused = NULL;
	struct plug plug;
	size_t count = 0;

	plug_in(&plug, pool);
	for (size_t i = 0; i < 300; i++)
		cr_assert_eq(baton_pool_submit(pool, &works[i].job), 0);
	cr_assert_eq(baton_pool_shutdown_now(pool, &jobs), 0);
	cr_assert_eq(baton_pool_shutdown_now(pool, &unused), -EALREADY);
	cr_assert_eq(baton_executor_schedule(baton_pool_executor(pool), &works[0].job.job),
	             -ESHUTDOWN);
	gate_open(&plug.leave);
	cr_assert_eq(baton_pool_await(pool), 0);
	while (jobs) {
		struct baton_job *next = baton_job_next(jobs);

		if (count++ % 2)
			baton_job_run(jobs);
		else
			baton_job_cancel(jobs);
		jobs = next;
	}
	cr_assert_eq(count, 300);
	for (size_t i = 0; i < 300; i++)
		cr_assert_eq(atomic_load(&works[i].ran) + atomic_load(&works[i].cancelled), 1);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	free(works);
}

struct stop {
	struct baton_pool *pool;
	struct baton_job *jobs;
};

static void *stop_now(void *arg)
{
	struct stop *stop = arg;

	work_for_ns(100000);
	MUST(baton_pool_shutdown_now(stop->pool, &stop->jobs) == 0);
	return NULL;
}

Test(pool_end, shutdown_now_racing_submits_loses_and_doubles_nothing, .timeout = 60)
{
	for (int round = 0; round < scaled(300); round++) {
		struct stop stop = {pool_of(3), NULL};
		struct work *works = works_create(2000, stop.pool, NULL);
		pthread_t thread = thread_start(stop_now, &stop);
		size_t accepted = 0;

		while (accepted < 2000 && !baton_pool_submit(stop.pool, &works[accepted].job))
			accepted++;
		thread_join(thread);
		cr_assert_eq(baton_pool_destroy(stop.pool), 0);
		while (stop.jobs) {
			struct baton_job *next = baton_job_next(stop.jobs);

			baton_job_cancel(stop.jobs);
			stop.jobs = next;
		}
		for (size_t i = 0; i < 2000; i++)
			cr_assert_eq(atomic_load(&works[i].ran) + atomic_load(&works[i].cancelled),
			             i < accepted);
		free(works);
	}
}

static void work_stop_now(struct baton_plain_job *job)
{
	struct work *work = work_of(job);
	struct baton_job *jobs = NULL;

	MUST(baton_pool_submit(work->pool, &work->others[0]->job) == 0);
	gate_pass(work->leave);
	work->result = baton_pool_shutdown_now(work->pool, &jobs);
	while (jobs) {
		struct baton_job *next = baton_job_next(jobs);

		baton_job_cancel(jobs);
		work->number++;
		jobs = next;
	}
	work_finish(work);
}

Test(pool_end, can_be_stopped_inside_a_job, .timeout = 10)
{
	struct baton_pool *pool = pool_of(1);
	struct work stopper;
	struct work child;
	struct work queued;
	sem_t leave;

	gate_init(&leave);
	work_init(&stopper, work_stop_now, pool, NULL);
	work_init(&child, work_run, pool, NULL);
	work_init(&queued, work_run, pool, NULL);
	stopper.others[0] = &child;
	stopper.leave = &leave;
	cr_assert_eq(baton_pool_submit(pool, &stopper.job), 0);
	cr_assert_eq(baton_pool_submit(pool, &queued.job), 0);
	gate_open(&leave);
	until_at_least(&stopper.ran, 1);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	cr_assert_eq(stopper.result, 0);
	cr_assert_eq(atomic_load(&child.ran) + atomic_load(&child.cancelled), 1);
	cr_assert_eq(atomic_load(&queued.ran) + atomic_load(&queued.cancelled), 1);
}

/* Withdraws a job that is nowhere, so that all the others go through its hands. */
struct withdrawer {
	struct baton_pool *pool;
	atomic_int rounds;
	atomic_int stop;
	pthread_t thread;
};

static void *withdrawer_main(void *arg)
{
	struct withdrawer *withdrawer = arg;
	struct baton_executor *executor = baton_pool_executor(withdrawer->pool);
	struct baton_plain_job absent = BATON_PLAIN_JOB_INIT(work_run, NULL);

	while (!atomic_load(&withdrawer->stop)) {
		MUST(!executor->_ops->withdraw(executor, &absent.job));
		atomic_fetch_add(&withdrawer->rounds, 1);
	}
	return NULL;
}

static void withdrawer_start(struct withdrawer *withdrawer, struct baton_pool *pool)
{
	withdrawer->pool = pool;
	atomic_init(&withdrawer->rounds, 0);
	atomic_init(&withdrawer->stop, 0);
	withdrawer->thread = thread_start(withdrawer_main, withdrawer);
}

static void withdrawer_stop(struct withdrawer *withdrawer)
{
	atomic_store(&withdrawer->stop, 1);
	thread_join(withdrawer->thread);
}

Test(pool_end, shutdown_now_returns_what_is_in_a_withdrawers_hands, .timeout = 30)
{
	for (int round = 0; round < scaled(20); round++) {
		struct baton_pool *pool = pool_of(1);
		struct work *works = works_create(1000, pool, NULL);
		struct baton_job *jobs = NULL;
		struct withdrawer withdrawer;
		struct plug plug;
		size_t count = 0;

		plug_in(&plug, pool);
		for (size_t i = 0; i < 1000; i++)
			cr_assert_eq(baton_pool_submit(pool, &works[i].job), 0);
		withdrawer_start(&withdrawer, pool);
		until_at_least(&withdrawer.rounds, 1);
		cr_assert_eq(baton_pool_shutdown_now(pool, &jobs), 0);
		withdrawer_stop(&withdrawer);
		for (; jobs; jobs = baton_job_next(jobs))
			count++;
		cr_assert_eq(count, 1000);
		for (size_t i = 0; i < 1000; i++)
			cr_assert_eq(atomic_load(&works[i].ran), 0, "by whom?");
		gate_open(&plug.leave);
		cr_assert_eq(baton_pool_destroy(pool), 0);
		free(works);
	}
}

static void work_run_here(struct baton_plain_job *job)
{
	struct work *work = work_of(job);

	work->thread = pthread_self();
	work_finish(work);
}

Test(pool_end, does_not_come_while_a_withdrawer_has_jobs_in_its_hands, .timeout = 60)
{
	for (int round = 0; round < scaled(50); round++) {
		struct baton_pool *pool = pool_of(2);
		struct work works[20];
		struct withdrawer withdrawer;

		withdrawer_start(&withdrawer, pool);
		until_at_least(&withdrawer.rounds, 1);
		for (size_t i = 0; i < 20; i++) {
			work_init(&works[i], work_run_here, pool, NULL);
			cr_assert_eq(baton_pool_submit(pool, &works[i].job), 0);
		}
		cr_assert_eq(baton_pool_shutdown(pool), 0);
		cr_assert_eq(baton_pool_await(pool), 0);
		withdrawer_stop(&withdrawer);
		for (size_t i = 0; i < 20; i++) {
			cr_assert_eq(atomic_load(&works[i].ran), 1);
			cr_assert(!pthread_equal(works[i].thread, withdrawer.thread));
		}
		cr_assert_eq(baton_pool_destroy(pool), 0);
	}
}

static void *same_member(void *arg)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct journal journal = {0};
	struct step step;

	step_init(&step, &journal, 0, NULL);
	MUST(baton_submit(&resource, &step.task) == 0);
	/* A bracket and a wait ask the executor whose thread this is. */
	baton_blocking_begin();
	baton_blocking_end();
	return baton__self->member == arg ? arg : NULL;
}

Test(pool_end, a_later_thread_with_a_workers_record_is_none_of_its, .timeout = 10)
{
	struct baton_pool *pool = pool_of(1);
	const struct baton_executor *executor = baton_pool_executor(pool);
	const struct baton__thread *records = baton__thread_first();
	pthread_t thread;

	cr_assert_eq(baton_pool_destroy(pool), 0);
	for (const struct baton__thread *record = records; record; record = record->next)
		cr_assert_neq((const void *)record->member, (const void *)executor);
	thread = thread_start(same_member, (void *)(uintptr_t)executor);
	cr_assert_null(thread_join(thread));
}
