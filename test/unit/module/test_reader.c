/* SPDX-License-Identifier: MIT */
/* Readers: tasks that run beside each other, and beside no ordinary task. */
#include "reader_support.h"

#include <baton/hooks.h>

/* ---- Side by side ---- */

Test(reader, runs_alone_on_this_thread_like_any_task, .timeout = 10)
{
	struct look look;

	look_init(&look, false);
	cr_assert_eq(look_submit(&look), 0);
	cr_assert(look.ran);
	cr_assert(pthread_equal(look.thread, pthread_self()));
	cr_assert_eq(look.beside, 1);
	cr_assert_eq(baton_future_state(&look.future), BATON_DONE);
	cr_assert_eq(baton_readers_at_work(&readers), 0);
	readers_end();
}

Test(reader, joins_readers_at_work_on_this_thread, .timeout = 10)
{
	struct look looks[3];
	pthread_t thread;

	looks_init(looks, 3, false);
	looks[0].stays = true;
	thread = look_start(&looks[0]);
	cr_assert_eq(look_submit(&looks[1]), 0);
	cr_assert_eq(baton_future_state(&looks[1].future), BATON_DONE);
	cr_assert(pthread_equal(looks[1].thread, pthread_self()));
	cr_assert_eq(looks[1].beside, 2);
	cr_assert_eq(look_submit(&looks[2]), 0);
	cr_assert(looks[2].ran);
	look_end(&looks[0], thread);
	readers_end();
}

Test(reader, a_writer_waits_for_all_readers_and_runs_on_the_thread_of_the_last, .timeout = 10)
{
	struct baton_task writer = BATON_TASK_INIT(write_run, NULL);
	struct look looks[3];
	pthread_t threads[3];

	looks_init(looks, 3, true);
	for (int i = 0; i < 3; i++)
		threads[i] = look_start(&looks[i]);
	cr_assert_eq(baton_submit(&fix.resource, &writer), 0);
	look_end(&looks[0], threads[0]); /* the first, which has the baton, leaves */
	cr_assert_eq(baton_readers_at_work(&readers), 2);
	look_end(&looks[2], threads[2]);
	cr_assert_eq(beside_write, -1);
	look_end(&looks[1], threads[1]);
	cr_assert_eq(beside_write, 0);
	readers_end();
}

Test(reader, does_not_overtake_a_writer_that_waits, .timeout = 10)
{
	struct baton_task writer = BATON_TASK_INIT(write_run, NULL);
	struct look looks[2];
	pthread_t thread;

	looks_init(looks, 2, false);
	looks[0].stays = true;
	thread = look_start(&looks[0]);
	cr_assert_eq(baton_submit(&fix.resource, &writer), 0);
	cr_assert_eq(look_submit(&looks[1]), 0);
	cr_assert_not(looks[1].ran);
	cr_assert_eq(beside_write, -1);
	look_end(&looks[0], thread);
	cr_assert_eq(beside_write, 0);
	cr_assert_eq(baton_future_wait(&looks[1].future), 0);
	readers_end();
}

Test(reader, those_that_have_waited_run_side_by_side_on_a_pool, .timeout = 20)
{
	struct baton_task writer = BATON_TASK_INIT(write_run, NULL);
	struct look looks[6];

	fix.config.capture_max = 1;
	fixture_pool(3);
	looks_init(looks, 6, false);
	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 6; i++) {
		/* Each waits for two others. */
		looks[i].inside = i < 3 ? meets : NULL;
		if (i == 3)
			cr_assert_eq(baton_submit(&fix.resource, &writer), 0);
		cr_assert_eq(look_submit(&looks[i]), 0);
	}
	release(&fix.occupant);
	for (int i = 0; i < 6; i++)
		gate_pass(&looks[i].entered); /* a wait would help, and run them one by one */
	cr_assert_eq(beside_write, 0);
	readers_end();
}

Test(reader, many_that_have_waited_run_once_each_in_groups, .timeout = 20)
{
	static struct look looks[200];
	struct baton_task writer = BATON_TASK_INIT(write_run, NULL);
	uint32_t most = 0;

	fix.config.capture_max = 1;
	fix.counted = true;
	fixture_pool(2);
	looks_init(looks, 200, false);
	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 200; i++) {
		if (i == 150)
			cr_assert_eq(baton_submit(&fix.resource, &writer), 0);
		cr_assert_eq(look_submit(&looks[i]), 0);
	}
	release(&fix.occupant);
	for (int i = 0; i < 200; i++) {
		gate_pass(&looks[i].entered); /* does not help */
		most = looks[i].beside > most ? looks[i].beside : most;
	}
	cr_assert_eq(most, 32);
	cr_assert_eq(beside_write, 0);
	resource_end(&fix.resource);
	cr_assert_eq(resource_counts(&fix.stats).executed, 202);
	cr_assert_eq(resource_counts(&fix.stats).outstanding, 0);
	cr_assert_eq(baton_pool_destroy(fix.pool), 0);
	baton_readers_deinit(&readers);
}

/* The first two begin, and keep the third one waiting until both have ended. */
Test(reader, a_worker_leads_while_another_runs_what_it_has_taken, .timeout = 20)
{
	struct look looks[3];

	fix.config.capture_max = 1;
	fixture_pool(2);
	looks_init(looks, 3, true);
	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(look_submit(&looks[i]), 0);
	release(&fix.occupant);
	gate_pass(&looks[0].entered);
	gate_pass(&looks[1].entered);
	cr_assert_eq(baton_readers_at_work(&readers), 3);
	cr_assert_not(looks[2].ran);
	cr_assert_eq(baton_future_cancel(&looks[2].future), 0, "it has not begun");
	for (int i = 0; i < 2; i++)
		gate_open(&looks[i].leave);
	cr_assert_eq(baton_future_wait(&looks[2].future), 0);
	cr_assert_eq(baton_future_state(&looks[2].future), BATON_CANCELLED);
	cr_assert_not(looks[2].ran);
	readers_end();
}

