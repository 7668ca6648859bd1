/* SPDX-License-Identifier: MIT */
/*
 * Shelving a resource that the shelving thread holds: who goes on with it, whichever way the task
 * came to run.
 */
#include "fixture.h"

#include "module/shelf.h"

static void *shelve_fn(void *arg)
{
	baton__shelve(arg, BATON__DETACHED_TASK);
	return NULL;
}

static int shelve_run(struct baton_task *task)
{
	baton__shelve(baton_current(), BATON__DETACHED_TASK);
	return 0;
}

static void shelf_check(struct baton_resource *resource, struct journal *journal)
{
	struct step step;
	size_t before = journal->count;

	step_init(&step, journal, (int)before, NULL);
	cr_assert_eq(baton_submit(resource, &step.task), 0);
	cr_assert_eq(journal->count, before);
	baton__unshelve(resource, false);
	cr_assert(journal_counts_up(journal, 0, before + 1));
	/* As free as ever: the short path's word. */
	cr_assert_eq(resource->_word, baton__has_extras(resource) ? BATON__SPECIAL : BATON__NORMAL);
	cr_assert_eq(resource->_job._turn, 0);
}

static void shelf_each_way(struct baton_resource *resource)
{
	struct journal journal = {0};
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task task = BATON_TASK_INIT(shelve_run, NULL);
	struct baton_task with_future = BATON_TASK_INIT(shelve_run, &future);
	struct baton_task last = BATON_TASK_INIT(shelve_run, NULL);
	struct step first;
	struct baton_task *batch[] = {&first.task, &last};

	cr_assert_eq(baton_call(resource, shelve_fn, resource, NULL), 0);
	shelf_check(resource, &journal);
	cr_assert_eq(baton_submit(resource, &task), 0);
	shelf_check(resource, &journal);
	cr_assert_eq(baton_submit(resource, &with_future), 0);
	cr_assert_eq(baton_future_state(&future), BATON_DONE);
	shelf_check(resource, &journal);
	step_init(&first, &journal, (int)journal.count, NULL);
	cr_assert_eq(baton_submit_batch(resource, batch, 2), 0);
	shelf_check(resource, &journal);
	cr_assert_eq(baton_post(resource, shelve_fn, resource), 0);
	baton__unshelve(resource, true);
	cr_assert_not(baton__word_is_busy(resource->_word));
}

Test(shelf, a_task_leaves_it_to_nobody_whichever_way_it_came, .timeout = 10)
{
	struct baton_resource_stats stats = {0};
	struct baton_resource counted = BATON_RESOURCE_INIT(NULL);

	baton_resource_set_stats(&counted, &stats);
	shelf_each_way(&fix.resource);
	fixture_end();
	shelf_each_way(&counted);
	resource_end(&counted);
	cr_assert_eq(resource_counts(&stats).submitted, resource_counts(&stats).executed);
}

static void *unshelve_here(void *arg)
{
	baton__shelve(arg, BATON__DETACHED_TASK);
	baton__unshelve(arg, false);
	cr_assert(baton_held(arg));
	return NULL;
}

Test(shelf, unshelved_in_the_same_task_it_is_as_if_it_had_not_been, .timeout = 10)
{
	cr_assert_eq(baton_call(&fix.resource, unshelve_here, &fix.resource, NULL), 0);
	cr_assert_eq(fix.resource._word, BATON__NORMAL);
	cr_assert_eq(fix.resource._job._turn, 0);
	fixture_end();
}

static void *shelve_outer(void *arg)
{
	baton__shelve(arg, BATON__DETACHED_TASK);
	return NULL;
}

struct nest {
	struct baton_resource *outer;
	struct baton_resource *inner;
	int inner_free;
};

static void *nest_fn(void *arg)
{
	struct nest *nest = arg;

	BATON_IGNORE(baton_call(nest->inner, shelve_outer, nest->outer, NULL));
	nest->inner_free = !baton__word_is_busy(nest->inner->_word);
	cr_assert(baton_held(nest->outer));
	return NULL;
}

Test(shelf, of_two_held_resources_the_one_that_is_named_is_left, .timeout = 10)
{
	struct baton_resource resources[2] = {BATON_RESOURCE_INIT(NULL), BATON_RESOURCE_INIT(NULL)};
	struct nest nest = {&resources[0], &resources[1], 0};

	cr_assert_eq(baton_call(&resources[0], nest_fn, &nest, NULL), 0);
	cr_assert(nest.inner_free);
	cr_assert(baton__word_is_busy(resources[0]._word));
	cr_assert_not(baton_held(&resources[0]));
	baton__unshelve(&resources[0], false);
	resource_end(&resources[0]);
	resource_end(&resources[1]);
}
