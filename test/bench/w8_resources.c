/* SPDX-License-Identifier: MIT */
/*
 * W8: more and more resources, one thread, each next resource drawn at random, so that all of them
 * are in use. Above the sizes of the caches each task waits for memory, whoever guards it: baton's
 * exponent is to be no higher than the mutex's.
 */
#include "w8.h"

#include "locks.h"
#include "team.h"
#include "watch.h"

#include <stdlib.h>
#include <sys/mman.h>

#include <baton.h>

#define KEYS (1U << 17)

/* As in W3: the counter lies in one line with the lock, or with the resource. */
struct topic {
	struct baton_resource resource;
	uint64_t state;
} __attribute__((aligned(64)));

struct locked_topic {
	struct lock lock;
	uint64_t state;
} __attribute__((aligned(64)));

static struct topic *topics;
static struct locked_topic *locked;
static uint32_t keys[KEYS];

static int task_run(struct baton_task *task);

struct request {
	struct baton_task task;
	struct topic *topic;
};

static int task_run(struct baton_task *task)
{
	baton_container_of(task, struct request, task)->topic->state++;
	return 0;
}

static void *call_run(void *arg)
{
	((struct topic *)arg)->state++;
	return NULL;
}

static void draw(size_t count)
{
	uint64_t state = 0x9e3779b97f4a7c15U;

	for (size_t i = 0; i < KEYS; i++) {
		state = state * 6364136223846793005U + 1442695040888963407U;
		keys[i] = (uint32_t)(((state >> 32) * count) >> 32);
	}
}

static void run_mutex(const void *setup, double x, double *values)
{
	uint64_t began;

	draw((size_t)x);
	began = machine_ticks();
	for (size_t i = 0; i < KEYS; i++) {
		struct locked_topic *topic = &locked[keys[i]];

		lock_acquire(&topic->lock, LOCK_MUTEX, NULL);
		topic->state++;
		lock_release(&topic->lock, LOCK_MUTEX, NULL);
	}
	values[0] = (double)(machine_ticks() - began) / machine_ticks_per_ns() / KEYS;
}

static void run_submit(const void *setup, double x, double *values)
{
	struct request request = {BATON_TASK_INIT(task_run, NULL), NULL};
	uint64_t began;

	draw((size_t)x);
	began = machine_ticks();
	for (size_t i = 0; i < KEYS; i++) {
		request.topic = &topics[keys[i]];
		BATON_IGNORE(baton_submit(&request.topic->resource, &request.task));
	}
	values[0] = (double)(machine_ticks() - began) / machine_ticks_per_ns() / KEYS;
}

static void run_call(const void *setup, double x, double *values)
{
	uint64_t began;

	draw((size_t)x);
	began = machine_ticks();
	for (size_t i = 0; i < KEYS; i++)
		if (baton_call(&topics[keys[i]].resource, call_run, &topics[keys[i]], NULL))
			abort();
	values[0] = (double)(machine_ticks() - began) / machine_ticks_per_ns() / KEYS;
}

static void *map(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		abort();
	return memory;
}

/* Each run of a contender has done all its tasks, the warm-up's included. */
static void check(const struct bench_sweep *sweep, size_t count)
{
	uint64_t runs = sweep->x_count * (bench_options.runs + UINT64_C(1)) * KEYS;
	uint64_t by_lock = 0;
	uint64_t by_baton = 0;

	for (size_t i = 0; i < count; i++) {
		by_lock += locked[i].state;
		by_baton += topics[i].state;
	}
	if (by_lock != runs || by_baton != 2 * runs) {
		fprintf(stderr, "W8: tasks were lost\n");
		abort();
	}
}

void bench_w8_resources(void)
{
	static const char *const metrics[] = {"ns/task", NULL};
	static const struct bench_series series[] = {
		{"pthread_mutex", run_mutex, NULL},
		{"baton submit", run_submit, NULL},
		{"baton call", run_call, NULL},
	};
	double sizes[8];
	struct bench_sweep sweep = {
		.name = "W8: resources, one thread",
		.axis = "resources",
		.xs = sizes,
		.x_count = w8_powers(sizes, 0, bench_options.quick ? 5 : 6),
		.metrics = metrics,
		.series = series,
		.series_count = 3,
		.note = "drawn at random; 64 bytes each, with the user's state",
	};
	size_t count = (size_t)sizes[sweep.x_count - 1];

	if (!bench_wanted(sweep.name))
		return;
	topics = map(count * sizeof(*topics));
	locked = map(count * sizeof(*locked));
	for (size_t i = 0; i < count; i++) {
		baton_resource_init(&topics[i].resource, NULL);
		lock_init(&locked[i].lock, LOCK_MUTEX);
	}
	team_pin(0);
	(void)bench_sweep(&sweep);
	w8_exponents(&sweep, "time");
	team_unpin();
	check(&sweep, count);
	(void)munmap(topics, count * sizeof(*topics));
	(void)munmap(locked, count * sizeof(*locked));
}
