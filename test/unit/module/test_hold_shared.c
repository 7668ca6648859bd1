/* SPDX-License-Identifier: MIT */
/* Shared holds: a thread is a reader between two calls. */
#include "shared_support.h"

#include <baton/call.h>
#include <baton/hold.h>

static void *nothing(void *arg)
{
	return arg;
}

/* ---- What the thread has ---- */

Test(hold_shared, of_an_idle_resource_reads_and_does_not_hold, .timeout = 10)
{
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;
	struct baton_task writer = BATON_TASK_INIT(write_run, NULL);

	cr_assert_eq(baton_hold_shared(&readers, &hold), 0);
	cr_assert(baton_reading(&fix.resource));
	cr_assert_not(baton_held(&fix.resource));
	cr_assert_eq(baton_current(), &fix.resource);
	cr_assert_eq(baton_readers_at_work(&readers), 1);
	cr_assert_eq(baton_hold_shared(&readers, &hold), -EALREADY);
	cr_assert_eq(baton_submit(&fix.resource, &writer), 0);
	cr_assert_eq(seen, 0);
	cr_assert_eq(baton_release_shared(&hold), 0);
	cr_assert_eq(seen, 1);
	cr_assert_eq(baton_release_shared(&hold), -EINVAL);
	cr_assert_not(baton_reading(&fix.resource));
	cr_assert_null(baton_current());
	cr_assert(baton_resource_is_idle(&fix.resource));
	readers_end();
}

Test(hold_shared, runs_beside_others_and_beside_reader_tasks_and_before_the_writer, .timeout = 10)
{
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;
	struct baton_task writer = BATON_TASK_INIT(write_run, NULL);
	struct sharer sharers[2];
	struct look look;

	look_init(&look, false);
	for (int i = 0; i < 2; i++)
		share(&sharers[i]);
	cr_assert_eq(sharers[1].beside, 2);
	cr_assert_eq(baton_hold_shared_until(&readers, &hold, 0), 0);
	cr_assert_eq(baton_release_shared(&hold), 0);
	cr_assert_eq(look_submit(&look), 0);
	cr_assert_eq(look.beside, 3);
	cr_assert_eq(baton_submit(&fix.resource, &writer), 0);
	sharer_end(&sharers[0]); /* the first, which has the baton, leaves */
	cr_assert_eq(seen, 0);
	sharer_end(&sharers[1]);
	cr_assert_eq(seen, 1);
	readers_end();
}

Test(hold_shared, does_not_overtake_a_writer_that_waits, .timeout = 10)
{
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;
	struct baton_task writer = BATON_TASK_INIT(write_run, NULL);
	struct sharer sharers[2];

	share(&sharers[0]);
	cr_assert_eq(baton_submit(&fix.resource, &writer), 0);
	cr_assert_eq(baton_hold_shared_until(&readers, &hold, 0), -ETIMEDOUT);
	cr_assert_eq(baton_hold_shared_until(&readers, &hold, deadline_in_ms(20)), -ETIMEDOUT);
	cr_assert_not(baton_reading(&fix.resource));
	share_in_turn(&sharers[1]);
	cr_assert_eq(seen, 0);
	sharer_end(&sharers[0]);
	gate_pass(&sharers[1].held);
	cr_assert_eq(sharers[1].seen, 1);
	sharer_end(&sharers[1]);
	readers_end();
}

Test(hold_shared, those_that_have_waited_hold_together, .timeout = 20)
{
	struct baton_task writer = BATON_TASK_INIT(write_run, NULL);
	struct sharer sharers[3];

	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 3; i++)
		share_in_turn(&sharers[i]);
	cr_assert_eq(baton_submit(&fix.resource, &writer), 0);
	release(&fix.occupant);
	for (int i = 0; i < 3; i++)
		gate_pass(&sharers[i].held);
	cr_assert_eq(baton_readers_at_work(&readers), 3);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(seen, 0);
		sharer_end(&sharers[i]);
	}
	cr_assert_eq(seen, 1);
	readers_end();
}

Test(hold_shared, those_that_have_waited_hold_beside_readers_that_have, .timeout = 20)
{
	struct look looks[2];
	struct sharer sharers[2];

	fix.config.capture_max = 1;
	fixture_pool(2);
	looks_init(looks, 2, true);
	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(look_submit(&looks[i]), 0);
		share_in_turn(&sharers[i]);
	}
	release(&fix.occupant);
	for (int i = 0; i < 2; i++) {
		gate_pass(&looks[i].entered);
		gate_pass(&sharers[i].held);
	}
	cr_assert_eq(baton_readers_at_work(&readers), 4);
	for (int i = 0; i < 2; i++) {
		gate_open(&looks[i].leave);
		sharer_end(&sharers[i]);
	}
	readers_end();
}

