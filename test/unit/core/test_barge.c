/* SPDX-License-Identifier: MIT */
/* Standing back before a push: when it is tried, what ends it, how a failure affects later ones. */
#include "fixture.h"

#include "core/barge.h"

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

Test(barge, an_idle_resource_is_worth_it_and_a_closed_one_is_not, .timeout = 5)
{
	(void)attached();
	cr_assert(baton__barge(&fix.resource));
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert_not(baton__barge(&fix.resource));
}

Test(barge, each_failure_doubles_the_submits_that_do_not_try, .timeout = 5)
{
	struct baton__thread *self = attached();
	unsigned expected = 16;

	hold(&fix.occupant, &fix.resource);
	for (int failure = 0; failure < 12; failure++) {
		unsigned skipped = 0;

		cr_assert(baton__barge_due(self));
		cr_assert_not(baton__barge(&fix.resource));
		while (!baton__barge_due(self))
			skipped++;
		cr_assert_eq(skipped, expected, "%u instead of %u", skipped, expected);
		expected = expected < 4096 ? 2 * expected : 4096;
	}
	release(&fix.occupant);
	cr_assert_eq(baton_resource_await(&fix.resource, NULL), 0);
	/* A success makes the next failure cheap again. */
	cr_assert(baton__barge(&fix.resource));
	cr_assert_eq(self->barge_next, 0);
	cr_assert(baton__barge_due(self));
}

Test(barge, a_queued_resource_is_not_waited_for, .timeout = 5)
{
	fixture_manual();
	(void)attached();
	steps_init(&fix.steps[0], 1, &fix.journal, 1);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_not(baton__barge(&fix.resource));
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(baton_manual_run_until_idle(fix.manual), 1);
	cr_assert(baton__barge(&fix.resource));
	fixture_end();
}

static void *release_soon(void *argument)
{
	struct occupant *occupant = argument;

	release(occupant);
	return NULL;
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
	cr_assert_eq(self->barge_next, 16);
	cr_assert(stood_back(self));
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

static void *due(void *unused)
{
	return baton__barge_due(baton__self) ? baton__self : NULL;
}

Test(barge, a_task_does_not_let_its_own_resource_wait_for_another, .timeout = 5)
{
	void *is_due;

	cr_assert_eq(baton_call(&fix.resource, due, NULL, &is_due), 0);
	cr_assert_null(is_due);
	cr_assert(baton__barge_due(baton__self));
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
