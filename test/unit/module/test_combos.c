/* SPDX-License-Identifier: MIT */
/* Windows, bounds, timers, suspensions and triggers on one resource: nothing is counted twice. */
#include "labels.h"
#include "timer_support.h"
#include "window_support.h"

#include <baton/fan_out.h>
#include <baton/suspend.h>
#include <baton/timers.h>
#include <baton/trigger.h>

/* A client whose resource is bounded, with a lane or without. */
struct bounded {
	struct client client;
	struct baton_bound_config limits;
	struct baton_bound bound;
	struct baton_lane lane;
	struct baton_lanes lanes;
};

static void bounded_init(struct bounded *bounded, uint32_t window, uint32_t tasks_max,
                         enum baton_bound_policy policy)
{
	const struct baton_bound_config limits = BATON_BOUND_CONFIG_INIT;

	client_init(&bounded->client, window, &telling);
	bounded->limits = limits;
	bounded->limits.tasks_max = tasks_max;
	bounded->limits.policy = policy;
	baton_bound_init(&bounded->bound, &bounded->limits);
	baton_lanes_init(&bounded->lanes, &bounded->lane, 1, NULL);
	baton_resource_set_lanes(&bounded->client.resource, &bounded->lanes);
	baton_resource_set_bound(&bounded->client.resource, &bounded->bound);
}

static uint64_t waiting(const struct bounded *bounded)
{
	struct baton_bound_stats counts;

	baton_bound_stats_read(&bounded->bound, &counts);
	return counts.tasks;
}

static int submit_message(struct bounded *bounded, int number)
{
	return baton_submit(&bounded->client.resource,
	                    &bounded->client.messages[number].windowed.task);
}

Test(combos, what_waits_in_a_window_counts_for_the_bound, .timeout = 10)
{
	struct bounded bounded;
	struct step step;

	bounded_init(&bounded, 0, 2, BATON_BOUND_REFUSE);
	cr_assert_eq(submit_message(&bounded, 0), 0);
	cr_assert_eq(waiting(&bounded), 1);
	cr_assert_eq(submit_message(&bounded, 1), 0);
	cr_assert_eq(waiting(&bounded), 2);
	cr_assert_eq(submit_message(&bounded, 2), -EAGAIN);
	/* What runs at once is not counted, and does not forget those. */
	step_init(&step, &bounded.client.journal, 9, NULL);
	cr_assert_eq(baton_submit(&bounded.client.resource, &step.task), 0);
	cr_assert_eq(waiting(&bounded), 2);
	cr_assert_eq(baton_window_set_limit(&bounded.client.window, 5), 0);
	cr_assert_eq(waiting(&bounded), 0);
	cr_assert_eq(bounded.bound._pushed, bounded.bound._gone);
	cr_assert(JOURNAL_IS(&bounded.client.journal, 9, 0, 1));
	cr_assert_eq(client_ack(&bounded.client, 0), 0);
	cr_assert_eq(client_ack(&bounded.client, 1), 0);
	/* It is as good as new. */
	cr_assert_eq(submit_message(&bounded, 2), 0);
	cr_assert_eq(client_ack(&bounded.client, 2), 0);
	client_end(&bounded.client);
}

Test(combos, a_task_refused_because_of_those_in_the_window_is_dropped_once, .timeout = 10)
{
	struct bounded bounded;

	bounded_init(&bounded, 0, 1, BATON_BOUND_DROP_NEWEST);
	cr_assert_eq(submit_message(&bounded, 1), 0);
	cr_assert_eq(submit_message(&bounded, 2), 0);
	cr_assert_eq(atomic_load(&told), 1);
	cr_assert_eq(submit_message(&bounded, 3), 0);
	cr_assert_eq(baton_future_state(&bounded.client.messages[3].future), BATON_CANCELLED);
	cr_assert_eq(baton_window_cancel(&bounded.client.window), 0);
	cr_assert_eq(baton_future_state(&bounded.client.messages[1].future), BATON_CANCELLED);
	cr_assert_eq(bounded.bound._pushed, bounded.bound._gone);
	client_end(&bounded.client);
}

static int dropped_error;

static void note_dropped(struct baton_timer *timer, int error)
{
	dropped_error = error;
}

/* A virtual wheel that submits on the executor, so that nothing runs at once; and tells. */
static struct baton_timers *telling_timers(void)
{
	struct baton_timers_options config = BATON_TIMERS_OPTIONS_INIT;
	struct baton_timers *timers;

	config.source = BATON_TIMERS_VIRTUAL;
	config.resolution_ns = TICK;
	config.dropped = note_dropped;
	MUST(baton_timers_create(&config, &timers) == 0);
	return timers;
}

