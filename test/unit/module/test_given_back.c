/* SPDX-License-Identifier: MIT */
/* What is counted is given back once too often: the process ends with a line. */
#include "misuse.h"

#include <baton/call.h>
#include <baton/fan_out.h>
#include <baton/thread.h>

static void *nothing(void *arg)
{
	return arg;
}

static struct baton_future *async_at(struct baton_resource *resource)
{
	struct baton_future *future;

	MUST(baton_async(resource, nothing, NULL, &future) == 0);
	return future;
}

static void future_twice(void)
{
	struct baton_future *future = async_at(&topic);

	baton_future_unref(future);
	baton_future_unref(future);
}

static void *gives_back(void *future)
{
	MUST(baton_thread_attach() == 0);
	baton_future_unref(future);
	return NULL;
}

static void future_twice_by_two(void)
{
	struct baton_future *future = async_at(&topic);

	thread_join(thread_start(gives_back, future));
	baton_future_unref(future);
}

/* The other node keeps the parcel of the thread. */
static void *gives_back_both(void *futures)
{
	struct baton_future **both = futures;

	MUST(baton_thread_attach() == 0);
	baton_future_unref(both[0]);
	baton_future_unref(both[1]);
	baton_future_unref(both[1]);
	return NULL;
}

static void future_twice_elsewhere(void)
{
	struct baton_future *futures[] = {async_at(&topic), async_at(&topic)};

	thread_join(thread_start(gives_back_both, futures));
}

static struct baton_manual *manual;
static struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE};
static struct baton_resource later;

/* Tasks of `later` wait. */
static void begin_later(void)
{
	MUST(baton_manual_create(&manual) == 0);
	config.executor = baton_manual_executor(manual);
	baton_resource_init(&later, &config);
}

static void pending_future_twice(void)
{
	struct baton_future *future;

	begin_later();
	future = async_at(&later);
	baton_future_unref(future);
	baton_future_unref(future);
}

static void future_of_two_thrice(void)
{
	struct baton_future *future;

	begin_later();
	future = baton_future_ref(async_at(&later));
	for (int i = 0; i < 3; i++)
		baton_future_unref(future);
}

static void future_back_again(void)
{
	struct baton_future *future = async_at(&topic);

	baton_future_unref(future);
	(void)baton_future_ref(future);
}

static int run_item(struct baton_resource *resource, void *arg, size_t index)
{
	return 0;
}

static struct baton_fan_out *pending_fan_out(void)
{
	const struct baton_fan_out_options options = {.fn = run_item};
	struct baton_resource *resources[] = {&later};
	struct baton_fan_out *fan_out;

	begin_later();
	MUST(baton_fan_out_submit(resources, 1, &options, &fan_out) == 0);
	return fan_out;
}

static void fan_out_twice(void)
{
	struct baton_fan_out *fan_out = pending_fan_out();

	baton_fan_out_unref(fan_out);
	baton_fan_out_unref(fan_out);
}

static void fan_out_back_again(void)
{
	struct baton_fan_out *fan_out = pending_fan_out();

	baton_fan_out_unref(fan_out);
	(void)baton_fan_out_ref(fan_out);
}

#define NONE "there is no reference left"

static const struct mistake mistakes[] = {
	{future_twice, "baton_future_unref: " NONE},
	{future_twice_by_two, "baton_future_unref: "},
	{future_twice_elsewhere, "baton_future_unref: "},
	{pending_future_twice, "baton_future_unref: " NONE},
	{future_of_two_thrice, "baton_future_unref: " NONE},
	{future_back_again, "baton_future_ref: " NONE},
	{fan_out_twice, "baton_fan_out_unref: " NONE},
	{fan_out_back_again, "baton_fan_out_ref: " NONE},
};

Test(given_back, too_often_is_named, .timeout = 60)
{
	mistakes_are_said(mistakes, sizeof(mistakes) / sizeof(*mistakes));
}
