/* SPDX-License-Identifier: MIT */
/* Drain hooks together with fan-outs, windows, labels, bounds, timers, suspensions, detaching. */
#include "ledger.h"
#include "timer_support.h"

#include <baton/bound.h>
#include <baton/call.h>
#include <baton/fan_out.h>
#include <baton/suspend.h>
#include <baton/timers.h>
#include <baton/trigger.h>
#include <baton/undo.h>
#include <baton/window.h>

#include "../parts.h"

struct fan {
	struct ledger *ledger;
	struct baton_fan_out *fan_out;
	int calls;
	int at_end; /* the first item's status when the batch ended */
};

static int deliver(struct baton_resource *resource, void *arg, size_t index)
{
	struct fan *fan = arg;

	(void)index;
	fan->calls++;
	if (resource == &fan->ledger->resource)
		ledger_note(fan->ledger);
	return 0;
}

static void look(void *arg)
{
	struct fan *fan = arg;

	fan->at_end = baton_fan_out_item_status(fan->fan_out, 0);
}

static void fan_out(struct fan *fan, struct ledger *ledger, struct baton_resource *other)
{
	struct baton_resource *resources[] = {&ledger->resource, other};
	struct baton_fan_out_options options = {
		.fn = deliver, .arg = fan, .flags = BATON_FAN_OUT_CANCEL_ON_FAILURE};

	*fan = (struct fan){.ledger = ledger, .at_end = 1};
	ledger->on_end = look;
	ledger->arg = fan;
	cr_assert_eq(baton_fan_out_submit(resources, 2, &options, &fan->fan_out), 0);
	cr_assert_eq(baton_fan_out_wait(fan->fan_out), 0);
	cr_assert(ledger_balanced(ledger));
}

Test(combos_hooks, an_item_of_a_fan_out_is_over_when_its_batch_has_ended, .timeout = 10)
{
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct ledger ledger;
	struct fan fan;

	ledger_init(&ledger, NULL);
	fan_out(&fan, &ledger, &other);
	cr_assert_eq(fan.calls, 2);
	cr_assert_eq(fan.at_end, -EAGAIN);
	cr_assert_eq(baton_fan_out_status(fan.fan_out, NULL), 0);
	cr_assert_eq(ledger.sizes[0], 1);
	baton_fan_out_unref(fan.fan_out);
	resource_end(&ledger.resource);
	resource_end(&other);
}

/* Its function is called once, the batch's failure is the item's, and cancels the others. */
static void fails(int begin_status, int end_status)
{
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct baton_fan_out_stats counts;
	struct ledger ledger;
	struct fan fan;
	size_t index = 7;

	ledger_init(&ledger, NULL);
	ledger.begin_status = begin_status;
	ledger.end_status = end_status;
	fan_out(&fan, &ledger, &other);
	cr_assert_eq(fan.calls, begin_status ? 0 : 1);
	cr_assert_eq(ledger.refused, begin_status ? 1 : 0);
	cr_assert_eq(baton_fan_out_status(fan.fan_out, &index), -EIO);
	cr_assert_eq(index, 0);
	baton_fan_out_stats_read(fan.fan_out, &counts);
	cr_assert_eq(counts.failed, 1);
	cr_assert_eq(counts.cancelled, 1);
	baton_fan_out_unref(fan.fan_out);
	ledger.end_status = 0;
	resource_end(&ledger.resource);
	resource_end(&other);
}

Test(combos_hooks, an_item_whose_batch_end_fails_has_failed, .timeout = 10)
{
	fails(0, -EIO);
}

Test(combos_hooks, an_item_whose_batch_begin_fails_has_failed, .timeout = 10)
{
	fails(-EIO, 0);
}

/* ---- Suspensions ---- */

struct suspender {
	struct ledger *ledger;
	struct baton_suspension suspension;
	struct baton_future *earlier;
	bool early; /* was that complete while this task ran? */
	int result;
};

static void suspends(void *arg)
{
	struct suspender *suspender = arg;

	suspender->early = suspender->earlier && baton_future_is_complete(suspender->earlier);
	suspender->result =
		baton_resource_suspend(&suspender->ledger->resource, &suspender->suspension);
}

