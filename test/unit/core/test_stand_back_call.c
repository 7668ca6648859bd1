/* SPDX-License-Identifier: MIT */
/* Standing back before a call: when it is tried, what ends it, what calls learn. */
#include "holders.h"

#include "core/contention.h"

static void *begins_inside(void *argument)
{
	struct baton__stand_back_call looks;

	return baton__stand_back_call_begin(argument, &looks) ? argument : NULL;
}

Test(stand_back_call, a_caller_looks_until_the_resource_is_idle_or_its_looks_are_over, .timeout = 5)
{
	struct baton__stand_back_call looks;

	(void)attached();
	/* There is nothing to stand back from. */
	cr_assert_not(baton__stand_back_call_begin(&fix.resource, &looks));
	hold(&fix.occupant, &fix.resource);
	cr_assert(baton__stand_back_call_begin(&fix.resource, &looks));
	cr_assert_eq(looks.left, 9);
	cr_assert_not(baton__stand_back_call_look(&fix.resource, &looks));
	cr_assert_eq(looks.left, 0);
	cr_assert(baton__stand_back_call_begin(&fix.resource, &looks));
	release(&fix.occupant);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	cr_assert(baton__stand_back_call_look(&fix.resource, &looks));
	/* The capture that failed has cost one look. */
	cr_assert(baton__stand_back_call_look(&fix.resource, &looks));
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert_not(baton__stand_back_call_look(&fix.resource, &looks));
	cr_assert_gt(looks.left, 0);
}

static void meet(struct baton_resource *resource, uint32_t left, uint32_t pause)
{
	struct baton__stand_back_call looks;

	cr_assert(baton__stand_back_call_begin(resource, &looks));
	cr_assert_eq(looks.left, left);
	cr_assert_eq(looks.pause, pause);
}

Test(stand_back_call, the_first_pause_is_longer_where_the_last_eight_busy_resources_were_this_one,
     .timeout = 5)
{
	struct baton_resource other;
	struct occupant occupant;

	cr_assert_eq(attached()->learnt.met.times, 0);
	baton_resource_init(&other, NULL);
	hold(&occupant, &other);
	hold(&fix.occupant, &fix.resource);
	for (unsigned i = 0; i < BATON__STREAK_LONG; i++)
		meet(&fix.resource, 9, 32);
	meet(&fix.resource, 5, 8192);
	meet(&fix.resource, 5, 8192);
	/* One other, and the resource has to be met eight times again. */
	meet(&other, 9, 32);
	for (unsigned i = 0; i < BATON__STREAK_LONG; i++)
		meet(&fix.resource, 9, 32);
	meet(&fix.resource, 5, 8192);
	/* A submit counts like a call. */
	cr_assert_not(baton__stand_back(&other));
	meet(&fix.resource, 9, 32);
	release(&occupant);
	release(&fix.occupant);
	resource_end(&other);
}

Test(stand_back_call, a_caller_does_not_stand_back_with_limit_0_or_with_hooks_or_in_a_task,
     .timeout = 5)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton__stand_back_call looks;
	struct baton_resource resource;
	struct occupant occupant;
	void *did;

	(void)attached();
	config.capture_max = BATON_CAPTURE_NONE;
	baton_resource_init(&resource, &config);
	hold(&occupant, &resource);
	cr_assert_not(baton__stand_back_call_begin(&resource, &looks));
	release(&occupant);
	resource_end(&resource);

	config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	config.delay_completions = true;
	baton_resource_init(&resource, &config);
	hold(&occupant, &resource);
	cr_assert_not(baton__stand_back_call_begin(&resource, &looks));
	release(&occupant);
	resource_end(&resource);

	hold(&fix.occupant, &fix.resource);
	baton_resource_init(&resource, NULL);
	cr_assert_eq(baton_call(&resource, begins_inside, &fix.resource, &did), 0);
	cr_assert_null(did);
	cr_assert(baton__stand_back_call_begin(&fix.resource, &looks));
	release(&fix.occupant);
	resource_end(&resource);
}

/* The resource is in a queue: no look helps. */
Test(stand_back_call, a_caller_does_not_wait_for_a_queued_resource, .timeout = 5)
{
	struct baton__stand_back_call looks;

	fixture_manual();
	(void)attached();
	steps_init(&fix.steps[0], 1, &fix.journal, 1);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_not(baton__stand_back_call_begin(&fix.resource, &looks));
	looks = (struct baton__stand_back_call){3, 1};
	cr_assert_not(baton__stand_back_call_look(&fix.resource, &looks));
	cr_assert_eq(looks.left, 2);
	cr_assert_eq(baton_manual_run(fix.manual, 0), 1);
	fixture_end();
}

Test(stand_back_call, each_call_that_has_slept_doubles_the_calls_that_push_at_once, .timeout = 10)
{
	struct baton__thread *self = attached();
	static const unsigned expected[] = {1, 2, 4, 8, 16, 32, 64, 64};
	struct baton__stand_back_call looks;

	for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct occupant occupant;
		unsigned pushes = 0;
		pthread_t releaser;

		hold(&occupant, &fix.resource);
		releaser = thread_start(release_late, &occupant);
		cr_assert_eq(baton_call(&fix.resource, nothing, NULL, NULL), 0);
		thread_join(releaser);
		hold(&occupant, &fix.resource);
		while (!baton__stand_back_call_begin(&fix.resource, &looks))
			pushes++;
		release(&occupant);
		cr_assert_eq(pushes, expected[i], "%u instead of %u", pushes, expected[i]);
	}
	/* A capture after standing back: the next call that sleeps costs one again. */
	baton__stand_back_call_learn(self, false);
	cr_assert_eq(self->learnt.call_next, 0);
	cr_assert_eq(self->learnt.call_skip, 0);
	baton__stand_back_call_learn(self, true);
	cr_assert_eq(self->learnt.call_skip, 1);
}

static void *self_of(void *unused)
{
	(void)unused;
	return baton__self;
}

Test(stand_back_call, a_call_that_stood_back_captures_what_was_released_meanwhile, .timeout = 60)
{
	struct baton__thread *self = attached();
	struct sprinter sprinter;
	void *runner;

	/* Ends: while both threads have a CPU, the resource is left between two looks. */
	do {
		self->learnt.call_next = 2;
		self->learnt.call_skip = 0;
		sprinter_start(&sprinter);
		sprinter_may_leave(&sprinter);
		cr_assert_eq(baton_call(&fix.resource, self_of, NULL, &runner), 0);
		thread_join(sprinter.thread);
	} while (self->learnt.call_next != 0);
	cr_assert_eq(runner, self);
}
