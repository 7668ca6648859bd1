/* SPDX-License-Identifier: MIT */
/*
 * Fan-outs: the future completes once when all items are over; the first error; refusals;
 * cancelling; references.
 */
#include "stash.h"

#include <baton/fan_out.h>

#define RESOURCES 8

struct fan {
	struct baton_resource resources[RESOURCES];
	struct baton_resource *pointers[RESOURCES];
	struct journal journal;
	int failing;    /* this item fails with -EIO; -1: none */
	int cancelling; /* this one cancels all */
	struct baton_fan_out *fan_out;
	const struct baton_label *label; /* of all items; NULL: none */
};

static int visit(struct baton_resource *resource, void *arg, size_t index)
{
	struct fan *fan = arg;

	MUST(baton_held(resource));
	journal_add(&fan->journal, (int)index);
	if ((int)index == fan->cancelling)
		MUST(baton_fan_out_cancel(fan->fan_out) == 0);
	return (int)index == fan->failing ? -EIO : 0;
}

static void fan_init_config(struct fan *fan, const struct baton_resource_config *config)
{
	memset(fan, 0, sizeof(*fan));
	for (int i = 0; i < RESOURCES; i++) {
		baton_resource_init(&fan->resources[i], config);
		fan->pointers[i] = &fan->resources[i];
	}
	fan->failing = -1;
	fan->cancelling = -1;
}

static void fan_init(struct fan *fan)
{
	fan_init_config(fan, NULL);
}

static int fan_submit(struct fan *fan, uint32_t flags)
{
	struct baton_fan_out_options options = {
		.fn = visit,
		.arg = fan,
		.flags = flags,
		.label = fan->label,
	};

	return baton_fan_out_submit(fan->pointers, RESOURCES, &options, &fan->fan_out);
}

/* What it says about itself: done, failed, cancelled. */
static void expect_counts(const struct fan *fan, size_t done, size_t failed, size_t cancelled)
{
	struct baton_fan_out_stats counts;

	baton_fan_out_stats_read(fan->fan_out, &counts);
	cr_assert_eq(counts.count, (size_t)RESOURCES);
	cr_assert_eq(counts.left, 0U);
	cr_assert_eq(counts.failed, failed);
	cr_assert_eq(counts.cancelled, cancelled);
	cr_assert_eq(counts.count - counts.failed - counts.cancelled, done);
}

static void fan_end(struct fan *fan)
{
	baton_fan_out_unref(fan->fan_out);
	for (int i = 0; i < RESOURCES; i++)
		resource_end(&fan->resources[i]);
}

Test(fan_out, on_idle_resources_it_is_over_when_submit_returns, .timeout = 10)
{
	struct fan fan;
	size_t index = 99;

	fan_init(&fan);
	cr_assert_eq(fan_submit(&fan, 0), 0);
	cr_assert(journal_counts_up(&fan.journal, 0, RESOURCES));
	cr_assert_eq(baton_future_state(baton_fan_out_future(fan.fan_out)), BATON_DONE);
	cr_assert_eq(baton_future_value(baton_fan_out_future(fan.fan_out)), (void *)fan.fan_out);
	cr_assert_eq(baton_fan_out_wait(fan.fan_out), 0);
	cr_assert_eq(baton_fan_out_status(fan.fan_out, &index), 0);
	cr_assert_eq(index, 99U, "untouched");
	cr_assert_eq(baton_fan_out_cancel(fan.fan_out), -EALREADY);
	expect_counts(&fan, RESOURCES, 0, 0);
	fan_end(&fan);
}

Test(fan_out, of_nothing_is_over_at_once, .timeout = 10)
{
	struct baton_fan_out_options options = {.fn = visit, .arg = NULL};
	struct baton_fan_out *fan_out;

	cr_assert_eq(baton_fan_out_submit(NULL, 0, &options, &fan_out), 0);
	cr_assert_eq(baton_future_state(baton_fan_out_future(fan_out)), BATON_DONE);
	cr_assert_eq(baton_fan_out_wait(fan_out), 0);
	baton_fan_out_unref(fan_out);
	cr_assert_eq(baton_fan_out_submit(NULL, 0, &options, NULL), 0);
	cr_assert_eq(baton_fan_out_submit(NULL, (size_t)BATON_FAN_OUT_MAX + 1, &options, &fan_out),
	             -EINVAL);
}

