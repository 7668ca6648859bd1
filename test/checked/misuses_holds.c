/* SPDX-License-Identifier: MIT */
/* Misuses of holds. */
#include "misuses.h"

#include <baton/hold.h>
#include <baton/hooks.h>

#include <pthread.h>

static struct baton_hold hold = BATON_HOLD_INIT;

static int hold_topic(struct baton_task *task)
{
	(void)task;
	return baton_hold(&topic, &hold);
}

/* The task is of another resource, which its submitter finds idle. */
void hold_outlives_task(void)
{
	baton_task_init(&second, hold_topic, NULL);
	BATON_IGNORE(baton_submit(&other, &second));
}

void hold_outlives_queued_task(void)
{
	static struct baton_hold outer = BATON_HOLD_INIT;

	baton_task_init(&second, hold_topic, NULL);
	if (!baton_hold(&other, &outer) && !baton_submit(&other, &second))
		BATON_IGNORE(baton_release(&outer));
}

static void *hold_in_call(void *arg)
{
	BATON_IGNORE(baton_hold(&topic, &hold));
	return arg;
}

void hold_outlives_call(void)
{
	BATON_IGNORE(baton_call(&other, hold_in_call, NULL, NULL));
}

static int hold_in_hook(struct baton_resource *resource)
{
	(void)resource;
	return baton_hold(&topic, &hold);
}

void hold_outlives_hook(void)
{
	static struct baton_resource_config config = {.batch_begin = hold_in_hook};

	baton_resource_init(&other, &config);
	baton_task_init(&second, nothing, NULL);
	BATON_IGNORE(baton_submit(&other, &second));
}

static void hold_in_callback(void *arg)
{
	(void)arg;
	BATON_IGNORE(baton_hold(&topic, &hold));
}

void hold_outlives_callback(void)
{
	static struct baton_future promise = BATON_PROMISE_INIT;
	static struct baton_continuation continuation;

	baton_continuation_function(&continuation, hold_in_callback, NULL);
	baton_future_then(&promise, &continuation);
	BATON_IGNORE(baton_future_complete(&promise, 0, NULL));
}

static void *hold_and_end(void *arg)
{
	BATON_IGNORE(baton_hold(&topic, &hold));
	return arg;
}

void hold_outlives_thread(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, hold_and_end, NULL))
		(void)pthread_join(thread, NULL);
}

static void *release_elsewhere(void *arg)
{
	BATON_IGNORE(baton_release(&hold));
	return arg;
}

void released_elsewhere(void)
{
	pthread_t thread;

	if (!baton_hold(&topic, &hold) && !pthread_create(&thread, NULL, release_elsewhere, NULL))
		(void)pthread_join(thread, NULL);
}

void released_inside_a_task(void)
{
	BATON_IGNORE(baton_hold(&topic, &hold));
	BATON_IGNORE(baton_call(&other, release_elsewhere, NULL, NULL));
}

void hold_copied(void)
{
	struct baton_hold copy;

	/* Two, so that the second has a frame. */
	static struct baton_hold outer = BATON_HOLD_INIT;

	if (baton_hold(&other, &outer) || baton_hold(&topic, &hold))
		return;
	copy = hold;
	BATON_IGNORE(baton_release(&copy));
}

void hold_not_initialised(void)
{
	struct baton_hold garbage;

	memset(&garbage, 0x5a, sizeof(garbage));
	garbage._resource = NULL;
	BATON_IGNORE(baton_hold(&topic, &garbage));
}

void deinit_while_held(void)
{
	if (!baton_hold(&topic, &hold) && !baton_resource_close(&topic))
		baton_resource_deinit(&topic);
}
