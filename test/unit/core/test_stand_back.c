/* SPDX-License-Identifier: MIT */
/* Standing back before a push: when it is tried, what ends it, how a failure affects later ones. */
#include "holders.h"

#include "core/contention.h"

/* Tasks, in batches of `count`, that are pushed before the next look. */
static unsigned pushed_before_a_look(struct baton__thread *self, unsigned count)
{
	unsigned pushed = 0;

	while (!baton__stand_back_due(self, count))
		pushed += count;
	return pushed;
}

Test(stand_back, an_idle_resource_is_worth_it_and_a_closed_one_is_not, .timeout = 5)
{
	(void)attached();
	cr_assert(baton__stand_back(&fix.resource));
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert_not(baton__stand_back(&fix.resource));
}

Test(stand_back, each_failure_doubles_the_tasks_that_are_pushed_before_the_next_look, .timeout = 5)
{
	struct baton__thread *self = attached();
	unsigned expected = 16;

	hold(&fix.occupant, &fix.resource);
	for (int failure = 0; failure < 12; failure++) {
		unsigned pushed;

		cr_assert(baton__stand_back_due(self, 1));
		cr_assert_not(baton__stand_back(&fix.resource));
		pushed = pushed_before_a_look(self, failure % 2 ? 1 : 16);
		cr_assert_eq(pushed, expected, "%u instead of %u", pushed, expected);
		expected = expected < 4096 ? 2 * expected : 4096;
	}
	release(&fix.occupant);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	/* A success makes the next failure cheap again. */
	cr_assert(baton__stand_back(&fix.resource));
	cr_assert_eq(self->learnt.stand_back_next, 0);
	cr_assert(baton__stand_back_due(self, 1));
}

/* A batch that is longer than what is left looks, and leaves the rest to shorter batches. */
Test(stand_back, a_batch_that_is_longer_than_what_is_left_looks, .timeout = 5)
{
	struct baton__thread *self = attached();

	hold(&fix.occupant, &fix.resource);
	cr_assert_not(baton__stand_back(&fix.resource));
	cr_assert_eq(pushed_before_a_look(self, 6), 12);
	cr_assert_eq(pushed_before_a_look(self, 3), 3);
	cr_assert_eq(pushed_before_a_look(self, 1), 1);
	cr_assert(baton__stand_back_due(self, UINT32_MAX));
	release(&fix.occupant);
}

Test(stand_back, a_queued_resource_is_not_waited_for_and_teaches_nothing, .timeout = 5)
{
	fixture_manual();
	(void)attached();
	steps_init(&fix.steps[0], 1, &fix.journal, 1);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	baton__self->learnt.stand_back_next = 32;
	cr_assert_not(baton__stand_back(&fix.resource));
	cr_assert_eq(baton__self->learnt.stand_back_next, 32);
	cr_assert_eq(baton__self->learnt.stand_back_skip, 0);
	cr_assert_eq(baton__self->learnt.met.times, 0);
	cr_assert_eq(fix.journal.count, 0);
	cr_assert_eq(baton_manual_run(fix.manual, 0), 1);
	cr_assert(baton__stand_back(&fix.resource));
	fixture_end();
}

/* Stands back, after failures elsewhere, from a resource that is left just now. `task`: it waits
 * there, or NULL. */
static bool stand_back_from_sprinter(struct baton__streak met, struct baton_task *task)
{
	struct sprinter sprinter;
	bool idle;

	sprinter_start(&sprinter);
	if (task)
		cr_assert_eq(baton_submit_later(&fix.resource, task), 0);
	baton__self->learnt.met = met;
	baton__self->learnt.stand_back_next = 32;
	baton__self->learnt.stand_back_skip = 7;
	sprinter_may_leave(&sprinter);
	idle = baton__stand_back(&fix.resource);
	thread_join(sprinter.thread);
	return idle;
}

Test(stand_back, a_resource_that_is_released_meanwhile_ends_all_skipping, .timeout = 60)
{
	struct baton__thread *self = attached();

	/* Ends: while both threads have a CPU, the resource is left between two looks. The first
	 * look counts if it finds the resource busy. */
	do
		while (!stand_back_from_sprinter((struct baton__streak){0}, NULL))
			;
	while (self->learnt.met.times == 0);
	cr_assert_eq(self->learnt.stand_back_next, 0);
	cr_assert_eq(self->learnt.stand_back_skip, 0);
}

