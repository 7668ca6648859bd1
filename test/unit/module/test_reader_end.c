/* SPDX-License-Identifier: MIT */
/* Readers beside the end of their resource, suspensions, lanes, bounds. */
#include "reader_support.h"

#include <baton/bound.h>
#include <baton/lane.h>
#include <baton/suspend.h>
#include <baton/time.h>

/* ---- The resource's end, suspensions, lanes, bounds ---- */

Test(reader_end, is_refused_by_a_closed_resource_whose_end_waits_for_those_at_work, .timeout = 10)
{
	struct look looks[3];
	pthread_t threads[2];

	looks_init(looks, 3, true);
	for (int i = 0; i < 2; i++)
		threads[i] = look_start(&looks[i]);
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert_eq(look_submit(&looks[2]), -EPIPE);
	cr_assert_eq(baton_resource_await_until(&fix.resource, baton_after(1000)), -ETIMEDOUT);
	look_end(&looks[0], threads[0]);
	cr_assert_eq(baton_resource_await_until(&fix.resource, baton_after(1000)), -ETIMEDOUT);
	look_end(&looks[1], threads[1]);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	baton_readers_deinit(&readers);
}

Test(reader_end, delays_a_suspension_and_waits_behind_it, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	struct look looks[3];
	pthread_t threads[2];

	looks_init(looks, 3, false);
	for (int i = 0; i < 2; i++) {
		looks[i].stays = true;
		threads[i] = look_start(&looks[i]);
	}
	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
	cr_assert_eq(look_submit(&looks[2]), 0);
	cr_assert_not(looks[2].ran);
	look_end(&looks[0], threads[0]);
	cr_assert_not(baton_suspension_is_effective(&suspension));
	look_end(&looks[1], threads[1]);
	cr_assert(baton_suspension_is_effective(&suspension));
	cr_assert_not(looks[2].ran);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert(looks[2].ran);
	readers_end();
}

static struct baton_lane lane[2];
static struct baton_lanes lanes;

/* Of the readers of a lane, the first leads; another one, which comes then, waits. */
static void expect_no_join(void)
{
	struct look looks[2];
	pthread_t thread;

	looks_init(looks, 2, false);
	looks[0].stays = true;
	thread = look_start(&looks[0]);
	cr_assert_eq(look_submit(&looks[1]), 0);
	cr_assert_not(looks[1].ran);
	look_end(&looks[0], thread);
	cr_assert(looks[1].ran);
	readers_end();
}

Test(reader_end, joins_none_in_a_resource_with_lanes, .timeout = 10)
{
	fixture_config();
	baton_lanes_init(&lanes, lane, 2, NULL);
	baton_resource_set_lanes(&fix.resource, &lanes);
	expect_no_join();
}

Test(reader_end, joins_none_in_a_resource_with_a_bound, .timeout = 10)
{
	static const struct baton_bound_config config = {.tasks_max = 8};
	static struct baton_bound bound;

	fixture_config();
	baton_bound_init(&bound, &config);
	baton_resource_set_bound(&fix.resource, &bound);
	expect_no_join();
}

Test(reader_end, of_one_lane_run_side_by_side_when_they_have_waited, .timeout = 20)
{
	struct baton_task writer = BATON_TASK_INIT(write_run, NULL);
	struct look looks[4];

	fix.config.capture_max = 1;
	fixture_pool(3);
	baton_lanes_init(&lanes, lane, 2, NULL);
	baton_resource_set_lanes(&fix.resource, &lanes);
	looks_init(looks, 4, false);
	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 4; i++) {
		looks[i].inside = i < 3 ? meets : NULL;
		baton_stamp_set_lane(&looks[i].read.stamp, 1);
		if (i == 3)
			cr_assert_eq(baton_submit(&fix.resource, &writer), 0);
		cr_assert_eq(look_submit(&looks[i]), 0);
	}
	release(&fix.occupant);
	for (int i = 0; i < 4; i++)
		gate_pass(&looks[i].entered);
	readers_end();
	cr_assert_eq(beside_write, 0);
}

/* The readers' invitation lies in the pool, whose only worker leads: it is gone with the pool. */
Test(reader_end, an_invitation_outlives_the_readers, .timeout = 20)
{
	struct look looks[3];

	fix.config.capture_max = 1;
	fixture_pool(1);
	looks_init(looks, 3, false);
	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(look_submit(&looks[i]), 0);
	release(&fix.occupant);
	for (int i = 0; i < 3; i++)
		gate_pass(&looks[i].entered);
	readers_end();
}

static int cancels_all(struct look *look)
{
	look->result = baton_resource_cancel_pending(&fix.resource);
	return 0;
}

/* The pool's only worker has taken the first three. */
Test(reader_end, a_cancel_of_all_that_waits_spares_readers_that_were_taken, .timeout = 20)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task writer = BATON_TASK_INIT(write_run, &future);
	struct look looks[3];

	fix.config.capture_max = 1;
	fixture_pool(1);
	looks_init(looks, 3, false);
	looks[0].inside = cancels_all;
	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(look_submit(&looks[i]), 0);
	cr_assert_eq(baton_submit(&fix.resource, &writer), 0);
	release(&fix.occupant);
	for (int i = 0; i < 3; i++)
		gate_pass(&looks[i].entered);
	cr_assert_eq(looks[0].result, 0);
	cr_assert_eq(baton_future_wait(&future), 0);
	cr_assert_eq(baton_future_state(&future), BATON_CANCELLED);
	readers_end();
}

static int meets_another(struct look *look)
{
	atomic_fetch_add(&met, 1);
	until_at_least(&met, 2);
	look->result = 1;
	return 0;
}

/* Each of the two is there only if a second worker has been asked. */
static void expect_two_at_a_time(void)
{
	struct look looks[2];

	atomic_store(&met, 0);
	looks_init(looks, 2, false);
	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 2; i++) {
		looks[i].inside = meets_another;
		cr_assert_eq(look_submit(&looks[i]), 0);
	}
	release(&fix.occupant);
	for (int i = 0; i < 2; i++)
		gate_pass(&looks[i].entered);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
}

Test(reader_end, a_default_pool_that_is_made_again_runs_them_side_by_side, .timeout = 20)
{
	struct baton_pool *other;
	struct baton_pool *pool;

	fix.config.capture_max = 1;
	fixture_config();
	expect_two_at_a_time();
	cr_assert_eq(baton_pool_default(&pool), 0);
	cr_assert_eq(baton_pool_default_destroy(), 0);
	other = pool_of(1); /* at the old one's place, maybe */
	expect_two_at_a_time();
	readers_end();
	cr_assert_eq(baton_pool_destroy(other), 0);
	cr_assert_eq(baton_pool_default_destroy(), 0);
}