Test(fan_out, it_waits_for_a_busy_resource, .timeout = 10)
{
	uint64_t deadline = deadline_in_ms(5);
	struct occupant occupant;
	struct fan fan;

	fan_init(&fan);
	occupy(&occupant, &fan.resources[3]);
	cr_assert_eq(fan_submit(&fan, 0), 0);
	cr_assert_eq(fan.journal.count, (size_t)RESOURCES - 1);
	cr_assert_eq(baton_future_state(baton_fan_out_future(fan.fan_out)), BATON_PENDING);
	cr_assert_eq(baton_fan_out_wait_until(fan.fan_out, deadline), -ETIMEDOUT);
	cr_assert_eq(baton_fan_out_item_status(fan.fan_out, 3), -EAGAIN);
	cr_assert_eq(baton_fan_out_item_status(fan.fan_out, 4), 0);
	release(&occupant);
	cr_assert_eq(baton_fan_out_wait(fan.fan_out), 0);
	cr_assert_eq(fan.journal.count, (size_t)RESOURCES);
	expect_counts(&fan, RESOURCES, 0, 0);
	fan_end(&fan);
}

Test(fan_out, a_resource_may_be_there_several_times, .timeout = 10)
{
	struct occupant occupant;
	struct fan fan;

	fan_init(&fan);
	for (int i = 0; i < RESOURCES; i++)
		fan.pointers[i] = &fan.resources[0];
	occupy(&occupant, &fan.resources[0]);
	cr_assert_eq(fan_submit(&fan, 0), 0);
	cr_assert_eq(fan.journal.count, 0U);
	release(&occupant);
	cr_assert_eq(baton_fan_out_wait(fan.fan_out), 0);
	cr_assert(journal_counts_up(&fan.journal, 0, RESOURCES));
	fan_end(&fan);
}

Test(fan_out, the_first_error_counts_and_the_others_go_on, .timeout = 10)
{
	struct fan fan;
	size_t index = 99;

	fan_init(&fan);
	fan.failing = 5;
	cr_assert_eq(baton_resource_close(&fan.resources[6]), 0);
	cr_assert_eq(fan_submit(&fan, 0), 0);
	cr_assert_eq(fan.journal.count, (size_t)RESOURCES - 1);
	cr_assert_eq(baton_fan_out_wait(fan.fan_out), 0);
	cr_assert_eq(baton_fan_out_status(fan.fan_out, &index), -EIO);
	cr_assert_eq(index, 5U);
	cr_assert_eq(baton_fan_out_item_status(fan.fan_out, 5), -EIO);
	cr_assert_eq(baton_fan_out_item_status(fan.fan_out, 6), -EPIPE);
	cr_assert_eq(baton_fan_out_item_status(fan.fan_out, 7), 0);
	cr_assert_eq(baton_future_state(baton_fan_out_future(fan.fan_out)), BATON_FAILED);
	cr_assert_eq(baton_future_status(baton_fan_out_future(fan.fan_out)), -EIO);
	expect_counts(&fan, RESOURCES - 2, 2, 0);
	fan_end(&fan);
}

/* Writes nothing: the items run on several threads. */
static int fourth_fails(struct baton_resource *resource, void *arg, size_t index)
{
	return index == 3 ? -EIO : 0;
}

/* In the statistics of its resource, too: run within the submit, or in its turn. */
Test(fan_out, an_item_that_fails_is_a_failed_task, .timeout = 10)
{
	const uint32_t flags[] = {0, BATON_FAN_OUT_LATER};

	for (int i = 0; i < 2; i++) {
		struct baton_fan_out_options options = {.fn = fourth_fails, .flags = flags[i]};
		struct baton_resource_stats stats = {0};
		struct fan fan;

		fan_init(&fan);
		baton_resource_set_stats(&fan.resources[3], &stats);
		cr_assert_eq(baton_fan_out_submit(fan.pointers, RESOURCES, &options, &fan.fan_out),
		             0);
		cr_assert_eq(baton_fan_out_wait(fan.fan_out), 0);
		fan_end(&fan);
		cr_assert_eq(resource_counts(&stats).executed, 1);
		cr_assert_eq(resource_counts(&stats).failed, 1, "flags %u", flags[i]);
	}
}

Test(fan_out, by_choice_a_failure_cancels_what_has_not_started, .timeout = 10)
{
	struct occupant occupant;
	struct fan fan;
	size_t index = 99;

	fan_init(&fan);
	fan.failing = 5;
	occupy(&occupant, &fan.resources[2]);
	cr_assert_eq(fan_submit(&fan, BATON_FAN_OUT_CANCEL_ON_FAILURE), 0);
	cr_assert_eq(fan.journal.count, 5U, "0, 1, 3, 4, 5");
	cr_assert_eq(baton_fan_out_cancel(fan.fan_out), -EALREADY);
	cr_assert_eq(baton_future_state(baton_fan_out_future(fan.fan_out)), BATON_PENDING);
	release(&occupant);
	cr_assert_eq(baton_fan_out_wait(fan.fan_out), 0);
	cr_assert_eq(fan.journal.count, 5U);
	cr_assert_eq(baton_fan_out_status(fan.fan_out, &index), -EIO);
	cr_assert_eq(index, 5U);
	cr_assert_eq(baton_fan_out_item_status(fan.fan_out, 2), -ECANCELED);
	cr_assert_eq(baton_fan_out_item_status(fan.fan_out, 7), -ECANCELED);
	expect_counts(&fan, 4, 1, 3);
	fan_end(&fan);
}