Test(combos_hooks, a_batch_ends_before_the_suspension_takes_effect, .timeout = 10)
{
	struct ledger ledger;
	struct entry entries[3];
	struct suspender suspender = {.ledger = &ledger, .result = 1};

	ledger_init(&ledger, NULL);
	entries_init(entries, 3, &ledger);
	suspender.earlier = &entries[0].future;
	entries[1].body = suspends;
	entries[1].arg = &suspender;
	entries_submit(entries, 3);
	cr_assert_eq(suspender.result, 0);
	cr_assert(!suspender.early);
	cr_assert(baton_suspension_is_effective(&suspender.suspension));
	cr_assert(ledger_balanced(&ledger));
	cr_assert_eq(ledger.sizes[0], 2);
	cr_assert(baton_future_is_complete(&entries[1].future));
	cr_assert(!baton_future_is_complete(&entries[2].future));
	cr_assert_eq(baton_resource_resume(&suspender.suspension), 0);
	cr_assert_eq(ledger.sizes[1], 1);
	cr_assert(baton_future_is_complete(&entries[2].future));
	resource_end(&ledger.resource);
}

/* ---- Detaching ---- */

struct detacher {
	struct baton_detached token;
	unsigned flags;
	bool flushes; /* before it detaches */
	int result;
};

static void detaches(void *arg)
{
	struct detacher *detacher = arg;

	if (detacher->flushes)
		MUST(baton_batch_flush() == -EIO);
	detacher->result = baton_detach(&detacher->token, detacher->flags);
}

static void held(unsigned flags, int completed)
{
	struct ledger ledger;
	struct entry entries[3];
	struct detacher detacher = {.token = BATON_DETACHED_INIT, .flags = flags, .result = 1};

	ledger_init(&ledger, NULL);
	entries_init(entries, 3, &ledger);
	entries[1].body = detaches;
	entries[1].arg = &detacher;
	entries_submit(entries, 3);
	cr_assert_eq(detacher.result, 0);
	cr_assert(ledger_balanced(&ledger));
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_future_is_complete(&entries[i].future), i != 1 && i < completed);
	cr_assert_eq(baton_detached_complete(&detacher.token, 0, NULL), 0);
	cr_assert(ledger_balanced(&ledger));
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_future_state(&entries[i].future), BATON_DONE);
	cr_assert_eq(ledger.begun, completed == 3 ? 1 : 2);
	resource_end(&ledger.resource);
}

/* The batch's end fails: of a task that was detached that says nothing, whatever else it does. */
static void failed_with_a_detached_one(bool flushes, uint64_t failed)
{
	struct ledger ledger;
	struct entry entries[3];
	struct detacher detacher = {.token = BATON_DETACHED_INIT, .flushes = flushes};

	ledger_init(&ledger, NULL);
	ledger.end_status = -EIO;
	entries_init(entries, 3, &ledger);
	entries[1].body = detaches;
	entries[1].arg = &detacher;
	entries_submit(entries, 3);
	cr_assert_eq(detacher.result, 0);
	cr_assert_eq(resource_counts(&ledger.stats).failed, failed);
	cr_assert_eq(baton_detached_complete(&detacher.token, 0, NULL), 0);
	cr_assert_eq(resource_counts(&ledger.stats).failed, failed);
	cr_assert_eq(baton_future_state(&entries[0].future), BATON_FAILED);
	cr_assert_eq(baton_future_state(&entries[1].future), BATON_DONE);
	cr_assert_eq(baton_future_state(&entries[2].future), BATON_FAILED);
	resource_end(&ledger.resource);
}

Test(combos_hooks, a_detached_task_does_not_fail_with_its_batch, .timeout = 10)
{
	failed_with_a_detached_one(false, 2);
	failed_with_a_detached_one(true, 2);
}

Test(combos_hooks, completions_before_a_detach_are_not_held_back_by_it, .timeout = 10)
{
	held(0, 3);
	held(BATON_DETACH_COUNTED, 3);
}

