/* SPDX-License-Identifier: MIT */
/* Modules that meet on one resource: hooks, lanes, bounds, suspensions, detached completion. */
#include "fixture.h"

#include <baton/bound.h>
#include <baton/detach.h>
#include <baton/hooks.h>
#include <baton/lane.h>
#include <baton/suspend.h>

struct shop {
	struct baton_resource resource;
	int begun;
	int ended;
};

static int shop_begin(struct baton_resource *resource)
{
	baton_container_of(resource, struct shop, resource)->begun++;
	return 0;
}

static int shop_end(struct baton_resource *resource)
{
	baton_container_of(resource, struct shop, resource)->ended++;
	return 0;
}

static const struct baton_resource_config hooked = {
	.capture_max = BATON_CAPTURE_MAX,
	.quantum = BATON_QUANTUM,
	.batch_begin = shop_begin,
	.batch_end = shop_end,
};

static void shop_init(struct shop *shop)
{
	*shop = (struct shop){.begun = 0};
	baton_resource_init(&shop->resource, &hooked);
}

struct stopper {
	struct baton_task task;
	struct baton_suspension suspension;
	struct baton_detached token;
	struct baton_resource *resource;
	int result;
};

static int suspend_own(struct baton_task *task)
{
	struct stopper *stopper = baton_container_of(task, struct stopper, task);

	stopper->result = baton_resource_suspend(stopper->resource, &stopper->suspension);
	return 0;
}

static int hold_own(struct baton_task *task)
{
	struct stopper *stopper = baton_container_of(task, struct stopper, task);

	stopper->result = baton_detach(&stopper->token, BATON_DETACH_EXCLUSIVE);
	return 0;
}

static void stopper_submit(struct stopper *stopper, struct baton_resource *resource,
                           baton_task_fn run)
{
	*stopper = (struct stopper){.task = BATON_TASK_INIT(run, NULL),
	                            .suspension = BATON_SUSPENSION_INIT,
	                            .token = BATON_DETACHED_INIT,
	                            .resource = resource,
	                            .result = 1};
	cr_assert_eq(baton_submit(resource, &stopper->task), 0);
	cr_assert_eq(stopper->result, 0);
}

Test(together, a_suspension_takes_effect_after_the_batch_has_ended, .timeout = 10)
{
	struct stopper stopper;
	struct shop shop;

	shop_init(&shop);
	stopper_submit(&stopper, &shop.resource, suspend_own);
	cr_assert(baton_suspension_is_effective(&stopper.suspension));
	cr_assert_eq(shop.begun, 1);
	cr_assert_eq(shop.ended, 1);
	cr_assert_eq(baton_resource_resume(&stopper.suspension), 0);
	resource_end(&shop.resource);
}

Test(together, a_hold_ends_the_batch, .timeout = 10)
{
	struct journal journal = {0};
	struct stopper stopper;
	struct step step;
	struct shop shop;

	shop_init(&shop);
	stopper_submit(&stopper, &shop.resource, hold_own);
	cr_assert_eq(shop.begun, 1);
	cr_assert_eq(shop.ended, 1);
	step_init(&step, &journal, 0, NULL);
	cr_assert_eq(baton_submit(&shop.resource, &step.task), 0);
	cr_assert_eq(journal.count, 0);
	cr_assert_eq(baton_detached_complete(&stopper.token, 0, NULL), 0);
	cr_assert_eq(journal.count, 1);
	cr_assert_eq(shop.begun, 2);
	cr_assert_eq(shop.ended, 2);
	resource_end(&shop.resource);
}

Test(together, a_suspension_passes_all_lanes, .timeout = 10)
{
	struct baton_lane array[2];
	struct baton_lanes lanes;
	struct stopper stopper;

	baton_lanes_init(&lanes, array, 2, NULL);
	baton_resource_set_lanes(&fix.resource, &lanes);
	stopper_submit(&stopper, &fix.resource, suspend_own);
	cr_assert(baton_suspension_is_effective(&stopper.suspension));
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(baton_resource_resume(&stopper.suspension), 0);
	cr_assert_eq(fix.journal.count, 1);
	fixture_end();
}

static void *seven(void *arg)
{
	return arg;
}

Test(together, a_call_with_hooks_counts_behind_a_bound, .timeout = 10)
{
	const struct baton_bound_config limits = {.tasks_max = 2};
	struct baton_bound_stats counts;
	struct baton_bound bound;
	void *value = NULL;
	struct shop shop;
	int number = 7;

	shop_init(&shop);
	baton_bound_init(&bound, &limits);
	baton_resource_set_bound(&shop.resource, &bound);
	for (int i = 1; i <= 4; i++) {
		cr_assert_eq(baton_call(&shop.resource, seven, &number, &value), 0);
		cr_assert_eq(value, &number);
		cr_assert_eq(shop.ended, i);
	}
	baton_bound_stats_read(&bound, &counts);
	cr_assert_eq(counts.tasks, 0);
	cr_assert_eq(counts.refused, 0);
	resource_end(&shop.resource);
}

static void *call_closed(void *closed)
{
	return (void *)(intptr_t)baton_call(closed, seven, NULL, NULL);
}

Test(together, a_call_from_a_task_to_a_closed_resource_is_refused, .timeout = 10)
{
	struct baton_resource closed = BATON_RESOURCE_INIT(NULL);
	void *value = NULL;

	cr_assert_eq(baton_resource_close(&closed), 0);
	cr_assert_eq(baton_call(&fix.resource, call_closed, &closed, &value), 0);
	cr_assert_eq((int)(intptr_t)value, -EPIPE);
	fixture_end();
	resource_end(&closed);
}

Test(together, without_statistics_lanes_are_handed_off_as_well, .timeout = 10)
{
	struct baton_lane array[2];
	struct baton_lanes lanes;

	fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_manual();
	baton_lanes_init(&lanes, array, 2, NULL);
	baton_resource_set_lanes(&fix.resource, &lanes);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(baton_manual_run(fix.manual, 0), 1);
	cr_assert_eq(fix.journal.count, 1);
	fixture_end();
}
