/* SPDX-License-Identifier: MIT */
/* Standing back before a push: when it is tried, what ends it, how a failure affects later ones. */
#include "fixture.h"

#include "core/barge.h"
#include "core/streak.h"

static void *release_soon(void *argument)
{
	struct occupant *occupant = argument;

	release(occupant);
	return NULL;
}

/* Holds the resource until released, on a thread of its own. */
static void hold(struct occupant *occupant, struct baton_resource *resource)
{
	occupant_init(occupant, resource);
	occupant->thread = thread_start(occupant_main, occupant);
	gate_pass(&occupant->entered);
}

static struct baton__thread *attached(void)
{
	cr_assert_eq(baton__thread_attach(), 0);
	cr_assert_eq(baton__self->barge_skip, 0);
	return baton__self;
}

/* Tasks, in batches of `count`, that are pushed before the next look. */
static unsigned pushed_before_a_look(struct baton__thread *self, unsigned count)
{
	unsigned pushed = 0;

	while (!baton__barge_due(self, count))
		pushed += count;
	return pushed;
}

Test(barge, an_idle_resource_is_worth_it_and_a_closed_one_is_not, .timeout = 5)
{
	(void)attached();
	cr_assert(baton__barge(&fix.resource));
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert_not(baton__barge(&fix.resource));
}

Test(barge, each_failure_doubles_the_tasks_that_are_pushed_before_the_next_look, .timeout = 5)
{
	struct baton__thread *self = attached();
	unsigned expected = 16;

	hold(&fix.occupant, &fix.resource);
	for (int failure = 0; failure < 12; failure++) {
		unsigned pushed;

		cr_assert(baton__barge_due(self, 1));
		cr_assert_not(baton__barge(&fix.resource));
		pushed = pushed_before_a_look(self, failure % 2 ? 1 : 16);
		cr_assert_eq(pushed, expected, "%u instead of %u", pushed, expected);
		expected = expected < 4096 ? 2 * expected : 4096;
	}
	release(&fix.occupant);
	cr_assert_eq(baton_resource_await(&fix.resource, NULL), 0);
	/* A success makes the next failure cheap again. */
	cr_assert(baton__barge(&fix.resource));
	cr_assert_eq(self->barge_next, 0);
	cr_assert(baton__barge_due(self, 1));
}

/* A batch that is longer than what is left looks, and leaves the rest to shorter batches. */
Test(barge, a_batch_that_is_longer_than_what_is_left_looks, .timeout = 5)
{
	struct baton__thread *self = attached();

	hold(&fix.occupant, &fix.resource);
	cr_assert_not(baton__barge(&fix.resource));
	cr_assert_eq(pushed_before_a_look(self, 6), 12);
	cr_assert_eq(pushed_before_a_look(self, 3), 3);
	cr_assert_eq(pushed_before_a_look(self, 1), 1);
	cr_assert(baton__barge_due(self, UINT32_MAX));
	release(&fix.occupant);
}

Test(barge, a_queued_resource_is_not_waited_for_and_teaches_nothing, .timeout = 5)
{
	fixture_manual();
	(void)attached();
	steps_init(&fix.steps[0], 1, &fix.journal, 1);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	baton__self->barge_next = 32;
	cr_assert_not(baton__barge(&fix.resource));
	cr_assert_eq(baton__self->barge_next, 32);
	cr_assert_eq(baton__self->barge_skip, 0);
	cr_assert_eq(baton__self->met.times, 0);
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(baton_manual_run_until_idle(fix.manual), 1);
	cr_assert(baton__barge(&fix.resource));
	fixture_end();
}

/* A thread that stands back for the first time, after failures elsewhere. */
static void stand_back_anew(struct baton__thread *self)
{
	self->met = (struct baton__streak){0};
	self->barge_next = 32;
	self->barge_skip = 7;
}