static int end_well(struct baton_resource *resource)
{
	return 0;
}

/* Although its future completes only at the end of the batch. */
Test(fan_out, a_failure_cancels_what_comes_next_in_the_same_batch, .timeout = 10)
{
	struct baton_fan_out_options options = {.fn = visit,
	                                        .flags = BATON_FAN_OUT_CANCEL_ON_FAILURE};
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource *same[3];
	struct occupant occupant;
	struct fan fan;

	config.batch_end = end_well;
	config.delay_completions = true;
	fan_init_config(&fan, &config);
	fan.failing = 0;
	options.arg = &fan;
	for (int i = 0; i < 3; i++)
		same[i] = &fan.resources[0];
	occupy(&occupant, &fan.resources[0]);
	cr_assert_eq(baton_fan_out_submit(same, 3, &options, &fan.fan_out), 0);
	release(&occupant);
	cr_assert_eq(baton_fan_out_wait(fan.fan_out), 0);
	cr_assert_eq(fan.journal.count, 1);
	cr_assert_eq(baton_fan_out_item_status(fan.fan_out, 0), -EIO);
	cr_assert_eq(baton_fan_out_item_status(fan.fan_out, 2), -ECANCELED);
	fan_end(&fan);
}

Test(fan_out, a_refusal_is_a_failure_that_cancels_too, .timeout = 10)
{
	struct fan fan;

	fan_init(&fan);
	cr_assert_eq(baton_resource_close(&fan.resources[0]), 0);
	cr_assert_eq(fan_submit(&fan, BATON_FAN_OUT_CANCEL_ON_FAILURE), 0);
	cr_assert_eq(fan.journal.count, 0U);
	cr_assert_eq(baton_fan_out_status(fan.fan_out, NULL), -EPIPE);
	expect_counts(&fan, 0, 1, RESOURCES - 1);
	fan_end(&fan);
}

/* Item 0 waits, 1 fails, 2 is done first. */
static void expect_the_first_that_is_done(const struct baton_label *label)
{
	struct occupant occupant;
	struct fan fan;
	size_t index = 99;

	fan_init(&fan);
	fan.label = label;
	fan.failing = 1;
	occupy(&occupant, &fan.resources[0]);
	cr_assert_eq(fan_submit(&fan, BATON_FAN_OUT_CANCEL_ON_SUCCESS), 0);
	cr_assert_eq(fan.journal.count, 2U, "1 fails, 2 is done");
	cr_assert_eq(baton_fan_out_status(fan.fan_out, &index), 0);
	cr_assert_eq(index, 2U);
	release(&occupant);
	cr_assert_eq(baton_fan_out_wait(fan.fan_out), 0);
	cr_assert_eq(fan.journal.count, 2U);
	cr_assert_eq(baton_future_state(baton_fan_out_future(fan.fan_out)), BATON_DONE);
	expect_counts(&fan, 1, 1, RESOURCES - 2);
	fan_end(&fan);
}

Test(fan_out, the_first_that_is_done_cancels_the_rest, .timeout = 10)
{
	struct baton_label label = BATON_LABEL_INIT;

	expect_the_first_that_is_done(NULL);
	expect_the_first_that_is_done(&label);
}

Test(fan_out, fails_where_the_first_success_does_not_come, .timeout = 10)
{
	struct fan fan;
	size_t index = 99;

	fan_init(&fan);
	for (int i = 0; i < RESOURCES; i++)
		cr_assert_eq(baton_resource_close(&fan.resources[i]), 0);
	cr_assert_eq(fan_submit(&fan, BATON_FAN_OUT_CANCEL_ON_SUCCESS), 0);
	cr_assert_eq(baton_fan_out_status(fan.fan_out, &index), -EPIPE);
	cr_assert_eq(index, 0U);
	expect_counts(&fan, 0, RESOURCES, 0);
	fan_end(&fan);
}