Test(reader, with_a_future_that_is_not_fresh_does_not_join, .timeout = 10)
{
	struct look looks[2];
	pthread_t thread;

	looks_init(looks, 2, false);
	looks[0].stays = true;
	thread = look_start(&looks[0]);
	cr_assert_eq(look_submit(&looks[1]), 0);
	cr_assert(looks[1].ran);
	looks[1].ran = false;
	cr_assert_eq(look_submit(&looks[1]), -EINVAL, "its future is complete");
	cr_assert_not(looks[1].ran);
	look_end(&looks[0], thread);
	readers_end();
}

struct nest {
	struct baton_task task;
	struct baton_resource resource;
	struct nest *next; /* NULL: submits the reader */
	struct look *look;
	bool ran;
};

static int nest_run(struct baton_task *task)
{
	struct nest *nest = baton_container_of(task, struct nest, task);

	if (nest->next)
		return baton_submit(&nest->next->resource, &nest->next->task);
	BATON_IGNORE(look_submit(nest->look));
	nest->ran = nest->look->ran;
	return 0;
}

/* As any submit at the depth of BATON_NESTING_MAX captures. */
Test(reader, joins_none_where_captures_have_nested_too_deep, .timeout = 10)
{
	struct nest nests[BATON_NESTING_MAX];
	struct look looks[2];
	pthread_t thread;

	fixture_pool(1);
	looks_init(looks, 2, false);
	looks[0].stays = true;
	thread = look_start(&looks[0]);
	for (int i = 0; i < BATON_NESTING_MAX; i++) {
		nests[i] = (struct nest){.look = &looks[1]};
		baton_resource_init(&nests[i].resource, NULL);
		baton_task_init(&nests[i].task, nest_run, NULL);
		if (i > 0)
			nests[i - 1].next = &nests[i];
	}
	cr_assert_eq(baton_submit(&nests[0].resource, &nests[0].task), 0);
	cr_assert_not(nests[BATON_NESTING_MAX - 1].ran);
	look_end(&looks[0], thread);
	gate_pass(&looks[1].entered);
	readers_end();
	for (int i = 0; i < BATON_NESTING_MAX; i++)
		resource_end(&nests[i].resource);
}

static struct baton_plain_job start_job;

/* On a worker of another pool: captures the resource, and comes to what waits then. */
static void start_occupant(struct baton_plain_job *job)
{
	(void)job;
	MUST(baton_submit(&fix.resource, &fix.occupant.task) == 0);
}

Test(reader, takes_no_others_along_on_a_worker_of_another_pool, .timeout = 20)
{
	struct baton_pool *other = pool_of(2);
	struct look looks[2];

	fixture_pool(1);
	looks_init(looks, 2, true);
	occupant_init(&fix.occupant, &fix.resource);
	baton_plain_job_init(&start_job, start_occupant, NULL);
	cr_assert_eq(baton_pool_submit(other, &start_job), 0);
	gate_pass(&fix.occupant.entered);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(look_submit(&looks[i]), 0);
	gate_open(&fix.occupant.leave);
	gate_pass(&looks[0].entered);
	cr_assert_eq(baton_readers_at_work(&readers), 1);
	for (int i = 0; i < 2; i++)
		gate_open(&looks[i].leave);
	gate_pass(&looks[1].entered);
	cr_assert_eq(baton_pool_destroy(other), 0);
	readers_end();
}

static struct baton_readers strangers = BATON_READERS_INIT(&fix.resource);

Test(reader, runs_beside_no_reader_of_other_readers, .timeout = 20)
{
	struct look looks[3];

	fix.config.capture_max = 1;
	fixture_pool(2);
	looks_init(looks, 3, true);
	read_task_init(&looks[1].read, &strangers, look_run, &looks[1].future);
	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(look_submit(&looks[i]), 0);
	release(&fix.occupant);
	for (int i = 0; i < 3; i++) {
		gate_pass(&looks[i].entered);
		cr_assert_eq(baton_readers_at_work(&readers), i != 1);
		cr_assert_eq(baton_readers_at_work(&strangers), i == 1);
		gate_open(&looks[i].leave);
	}
	readers_end();
	baton_readers_deinit(&strangers);
}

/* ---- One after the other ---- */

static int is_alone(struct look *look)
{
	look->result = atomic_load(&looking) == 1 && !baton_held(&fix.resource) &&
	               baton_reading(&fix.resource);
	return 0;
}

static void expect_one_after_the_other(void)
{
	struct look looks[3];

	looks_init(looks, 3, false);
	for (int i = 0; i < 3; i++)
		looks[i].inside = is_alone;
	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(look_submit(&looks[i]), 0);
	release(&fix.occupant);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(baton_future_wait(&looks[i].future), 0);
		cr_assert_eq(looks[i].result, 1);
		cr_assert_eq(looks[i].beside, 0, "no group");
	}
	readers_end();
}

Test(reader, runs_one_after_the_other_where_the_executor_is_not_a_pool, .timeout = 10)
{
	fixture_manual();
	expect_one_after_the_other();
}

static int begin_batch(struct baton_resource *resource)
{
	(void)resource;
	return 0;
}

Test(reader, runs_one_after_the_other_with_drain_hooks, .timeout = 10)
{
	fix.config.batch_begin = begin_batch;
	fixture_pool(2);
	expect_one_after_the_other();
}