Test(barge, a_resource_that_is_released_meanwhile_ends_all_skipping, .timeout = 30)
{
	struct baton__thread *self = attached();
	bool found = false;

	/* Ends: the occupant leaves at any moment, also between the first look and the last. */
	while (!found) {
		struct occupant occupant;
		pthread_t releaser;

		hold(&occupant, &fix.resource);
		releaser = thread_start(release_soon, &occupant);
		stand_back_anew(self);
		found = baton__barge(&fix.resource) && self->met.times == 1;
		thread_join(releaser);
		cr_assert_eq(baton_resource_await(&fix.resource, NULL), 0);
	}
	cr_assert_eq(self->barge_next, 0);
	cr_assert_eq(self->barge_skip, 0);
}

Test(barge, a_resource_that_is_handed_off_meanwhile_is_no_failure_but_costs_a_few_looks,
     .timeout = 30)
{
	struct baton__thread *self = attached();
	bool found = false;

	fix.config.capture_limit = 1;
	fixture_manual();
	/* Ends: as above. */
	while (!found) {
		struct occupant occupant;
		pthread_t releaser;

		hold(&occupant, &fix.resource);
		cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
		releaser = thread_start(release_soon, &occupant);
		stand_back_anew(self);
		cr_assert_not(baton__barge(&fix.resource));
		found = self->met.times == 1 && self->barge_next == 32;
		thread_join(releaser);
		/* The occupant's thread has ended, and its resource waits in the queue. */
		cr_assert_eq(baton_manual_run_until_idle(fix.manual), 1);
		fix.journal.count = 0;
	}
	cr_assert_eq(self->barge_skip, 16);
	fixture_end();
}

/* Long after a call has stood back in vain. */
static void *release_late(void *argument)
{
	struct timespec nap = {0, 20000000};

	(void)nanosleep(&nap, NULL);
	return release_soon(argument);
}

static void *nothing(void *unused)
{
	return unused;
}

static void *begins_inside(void *argument)
{
	struct baton__barge_call barge;

	return baton__barge_call_begin(argument, &barge) ? argument : NULL;
}

/* Was it stood back from, in vain, since the last call of this? */
static bool stood_back(struct baton__thread *self)
{
	bool did = self->barge_next != 0;

	self->barge_next = 0;
	self->barge_skip = 0;
	return did;
}

Test(barge, each_way_to_submit_to_a_busy_resource_stands_back_once_but_later_and_limit_0,
     .timeout = 10)
{
	struct baton_resource_config later = BATON_RESOURCE_CONFIG_INIT;
	struct baton__thread *self = attached();
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_resource resource;
	struct journal journal = {0};
	struct baton_task *tasks[2];
	struct occupant occupant;
	struct step steps[7];
	pthread_t releaser;

	baton_resource_init(&resource, NULL);
	steps_init(steps, 7, &journal, 1);
	hold(&occupant, &resource);
	cr_assert_eq(baton_submit(&resource, &steps[0].task), 0);
	cr_assert_eq(self->barge_next, 16);
	cr_assert(stood_back(self));
	step_init(&steps[1], &journal, 2, &future);
	cr_assert_eq(baton_submit(&resource, &steps[1].task), 0);
	cr_assert_eq(self->barge_next, 16);
	cr_assert(stood_back(self));
	tasks[0] = &steps[2].task;
	tasks[1] = &steps[3].task;
	cr_assert_eq(baton_submit_batch(&resource, tasks, 2), 0);
	cr_assert_eq(self->barge_next, 16);
	cr_assert(stood_back(self));
	cr_assert_eq(baton_post(&resource, nothing, NULL), 0);
	cr_assert_eq(self->barge_next, 16);
	cr_assert(stood_back(self));
	cr_assert_eq(baton_submit_later(&resource, &steps[4].task), 0);
	cr_assert_not(stood_back(self));
	cr_assert_eq(baton_try_call(&resource, nothing, NULL, NULL), -EAGAIN);
	cr_assert_not(stood_back(self));
	releaser = thread_start(release_late, &occupant);
	cr_assert_eq(baton_call(&resource, nothing, NULL, NULL), 0);
	cr_assert_not(stood_back(self)); /* in the way of calls, which learn otherwise */
	thread_join(releaser);
	cr_assert_eq(baton_resource_await(&resource, NULL), 0);
	cr_assert(journal_counts_up(&journal, 1, 5));
	resource_end(&resource);

	later.capture_limit = 0;
	baton_resource_init(&resource, &later);
	hold(&occupant, &resource);
	cr_assert_eq(baton_submit(&resource, &steps[5].task), 0);
	cr_assert_eq(baton_submit_batch(&resource, &(struct baton_task *){&steps[6].task}, 1), 0);
	cr_assert_not(stood_back(self));
	release(&occupant);
	resource_end(&resource);
}

