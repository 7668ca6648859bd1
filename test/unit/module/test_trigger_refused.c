/* SPDX-License-Identifier: MIT */
/* Triggers that are refused or cancelled: never stuck; each fire that returned 0 is answered. */
#include "thread/thread.h"

#include "bell.h"
#include "fixture.h"

Test(trigger_refused, refused_by_a_closed_resource_it_is_not_stuck, .timeout = 10)
{
	struct bell bell;

	bell_init(&bell, &fix.resource);
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(baton_trigger_fire(&bell.trigger), -EPIPE);
		cr_assert(!baton_trigger_is_pending(&bell.trigger));
	}
	fixture_end();
	cr_assert_eq(bell.runs, 0);
	cr_assert_eq(bell.cancelled, 0, "who is refused knows it already");
}

Test(trigger_refused, refused_by_its_executor_it_is_tried_again, .timeout = 10)
{
	struct bell bell;

	fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_stash();
	bell_init(&bell, &fix.resource);
	atomic_store(&fix.stash.answer, -ESHUTDOWN);
	cr_assert_eq(baton_trigger_fire(&bell.trigger), -ESHUTDOWN);
	atomic_store(&fix.stash.answer, 0);
	cr_assert_eq(baton_trigger_fire(&bell.trigger), 0);
	cr_assert_eq(baton_trigger_fire(&bell.trigger), 0);
	stash_run(&fix.stash);
	cr_assert_eq(bell.runs, 1);
	cr_assert_eq(bell.fires, 2);
	fixture_end();
}

/* The executor refuses only after somebody else has fired, too. */
struct slow_refuser {
	struct baton_executor executor;
	struct bell *bell;
	int result;
};

static int refuse_slowly(struct baton_executor *executor, struct baton_job *job)
{
	struct slow_refuser *refuser = baton_container_of(executor, struct slow_refuser, executor);

	refuser->result = baton_trigger_fire(&refuser->bell->trigger);
	return -ESHUTDOWN;
}

Test(trigger_refused, who_coalesces_into_a_refused_submit_is_told, .timeout = 10)
{
	static const struct baton_executor_ops ops = {.schedule = refuse_slowly};
	struct slow_refuser refuser = {.executor = BATON_EXECUTOR_INIT(&ops), .result = -1};
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	struct bell bell;

	config.capture_max = BATON_CAPTURE_NONE;
	config.executor = &refuser.executor;
	baton_resource_init(&resource, &config);
	bell_init(&bell, &resource);
	refuser.bell = &bell;
	cr_assert_eq(baton_trigger_fire(&bell.trigger), -ESHUTDOWN);
	cr_assert_eq(refuser.result, 0);
	cr_assert_eq(bell.cancelled, 1, "the other one");
	cr_assert_eq(bell.runs, 0);
	cr_assert(!baton_trigger_is_pending(&bell.trigger));
	cr_assert_eq(baton__self->top, 0, "this thread is in no task or callback any more");
	resource_end(&resource);
}

Test(trigger_refused, cancelled_with_its_resource_it_can_be_fired_again, .timeout = 10)
{
	struct bell bell;

	bell_init(&bell, &fix.resource);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_trigger_fire(&bell.trigger), 0);
	cr_assert_eq(baton_trigger_fire(&bell.trigger), 0);
	cr_assert_eq(baton_resource_cancel_pending(&fix.resource), 0);
	release(&fix.occupant);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	cr_assert_eq(bell.runs, 0);
	cr_assert_eq(bell.cancelled, 2);
	cr_assert_eq(baton_trigger_fire(&bell.trigger), 0);
	cr_assert_eq(bell.runs, 1);
	fixture_end();
}

Test(trigger_refused, it_may_be_fired_where_its_cancel_is_told, .timeout = 10)
{
	struct bell bell;

	bell_init(&bell, &fix.resource);
	bell.refire = true;
	bell.results[0] = -1;
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_trigger_fire(&bell.trigger), 0);
	cr_assert_eq(baton_resource_cancel_pending(&fix.resource), 0);
	release(&fix.occupant);
	fixture_end();
	cr_assert_eq(bell.cancelled, 1);
	cr_assert_eq(bell.results[0], 0);
	cr_assert_eq(bell.runs, 1);
}

Test(trigger_refused, a_job_that_is_cancelled_sets_it_free, .timeout = 10)
{
	struct bell bell;

	fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_manual();
	bell_init(&bell, &fix.resource);
	cr_assert_eq(baton_trigger_fire(&bell.trigger), 0);
	baton_manual_destroy(fix.manual);
	cr_assert_eq(bell.cancelled, 1);
	cr_assert_eq(bell.runs, 0);
	cr_assert(!baton_trigger_is_pending(&bell.trigger));
	resource_end(&fix.resource);
}

/* ---- Continuations ---- */

Test(trigger_refused, a_future_fires_it_and_a_refusal_is_told, .timeout = 10)
{
	struct baton_future promises[2] = {BATON_PROMISE_INIT, BATON_PROMISE_INIT};
	struct baton_continuation continuations[2];
	struct bell bell;

	bell_init(&bell, &fix.resource);
	for (int i = 0; i < 2; i++) {
		baton_continuation_trigger(&continuations[i], &bell.trigger);
		baton_future_then(&promises[i], &continuations[i]);
	}
	cr_assert_eq(baton_future_complete(&promises[0], 0, NULL), 0);
	cr_assert_eq(bell.runs, 1);
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert_eq(baton_future_complete(&promises[1], 0, NULL), 0);
	cr_assert_eq(bell.runs, 1);
	cr_assert_eq(bell.cancelled, 1);
	fixture_end();
}

static atomic_int inside;
static atomic_int stopping;
static atomic_int left;

static void linger(struct baton_trigger *trigger, int error, uint64_t fires)
{
	MUST(error == -ECANCELED && fires == 1);
	atomic_store(&inside, 1);
	until_at_least(&stopping, 1);
	work_for_ns(BATON_MILLISECOND);
	atomic_store(&left, 1);
}

Test(trigger_refused, a_stop_waits_while_a_cancel_is_told, .timeout = 10)
{
	struct bell bell;

	bell_init(&bell, &fix.resource);
	baton_trigger_set_dropped(&bell.trigger, linger);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_trigger_fire(&bell.trigger), 0);
	cr_assert_eq(baton_resource_cancel_pending(&fix.resource), 0);
	gate_open(&fix.occupant.leave);
	until_at_least(&inside, 1);
	atomic_store(&stopping, 1);
	cr_assert_eq(baton_trigger_stop(&bell.trigger).met, BATON_STOP_NOTHING);
	cr_assert_eq(atomic_load(&left), 1);
	thread_join(fix.occupant.thread);
	fixture_end();
	cr_assert_eq(bell.runs, 0);
}
