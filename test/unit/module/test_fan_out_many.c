/* SPDX-License-Identifier: MIT */
/*
 * Fan-outs that are submitted in tasks, fan-outs of many items, waiters that help, and fan-outs
 * beside other tasks.
 */
#include "fixture.h"

#include <baton/fan_out.h>

#define MANY 100000

struct many {
	struct baton_resource *resources;
	struct baton_resource **pointers;
	size_t count;
	int runs;
};

static int count_run(struct baton_resource *resource, void *arg, size_t index)
{
	struct many *many = arg;

	__atomic_fetch_add(&many->runs, 1, __ATOMIC_RELAXED);
	return 0;
}

static void many_init(struct many *many, size_t count, const struct baton_resource_config *config)
{
	many->resources = calloc(count, sizeof(*many->resources));
	many->pointers = calloc(count, sizeof(struct baton_resource *));
	MUST(many->resources && many->pointers);
	many->count = count;
	many->runs = 0;
	for (size_t i = 0; i < count; i++) {
		baton_resource_init(&many->resources[i], config);
		many->pointers[i] = &many->resources[i];
	}
}

static void many_end(struct many *many)
{
	for (size_t i = 0; i < many->count; i++)
		resource_end(&many->resources[i]);
	free(many->resources);
	free(many->pointers);
}

static void *submit_inside(void *arg)
{
	struct many *many = arg;
	struct baton_fan_out_options options = {.fn = count_run, .arg = many};
	struct baton_fan_out *fan_out = NULL;

	MUST(baton_fan_out_submit(many->pointers, many->count, &options, &fan_out) == 0);
	return fan_out;
}

static void *small_stack_main(void *arg)
{
	struct baton_resource outer = BATON_RESOURCE_INIT(NULL);
	void *fan_out = NULL;

	MUST(baton_call(&outer, submit_inside, arg, &fan_out) == 0);
	MUST(baton_fan_out_wait(fan_out) == 0);
	baton_fan_out_unref(fan_out);
	return NULL;
}

Test(fan_out_many, inside_a_task_it_needs_no_more_stack_for_many, .timeout = 60)
{
	struct many many;

	many_init(&many, (size_t)scaled(MANY), NULL);
	thread_run_on(small_stack(), small_stack_main, &many);
	cr_assert_eq(many.runs, (int)many.count);
	many_end(&many);
}

/* ---- All workers wait inside tasks for what lies in their pool's queues ---- */

#define WORKERS 2

struct wait_inside {
	struct baton_resource resource;
	struct baton_task task;
	struct baton_future future;
	struct many *many;
	pthread_barrier_t *all_in;
	int error;
};

static int wait_inside_run(struct baton_task *task)
{
	struct wait_inside *inside = baton_container_of(task, struct wait_inside, task);
	struct baton_fan_out_options options = {
		.fn = count_run, .arg = inside->many, .flags = BATON_FAN_OUT_LATER};
	struct baton_fan_out *fan_out;

	(void)pthread_barrier_wait(inside->all_in); /* no worker is free from here on */
	inside->error = baton_fan_out_submit(inside->many->pointers, inside->many->count, &options,
	                                     &fan_out);
	if (!inside->error) {
		inside->error = baton_fan_out_wait(fan_out);
		baton_fan_out_unref(fan_out);
	}
	return 0;
}

Test(fan_out_many, workers_that_all_wait_help_with_what_is_queued, .timeout = 30)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_pool *pool = pool_of(WORKERS);
	struct wait_inside inside[WORKERS];
	struct many many[WORKERS];
	pthread_barrier_t all_in;

	config.executor = baton_pool_executor(pool);
	MUST(pthread_barrier_init(&all_in, NULL, WORKERS) == 0);
	for (int i = 0; i < WORKERS; i++) {
		many_init(&many[i], 50, &config);
		baton_resource_init(&inside[i].resource, &config);
		baton_future_init(&inside[i].future);
		baton_task_init(&inside[i].task, wait_inside_run, &inside[i].future);
		inside[i].many = &many[i];
		inside[i].all_in = &all_in;
		inside[i].error = -1;
	}
	for (int i = 0; i < WORKERS; i++)
		cr_assert_eq(baton_submit_later(&inside[i].resource, &inside[i].task), 0);
	/* Not helping: this thread is no part of it. */
	for (int i = 0; i < WORKERS; i++)
		while (!baton_future_is_complete(&inside[i].future))
			sched_yield();
	for (int i = 0; i < WORKERS; i++) {
		cr_assert_eq(inside[i].error, 0);
		cr_assert_eq(many[i].runs, 50);
		resource_end(&inside[i].resource);
		many_end(&many[i]);
	}
	MUST(pthread_barrier_destroy(&all_in) == 0);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

