/* SPDX-License-Identifier: MIT */
/* Triggers: pending at most once, once more if fired while running; and their end. */
#include "fixture.h"
#include "bell.h"

Test(trigger, on_an_idle_resource_it_runs_inside_the_fire, .timeout = 10)
{
	struct bell bell;

	bell_init(&bell, &fix.resource);
	for (int i = 1; i <= 3; i++) {
		cr_assert_eq(baton_trigger_fire(&bell.trigger), 0);
		cr_assert_eq(bell.runs, i);
		cr_assert(!baton_trigger_is_pending(&bell.trigger));
	}
	cr_assert_eq(bell.fires, 3);
	fixture_end();
}

Test(trigger, a_thousand_fires_at_a_busy_resource_are_one_run, .timeout = 10)
{
	struct bell bell;

	bell_init(&bell, &fix.resource);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_trigger_fire(&bell.trigger), 0);
	for (int i = 1; i < 1000; i++)
		cr_assert_eq(baton_trigger_fire(&bell.trigger), 0);
	cr_assert(baton_trigger_is_pending(&bell.trigger));
	release(&fix.occupant);
	fixture_end();
	cr_assert_eq(bell.runs, 1);
	cr_assert_eq(bell.fires, 1000);
}

Test(trigger, one_fire_is_pending_until_its_run, .timeout = 10)
{
	struct bell bell;

	bell_init(&bell, &fix.resource);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_not(baton_trigger_is_pending(&bell.trigger));
	cr_assert_eq(baton_trigger_fire(&bell.trigger), 0);
	cr_assert(baton_trigger_is_pending(&bell.trigger));
	release(&fix.occupant);
	cr_assert_not(baton_trigger_is_pending(&bell.trigger));
	fixture_end();
}

Test(trigger, fired_while_it_runs_it_runs_exactly_once_more, .timeout = 10)
{
	struct bell bell;

	bell_init(&bell, &fix.resource);
	bell.again = 4;
	cr_assert_eq(baton_trigger_fire(&bell.trigger), 0);
	fixture_end();
	cr_assert_eq(bell.runs, 2);
	cr_assert_eq(bell.fires, 5);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(bell.results[i], 0);
}

Test(trigger, it_has_the_place_of_the_fire_that_submitted_it, .timeout = 10)
{
	struct bell bell;

	bell_init(&bell, &fix.resource);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_trigger_fire(&bell.trigger), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[1].task), 0);
	cr_assert_eq(baton_trigger_fire(&bell.trigger), 0);
	release(&fix.occupant);
	fixture_end();
	cr_assert_eq(bell.runs, 1);
	cr_assert(journal_counts_up(&fix.journal, 0, 2));
}

Test(trigger, without_a_function_or_a_resource_it_is_refused, .timeout = 10)
{
	struct baton_trigger triggers[3] = {
		BATON_TRIGGER_INIT(&fix.resource, NULL),
		BATON_TRIGGER_INIT(NULL, bell_run),
	};

	for (int i = 0; i < 3; i++) {
		cr_assert_eq(baton_trigger_fire(&triggers[i]), -EINVAL);
		cr_assert_not(baton_trigger_is_pending(&triggers[i]));
	}
	fixture_end();
}

static void *resubmit(void *arg)
{
	struct bell *bell = arg;

	bell->results[3] = baton_trigger_fire(&bell->trigger);
	return NULL;
}

Test(trigger, deep_in_nested_tasks_it_waits_for_its_turn, .timeout = 10)
{
	struct bell bell;

	bell_init(&bell, &fix.resource);
	cr_assert_eq(baton_call(&fix.resource, resubmit, &bell, NULL), 0);
	fixture_end();
	cr_assert_eq(bell.results[3], 0);
	cr_assert_eq(bell.runs, 1);
}

/* ---- Stop ---- */

