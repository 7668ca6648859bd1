/* SPDX-License-Identifier: MIT */
/* Failing calls in: baton_call, try_call, post, async. */
#include "scenario.h"

#include <baton/carried.h>
#include <baton/thread.h>

#include <string.h>

#define POSTS 3

struct calls {
	struct baton_resource *resource;
	atomic_int count;
	struct baton_future *futures[POSTS];
};

SCENARIO(call, idle)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	atomic_int count = 0;
	void *value = &resource;

	INSIST(baton_call(&resource, count_up, &count, &value),
	       value == &resource && !atomic_load(&count));
	EXPECT(value == &count && atomic_load(&count) == 1);
	resource_end(&resource);
}

static void *try_call(void *arg)
{
	struct calls *calls = arg;
	void *value = calls;

	INSIST(baton_try_call(calls->resource, count_up, &calls->count, &value), value == calls);
	EXPECT(value == &calls->count);
	return NULL;
}

static void *try_call_in_vain(void *arg)
{
	struct calls *calls = arg;
	void *value = calls;
	int status = TRY(baton_try_call(calls->resource, count_up, &calls->count, &value));

	EXPECT(status == -EAGAIN || (status == -ENOMEM && fault_planned()));
	EXPECT(value == calls);
	return NULL;
}

SCENARIO(call, try)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct calls calls = {.resource = &resource};
	struct occupant occupant;

	occupy(&occupant, &resource);
	elsewhere(try_call_in_vain, &calls);
	EXPECT(atomic_load(&calls.count) == 0);
	leave(&occupant);
	elsewhere(try_call, &calls);
	EXPECT(atomic_load(&calls.count) == 1);
	resource_end(&resource);
}

static void *call(void *arg)
{
	struct calls *calls = arg;
	void *value = calls;

	INSIST(baton_call(calls->resource, count_up, &calls->count, &value),
	       value == calls && !atomic_load(&calls->count));
	EXPECT(value == &calls->count && atomic_load(&calls->count) == 1);
	return NULL;
}

/* The caller waits its turn, asleep. */
SCENARIO(call, busy)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct calls calls = {.resource = &resource};
	struct occupant occupant;
	pthread_t caller;
	uint32_t waits;

	occupy(&occupant, &resource);
	waits = fault_waits();
	caller = thread_start(call, &calls);
	until_waiting(waits);
	leave(&occupant);
	thread_join(caller);
	resource_end(&resource);
}

SCENARIO(call, post_idle)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	atomic_int count = 0;

	INSIST(baton_post(&resource, count_up, &count), !atomic_load(&count));
	EXPECT(atomic_load(&count) == 1);
	resource_end(&resource);
}

SCENARIO(call, async_idle)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_future *future = NULL;
	atomic_int count = 0;

	INSIST(baton_async(&resource, count_up, &count, &future), !future && !atomic_load(&count));
	EXPECT(USE(baton_future_value(future)) == &count && atomic_load(&count) == 1);
	EXPECT(USE(baton_future_ref(future)) == future);
	USE(baton_future_unref(future));
	USE(baton_future_unref(future));
	resource_end(&resource);
}

static void *post_and_async(void *arg)
{
	struct calls *calls = arg;

	for (int i = 0; i < POSTS; i++) {
		INSIST(baton_post(calls->resource, count_up, &calls->count), true);
		INSIST(baton_async(calls->resource, count_up, &calls->count, &calls->futures[i]),
		       !calls->futures[i]);
	}
	return NULL;
}

static void post_and_async_to_busy(struct calls *calls)
{
	struct occupant occupant;

	occupy(&occupant, calls->resource);
	elsewhere(post_and_async, calls);
	EXPECT(atomic_load(&calls->count) == 0);
	leave(&occupant);
	for (int i = 0; i < POSTS; i++) {
		INSIST(baton_future_wait(calls->futures[i]), true);
		EXPECT(TRY(baton_future_status(calls->futures[i])) == 0);
		EXPECT(USE(baton_future_value(calls->futures[i])) == &calls->count);
		USE(baton_future_unref(calls->futures[i]));
	}
	resource_end(calls->resource);
	EXPECT(atomic_load(&calls->count) == 2 * POSTS);
}

SCENARIO(call, post_and_async_busy)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct calls calls = {.resource = &resource};

	post_and_async_to_busy(&calls);
}

/* What the limit leaves goes to the default pool, if it can. */
SCENARIO(call, post_and_async_handed_off)
{
	const struct baton_resource_config config = {.capture_max = 2, .quantum = 1};
	struct baton_resource resource = BATON_RESOURCE_INIT(&config);
	struct calls calls = {.resource = &resource};

	post_and_async_to_busy(&calls);
}

/* Of a closed resource the refused tasks' memory goes back. */
SCENARIO(call, closed)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_future *future = NULL;
	atomic_int count = 0;
	void *value = &resource;

	EXPECT(TRY(baton_resource_close(&resource)) == 0);
	for (int i = 0; i < POSTS; i++) {
		EXPECT(TRY(baton_post(&resource, count_up, &count)) != 0);
		EXPECT(TRY(baton_async(&resource, count_up, &count, &future)) != 0);
		EXPECT(TRY(baton_call(&resource, count_up, &count, &value)) != 0);
		EXPECT(TRY(baton_try_call(&resource, count_up, &count, &value)) != 0);
	}
	EXPECT(!future && value == &resource && atomic_load(&count) == 0);
	resource_end(&resource);
}

/* Nothing is run here: the default pool must come into being. */
SCENARIO(call, with_limit_0)
{
	const struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE,
	                                             .quantum = 1};
	struct baton_resource resource = BATON_RESOURCE_INIT(&config);
	struct baton_future *future = NULL;
	atomic_int count = 0;
	void *value = &resource;

	INSIST(baton_post(&resource, count_up, &count), true);
	INSIST(baton_async(&resource, count_up, &count, &future), !future);
	INSIST(baton_future_wait(future), true);
	USE(baton_future_unref(future));
	INSIST(baton_call(&resource, count_up, &count, &value), value == &resource);
	EXPECT(value == &count && atomic_load(&count) == 3);
	resource_end(&resource);
}

/* A thread that has a record needs no memory for one later. */
static void *attach_and_await(void *resource)
{
	INSIST(baton_thread_attach(), true);
	EXPECT(TRY(baton_thread_attach()) == 0);
	EXPECT(TRY(baton_resource_await(resource)) == 0);
	return NULL;
}

SCENARIO(call, attach)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);

	elsewhere(attach_and_await, &resource);
	resource_end(&resource);
}

static void *allocate_nodes(void *arg)
{
	const size_t sizes[] = {1, BATON_NODE_MAX};

	for (size_t i = 0; i < 2; i++) {
		void *node = NULL;

		INSIST(baton_node_alloc(sizes[i], &node), !node);
		memset(node, 1, sizes[i]);
		USE(baton_node_free(node));
	}
	return arg;
}

SCENARIO(call, node)
{
	elsewhere(allocate_nodes, NULL);
}

static int found;

static void *find(void *arg)
{
	found += baton_carried() == arg;
	return NULL;
}

static void *carry_and_post(void *arg)
{
	INSIST(baton_set_carried(&found), USE(baton_carried()) == NULL);
	INSIST(baton_post(arg, find, &found), true);
	EXPECT(USE(baton_carried()) == &found);
	return NULL;
}

SCENARIO(call, carried)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);

	found = 0;
	elsewhere(carry_and_post, &resource);
	EXPECT(found == 1);
	resource_end(&resource);
}