Test(barge, each_way_to_submit_counts_its_tasks, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton__thread *self = attached();
	struct baton_task *tasks[2];
	struct journal journal = {0};
	struct step steps[4];

	steps_init(steps, 4, &journal, 1);
	tasks[0] = &steps[0].task;
	tasks[1] = &steps[1].task;
	hold(&fix.occupant, &fix.resource);
	self->barge_skip = 6;
	cr_assert_eq(baton_submit_batch(&fix.resource, tasks, 2), 0);
	cr_assert_eq(self->barge_skip, 4);
	cr_assert_eq(baton_submit(&fix.resource, &steps[2].task), 0);
	cr_assert_eq(self->barge_skip, 3);
	step_init(&steps[3], &journal, 4, &future);
	cr_assert_eq(baton_submit(&fix.resource, &steps[3].task), 0);
	cr_assert_eq(self->barge_skip, 2);
	cr_assert_eq(baton_post(&fix.resource, nothing, NULL), 0);
	cr_assert_eq(self->barge_skip, 1);
	release(&fix.occupant);
	cr_assert_eq(baton_resource_await(&fix.resource, NULL), 0);
	cr_assert(journal_counts_up(&journal, 1, 4));
}

Test(barge, a_caller_looks_until_the_resource_is_idle_or_its_looks_are_over, .timeout = 5)
{
	struct baton__barge_call barge;

	(void)attached();
	/* There is nothing to stand back from. */
	cr_assert_not(baton__barge_call_begin(&fix.resource, &barge));
	hold(&fix.occupant, &fix.resource);
	cr_assert(baton__barge_call_begin(&fix.resource, &barge));
	cr_assert_eq(barge.looks, 9);
	cr_assert_not(baton__barge_call_look(&fix.resource, &barge));
	cr_assert_eq(barge.looks, 0);
	cr_assert(baton__barge_call_begin(&fix.resource, &barge));
	release(&fix.occupant);
	cr_assert_eq(baton_resource_await(&fix.resource, NULL), 0);
	cr_assert(baton__barge_call_look(&fix.resource, &barge));
	/* The capture that failed has cost one look. */
	cr_assert(baton__barge_call_look(&fix.resource, &barge));
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert_not(baton__barge_call_look(&fix.resource, &barge));
	cr_assert_gt(barge.looks, 0);
}

static void meet(struct baton_resource *resource, uint32_t looks, uint32_t pause)
{
	struct baton__barge_call barge;

	cr_assert(baton__barge_call_begin(resource, &barge));
	cr_assert_eq(barge.looks, looks);
	cr_assert_eq(barge.pause, pause);
}

Test(barge, the_first_look_comes_later_where_the_last_eight_busy_resources_were_this_one,
     .timeout = 5)
{
	struct baton_resource other;
	struct occupant occupant;

	cr_assert_eq(attached()->met.times, 0);
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
	cr_assert_not(baton__barge(&other));
	meet(&fix.resource, 9, 32);
	release(&occupant);
	release(&fix.occupant);
	resource_end(&other);
}

Test(barge, a_caller_does_not_stand_back_with_limit_0_or_with_hooks_or_in_a_task, .timeout = 5)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton__barge_call barge;
	struct baton_resource resource;
	struct occupant occupant;
	void *did;

	(void)attached();
	config.capture_limit = 0;
	baton_resource_init(&resource, &config);
	hold(&occupant, &resource);
	cr_assert_not(baton__barge_call_begin(&resource, &barge));
	release(&occupant);
	resource_end(&resource);

	config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	config.hold_completions = true;
	baton_resource_init(&resource, &config);
	hold(&occupant, &resource);
	cr_assert_not(baton__barge_call_begin(&resource, &barge));
	release(&occupant);
	resource_end(&resource);

	hold(&fix.occupant, &fix.resource);
	baton_resource_init(&resource, NULL);
	cr_assert_eq(baton_call(&resource, begins_inside, &fix.resource, &did), 0);
	cr_assert_null(did);
	cr_assert(baton__barge_call_begin(&fix.resource, &barge));
	release(&fix.occupant);
	resource_end(&resource);
}

