/* SPDX-License-Identifier: MIT */
/* Shared holds: how they end, and what the resource's config makes of them. */
#include "shared_support.h"

#include <baton/bound.h>
#include <baton/hold.h>
#include <baton/hooks.h>
#include <baton/suspend.h>

#include <sys/wait.h>
#include <unistd.h>

/* ---- Ends ---- */

Test(hold_shared_end, holds_of_both_sorts_are_released_in_any_order, .timeout = 10)
{
	static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
	                                 {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	struct baton_resource resources[3];
	struct baton_readers each[3];
	struct baton_shared_hold shared[3] = {BATON_SHARED_HOLD_INIT, BATON_SHARED_HOLD_INIT,
	                                      BATON_SHARED_HOLD_INIT};
	struct baton_hold hold = BATON_HOLD_INIT;

	for (int i = 0; i < 3; i++) {
		baton_resource_init(&resources[i], NULL);
		baton_readers_init(&each[i], &resources[i]);
	}
	for (int order = 0; order < 6; order++) {
		for (int i = 0; i < 3; i++)
			cr_assert_eq(i == 1 ? baton_hold(&resources[1], &hold)
			                    : baton_hold_shared(&each[i], &shared[i]),
			             0);
		for (int i = 0; i < 3; i++) {
			const int which = orders[order][i];

			cr_assert_eq(baton_reading(&resources[which]), which != 1);
			cr_assert_eq(baton_held(&resources[which]), which == 1);
			cr_assert_eq(which == 1 ? baton_release(&hold)
			                        : baton_release_shared(&shared[which]),
			             0);
			cr_assert_not(baton_reading(&resources[which]));
			cr_assert(baton_resource_is_idle(&resources[which]));
		}
		cr_assert_null(baton_current());
		expect_thread_is_free();
	}
	for (int i = 0; i < 3; i++) {
		resource_end(&resources[i]);
		baton_readers_deinit(&each[i]);
	}
}

Test(hold_shared_end, that_waits_is_cancelled_and_a_closed_resource_refuses_it, .timeout = 10)
{
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;
	struct sharer sharer;

	occupy(&fix.occupant, &fix.resource);
	share_in_turn(&sharer);
	baton_resource_cancel_pending(&fix.resource);
	release(&fix.occupant);
	sharer_end(&sharer);
	cr_assert_eq(sharer.status, -ECANCELED);
	share(&sharer);
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert_eq(baton_hold_shared(&readers, &hold), -EPIPE);
	cr_assert_eq(baton_hold_shared_until(&readers, &hold, 0), -EPIPE);
	sharer_end(&sharer);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	baton_readers_deinit(&readers);
}

Test(hold_shared_end, a_suspension_takes_effect_behind_it, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	struct sharer sharers[2];

	for (int i = 0; i < 2; i++)
		share(&sharers[i]);
	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
	sharer_end(&sharers[0]);
	cr_assert_not(baton_suspension_is_effective(&suspension));
	sharer_end(&sharers[1]);
	cr_assert_eq(baton_suspension_wait(&suspension), 0);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	readers_end();
}

/* ---- Configs ---- */

static atomic_int entered, left, begun, ended;

static void on_enter(struct baton_resource *resource)
{
	atomic_fetch_add(&entered, resource == &fix.resource);
}

static void on_leave(struct baton_resource *resource)
{
	atomic_fetch_add(&left, resource == &fix.resource);
}

static int on_begin(struct baton_resource *resource)
{
	(void)resource;
	return atomic_fetch_add(&begun, 1) == 1 ? -EIO : 0;
}

static int on_end(struct baton_resource *resource)
{
	(void)resource;
	atomic_fetch_add(&ended, 1);
	return -ENOSPC;
}

/* One leads, one joins, one waits behind a writer: each is an executed task in its pair. */
Test(hold_shared_end, is_counted_and_is_in_a_context_however_it_came, .timeout = 10)
{
	struct baton_task writer = BATON_TASK_INIT(write_run, NULL);
	struct sharer sharers[3];

	fix.config.enter = on_enter;
	fix.config.leave = on_leave;
	fix.counted = true;
	fixture_config();
	share(&sharers[0]);
	share(&sharers[1]);
	cr_assert_eq(baton_submit(&fix.resource, &writer), 0);
	share_in_turn(&sharers[2]);
	cr_assert_eq(atomic_load(&entered), 2);
	sharer_end(&sharers[0]);
	sharer_end(&sharers[1]);
	gate_pass(&sharers[2].held);
	sharer_end(&sharers[2]);
	resource_end(&fix.resource);
	cr_assert_eq(atomic_load(&entered), 4);
	cr_assert_eq(atomic_load(&left), 4);
	cr_assert_eq(resource_counts(&fix.stats).submitted, 4);
	cr_assert_eq(resource_counts(&fix.stats).executed, 4);
	cr_assert_eq(resource_counts(&fix.stats).outstanding, 0);
}

Test(hold_shared_end, with_drain_hooks_is_a_batch_of_its_own_and_alone, .timeout = 10)
{
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;

	fix.config.batch_begin = on_begin;
	fix.config.batch_end = on_end;
	fixture_pool(1);
	cr_assert_eq(baton_hold_shared(&readers, &hold), 0);
	cr_assert_eq(baton_readers_at_work(&readers), 0, "no group");
	cr_assert(baton_reading(&fix.resource));
	cr_assert_not(baton_held(&fix.resource));
	cr_assert_eq(baton_release_shared(&hold), -ENOSPC);
	cr_assert_eq(baton_hold_shared(&readers, &hold), -EIO);
	cr_assert_not(baton_reading(&fix.resource));
	cr_assert_eq(baton_release_shared(&hold), -EINVAL);
	cr_assert_eq(atomic_load(&begun), 2);
	cr_assert_eq(atomic_load(&ended), 1);
	readers_end();
}

Test(hold_shared_end, of_an_executor_bound_resource_is_its_executors_alone, .timeout = 10)
{
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;

	fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_pool(1);
	cr_assert_eq(baton_hold_shared(&readers, &hold), -EPERM);
	cr_assert_eq(baton_hold_shared_until(&readers, &hold, 0), -EPERM);
	readers_end();
}

Test(hold_shared_end, of_a_full_resource_is_refused_as_a_submit_is, .timeout = 10)
{
	static const struct baton_bound_config config = {.tasks_max = 1,
	                                                 .policy = BATON_BOUND_REFUSE};
	struct baton_bound bound;
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;
	struct baton_task writer = BATON_TASK_INIT(write_run, NULL);

	fixture_config();
	baton_bound_init(&bound, &config);
	baton_resource_set_bound(&fix.resource, &bound);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &writer), 0);
	cr_assert_eq(baton_hold_shared(&readers, &hold), -EAGAIN);
	release(&fix.occupant);
	cr_assert_eq(baton_hold_shared(&readers, &hold), 0);
	cr_assert_eq(baton_release_shared(&hold), 0);
	readers_end();
}

/* ---- A fork ---- */

static int in_child(struct baton_shared_hold *hold)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		alarm(10);
		_exit(baton_release_shared(hold) == 0 && !baton_reading(&fix.resource) ? 0 : 1);
	}
	MUST(child > 0 && waitpid(child, &status, 0) == child);
	return status;
}

Test(hold_shared_end, in_a_forks_child_a_release_is_silent, .timeout = 20)
{
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;

	cr_assert_eq(baton_hold_shared(&readers, &hold), 0);
	cr_assert_eq(in_child(&hold), 0);
	cr_assert(baton_reading(&fix.resource));
	cr_assert_eq(baton_release_shared(&hold), 0);
	readers_end();
}