Test(fan_out, flags_that_contradict_or_are_unknown_are_refused, .timeout = 10)
{
	static const uint32_t bad[] = {
		BATON_FAN_OUT_CANCEL_ON_FAILURE | BATON_FAN_OUT_CANCEL_ON_SUCCESS, 8};
	struct fan fan;

	fan_init(&fan);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(fan_submit(&fan, bad[i]), -EINVAL);
	cr_assert_eq(fan.journal.count, 0U);
	cr_assert_null(fan.fan_out);
	for (int i = 0; i < RESOURCES; i++)
		resource_end(&fan.resources[i]);
}

Test(fan_out, its_function_may_cancel_the_rest, .timeout = 10)
{
	struct baton_tag tag = BATON_TAG_INIT;
	const struct baton_label label = {.tag = &tag, .hold = true};
	struct fan fan;
	size_t index = 99;

	fan_init(&fan);
	fan.cancelling = 2;
	fan.label = &label;
	cr_assert_eq(fan_submit(&fan, 0), 0);
	cr_assert(journal_counts_up(&fan.journal, 0, 3));
	cr_assert_eq(baton_fan_out_status(fan.fan_out, &index), -ECANCELED);
	cr_assert_eq(index, 3U);
	cr_assert_eq(baton_tag_held(&tag), 0);
	expect_counts(&fan, 3, 0, RESOURCES - 3);
	fan_end(&fan);
}

Test(fan_out, cancelling_its_future_cancels_it, .timeout = 10)
{
	struct occupant occupant;
	struct fan fan;

	fan_init(&fan);
	occupy(&occupant, &fan.resources[7]);
	cr_assert_eq(fan_submit(&fan, 0), 0);
	cr_assert_eq(baton_future_cancel(baton_fan_out_future(fan.fan_out)), 0);
	cr_assert_eq(baton_future_state(baton_fan_out_future(fan.fan_out)), BATON_CANCELLED);
	release(&occupant);
	cr_assert_eq(baton_fan_out_wait(fan.fan_out), 0);
	cr_assert_eq(fan.journal.count, (size_t)RESOURCES - 1);
	for (int i = 0; i < RESOURCES; i++)
		cr_assert_eq(baton_resource_await(&fan.resources[i]), 0);
	expect_counts(&fan, RESOURCES - 1, 0, 1);
	fan_end(&fan);
}

Test(fan_out, what_a_resource_cancels_is_counted, .timeout = 10)
{
	struct occupant occupant;
	struct fan fan;

	fan_init(&fan);
	occupy(&occupant, &fan.resources[1]);
	cr_assert_eq(fan_submit(&fan, 0), 0);
	cr_assert_eq(baton_resource_cancel_pending(&fan.resources[1]), 0);
	release(&occupant);
	cr_assert_eq(baton_fan_out_wait(fan.fan_out), 0);
	cr_assert_eq(baton_fan_out_item_status(fan.fan_out, 1), -ECANCELED);
	expect_counts(&fan, RESOURCES - 1, 0, 1);
	fan_end(&fan);
}

Test(fan_out, later_nothing_runs_here, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_manual *manual;
	struct fan fan;

	cr_assert_eq(baton_manual_create(&manual), 0);
	config.executor = baton_manual_executor(manual);
	fan_init_config(&fan, &config);
	cr_assert_eq(fan_submit(&fan, BATON_FAN_OUT_LATER), 0);
	cr_assert_eq(fan.journal.count, 0U);
	cr_assert_eq(baton_manual_run(manual, 0), (size_t)RESOURCES);
	cr_assert(journal_counts_up(&fan.journal, 0, RESOURCES));
	cr_assert_eq(baton_fan_out_wait(fan.fan_out), 0);
	fan_end(&fan);
	baton_manual_destroy(manual);
}

/* ---- Memory ---- */

Test(fan_out, it_may_be_dropped_before_it_is_over, .timeout = 10)
{
	struct baton_fan_out_options options = {.fn = visit, .arg = NULL};
	struct occupant occupant;
	struct fan fan;

	fan_init(&fan);
	options.arg = &fan;
	occupy(&occupant, &fan.resources[0]);
	cr_assert_eq(fan_submit(&fan, 0), 0);
	cr_assert_eq(baton_fan_out_submit(fan.pointers, RESOURCES, &options, NULL), 0);
	cr_assert_eq((void *)baton_fan_out_ref(fan.fan_out), (void *)fan.fan_out);
	baton_fan_out_unref(fan.fan_out);
	baton_fan_out_unref(fan.fan_out);
	release(&occupant);
	for (int i = 0; i < RESOURCES; i++)
		resource_end(&fan.resources[i]);
	cr_assert_eq(fan.journal.count, (size_t)RESOURCES * 2);
}