Test(stand_back, a_resource_that_is_handed_off_meanwhile_is_no_failure_but_costs_a_few_looks,
     .timeout = 60)
{
	const struct baton__streak hot = {&fix.resource, BATON__STREAK_LONG};
	struct baton__thread *self = attached();

	fix.config.capture_max = 1;
	fixture_manual();
	/* Ends: while both threads have a CPU, the resource is handed off during a pause; the
	 * pauses of a hot resource are long. A round does not count if the resource was busy at
	 * each look: then stand_back_next is 64; nor if it was in the queue at the first look: then
	 * stand_back_skip is still 7. */
	do {
		cr_assert_not(stand_back_from_sprinter(hot, &fix.steps[0].task));
		cr_assert_eq(baton_manual_run(fix.manual, 0), 1);
		fix.journal.count = 0;
	} while (self->learnt.stand_back_next != 32 || self->learnt.stand_back_skip == 7);
	cr_assert_eq(self->learnt.stand_back_skip, 16);
	fixture_end();
}

/* Was it stood back from, in vain, since the last call of this? */
static bool stood_back(struct baton__thread *self)
{
	bool did = self->learnt.stand_back_next != 0;

	self->learnt.stand_back_next = 0;
	self->learnt.stand_back_skip = 0;
	return did;
}

Test(stand_back, each_way_to_submit_to_a_busy_resource_stands_back_once_but_later_and_limit_0,
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
	cr_assert_eq(self->learnt.stand_back_next, 16);
	cr_assert(stood_back(self));
	step_init(&steps[1], &journal, 2, &future);
	cr_assert_eq(baton_submit(&resource, &steps[1].task), 0);
	cr_assert_eq(self->learnt.stand_back_next, 16);
	cr_assert(stood_back(self));
	tasks[0] = &steps[2].task;
	tasks[1] = &steps[3].task;
	cr_assert_eq(baton_submit_batch(&resource, tasks, 2), 0);
	cr_assert_eq(self->learnt.stand_back_next, 16);
	cr_assert(stood_back(self));
	cr_assert_eq(baton_post(&resource, nothing, NULL), 0);
	cr_assert_eq(self->learnt.stand_back_next, 16);
	cr_assert(stood_back(self));
	cr_assert_eq(baton_submit_later(&resource, &steps[4].task), 0);
	cr_assert_not(stood_back(self));
	cr_assert_eq(baton_try_call(&resource, nothing, NULL, NULL), -EAGAIN);
	cr_assert_not(stood_back(self));
	releaser = thread_start(release_late, &occupant);
	cr_assert_eq(baton_call(&resource, nothing, NULL, NULL), 0);
	cr_assert_not(stood_back(self)); /* in the way of calls, which learn otherwise */
	thread_join(releaser);
	cr_assert_eq(baton_resource_await(&resource), 0);
	cr_assert(journal_counts_up(&journal, 1, 5));
	resource_end(&resource);

	later.capture_max = BATON_CAPTURE_NONE;
	baton_resource_init(&resource, &later);
	hold(&occupant, &resource);
	cr_assert_eq(baton_submit(&resource, &steps[5].task), 0);
	cr_assert_eq(baton_submit_batch(&resource, &(struct baton_task *){&steps[6].task}, 1), 0);
	cr_assert_not(stood_back(self));
	release(&occupant);
	resource_end(&resource);
}

Test(stand_back, each_way_to_submit_counts_its_tasks, .timeout = 10)
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
	self->learnt.stand_back_skip = 6;
	cr_assert_eq(baton_submit_batch(&fix.resource, tasks, 2), 0);
	cr_assert_eq(self->learnt.stand_back_skip, 4);
	cr_assert_eq(baton_submit(&fix.resource, &steps[2].task), 0);
	cr_assert_eq(self->learnt.stand_back_skip, 3);
	step_init(&steps[3], &journal, 4, &future);
	cr_assert_eq(baton_submit(&fix.resource, &steps[3].task), 0);
	cr_assert_eq(self->learnt.stand_back_skip, 2);
	cr_assert_eq(baton_post(&fix.resource, nothing, NULL), 0);
	cr_assert_eq(self->learnt.stand_back_skip, 1);
	release(&fix.occupant);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	cr_assert(journal_counts_up(&journal, 1, 4));
}

static void *due(void *unused)
{
	return baton__stand_back_due(baton__self, 1) ? baton__self : NULL;
}

Test(stand_back, a_task_does_not_let_its_own_resource_wait_for_another, .timeout = 5)
{
	void *is_due;

	cr_assert_eq(baton_call(&fix.resource, due, NULL, &is_due), 0);
	cr_assert_null(is_due);
	cr_assert(baton__stand_back_due(baton__self, 1));
}

Test(stand_back, a_submit_captures_what_was_released_meanwhile_or_is_run_by_the_runner,
     .timeout = 30)
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

		self->learnt.stand_back_skip = 0;
		steps_init(&step, 1, &journal, 1);
		hold(&occupant, &resource);
		releaser = thread_start(release_soon, &occupant);
		cr_assert_eq(baton_submit(&resource, &step.task), 0);
		thread_join(releaser);
		cr_assert_eq(baton_resource_await(&resource), 0);
		cr_assert(journal_counts_up(&journal, 1, 1));
	}
}