static void overrun(enum baton_bound_policy policy)
{
	struct bounded bounded;
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	struct baton_timers *timers = telling_timers();
	struct bell bell;
	struct bell once;

	bounded_init(&bounded, 0, 1, policy);
	bell_init(&bell, timers, &bounded.client.resource);
	bell_init(&once, timers, &bounded.client.resource);
	cr_assert_eq(baton_resource_suspend(&bounded.client.resource, &suspension), 0);
	/* This one fills it. */
	cr_assert_eq(submit_message(&bounded, 1), 0);
	cr_assert_eq(baton_timer_arm_every(&bell.timer, 10 * TICK, 10 * TICK, BATON_TIMER_SKIP), 0);
	cr_assert_eq(baton_timers_advance(timers, 35 * TICK), 3);
	cr_assert_eq(dropped_error, 0);
	cr_assert_eq(baton_timer_arm_after(&once.timer, TICK), 0);
	BATON_IGNORE(baton_timers_advance(timers, 2 * TICK));
	cr_assert_eq(dropped_error, policy == BATON_BOUND_REFUSE ? -EAGAIN : -ECANCELED);
	cr_assert_eq(baton_timer_state(&once.timer), BATON_TIMER_IDLE);
	dropped_error = 0;
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert_eq(baton_window_cancel(&bounded.client.window), 0);
	cr_assert_eq(bell.runs, 0);
	cr_assert_eq(baton_timers_advance(timers, 20 * TICK), 2);
	cr_assert_eq(bell.runs, 2);
	cr_assert_eq(baton_timer_stop(&bell.timer).met, BATON_STOP_PREVENTED);
	cr_assert_eq(bounded.bound._pushed, bounded.bound._gone);
	client_end(&bounded.client);
	cr_assert_eq(baton_timers_destroy(timers), 0);
	cr_assert_eq(dropped_error, 0);
}

Test(combos, a_full_bound_leaves_out_one_run_of_a_repeated_timer, .timeout = 10)
{
	overrun(BATON_BOUND_REFUSE);
}

Test(combos, a_bound_that_drops_leaves_out_one_run_of_a_repeated_timer, .timeout = 10)
{
	overrun(BATON_BOUND_DROP_NEWEST);
}

/* While its function runs: the timer is armed and due again, and the resource full. */
static int refused_beside(struct bell *bell)
{
	struct bounded *bounded = bell->argument;

	if (bell->runs > 1)
		return 0;
	MUST(submit_message(bounded, 1) == 0);
	MUST(baton_timer_arm_every(&bell->timer, baton_timers_now(bell->timers) + TICK, 10 * TICK,
	                           BATON_TIMER_SKIP) == 0);
	MUST(baton_timers_advance(bell->timers, 2 * TICK) == 1);
	return 0;
}

static void overrun_beside(enum baton_bound_policy policy)
{
	struct bounded bounded;
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	struct baton_timers *timers = telling_timers();
	struct bell bell;

	dropped_error = 0;
	bounded_init(&bounded, 0, 1, policy);
	bell_init(&bell, timers, &bounded.client.resource);
	bell.then = refused_beside;
	bell.argument = &bounded;
	cr_assert_eq(baton_resource_suspend(&bounded.client.resource, &suspension), 0);
	cr_assert_eq(baton_timer_arm_after(&bell.timer, TICK), 0);
	cr_assert_eq(baton_timers_advance(timers, 2 * TICK), 1);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	/* One run was left out, and it goes on repeating. */
	cr_assert_eq(bell.runs, 1);
	cr_assert_eq(baton_timer_state(&bell.timer), BATON_TIMER_PENDING);
	cr_assert_eq(baton_window_cancel(&bounded.client.window), 0);
	cr_assert_eq(baton_timers_advance(timers, 20 * TICK), 2);
	cr_assert_eq(bell.runs, 3);
	cr_assert_eq(baton_timer_stop(&bell.timer).met, BATON_STOP_PREVENTED);
	cr_assert_eq(bounded.bound._pushed, bounded.bound._gone);
	client_end(&bounded.client);
	cr_assert_eq(baton_timers_destroy(timers), 0);
	cr_assert_eq(dropped_error, 0);
}

Test(combos, a_full_bound_leaves_out_a_run_that_is_due_beside_the_function, .timeout = 10)
{
	overrun_beside(BATON_BOUND_REFUSE);
}

Test(combos, a_bound_drops_a_run_that_is_due_beside_the_function, .timeout = 10)
{
	overrun_beside(BATON_BOUND_DROP_NEWEST);
}

static uint64_t answered;
static uint64_t unanswered;

static int count_answered(struct baton_trigger *trigger, uint64_t fires)
{
	answered += fires;
	return 0;
}

static void count_unanswered(struct baton_trigger *trigger, int error, uint64_t fires)
{
	unanswered += fires;
}

