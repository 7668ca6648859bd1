/* SPDX-License-Identifier: MIT */
/* A size of 64 bits that the library keeps in 32 is taken as the largest, and never cut. */
#include "support.h"

#include <baton/bound.h>
#include <baton/call.h>
#include <baton/fan_out.h>
#include <baton/label.h>
#include <baton/window.h>

#include "../parts.h"

enum { WIDE = 3 };

static const uint64_t wide[WIDE] = {UINT32_MAX, (uint64_t)UINT32_MAX + 1, UINT64_MAX};

static int rests(struct baton_task *task)
{
	return 0;
}

static void *returns_arg(void *arg)
{
	return arg;
}

static int item(struct baton_resource *resource, void *arg, size_t index)
{
	return 0;
}

/* The largest task fits into the bound, and one byte more does not. */
static void expect_full(struct baton_resource *resource, const char *what, int submitted)
{
	struct stamped one;

	stamped_init(&one, rests, NULL);
	baton_stamp_set_bytes(&one.stamp, 1);
	cr_expect_eq(submitted, 0, "%s", what);
	cr_expect_eq(baton_submit_later(resource, &one.task), -EAGAIN, "%s", what);
}

static void bounded(uint64_t bytes, int way)
{
	static const struct baton_bound_config config = {.bytes_max = UINT32_MAX,
	                                                 .policy = BATON_BOUND_REFUSE};
	const struct baton_label label = {.bytes = bytes};
	const struct baton_call_options post = {.fn = returns_arg, .label = &label};
	const struct baton_fan_out_options fan_out = {
		.fn = item, .label = &label, .flags = BATON_FAN_OUT_LATER};
	struct baton_resource_config held = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource, *set = &resource;
	struct baton_manual *manual;
	struct stamped stamped;
	struct baton_bound bound;

	MUST(baton_manual_create(&manual) == 0);
	held.executor = baton_manual_executor(manual);
	held.capture_max = BATON_CAPTURE_NONE;
	baton_resource_init(&resource, &held);
	baton_bound_init(&bound, &config);
	baton_resource_set_bound(&resource, &bound);
	stamped_init(&stamped, rests, NULL);
	if (way == 0) {
		baton_stamp_set_bytes(&stamped.stamp, bytes);
		expect_full(&resource, "set_bytes", baton_submit_later(&resource, &stamped.task));
	} else if (way == 1) {
		expect_full(&resource, "post_with", baton_post_with(&resource, &post));
	} else {
		expect_full(&resource, "fan-out", baton_fan_out_submit(&set, 1, &fan_out, NULL));
	}
	(void)baton_manual_run(manual, 0);
	resource_end(&resource);
	baton_manual_destroy(manual);
}

Test(sizes, of_tasks_fill_a_bound, .timeout = 5)
{
	for (int i = 0; i < WIDE; i++)
		for (int way = 0; way < 3; way++)
			bounded(wide[i], way);
}

Test(sizes, of_windows_let_tasks_start, .timeout = 5)
{
	for (int i = 0; i < WIDE; i++) {
		struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
		struct baton_future futures[2] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT};
		struct windowed windowed[2];
		struct baton_window window;

		baton_window_init(&window, &resource, (size_t)wide[i]);
		windowed_init(&windowed[0], &window, rests, &futures[0]);
		cr_expect_eq(baton_submit(&resource, &windowed[0].task), 0);
		cr_expect_eq(baton_window_set_limit(&window, (size_t)wide[i]), 0);
		windowed_init(&windowed[1], &window, rests, &futures[1]);
		cr_expect_eq(baton_submit(&resource, &windowed[1].task), 0);
		for (int at = 0; at < 2; at++)
			cr_expect_eq(baton_future_state(&futures[at]), BATON_DONE);
		resource_end(&resource);
	}
}

Test(sizes, of_lanes_beyond_the_last_are_refused, .timeout = 5)
{
	const struct baton_label label = {.lane = 256};
	const struct baton_call_options options = {.fn = returns_arg, .label = &label};
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);

	cr_expect_eq(baton_post_with(&resource, &options), -EINVAL);
	cr_expect_eq(baton_call_with(&resource, &options, NULL), -EINVAL);
	resource_end(&resource);
}
