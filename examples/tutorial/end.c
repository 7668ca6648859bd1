/* SPDX-License-Identifier: MIT */
/*
 * How a program ends: along the flow of its work. Sources submit to topics, and topics to a store.
 */
#include "../check.h"

#include <baton.h>
#include <baton/timers.h>

#include <pthread.h>

#define TOPICS 4
#define MESSAGES 1000

static struct baton_pool *pool;
static struct baton_timers *wheel;
static struct baton_resource topics[TOPICS], store;
static struct baton_timer flush_timer;
static unsigned stored;

static void *keep(void *arg)
{
	stored++;
	return arg;
}

static void *publish(void *arg)
{
	CHECK(baton_post(&store, keep, NULL) == 0);
	return arg;
}

static void *source(void *arg)
{
	for (int i = 0; i < MESSAGES; i++)
		CHECK(baton_post(&topics[i % TOPICS], publish, NULL) == 0);
	return arg;
}

static int flush(struct baton_timer *timer)
{
	(void)timer;
	return 0;
}

/* ---- In baton-tutorial(7) ---- */
static int end_resource(struct baton_resource *resource)
{
	(void)baton_resource_close(resource);  /* refuses what comes now ... */
	return baton_resource_await(resource); /* ... and runs what has come */
}

static int end(pthread_t thread)
{
	int error;

	/* 1. What submits from outside: threads, sockets, timers. */
	if (pthread_join(thread, NULL))
		return -1;
	error = baton_timer_stop_wait(&flush_timer);
	/* 2. The resources, in the order in which work goes from one to the next. */
	for (int i = 0; i < TOPICS && !error; i++)
		error = end_resource(&topics[i]);
	if (!error)
		error = end_resource(&store);
	/* 3. What they stand on: first wheels, then pools. */
	if (!error)
		error = baton_timers_destroy(wheel);
	if (!error)
		error = baton_pool_destroy(pool);
	return error;
}
/* ---- To here ---- */

int main(void)
{
	static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	pthread_t thread;

	CHECK(baton_pool_create(NULL, &pool) == 0 && baton_timers_create(NULL, &wheel) == 0);
	config.executor = baton_pool_executor(pool);
	for (int i = 0; i < TOPICS; i++)
		baton_resource_init(&topics[i], &config);
	baton_resource_init(&store, &config);
	baton_timer_init(&flush_timer, wheel, &store, flush);
	CHECK(baton_timer_arm_after(&flush_timer, 60 * BATON_SECOND) == 0);
	CHECK(pthread_create(&thread, NULL, source, NULL) == 0);
	CHECK(end(thread) == 0);
	CHECK(stored == MESSAGES);
	printf("%u messages are stored, and nothing is left\n", stored);
	return 0;
}