static void fire_when_full(enum baton_bound_policy policy, int status)
{
	struct bounded bounded;
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	struct baton_trigger trigger;

	answered = 0;
	unanswered = 0;
	bounded_init(&bounded, 0, 1, policy);
	baton_trigger_init(&trigger, &bounded.client.resource, count_answered);
	baton_trigger_set_dropped(&trigger, count_unanswered);
	cr_assert_eq(baton_resource_suspend(&bounded.client.resource, &suspension), 0);
	cr_assert_eq(submit_message(&bounded, 1), 0);
	cr_assert_eq(baton_trigger_fire(&trigger), status);
	cr_assert_eq(unanswered, status ? 0 : 1);
	cr_assert(!baton_trigger_is_pending(&trigger));
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert_eq(baton_window_cancel(&bounded.client.window), 0);
	cr_assert_eq(baton_trigger_fire(&trigger), 0);
	cr_assert_eq(answered, 1);
	client_end(&bounded.client);
}

Test(combos, a_trigger_that_its_bound_refuses_is_as_good_as_new, .timeout = 10)
{
	fire_when_full(BATON_BOUND_REFUSE, -EAGAIN);
	fire_when_full(BATON_BOUND_DROP_NEWEST, 0);
}

/* Oldest first: a suspended trigger is dropped for the next task, and told. */
Test(combos, a_trigger_is_dropped_as_the_oldest_of_its_lane, .timeout = 10)
{
	struct bounded bounded;
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	struct baton_trigger trigger;
	struct step step;

	bounded_init(&bounded, 0, 1, BATON_BOUND_DROP_OLDEST);
	baton_trigger_init(&trigger, &bounded.client.resource, count_answered);
	baton_trigger_set_dropped(&trigger, count_unanswered);
	cr_assert_eq(baton_resource_suspend(&bounded.client.resource, &suspension), 0);
	cr_assert_eq(baton_trigger_fire(&trigger), 0);
	cr_assert_eq(baton_trigger_fire(&trigger), 0);
	step_init(&step, &bounded.client.journal, 7, NULL);
	cr_assert_eq(baton_submit(&bounded.client.resource, &step.task), 0);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert_eq(answered, 0);
	cr_assert_eq(unanswered, 2);
	cr_assert(JOURNAL_IS(&bounded.client.journal, 7));
	cr_assert_eq(bounded.bound._pushed, bounded.bound._gone);
	client_end(&bounded.client);
}

static int always_fails(struct baton_resource *resource, void *arg, size_t index)
{
	(*(int *)arg)++;
	return -EIO;
}

/* What is refused, dropped or suspended is over once, and counted once. */
Test(combos, a_fan_out_over_full_closed_and_suspended_resources, .timeout = 10)
{
	struct bounded full;
	struct bounded dropping;
	struct baton_resource closed = BATON_RESOURCE_INIT(NULL);
	struct baton_resource suspended = BATON_RESOURCE_INIT(NULL);
	struct baton_resource *resources[] = {&suspended, &dropping.client.resource,
	                                      &full.client.resource, &closed};
	struct baton_suspension suspensions[3] = {BATON_SUSPENSION_INIT};
	struct baton_fan_out_options options = {
		.fn = always_fails, .arg = NULL, .flags = BATON_FAN_OUT_CANCEL_ON_FAILURE};
	struct baton_fan_out_stats counts;
	struct baton_fan_out *fan_out;
	int calls = 0;

	options.arg = &calls;
	bounded_init(&full, 0, 1, BATON_BOUND_REFUSE);
	bounded_init(&dropping, 0, 1, BATON_BOUND_DROP_NEWEST);
	memset(suspensions, 0, sizeof(suspensions));
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_resource_suspend(resources[i], &suspensions[i]), 0);
	cr_assert_eq(submit_message(&full, 1), 0);
	cr_assert_eq(submit_message(&dropping, 1), 0);
	cr_assert_eq(baton_resource_close(&closed), 0);
	cr_assert_eq(baton_fan_out_submit(resources, 4, &options, &fan_out), 0);
	cr_assert_eq(baton_fan_out_item_status(fan_out, 0), -EAGAIN);
	cr_assert_eq(baton_fan_out_item_status(fan_out, 1), -ECANCELED);
	cr_assert_eq(baton_fan_out_item_status(fan_out, 2), -EAGAIN);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_resource_resume(&suspensions[i]), 0);
	cr_assert_eq(baton_fan_out_wait(fan_out), 0);
	cr_assert_eq(calls, 0, "the full one has failed");
	baton_fan_out_stats_read(fan_out, &counts);
	cr_assert_eq(counts.left, 0);
	cr_assert_eq(counts.failed, 1);
	cr_assert_eq(counts.cancelled, 3);
	baton_fan_out_unref(fan_out);
	cr_assert_eq(baton_window_cancel(&full.client.window), 0);
	cr_assert_eq(baton_window_cancel(&dropping.client.window), 0);
	client_end(&full.client);
	client_end(&dropping.client);
	resource_end(&closed);
	resource_end(&suspended);
}