/* The resource is in a queue: no look helps. */
Test(barge, a_caller_does_not_wait_for_a_queued_resource, .timeout = 5)
{
	struct baton__barge_call barge;

	fixture_manual();
	(void)attached();
	steps_init(&fix.steps[0], 1, &fix.journal, 1);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_not(baton__barge_call_begin(&fix.resource, &barge));
	barge = (struct baton__barge_call){3, 1};
	cr_assert_not(baton__barge_call_look(&fix.resource, &barge));
	cr_assert_eq(barge.looks, 2);
	cr_assert_eq(baton_manual_run_until_idle(fix.manual), 1);
	fixture_end();
}

Test(barge, each_call_that_has_slept_doubles_the_calls_that_push_at_once, .timeout = 10)
{
	struct baton__thread *self = attached();
	static const unsigned expected[] = {1, 2, 4, 8, 16, 32, 64, 64};
	struct baton__barge_call barge;

	for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct occupant occupant;
		unsigned pushes = 0;
		pthread_t releaser;

		hold(&occupant, &fix.resource);
		releaser = thread_start(release_late, &occupant);
		cr_assert_eq(baton_call(&fix.resource, nothing, NULL, NULL), 0);
		thread_join(releaser);
		hold(&occupant, &fix.resource);
		while (!baton__barge_call_begin(&fix.resource, &barge))
			pushes++;
		release(&occupant);
		cr_assert_eq(pushes, expected[i], "%u instead of %u", pushes, expected[i]);
	}
	/* A capture after standing back: the next call that sleeps costs one again. */
	baton__barge_call_learn(self, false);
	cr_assert_eq(self->call_next, 0);
	cr_assert_eq(self->call_skip, 0);
	baton__barge_call_learn(self, true);
	cr_assert_eq(self->call_skip, 1);
}

static void *self_of(void *unused)
{
	(void)unused;
	return baton__self;
}

Test(barge, a_call_that_stood_back_captures_what_was_released_meanwhile, .timeout = 30)
{
	struct baton__thread *self = attached();
	bool captured = false;

	/* Ends: the occupant leaves at any moment, also while this thread stands back. */
	while (!captured) {
		struct occupant occupant;
		pthread_t releaser;
		void *runner;

		self->call_next = 2;
		hold(&occupant, &fix.resource);
		releaser = thread_start(release_soon, &occupant);
		cr_assert_eq(baton_call(&fix.resource, self_of, NULL, &runner), 0);
		captured = self->call_next == 0;
		cr_assert(!captured || runner == self);
		self->call_skip = 0;
		thread_join(releaser);
	}
}

static void *due(void *unused)
{
	return baton__barge_due(baton__self, 1) ? baton__self : NULL;
}

Test(barge, a_task_does_not_let_its_own_resource_wait_for_another, .timeout = 5)
{
	void *is_due;

	cr_assert_eq(baton_call(&fix.resource, due, NULL, &is_due), 0);
	cr_assert_null(is_due);
	cr_assert(baton__barge_due(baton__self, 1));
}

Test(barge, a_submit_captures_what_was_released_meanwhile_or_is_run_by_the_runner, .timeout = 30)
{
	struct baton_resource_stats stats = {0};
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton__thread *self = attached();

	baton_resource_set_stats(&resource, &stats);
	/* Whichever thread is faster: the task runs once, and its submitter does not sleep. */
	for (int round = 0; round < scaled(200); round++) {
		struct journal journal = {0};
		struct occupant occupant;
		struct step step;
		pthread_t releaser;

		self->barge_skip = 0;
		steps_init(&step, 1, &journal, 1);
		hold(&occupant, &resource);
		releaser = thread_start(release_soon, &occupant);
		cr_assert_eq(baton_submit(&resource, &step.task), 0);
		thread_join(releaser);
		cr_assert_eq(baton_resource_await(&resource, NULL), 0);
		cr_assert(journal_counts_up(&journal, 1, 1));
	}
}
