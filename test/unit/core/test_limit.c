/* SPDX-License-Identifier: MIT */
/* Bounded stay (L8): capture limit in tasks and in time, limit 0, the worker's quantum. */
#include "fixture.h"

/* A busy resource whose pool has one worker; the steps behind the occupant are 1, 2, ... */
static void run_behind_an_occupant(size_t count, struct journal *journal, pthread_t *submitter,
                                   struct baton_resource_stats *stats, bool fresh)
{
	struct baton_pool *pool = pool_of(1);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	struct occupant occupant;
	struct step steps[64];

	config.executor = baton_pool_executor(pool);
	baton_resource_init(&resource, &config);
	baton_resource_set_stats(&resource, stats);
	steps_init(steps, count, journal, 1);
	occupant_init(&occupant, &resource);
	occupant.thread = thread_start(fresh ? occupant_fresh_main : occupant_main, &occupant);
	gate_pass(&occupant.entered);
	for (size_t i = 0; i < count; i++)
		cr_assert_eq(baton_submit(&resource, &steps[i].task), 0);
	release(&occupant);
	*submitter = occupant.thread;
	cr_assert_eq(baton_pool_destroy(pool), 0);
	resource_end(&resource);
	cr_assert_eq(occupant.result, 0);
	cr_assert(journal_counts_up(journal, 1, count));
}

static void ten_tasks(bool fresh)
{
	struct baton_resource_stats stats = {0};
	struct journal journal = {0};
	pthread_t submitter;

	run_behind_an_occupant(9, &journal, &submitter, &stats, fresh);
	for (size_t i = 0; i < 9; i++)
		cr_assert(pthread_equal(journal.thread[i], submitter));
	cr_assert_eq(stats.handoffs, 0);
	cr_assert_eq(resource_counts(&stats).executed, 10);
	cr_assert_eq(resource_counts(&stats).captures, 1);
	cr_assert_eq(stats.backlog_max, 9);
}

Test(limit, ten_tasks_run_on_the_submitter_without_a_hand_off, .timeout = 10)
{
	ten_tasks(false);
}

Test(limit, also_if_it_is_the_submitters_first_use_of_baton, .timeout = 10)
{
	ten_tasks(true);
}

static void eleven_tasks(bool fresh)
{
	struct baton_resource_stats stats = {0};
	struct journal journal = {0};
	pthread_t submitter;

	run_behind_an_occupant(10, &journal, &submitter, &stats, fresh);
	for (size_t i = 0; i < 9; i++)
		cr_assert(pthread_equal(journal.thread[i], submitter));
	cr_assert_not(pthread_equal(journal.thread[9], submitter));
	cr_assert_not(journal_here(&journal, 9));
	cr_assert_eq(stats.handoffs, 1);
	cr_assert_eq(resource_counts(&stats).executed, 11);
	cr_assert_eq(resource_counts(&stats).captures, 1);
	cr_assert_eq(stats.backlog_max, 10);
}

Test(limit, the_eleventh_task_runs_on_another_thread_after_one_hand_off, .timeout = 10)
{
	eleven_tasks(false);
}

Test(limit, the_eleventh_also_after_a_first_use_of_baton, .timeout = 10)
{
	eleven_tasks(true);
}

Test(limit, a_limit_of_one_runs_the_submitters_own_task_only, .timeout = 10)
{
	fix.config.capture_max = 1;
	fixture_stash();
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[1].task), 0);
	release(&fix.occupant);
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(atomic_load(&fix.stash.count), 1);
	stash_run(&fix.stash);
	cr_assert(journal_counts_up(&fix.journal, 0, 2));
	cr_assert(journal_here(&fix.journal, 0));
	fixture_end();
}

static int step_works_a_millisecond(struct baton_task *task)
{
	work_for_ns(1000000);
	return step_run(task);
}