Test(combos_hooks, completions_before_a_detach_with_hold_are_made_before_the_shelf, .timeout = 10)
{
	held(BATON_DETACH_EXCLUSIVE, 1);
	held(BATON_DETACH_EXCLUSIVE | BATON_DETACH_COUNTED, 1);
}

/* ---- Windows, labels, bounds ---- */

struct letter {
	struct windowed windowed;
	struct baton_future future;
	int runs;
};

static int letter_run(struct baton_task *task)
{
	baton_container_of(task, struct letter, windowed.task)->runs++;
	return baton_detach(
		&baton_container_of(task, struct letter, windowed.task)->windowed.part.token, 0);
}

Test(combos_hooks, a_place_is_given_back_when_batch_begin_fails, .timeout = 10)
{
	struct letter letters[2] = {0};
	struct baton_window window;
	struct ledger ledger;

	ledger_init(&ledger, NULL);
	baton_window_init(&window, &ledger.resource, 1);
	for (int i = 0; i < 2; i++) {
		baton_future_init(&letters[i].future);
		windowed_init(&letters[i].windowed, &window, letter_run, &letters[i].future);
	}
	ledger.begin_status = -EIO;
	cr_assert_eq(baton_submit(&ledger.resource, &letters[0].windowed.task), 0);
	cr_assert_eq(baton_future_status(&letters[0].future), -EIO);
	cr_assert_eq(baton_window_in_flight(&window), 0);
	ledger.begin_status = 0;
	cr_assert_eq(baton_submit(&ledger.resource, &letters[1].windowed.task), 0);
	cr_assert_eq(letters[0].runs, 0);
	cr_assert_eq(letters[1].runs, 1);
	cr_assert_eq(baton_window_in_flight(&window), 1);
	cr_assert_eq(baton_detached_complete(&letters[1].windowed.part.token, 0, NULL), 0);
	resource_end(&ledger.resource);
	baton_window_deinit(&window);
	cr_assert_eq(resource_counts(&ledger.stats).submitted,
	             resource_counts(&ledger.stats).executed + ledger.stats.cancelled);
}

static int nothing(struct baton_task *task)
{
	(void)task;
	return 0;
}

struct bounded_ledger {
	struct ledger ledger;
	struct baton_bound_config limits;
	struct baton_bound bound;
	struct baton_lane lane[2];
	struct baton_lanes lanes;
};

static void bounded_ledger_init(struct bounded_ledger *bounded)
{
	ledger_init(&bounded->ledger, NULL);
	bounded->limits = (struct baton_bound_config)BATON_BOUND_CONFIG_INIT;
	bounded->limits.tasks_max = 10;
	baton_bound_init(&bounded->bound, &bounded->limits);
	baton_lanes_init(&bounded->lanes, bounded->lane, 2, NULL);
	baton_resource_set_lanes(&bounded->ledger.resource, &bounded->lanes);
	baton_resource_set_bound(&bounded->ledger.resource, &bounded->bound);
}

static void bounded_ledger_end(struct bounded_ledger *bounded)
{
	struct ledger *ledger = &bounded->ledger;

	resource_end(&ledger->resource);
	cr_assert_eq(bounded->bound._pushed, bounded->bound._gone);
	cr_assert_eq(bounded->bound._sorted, 0);
	cr_assert_eq(resource_counts(&ledger->stats).submitted,
	             resource_counts(&ledger->stats).executed + ledger->stats.cancelled);
}

Test(combos_hooks, a_cancelled_tag_begins_no_batch, .timeout = 10)
{
	struct bounded_ledger bounded;
	struct stamped stamped;
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_tag tag = BATON_TAG_INIT;

	bounded_ledger_init(&bounded);
	stamped_init(&stamped, nothing, &future);
	baton_stamp_set_lane(&stamped.stamp, 1);
	baton_stamp_hold_tag(&stamped.stamp, &tag);
	baton_tag_cancel(&tag);
	cr_assert_eq(baton_submit(&bounded.ledger.resource, &stamped.task), 0);
	cr_assert_eq(baton_future_state(&future), BATON_CANCELLED);
	cr_assert_eq(baton_tag_held(&tag), 0);
	cr_assert_eq(bounded.ledger.begun, 0);
	bounded_ledger_end(&bounded);
}

