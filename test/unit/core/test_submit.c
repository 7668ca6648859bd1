/* SPDX-License-Identifier: MIT */
/* Ways to submit: where a task runs, in which order, and what a refused or reused task means. */
#include "fixture.h"

#include <baton/lane.h>

#include "core/submit.h"

static struct baton_resource constant = BATON_RESOURCE_INIT(NULL);

Test(submit, an_idle_resource_runs_the_task_at_once_on_the_submitters_thread, .timeout = 10)
{
	step_init(&fix.steps[0], &fix.journal, 7, NULL);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert(journal_counts_up(&fix.journal, 7, 1));
	cr_assert(journal_here(&fix.journal, 0));
	fixture_end();
}

Test(submit, a_constant_initialiser_is_all_that_a_resource_needs, .timeout = 10)
{
	struct journal journal = {0};
	struct step step;

	step_init(&step, &journal, 1, NULL);
	cr_assert_eq(baton_submit(&constant, &step.task), 0);
	cr_assert_eq(journal.count, 1);
}

Test(submit, a_resource_is_no_larger_than_a_mutex, .timeout = 10)
{
	cr_assert_leq(sizeof(struct baton_resource), sizeof(pthread_mutex_t));
}

struct topic {
	struct baton_resource resource;
	const char *name;
};

static const char *topic_name(const struct baton_resource *resource)
{
	return baton_container_of(resource, const struct topic, resource)->name;
}

Test(submit, a_resource_has_its_own_name_or_its_configs_or_none, .timeout = 10)
{
	const struct baton_resource_config unnamed = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource_config named = BATON_RESOURCE_CONFIG_NAMED("topic");
	struct baton_resource plain = BATON_RESOURCE_INIT(NULL);
	struct topic topics[2] = {{BATON_RESOURCE_INIT(&named), "news"},
	                          {BATON_RESOURCE_INIT(&named), NULL}};
	struct baton_resource_stats stats = {0};
	struct baton_lane lane;
	struct baton_lanes lanes;

	cr_assert_null(baton_resource_name(&plain));
	baton_resource_init(&plain, &unnamed);
	cr_assert_null(baton_resource_name(&plain));
	cr_assert_str_eq(baton_resource_name(&topics[0].resource), "topic");
	named.name_of = topic_name;
	cr_assert_str_eq(baton_resource_name(&topics[0].resource), "news");
	cr_assert_str_eq(baton_resource_name(&topics[1].resource), "topic");
	/* Also behind statistics, lanes, and both. */
	baton_resource_set_stats(&topics[0].resource, &stats);
	cr_assert_str_eq(baton_resource_name(&topics[0].resource), "news");
	baton_lanes_init(&lanes, &lane, 1, NULL);
	baton_resource_set_lanes(&topics[0].resource, &lanes);
	cr_assert_str_eq(baton_resource_name(&topics[0].resource), "news");
}

Test(submit, a_busy_resource_gets_the_task_and_the_submitter_goes_on, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;

	occupy(&fix.occupant, &fix.resource);
	step_init(&fix.steps[0], &fix.journal, 1, &future);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_future_state(&future), BATON_PENDING);
	release(&fix.occupant);
	cr_assert_eq(baton_future_state(&future), BATON_DONE);
	cr_assert(pthread_equal(fix.journal.thread[0], fix.occupant.thread));
	fixture_end();
}

static void *post_step(void *arg)
{
	struct step *step = arg;

	journal_add(step->journal, step->number);
	return NULL;
}

Test(submit, one_submitters_order_survives_every_way_to_submit, .timeout = 10)
{
	struct baton_task *batch[3] = {&fix.steps[2].task, &fix.steps[3].task, &fix.steps[4].task};
	struct baton_future *future = NULL;

	fixture_manual();
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[1].task), 0);
	cr_assert_eq(baton_submit_batch(&fix.resource, batch, 3), 0);
	cr_assert_eq(baton_post(&fix.resource, post_step, &fix.steps[5]), 0);
	cr_assert_eq(baton_async(&fix.resource, post_step, &fix.steps[6], &future), 0);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[7].task), 0);
	baton_manual_run(fix.manual, 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 8));
	cr_assert_eq(baton_future_state(future), BATON_DONE);
	baton_future_unref(future);
	fixture_end();
}

