/* SPDX-License-Identifier: MIT */
/* A call that fails leaves what it would have returned through a pointer untouched. */
#include "fixture.h"

#include <baton/board.h>
#include <baton/call.h>
#include <baton/fan_out.h>
#include <baton/hooks.h>
#include <baton/label.h>
#include <baton/lane.h>
#include <baton/registry.h>
#include <baton/timer.h>
#include <baton/timers.h>

static char untouched;

struct failing {
	const char *name;
	int error;
	int (*call)(struct baton_resource *resource, void *output);
};

static void *returns(void *arg)
{
	return arg;
}

static int calls(struct baton_resource *resource, void *output)
{
	return baton_call(resource, returns, NULL, output);
}

static int tries(struct baton_resource *resource, void *output)
{
	return baton_try_call(resource, returns, NULL, output);
}

static int calls_with(struct baton_resource *resource, void *output)
{
	return baton_call_with(resource, &(struct baton_call_options){.fn = returns}, output);
}

static int calls_in_no_lane(struct baton_resource *resource, void *output)
{
	const struct baton_label label = {.lane = BATON_LANES_MAX};
	const struct baton_call_options options = {.fn = returns, .label = &label};

	return baton_call_with(resource, &options, output);
}

static int calls_in_the_past(struct baton_resource *resource, void *output)
{
	const struct baton_call_options options = {.fn = returns, .timeout_ns = 1};

	return baton_call_with(resource, &options, output);
}

static int asks(struct baton_resource *resource, void *output)
{
	return baton_async(resource, returns, NULL, output);
}

static int asks_with(struct baton_resource *resource, void *output)
{
	return baton_async_with(resource, &(struct baton_call_options){.fn = returns}, output);
}

static int asks_in_no_lane(struct baton_resource *resource, void *output)
{
	const struct baton_label label = {.lane = BATON_LANES_MAX};
	const struct baton_call_options options = {.fn = returns, .label = &label};

	return baton_async_with(resource, &options, output);
}

/* ---- What needs no resource ---- */

static int waits_for_any(struct baton_resource *resource, void *output)
{
	struct baton_future promise = BATON_PROMISE_INIT;
	struct baton_future *futures[] = {&promise};
	const uint64_t past = 1;
	int status = baton_future_wait_any_until(futures, 1, past, output);

	MUST(baton_future_complete(&promise, 0, NULL) == 0);
	return status;
}

static int waits_for_none(struct baton_resource *resource, void *output)
{
	return baton_future_wait_any(NULL, 0, output);
}

static int item(struct baton_resource *resource, void *arg, size_t index)
{
	return 0;
}

static int fans_out(struct baton_resource *resource, void *output)
{
	const struct baton_fan_out_options options = {
		.fn = item,
		.flags = BATON_FAN_OUT_CANCEL_ON_FAILURE | BATON_FAN_OUT_CANCEL_ON_SUCCESS,
	};

	return baton_fan_out_submit(&resource, 1, &options, output);
}

static int fan_out_went_well(struct baton_resource *resource, void *output)
{
	struct baton_fan_out *fan_out;
	int status;

	MUST(baton_fan_out_submit(&resource, 0, &(struct baton_fan_out_options){.fn = item},
	                          &fan_out) == 0);
	status = baton_fan_out_status(fan_out, output);
	baton_fan_out_unref(fan_out);
	return status;
}

static int creates_pool(struct baton_resource *resource, void *output)
{
	return baton_pool_create(
		&(struct baton_pool_options){.workers = BATON_POOL_WORKERS_MAX + 1}, output);
}

static int creates_timers(struct baton_resource *resource, void *output)
{
	return baton_timers_create(
		&(struct baton_timers_options){.source = (enum baton_timers_source)99}, output);
}

static int creates_registry(struct baton_resource *resource, void *output)
{
	return baton_registry_create(&(struct baton_registry_options){.object_size = 1}, output);
}