struct held {
	struct baton_resource *resource;
	int error;
};

static int do_nothing(struct baton_resource *resource, void *arg, size_t index)
{
	return 0;
}

static void *wait_for_oneself(void *arg)
{
	struct held *held = arg;
	struct baton_fan_out_options options = {.fn = do_nothing, .arg = NULL};
	struct baton_fan_out *fan_out;

	MUST(baton_fan_out_submit(&held->resource, 1, &options, &fan_out) == 0);
	held->error = baton_fan_out_wait(fan_out);
	baton_fan_out_unref(fan_out);
	return NULL;
}

Test(fan_out_many, a_wait_for_a_resource_that_one_holds_is_refused, .timeout = 10)
{
	struct held held = {&fix.resource, 0};

	cr_assert_eq(baton_call(&fix.resource, wait_for_oneself, &held, NULL), 0);
	cr_assert_eq(held.error, -EDEADLK);
	fixture_end();
}

/* What the first item is told that waits for all. */
struct early {
	struct baton_fan_out *fan_out;
	int error;
	size_t cycle;
};

static int wait_for_all(struct baton_resource *resource, void *arg, size_t index)
{
	struct early *early = arg;
	struct baton_deadlock_link link;

	if (index > 0)
		return 0;
	early->error = baton_fan_out_wait(early->fan_out);
	early->cycle = baton_deadlock_cycle(&link, 1);
	MUST(link.resource == resource);
	return 0;
}

Test(fan_out_many, a_wait_in_an_item_that_runs_during_the_submit_is_refused, .timeout = 10)
{
	struct baton_resource other = BATON_RESOURCE_INIT(NAMED("other"));
	struct baton_resource *resources[] = {&fix.resource, &other};
	struct early early = {NULL, 0, 0};
	struct baton_fan_out_options options = {.fn = wait_for_all, .arg = &early};

	cr_assert_eq(baton_fan_out_submit(resources, 2, &options, &early.fan_out), 0);
	cr_assert_eq(early.error, -EDEADLK);
	cr_assert_eq(early.cycle, 1);
	cr_assert_eq(baton_fan_out_wait(early.fan_out), 0);
	baton_fan_out_unref(early.fan_out);
	resource_end(&other);
	fixture_end();
}

/* ---- Several threads fan out over the same resources ---- */

#define THREADS 3
#define SHARED 16

struct crowd {
	struct many *many;
	int rounds;
	int wrong;
};

static void *fan_out_often(void *arg)
{
	struct crowd *crowd = arg;
	struct baton_fan_out_options options = {.fn = count_run, .arg = crowd->many};

	for (int i = 0; i < crowd->rounds; i++) {
		struct baton_fan_out_stats counts;
		struct baton_fan_out *fan_out;

		options.flags = i % 4 == 0 ? BATON_FAN_OUT_LATER : 0;
		MUST(baton_fan_out_submit(crowd->many->pointers, SHARED, &options, &fan_out) == 0);
		if (i % 3) { /* or else it is dropped at once */
			MUST(baton_fan_out_wait(fan_out) == 0);
			baton_fan_out_stats_read(fan_out, &counts);
			crowd->wrong += counts.left || counts.failed || counts.cancelled;
		}
		baton_fan_out_unref(fan_out);
	}
	return NULL;
}

Test(fan_out_many, beside_others_every_item_runs_once, .timeout = 60)
{
	struct crowd crowds[THREADS];
	pthread_t threads[THREADS];
	struct many many;

	many_init(&many, SHARED, NULL);
	for (int i = 0; i < THREADS; i++) {
		crowds[i] = (struct crowd){&many, scaled(3000), 0};
		threads[i] = thread_start(fan_out_often, &crowds[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		thread_join(threads[i]);
		cr_assert_eq(crowds[i].wrong, 0);
	}
	many_end(&many);
	cr_assert_eq(many.runs, THREADS * SHARED * scaled(3000));
}