static void leaves_after_its_time(bool fresh)
{
	struct step steps[50];

	fix.config.capture_max = 1000000;
	fix.config.capture_ns = 3000000;
	fix.config.quantum = 1000000;
	fix.counted = true;
	fixture_stash();
	steps_init(steps, 50, &fix.journal, 0);
	occupant_init(&fix.occupant, &fix.resource);
	fix.occupant.thread =
		thread_start(fresh ? occupant_fresh_main : occupant_main, &fix.occupant);
	gate_pass(&fix.occupant.entered);
	for (size_t i = 0; i < 50; i++) {
		baton_task_init(&steps[i].task, step_works_a_millisecond, NULL);
		cr_assert_eq(baton_submit(&fix.resource, &steps[i].task), 0);
	}
	work_for_ns(2 * fix.config.capture_ns); /* the occupant's own task does not count */
	release(&fix.occupant);
	cr_assert_geq(fix.journal.count, 1, "time counts from the second task");
	cr_assert_leq(fix.journal.count, 5, "%zu tasks of 1 ms in 3 ms", fix.journal.count);
	cr_assert_eq(fix.stats.handoffs, 1);
	stash_run(&fix.stash);
	cr_assert(journal_counts_up(&fix.journal, 0, 50));
	fixture_end();
}

Test(limit, a_captured_thread_leaves_after_its_time, .timeout = 10)
{
	leaves_after_its_time(false);
}

Test(limit, its_time_counts_from_the_second_task_in_a_first_use_too, .timeout = 10)
{
	leaves_after_its_time(true);
}

/* What a resource with limit 0 must not do on a thread that is not its executor's. */
static void *tell_thread(void *arg)
{
	*(pthread_t *)arg = pthread_self();
	return arg;
}

Test(limit, with_limit_0_nothing_runs_on_the_submitter, .timeout = 10)
{
	static const struct baton_resource_config base = {.capture_max = BATON_CAPTURE_NONE,
	                                                  .quantum = 64};
	struct baton_resource_config config = base;
	struct stash stash;
	struct baton_resource resource = BATON_RESOURCE_INIT(&config);
	struct journal journal = {0};
	struct step steps[4];
	struct baton_task *batch[2] = {&steps[1].task, &steps[2].task};
	pthread_t thread;

	stash_init(&stash);
	config.executor = &stash.executor;
	steps_init(steps, 4, &journal, 0);
	cr_assert_eq(baton_submit(&resource, &steps[0].task), 0);
	cr_assert_eq(baton_submit_batch(&resource, batch, 2), 0);
	cr_assert_eq(baton_submit_later(&resource, &steps[3].task), 0);
	cr_assert_eq(baton_try_call(&resource, tell_thread, &thread, NULL), -EAGAIN);
	cr_assert_eq(journal.count, 0);
	stash_run(&stash);
	cr_assert(journal_counts_up(&journal, 0, 4));
	cr_assert_eq(baton_try_call(&resource, tell_thread, &thread, NULL), -EAGAIN);
	resource_end(&resource);
}

Test(limit, with_limit_0_a_waiter_outside_does_not_help, .timeout = 10)
{
	fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_pool(2);
	for (int i = 0; i < scaled(1000); i++) {
		struct baton_future future = BATON_FUTURE_INIT;
		struct step step = {BATON_TASK_INIT(step_run, &future), &fix.journal, i};
		pthread_t thread = pthread_self();
		void *value = NULL;

		cr_assert_eq(baton_submit(&fix.resource, &step.task), 0);
		cr_assert_eq(baton_future_wait(&future), 0);
		cr_assert_eq(baton_call(&fix.resource, tell_thread, &thread, &value), 0);
		cr_assert_not(pthread_equal(thread, pthread_self()));
		cr_assert_eq(value, &thread);
	}
	resource_end(&fix.resource);
	for (size_t i = 0; i < fix.journal.count; i++)
		cr_assert_not(journal_here(&fix.journal, i));
	cr_assert_eq(baton_pool_destroy(fix.pool), 0);
}