static int finds_nothing(struct baton_resource *resource, void *output)
{
	const struct baton_registry_options options = {.object_size =
	                                                       sizeof(struct baton_registry_entry)};
	struct baton_registry *registry;
	int error;

	MUST(baton_registry_create(&options, &registry) == 0);
	error = baton_registry_find(registry, "no", 2, output);
	MUST(baton_registry_destroy(registry) == 0);
	return error;
}

static int creates_board(struct baton_resource *resource, void *output)
{
	return baton_board_create(&(struct baton_board_options){.resources = UINT32_MAX}, output);
}

static int joins_full_board(struct baton_resource *resource, void *output)
{
	struct baton_resource first = BATON_RESOURCE_INIT(NULL);
	struct baton_board *board;
	int error;

	MUST(baton_board_create(&(struct baton_board_options){.resources = 1}, &board) == 0);
	MUST(baton_board_join(board, &first, NULL, NULL) == 0);
	error = baton_board_join(board, resource, NULL, output);
	resource_end(&first);
	baton_board_leave(board, &first);
	baton_board_destroy(board);
	return error;
}

static const struct failing of_a_resource[] = {
	{"call", -EPIPE, calls},           {"try_call", -EPIPE, tries},
	{"call_with", -EPIPE, calls_with}, {"async", -EPIPE, asks},
	{"async_with", -EPIPE, asks_with},
};

static void fail(const struct failing *failing, struct baton_resource *resource, int error)
{
	void *output = &untouched;

	cr_expect_eq(failing->call(resource, &output), error, "%s", failing->name);
	cr_expect_eq(output, &untouched, "%s", failing->name);
}

Test(outputs, are_untouched_when_the_call_fails, .timeout = 10)
{
	static const struct failing others[] = {
		{"call_with, no such lane", -EINVAL, calls_in_no_lane},
		{"async_with, no such lane", -EINVAL, asks_in_no_lane},
		{"wait_any", -ETIMEDOUT, waits_for_any},
		{"wait_any of none", -EINVAL, waits_for_none},
		{"fan_out", -EINVAL, fans_out},
		{"fan_out_status", 0, fan_out_went_well},
		{"pool", -EINVAL, creates_pool},
		{"timers", -EINVAL, creates_timers},
		{"registry", -EINVAL, creates_registry},
		{"registry_find", -ENOENT, finds_nothing},
		{"board", -EINVAL, creates_board},
		{"board_join", -ENOSPC, joins_full_board},
	};
	struct baton_resource closed = BATON_RESOURCE_INIT(NULL);

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		fail(&others[i], &fix.resource, others[i].error);
	resource_end(&closed);
	for (size_t i = 0; i < sizeof(of_a_resource) / sizeof(of_a_resource[0]); i++)
		fail(&of_a_resource[i], &closed, -EPIPE);
	occupy(&fix.occupant, &fix.resource);
	fail(&(struct failing){.name = "try_call, busy", .call = tries}, &fix.resource, -EAGAIN);
	fail(&(struct failing){.name = "call_with, past", .call = calls_in_the_past}, &fix.resource,
	     -ETIMEDOUT);
	release(&fix.occupant);
	fixture_end();
}

static int does_not_begin(struct baton_resource *resource)
{
	return -EBUSY;
}

static int does_not_end(struct baton_resource *resource)
{
	return -EIO;
}

/* Of an async the future says it. */
Test(outputs, of_calls_are_untouched_when_their_batch_fails, .timeout = 10)
{
	for (int hook = 0; hook < 2; hook++) {
		struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
		struct baton_resource resource;

		config.batch_begin = hook ? NULL : does_not_begin;
		config.batch_end = hook ? does_not_end : NULL;
		config.delay_completions = true;
		baton_resource_init(&resource, &config);
		for (size_t i = 0; i < 3; i++)
			fail(&of_a_resource[i], &resource, hook ? -EIO : -EBUSY);
		resource_end(&resource);
	}
}