static void *refused(void *arg)
{
	return arg;
}

/* Whatever is refused by batch_begin: it leaves the bound once, and is told once. */
Test(combos_hooks, what_batch_begin_refuses_leaves_the_bound_once, .timeout = 10)
{
	struct bounded_ledger bounded;
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	struct entry entries[3];
	struct stamped stamped;
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_label label = BATON_LABEL_INIT;
	struct baton_tag tag = BATON_TAG_INIT;

	bounded_ledger_init(&bounded);
	entries_init(entries, 3, &bounded.ledger);
	entries[2].task._future = NULL;
	stamped_init(&stamped, nothing, &future);
	baton_stamp_set_lane(&stamped.stamp, 1);
	baton_stamp_hold_tag(&stamped.stamp, &tag);
	label.tag = &tag;
	label.hold = true;
	bounded.ledger.begin_status = -EIO;
	/* At once, and not. */
	cr_assert_eq(baton_submit(&bounded.ledger.resource, &entries[0].task), 0);
	cr_assert_eq(baton_future_status(&entries[0].future), -EIO);
	cr_assert_eq(baton_resource_suspend(&bounded.ledger.resource, &suspension), 0);
	cr_assert_eq(baton_submit(&bounded.ledger.resource, &entries[1].task), 0);
	cr_assert_eq(baton_submit(&bounded.ledger.resource, &entries[2].task), 0);
	cr_assert_eq(baton_submit(&bounded.ledger.resource, &stamped.task), 0);
	cr_assert_eq(baton_post_with(&bounded.ledger.resource,
	                             &(struct baton_call_options){
					     .fn = refused, .arg = NULL, .label = &label}),
	             0);
	cr_assert_eq(baton_tag_held(&tag), 2);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert_eq(baton_future_status(&entries[1].future), -EIO);
	cr_assert_eq(baton_future_status(&future), -EIO);
	cr_assert_eq(bounded.ledger.cancelled, 1);
	cr_assert_eq(baton_tag_held(&tag), 0);
	cr_assert_eq(bounded.ledger.refused, 2);
	bounded_ledger_end(&bounded);
}

/* ---- Timers and triggers that batch_begin refuses ---- */

static uint64_t unanswered;

static int never(struct baton_trigger *trigger, uint64_t fires)
{
	(void)trigger;
	(void)fires;
	MUST(false);
	return 0;
}

static void count_unanswered(struct baton_trigger *trigger, int error, uint64_t fires)
{
	(void)trigger;
	unanswered += fires;
}

Test(combos_hooks, timers_and_triggers_are_left_out_when_batch_begin_fails, .timeout = 10)
{
	struct baton_timers *timers = virtual_timers();
	struct baton_trigger trigger;
	struct ledger ledger;
	struct bell bell;

	ledger_init(&ledger, NULL);
	bell_init(&bell, timers, &ledger.resource);
	baton_trigger_init(&trigger, &ledger.resource, never);
	baton_trigger_set_dropped(&trigger, count_unanswered);
	ledger.begin_status = -EIO;
	cr_assert_eq(baton_trigger_fire(&trigger), 0);
	cr_assert_eq(unanswered, 1);
	cr_assert_eq(baton_timer_arm_every(&bell.timer, TICK, TICK, BATON_TIMER_SKIP), 0);
	cr_assert_eq(baton_timers_advance(timers, 2 * TICK), 2);
	cr_assert_eq(bell.runs, 0);
	ledger.begin_status = 0;
	cr_assert_eq(baton_timers_advance(timers, TICK), 1);
	cr_assert_eq(bell.runs, 1);
	cr_assert_eq(baton_timer_stop(&bell.timer).met, BATON_STOP_PREVENTED);
	cr_assert_eq(ledger.cancelled, 0);
	resource_end(&ledger.resource);
	cr_assert_eq(baton_timers_destroy(timers), 0);
	cr_assert_eq(resource_counts(&ledger.stats).submitted,
	             resource_counts(&ledger.stats).executed + ledger.stats.cancelled);
}
