/* SPDX-License-Identifier: MIT */
/*
 * W15: one function on many resources, and its end: baton's fan-out; a future for each and a wait
 * for all; a post for each with a group, and with a counter under a mutex and a condition, as one
 * writes it by hand. On the submitting thread (the resources are idle) and on the pool's. And what
 * an enter and a leave cost by themselves.
 */
#include "harness.h"
#include "machine.h"
#include "watch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <baton/all.h>

#define RESOURCES 64U
#define CHUNK 1024U

struct topic {
	struct baton_resource resource;
	uint64_t visits;
} __attribute__((aligned(64)));

static struct topic topics[RESOURCES];
static struct baton_resource *pointers[RESOURCES];

/* By hand: a counter, and a condition for its end. */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t zero;
	unsigned count;
} latch = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static struct baton_group group;

static int visit_item(struct baton_resource *resource, void *arg, size_t index)
{
	baton_container_of(resource, struct topic, resource)->visits++;
	return 0;
}

static void *visit(void *arg)
{
	((struct topic *)arg)->visits++;
	return NULL;
}

static void *visit_group(void *arg)
{
	((struct topic *)arg)->visits++;
	baton_group_leave(&group);
	return NULL;
}

static void latch_add(unsigned count)
{
	(void)pthread_mutex_lock(&latch.mutex);
	latch.count += count;
	(void)pthread_mutex_unlock(&latch.mutex);
}

static void latch_leave(void)
{
	(void)pthread_mutex_lock(&latch.mutex);
	if (--latch.count == 0)
		(void)pthread_cond_broadcast(&latch.zero);
	(void)pthread_mutex_unlock(&latch.mutex);
}

static void latch_wait(void)
{
	(void)pthread_mutex_lock(&latch.mutex);
	while (latch.count)
		(void)pthread_cond_wait(&latch.zero, &latch.mutex);
	(void)pthread_mutex_unlock(&latch.mutex);
}

static void *visit_latch(void *arg)
{
	((struct topic *)arg)->visits++;
	latch_leave();
	return NULL;
}

static void must(int error)
{
	if (error) {
		fprintf(stderr, "W15: status %d\n", error);
		abort();
	}
}

static void by_fan_out(void)
{
	struct baton_fan_out_options options = {.fn = visit_item, .arg = NULL};
	struct baton_fan_out *fan_out;

	must(baton_fan_out_submit(pointers, RESOURCES, &options, &fan_out));
	must(baton_fan_out_wait(fan_out));
	baton_fan_out_unref(fan_out);
}

static void by_futures(void)
{
	struct baton_future *futures[RESOURCES];

	for (size_t i = 0; i < RESOURCES; i++)
		must(baton_async(pointers[i], visit, &topics[i], &futures[i]));
	must(baton_future_wait_all(futures, RESOURCES));
	for (size_t i = 0; i < RESOURCES; i++)
		baton_future_unref(futures[i]);
}

static void by_group(void)
{
	baton_group_enter_many(&group, RESOURCES);
	for (size_t i = 0; i < RESOURCES; i++)
		must(baton_post(pointers[i], visit_group, &topics[i]));
	must(baton_group_wait(&group));
}

static void by_latch(void)
{
	latch_add(RESOURCES);
	for (size_t i = 0; i < RESOURCES; i++)
		must(baton_post(pointers[i], visit_latch, &topics[i]));
	latch_wait();
}

struct contender {
	const char *name;
	void (*once)(void);
};

static const struct contender contenders[] = {
	{"posts, mutex and condition", by_latch},
	{"baton fan-out", by_fan_out},
	{"baton asyncs, wait for all", by_futures},
	{"baton posts and a group", by_group},
};

#define CONTENDERS (sizeof(contenders) / sizeof(contenders[0]))

static void run_in(const struct contender *mine, uint32_t capture_max, double *values)
{
	static struct watch watch;
	static struct baton_resource_config config;
	unsigned rounds = bench_options.quick ? 300 : 1500;
	uint64_t sum = 0;

	config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	config.capture_max = capture_max;
	for (size_t i = 0; i < RESOURCES; i++) {
		baton_resource_init(&topics[i].resource, &config);
		topics[i].visits = 0;
		pointers[i] = &topics[i].resource;
	}
	for (unsigned round = 0; round < rounds; round++) {
		uint64_t began = machine_ticks();

		mine->once();
		watch_add(&watch, began);
	}
	values[0] = watch_end(&watch, RESOURCES);
	for (size_t i = 0; i < RESOURCES; i++) {
		(void)baton_resource_close(pointers[i]);
		must(baton_resource_await(pointers[i]));
		sum += topics[i].visits;
	}
	must(sum != (uint64_t)rounds * RESOURCES);
}

static void run_here(const void *setup, double *values)
{
	run_in(setup, BATON_CAPTURE_MAX, values);
}

static void run_pool(const void *setup, double *values)
{
	run_in(setup, BATON_CAPTURE_NONE, values);
}

static void run_enter_leave(const void *setup, double *values)
{
	static struct watch watch;
	unsigned chunks = bench_options.quick ? 200 : 800;

	for (unsigned chunk = 0; chunk < chunks; chunk++) {
		uint64_t began = machine_ticks();

		for (unsigned i = 0; i < CHUNK; i++) {
			if (setup) {
				baton_group_enter(&group);
				baton_group_leave(&group);
			} else {
				latch_add(1);
				latch_leave();
			}
		}
		watch_add(&watch, began);
	}
	values[0] = watch_end(&watch, CHUNK);
}

void bench_w15_fan_out(void)
{
	static const char *const item_metrics[] = {"ns per item", NULL};
	static const char *const pair_metrics[] = {"ns per enter and leave", NULL};
	static const struct bench_case pairs[] = {
		{"mutex and condition", run_enter_leave, NULL},
		{"baton group", run_enter_leave, &group},
	};
	struct bench_case here[CONTENDERS];
	struct bench_case pool[CONTENDERS];
	const struct bench_group groups[] = {
		{"W15: fan-out over 64 idle resources, and its end", item_metrics, here, CONTENDERS,
	         0, NULL},
		{"W15: fan-out over 64 resources, all on the pool", item_metrics, pool, CONTENDERS,
	         0, NULL},
		{"W15: group, enter and leave", pair_metrics, pairs, 2, 0, NULL},
	};

	for (size_t i = 0; i < CONTENDERS; i++) {
		here[i] = (struct bench_case){contenders[i].name, run_here, &contenders[i]};
		pool[i] = (struct bench_case){contenders[i].name, run_pool, &contenders[i]};
	}
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		bench_group(&groups[i]);
}
