/* SPDX-License-Identifier: MIT */
/* Calls in a section of an epoch, each of which may wait. */
#include "misuses.h"

#include <pthread.h>

static struct baton_future waited = BATON_PROMISE_INIT;

static void enter(void)
{
	if (baton_epoch_enter())
		abort();
}

void section_call(void)
{
	enter();
	BATON_IGNORE(baton_call(&topic, call_nothing, NULL, NULL));
}

void section_call_with(void)
{
	enter();
	BATON_IGNORE(
		baton_call_with(&topic, &(struct baton_call_options){.fn = call_nothing}, NULL));
}

void section_hold(void)
{
	struct baton_hold hold = BATON_HOLD_INIT;

	enter();
	BATON_IGNORE(baton_hold(&topic, &hold));
}

void section_hold_shared(void)
{
	struct baton_readers readers = BATON_READERS_INIT(&topic);
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;

	enter();
	BATON_IGNORE(baton_hold_shared(&readers, &hold));
}

void section_hold_many(void)
{
	struct baton_hold holds[2] = {BATON_HOLD_INIT, BATON_HOLD_INIT};
	struct baton_resource *resources[] = {&topic, &other};

	enter();
	BATON_IGNORE(baton_hold_many(resources, 2, holds));
}

void section_future(void)
{
	enter();
	BATON_IGNORE(baton_future_wait(&waited));
}

void section_any(void)
{
	struct baton_future *futures[] = {&waited};

	enter();
	BATON_IGNORE(baton_future_wait_any(futures, 1, NULL));
}

void section_all(void)
{
	struct baton_future *futures[] = {&waited};

	enter();
	BATON_IGNORE(baton_future_wait_all(futures, 1));
}

/* The task of topic/7 waits. */
static void begin_waiting(void)
{
	topic_on_manual();
	baton_task_init(&second, nothing, NULL);
	if (baton_submit(&topic, &second))
		abort();
	enter();
}

static void *wait_elsewhere(void *wait)
{
	((void (*)(void))(uintptr_t)wait)();
	return NULL;
}

/* The manual executor's own thread would not wait. */
static void on_a_thread(void (*wait)(void))
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, wait_elsewhere, (void *)(uintptr_t)wait))
		(void)pthread_join(thread, NULL);
}

static void await_topic(void)
{
	enter();
	if (!baton_resource_close(&topic))
		BATON_IGNORE(baton_resource_await(&topic));
}

void section_await(void)
{
	begin_waiting();
	on_a_thread(await_topic);
}

void section_group(void)
{
	static struct baton_group group = BATON_GROUP_INIT;

	baton_group_enter(&group);
	enter();
	BATON_IGNORE(baton_group_wait(&group));
}

static int fan_out_nothing(struct baton_resource *resource, void *arg, size_t index)
{
	(void)resource;
	(void)arg;
	(void)index;
	return 0;
}

static struct baton_fan_out *fan_out;

static void wait_for_fan_out(void)
{
	enter();
	BATON_IGNORE(baton_fan_out_wait(fan_out));
}

void section_fan_out(void)
{
	const struct baton_fan_out_options options = {.fn = fan_out_nothing};
	struct baton_resource *resources[] = {&topic};

	topic_on_manual();
	if (!baton_fan_out_submit(resources, 1, &options, &fan_out))
		on_a_thread(wait_for_fan_out);
}

static void quiesce_topic(void)
{
	struct baton_resource *resources[] = {&topic};
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	enter();
	BATON_IGNORE(baton_quiesce(resources, 1, &suspension));
}

static void *hold_and_quiesce(void *arg)
{
	on_a_thread(quiesce_topic);
	return arg;
}

void section_quiesce(void)
{
	BATON_IGNORE(baton_call(&topic, hold_and_quiesce, NULL, NULL));
}

/* No misuse: what never waits. */
void section_submits(void)
{
	struct baton_future *future;

	enter();
	baton_task_init(&second, nothing, NULL);
	if (baton_submit(&topic, &second) || baton_post(&topic, call_nothing, NULL) ||
	    baton_async(&topic, call_nothing, NULL, &future) || baton_future_wait(future) ||
	    baton_try_call(&topic, call_nothing, NULL, NULL))
		abort();
	baton_future_unref(future);
	baton_epoch_leave();
	if (baton_call(&topic, call_nothing, NULL, NULL))
		abort();
}