Test(trigger, stopped_it_does_not_run_and_refuses, .timeout = 10)
{
	struct bell bell;

	bell_init(&bell, &fix.resource);
	cr_assert_eq(baton_trigger_fire(&bell.trigger), 0);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_trigger_fire(&bell.trigger), 0);
	cr_assert_eq(baton_trigger_stop(&bell.trigger).met, BATON_STOP_QUEUED);
	cr_assert_eq(baton_trigger_fire(&bell.trigger), -ECANCELED);
	cr_assert_eq(baton_trigger_stop(&bell.trigger).met, BATON_STOP_QUEUED, "still");
	release(&fix.occupant);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	cr_assert_eq(baton_trigger_stop(&bell.trigger).met, BATON_STOP_NOTHING);
	cr_assert_eq(bell.runs, 1);
	cr_assert_eq(bell.cancelled, 0, "who stops it knows");
	baton_trigger_init(&bell.trigger, &fix.resource, bell_run);
	cr_assert_eq(baton_trigger_fire(&bell.trigger), 0);
	cr_assert_eq(bell.runs, 2);
	fixture_end();
}

static int free_itself(struct baton_trigger *trigger, uint64_t fires)
{
	struct bell *bell = baton_container_of(trigger, struct bell, trigger);

	MUST(baton_trigger_stop(trigger).met == BATON_STOP_RUNNING);
	free(bell);
	return BATON_GONE;
}

Test(trigger, its_function_may_end_it, .timeout = 10)
{
	struct bell *bell = malloc(sizeof(*bell));

	MUST(bell);
	baton_trigger_init(&bell->trigger, &fix.resource, free_itself);
	cr_assert_eq(baton_trigger_fire(&bell->trigger), 0);
	fixture_end();
}

static void *free_bell(void *bell)
{
	free(bell);
	return NULL;
}

Test(trigger, a_later_task_may_end_a_stopped_one, .timeout = 10)
{
	struct bell *bell = malloc(sizeof(*bell));

	MUST(bell);
	bell_init(bell, &fix.resource);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_trigger_fire(&bell->trigger), 0);
	cr_assert_eq(baton_trigger_stop(&bell->trigger).met, BATON_STOP_QUEUED);
	cr_assert_eq(baton_post(&fix.resource, free_bell, bell), 0);
	release(&fix.occupant);
	fixture_end();
}

/* ---- Many threads ---- */

#define FIRERS 4

struct firer {
	struct bell *bell;
	int *noted; /* plain: one writer, read by runs */
	int fires;
};

static struct firer firers[FIRERS];
static int notes[FIRERS][16]; /* the first of each is used: apart */
static int seen[FIRERS];

static int look_around(struct baton_trigger *trigger, uint64_t fires)
{
	struct bell *bell = baton_container_of(trigger, struct bell, trigger);

	bell->runs++;
	bell->fires += fires;
	for (int i = 0; i < FIRERS; i++)
		seen[i] = __atomic_load_n(&notes[i][0], __ATOMIC_RELAXED);
	return 0;
}

static void *fire_often(void *arg)
{
	struct firer *firer = arg;

	for (int i = 1; i <= firer->fires; i++) {
		__atomic_store_n(firer->noted, i, __ATOMIC_RELAXED);
		MUST(baton_trigger_fire(&firer->bell->trigger) == 0);
	}
	return NULL;
}

Test(trigger, the_last_run_sees_what_every_firer_did_and_all_are_answered, .timeout = 60)
{
	struct baton_resource_stats stats = {0};
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	const int fires = scaled(200000);
	pthread_t threads[FIRERS];
	struct bell bell;

	baton_resource_set_stats(&resource, &stats);
	bell_init(&bell, &resource);
	baton_trigger_init(&bell.trigger, &resource, look_around);
	for (int i = 0; i < FIRERS; i++) {
		firers[i] = (struct firer){&bell, &notes[i][0], fires};
		threads[i] = thread_start(fire_often, &firers[i]);
	}
	for (int i = 0; i < FIRERS; i++)
		thread_join(threads[i]);
	resource_end(&resource);
	for (int i = 0; i < FIRERS; i++)
		cr_assert_eq(seen[i], fires);
	cr_assert_eq(bell.fires, (uint64_t)fires * FIRERS);
	cr_assert_eq((uint64_t)bell.runs, resource_counts(&stats).submitted,
	             "each task is one run");
}