Test(submit, submit_later_runs_nothing_before_it_returns, .timeout = 10)
{
	fixture_stash();
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[1].task), 0);
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(atomic_load(&fix.stash.count), 1, "a queued resource has one job");
	stash_run(&fix.stash);
	cr_assert(journal_counts_up(&fix.journal, 0, 2));
	fixture_end();
}

static sem_t ran_gate;

static int step_run_and_tell(struct baton_task *task)
{
	int status = step_run(task);

	gate_open(&ran_gate);
	return status;
}

Test(submit, submit_later_runs_the_task_on_a_worker, .timeout = 10)
{
	struct step step = {BATON_TASK_INIT(step_run_and_tell, NULL), &fix.journal, 3};

	gate_init(&ran_gate);
	fixture_pool(1);
	cr_assert_eq(baton_submit_later(&fix.resource, &step.task), 0);
	gate_pass(&ran_gate);
	resource_end(&fix.resource);
	cr_assert(journal_counts_up(&fix.journal, 3, 1));
	cr_assert_not(journal_here(&fix.journal, 0));
	cr_assert_eq(baton_pool_destroy(fix.pool), 0);
}

static int frees_itself(struct baton_task *task)
{
	struct step *step = baton_container_of(task, struct step, task);
	struct journal *journal = step->journal;
	int number = step->number;

	memset(step, 0x5A, sizeof(*step));
	free(step);
	journal_add(journal, number);
	return 0;
}

Test(submit, a_task_may_free_itself, .timeout = 10)
{
	struct baton_future futures[9];

	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 9; i++) {
		struct step *step = malloc(sizeof(*step));

		MUST(step);
		baton_future_init(&futures[i]);
		step_init(step, &fix.journal, i, i % 2 ? &futures[i] : NULL);
		baton_task_init(&step->task, frees_itself, i % 2 ? &futures[i] : NULL);
		cr_assert_eq(baton_submit(&fix.resource, &step->task), 0);
	}
	release(&fix.occupant);
	fixture_end();
	cr_assert(journal_counts_up(&fix.journal, 0, 9));
	for (int i = 1; i < 9; i += 2)
		cr_assert_eq(baton_future_state(&futures[i]), BATON_DONE);
}

struct again {
	struct baton_task task;
	struct baton_resource *resource;
	struct baton_future *second;
	int runs;
	int runs_max;
	int errors;
};

static int submits_itself_again(struct baton_task *task)
{
	struct again *again = baton_container_of(task, struct again, task);
	int runs = ++again->runs;

	if (runs < again->runs_max)
		again->errors += baton_submit(again->resource, task) != 0;
	return runs < again->runs_max ? 1 : 0;
}

Test(submit, a_task_may_submit_itself_again, .timeout = 10)
{
	struct again again = {BATON_TASK_INIT(submits_itself_again, NULL),
	                      &fix.resource,
	                      NULL,
	                      0,
	                      scaled(100000),
	                      0};

	fixture_pool(1);
	cr_assert_eq(baton_submit(&fix.resource, &again.task), 0);
	cr_assert_eq(baton_pool_shutdown(fix.pool), 0);
	cr_assert_eq(baton_pool_await(fix.pool), 0);
	cr_assert_eq(again.runs, again.runs_max);
	cr_assert_eq(again.errors, 0);
	fixture_end();
}

static int becomes_another_task(struct baton_task *task)
{
	struct again *again = baton_container_of(task, struct again, task);

	baton_task_init(task, submits_itself_again, again->second);
	again->errors += baton_submit(again->resource, task) != 0;
	return -EIO;
}