Test(limit, a_quantum_puts_the_resource_behind_the_others, .timeout = 10)
{
	struct baton_manual *manual = NULL;
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource hot, cold;
	struct journal hot_journal = {0}, cold_journal = {0};
	struct step hot_steps[12], cold_step;

	cr_assert_eq(baton_manual_create(&manual), 0);
	config.executor = baton_manual_executor(manual);
	config.quantum = 5;
	baton_resource_init(&hot, &config);
	baton_resource_init(&cold, &config);
	steps_init(hot_steps, 12, &hot_journal, 0);
	steps_init(&cold_step, 1, &cold_journal, 0);
	for (size_t i = 0; i < 12; i++)
		cr_assert_eq(baton_submit_later(&hot, &hot_steps[i].task), 0);
	cr_assert_eq(baton_submit_later(&cold, &cold_step.task), 0);
	cr_assert(baton_manual_run(manual, 1));
	cr_assert_eq(hot_journal.count, 5);
	cr_assert_eq(cold_journal.count, 0);
	cr_assert(baton_manual_run(manual, 1));
	cr_assert_eq(cold_journal.count, 1);
	cr_assert(baton_manual_run(manual, 1));
	cr_assert_eq(hot_journal.count, 10);
	cr_assert(baton_manual_run(manual, 1));
	cr_assert(journal_counts_up(&hot_journal, 0, 12));
	cr_assert_not(baton_manual_run(manual, 1));
	resource_end(&hot);
	resource_end(&cold);
	baton_manual_destroy(manual);
}

Test(limit, a_quantum_in_time_ends_a_workers_stay, .timeout = 10)
{
	struct step steps[50];

	fix.config.quantum = 1000000;
	fix.config.quantum_ns = 3000000;
	fixture_manual();
	steps_init(steps, 50, &fix.journal, 0);
	for (size_t i = 0; i < 50; i++) {
		baton_task_init(&steps[i].task, step_works_a_millisecond, NULL);
		cr_assert_eq(baton_submit_later(&fix.resource, &steps[i].task), 0);
	}
	cr_assert(baton_manual_run(fix.manual, 1));
	cr_assert_geq(fix.journal.count, 1);
	cr_assert_leq(fix.journal.count, 5, "%zu tasks of 1 ms in 3 ms", fix.journal.count);
	baton_manual_run(fix.manual, 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 50));
	fixture_end();
}

static atomic_bool hot_stop;

struct hot {
	struct baton_task task;
	struct baton_resource *resource;
	int errors;
};

static int hot_run(struct baton_task *task)
{
	struct hot *hot = baton_container_of(task, struct hot, task);

	if (!atomic_load(&hot_stop))
		hot->errors += baton_submit(hot->resource, task) != 0;
	return 0;
}

static int hot_ends(struct baton_task *task)
{
	atomic_store(&hot_stop, true);
	return 0;
}

Test(limit, a_hot_resource_does_not_starve_its_neighbour_on_one_worker, .timeout = 10)
{
	struct baton_pool *pool = pool_of(1);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource hot_resource, cold;
	struct baton_task ends = BATON_TASK_INIT(hot_ends, NULL);
	struct hot hot = {BATON_TASK_INIT(hot_run, NULL), &hot_resource, 0};

	config.executor = baton_pool_executor(pool);
	config.capture_max = BATON_CAPTURE_NONE;
	baton_resource_init(&hot_resource, &config);
	baton_resource_init(&cold, &config);
	cr_assert_eq(baton_submit(&hot_resource, &hot.task), 0);
	cr_assert_eq(baton_submit(&cold, &ends), 0);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	cr_assert(atomic_load(&hot_stop));
	cr_assert_eq(hot.errors, 0);
	resource_end(&hot_resource);
	resource_end(&cold);
}

Test(limit, a_hot_resource_lets_its_submitter_go, .timeout = 10)
{
	struct hot hot = {BATON_TASK_INIT(hot_run, NULL), &fix.resource, 0};

	fixture_pool(1);
	cr_assert_eq(baton_submit(&fix.resource, &hot.task), 0);
	atomic_store(&hot_stop, true);
	cr_assert_eq(baton_pool_destroy(fix.pool), 0);
	cr_assert_eq(hot.errors, 0);
	resource_end(&fix.resource);
}