/* ---- What waits for itself ---- */

static void *share_for_caller(void *arg)
{
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;

	*(int *)arg = baton_hold_shared(&readers, &hold);
	return NULL;
}

static void expect_all_refused(void)
{
	struct baton_hold hold = BATON_HOLD_INIT;
	struct baton_shared_hold shared = BATON_SHARED_HOLD_INIT;

	MUST(baton_hold(&fix.resource, &hold) == -EDEADLK);
	MUST(baton_hold_until(&fix.resource, &hold, 0) == -EDEADLK);
	MUST(baton_hold_shared(&readers, &shared) == -EDEADLK);
	MUST(baton_hold_shared_until(&readers, &shared, 0) == -EDEADLK);
	MUST(baton_call(&fix.resource, nothing, NULL, NULL) == -EDEADLK);
	MUST(baton_resource_await(&fix.resource) == -EDEADLK);
}

static int refused_inside(struct look *look)
{
	expect_all_refused();
	look->result = 1;
	return 0;
}

static int main_tid;

/* Lets the occupant go when the test's thread sleeps. */
static void *release_later(void *arg)
{
	until_asleep(main_tid);
	release(arg);
	return NULL;
}

Test(hold_shared, no_way_leads_from_it_to_the_resource_again, .timeout = 10)
{
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;
	struct baton_hold alone = BATON_HOLD_INIT;
	struct sharer sharer;
	struct look look;

	cr_assert_eq(baton_hold_shared(&readers, &hold), 0);
	expect_all_refused(); /* alone */
	share(&sharer);
	expect_all_refused(); /* beside another */
	cr_assert_eq(baton_release_shared(&hold), 0);
	look_init(&look, false);
	look.inside = refused_inside;
	cr_assert_eq(look_submit(&look), 0);
	cr_assert_eq(look.result, 1);
	cr_assert_eq(look.beside, 2);
	sharer_end(&sharer);
	cr_assert_eq(baton_hold(&fix.resource, &alone), 0);
	cr_assert_eq(baton_hold_shared(&readers, &hold), -EDEADLK);
	cr_assert_eq(baton_release(&alone), 0);
	readers_end();
}

Test(hold_shared, is_refused_to_a_function_whose_sleeping_caller_reads, .timeout = 10)
{
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;
	struct occupant occupant;
	pthread_t thread;
	int called = 1;

	main_tid = thread_id();
	cr_assert_eq(baton_hold_shared(&readers, &hold), 0);
	occupy(&occupant, &other);
	thread = thread_start(release_later, &occupant);
	cr_assert_eq(baton_call(&other, share_for_caller, &called, NULL), 0);
	cr_assert_eq(called, -EDEADLK);
	thread_join(thread);
	cr_assert_eq(baton_release_shared(&hold), 0);
	resource_end(&other);
	readers_end();
}

static struct baton_resource guarded = BATON_RESOURCE_INIT(NULL);
static atomic_int asking;

static void *share_and_ask(void *arg)
{
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;

	MUST(baton_hold_shared(&readers, &hold) == 0);
	atomic_store(&asking, thread_id());
	*(int *)arg = baton_call(&guarded, nothing, NULL, NULL);
	MUST(baton_release_shared(&hold) == 0);
	return NULL;
}

Test(hold_shared, a_cycle_of_waits_through_it_is_refused, .timeout = 10)
{
	struct baton_hold hold = BATON_HOLD_INIT;
	struct sharer sharer;
	pthread_t thread;
	int status = 1;

	share(&sharer); /* it leads; the other one joins */
	cr_assert_eq(baton_hold(&guarded, &hold), 0);
	thread = thread_start(share_and_ask, &status);
	until_at_least(&asking, 1);
	until_asleep(atomic_load(&asking));
	cr_assert_eq(baton_call(&fix.resource, nothing, NULL, NULL), -EDEADLK);
	cr_assert_eq(baton_release(&hold), 0);
	thread_join(thread);
	cr_assert_eq(status, 0);
	sharer_end(&sharer);
	resource_end(&guarded);
	readers_end();
}