Test(submit, a_task_that_reuses_itself_completes_its_first_future, .timeout = 10)
{
	struct baton_future first = BATON_FUTURE_INIT;
	struct baton_future second = BATON_FUTURE_INIT;
	struct again again = {
		BATON_TASK_INIT(becomes_another_task, &first), &fix.resource, &second, 0, 1, 0};

	cr_assert_eq(baton_submit(&fix.resource, &again.task), 0);
	cr_assert_eq(again.errors, 0);
	cr_assert_eq(baton_future_status(&first), -EIO);
	cr_assert_eq(baton_future_state(&second), BATON_DONE);
	cr_assert_eq(again.runs, 1);
	fixture_end();
}

Test(submit, a_closed_resource_refuses_and_leaves_the_task_untouched, .timeout = 10)
{
	struct baton_resource closed = BATON_RESOURCE_INIT(NULL);
	struct baton_resource open = BATON_RESOURCE_INIT(NULL);
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_future *none = &future;
	struct journal journal = {0};
	struct step step;
	struct step before;
	struct baton_task *batch[1] = {&step.task};
	void *value = &future;

	step_init(&step, &journal, 1, &future);
	memcpy(&before, &step, sizeof(step));
	cr_assert_eq(baton_resource_close(&closed), 0);
	cr_assert_eq(baton_submit(&closed, &step.task), -EPIPE);
	cr_assert_eq(baton_submit_later(&closed, &step.task), -EPIPE);
	cr_assert_eq(baton_submit_batch(&closed, batch, 1), -EPIPE);
	cr_assert_eq(baton_call(&closed, post_step, &step, &value), -EPIPE);
	cr_assert_eq(baton_try_call(&closed, post_step, &step, &value), -EPIPE);
	cr_assert_eq(baton_post(&closed, post_step, &step), -EPIPE);
	cr_assert_eq(baton_async(&closed, post_step, &step, &none), -EPIPE);
	cr_assert_eq(journal.count, 0);
	cr_assert_eq(memcmp(&before, &step, sizeof(step)), 0);
	cr_assert_eq(value, &future);
	cr_assert_eq(none, &future);
	cr_assert_eq(baton_submit(&open, &step.task), 0, "the future is still fresh");
	cr_assert_eq(baton_future_state(&future), BATON_DONE);
}

Test(submit, a_future_serves_one_submit, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task *batch[2] = {&fix.steps[1].task, &fix.steps[0].task};

	step_init(&fix.steps[0], &fix.journal, 0, &future);
	step_init(&fix.steps[1], &fix.journal, 1, NULL);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), -EINVAL);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), -EINVAL);
	cr_assert_eq(baton_submit_batch(&fix.resource, batch, 2), -EINVAL, "all or none");
	cr_assert_eq(fix.journal.count, 1);
	baton_future_init(&future);
	cr_assert_eq(baton_future_state(&future), BATON_PENDING);
	cr_assert_eq(baton_submit_batch(&fix.resource, batch, 2), 0);
	cr_assert_eq(fix.journal.count, 3);
}

Test(submit, a_queued_future_serves_no_second_submit, .timeout = 10)
{
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct baton_future future = BATON_FUTURE_INIT;

	step_init(&fix.steps[0], &fix.journal, 0, &future);
	step_init(&fix.steps[1], &fix.journal, 1, &future);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_submit(&other, &fix.steps[1].task), -EINVAL);
	release(&fix.occupant);
	fixture_end();
	cr_assert(journal_counts_up(&fix.journal, 0, 1));
}

/* Between the look at the resource and the push that it refuses. */
Test(submit, a_task_that_is_refused_and_cancelled_at_once_is_cancelled, .timeout = 5)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task task = BATON_TASK_INIT(step_run, &future);

	cr_assert(baton__ready(&fix.resource, &task));
	cr_assert_eq(baton__unready(&fix.resource, &task, -EPIPE), -EPIPE);
	cr_assert_eq(baton_future_state(&future), BATON_PENDING);
	cr_assert(baton__ready(&fix.resource, &task));
	(void)baton_future_cancel(&future);
	cr_assert_eq(baton__unready(&fix.resource, &task, -EPIPE), -ECANCELED);
	cr_assert_eq(baton_future_state(&future), BATON_CANCELLED);
	cr_assert_eq(baton_future_status(&future), -ECANCELED);
	fixture_end();
}
