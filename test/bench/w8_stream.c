/* SPDX-License-Identifier: MIT */
/*
 * W8: more and more tasks through one resource, sent by two threads, each with at most HOT_RING
 * under way. A lap begins when both threads are there and ends when all its tasks have run.
 */
#include "w8.h"

#include "hot.h"
#include "watch.h"

#include <stdlib.h>

#define THREADS 2U
#define LAPS_TASKS 200000U

struct sender;

struct slot {
	struct baton_task task;
	struct sender *owner;
} __attribute__((aligned(64)));

struct sender {
	uint64_t done __attribute__((aligned(64))); /* by whoever runs its tasks */
	uint64_t sent __attribute__((aligned(64)));
	struct slot slots[HOT_RING];
	pthread_t id;
	unsigned index;
};

struct stream {
	uint64_t counter __attribute__((aligned(64)));
	struct baton_resource resource;
	struct lock lock;
	size_t count; /* tasks of a thread in a lap */
	unsigned laps;
	void (*lap)(struct sender *sender);
	/* Threads that have come to a lap's beginning or end, all laps together. */
	unsigned arrived __attribute__((aligned(64)));
};

static struct stream stream;
static struct sender senders[THREADS];
static struct watch watch;

static int slot_run(struct baton_task *task)
{
	struct sender *owner = baton_container_of(task, struct slot, task)->owner;

	stream.counter++;
	__atomic_store_n(&owner->done, owner->done + 1, __ATOMIC_RELEASE);
	return 0;
}

static void await_done(const struct sender *sender, uint64_t done)
{
	unsigned turns = 0;

	while (__atomic_load_n(&sender->done, __ATOMIC_ACQUIRE) < done)
		team_wait(&turns);
}

static void submit_lap(struct sender *sender)
{
	for (size_t i = 0; i < stream.count; i++) {
		if (sender->sent >= HOT_RING)
			await_done(sender, sender->sent - HOT_RING + 1);
		BATON_IGNORE(baton_submit(&stream.resource,
		                          &sender->slots[sender->sent % HOT_RING].task));
		sender->sent++;
	}
	await_done(sender, sender->sent);
}

static void lock_lap(struct sender *sender)
{
	for (size_t i = 0; i < stream.count; i++) {
		lock_acquire(&stream.lock, LOCK_MUTEX, NULL);
		stream.counter++;
		lock_release(&stream.lock, LOCK_MUTEX, NULL);
	}
}

/* `number`: how many such meetings there were before, in this run. */
static void meet(unsigned number)
{
	unsigned turns = 0;

	(void)__atomic_add_fetch(&stream.arrived, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&stream.arrived, __ATOMIC_ACQUIRE) < (number + 1) * THREADS)
		team_wait(&turns);
}

static void *sender_main(void *argument)
{
	struct sender *sender = argument;

	team_pin(sender->index);
	for (unsigned lap = 0; lap < stream.laps; lap++) {
		uint64_t began;

		meet(2 * lap);
		began = machine_ticks();
		stream.lap(sender);
		meet(2 * lap + 1);
		if (sender->index == 0)
			watch_add(&watch, began);
	}
	return NULL;
}

static void run(void (*lap)(struct sender *), double x, double *values)
{
	uint64_t tasks;

	stream.count = (size_t)x / THREADS;
	stream.laps = x < LAPS_TASKS ? (unsigned)(LAPS_TASKS / x) : 1;
	stream.lap = lap;
	stream.counter = 0;
	stream.arrived = 0;
	for (unsigned t = 0; t < THREADS; t++) {
		struct sender *sender = &senders[t];

		sender->index = t;
		sender->sent = sender->done = 0;
		for (unsigned i = 0; i < HOT_RING; i++)
			sender->slots[i] = (struct slot){BATON_TASK_INIT(slot_run, NULL), sender};
		if (pthread_create(&sender->id, NULL, sender_main, sender))
			abort();
	}
	for (unsigned t = 0; t < THREADS; t++)
		(void)pthread_join(senders[t].id, NULL);
	tasks = (uint64_t)stream.count * THREADS * stream.laps;
	if (stream.counter != tasks) {
		fprintf(stderr, "W8: %llu tasks ran of %llu\n", (unsigned long long)stream.counter,
		        (unsigned long long)tasks);
		abort();
	}
	values[0] = watch_end(&watch, 1) / x;
}

static void run_mutex(const void *setup, double x, double *values)
{
	lock_init(&stream.lock, LOCK_MUTEX);
	run(lock_lap, x, values);
}

static void run_submit(const void *setup, double x, double *values)
{
	static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;

	config.executor = hot_executor();
	baton_resource_init(&stream.resource, &config);
	run(submit_lap, x, values);
	if (baton_resource_close(&stream.resource) || baton_resource_await(&stream.resource))
		abort();
}

void w8_streamed(unsigned last)
{
	static const char *const metrics[] = {"ns/task", NULL};
	static const struct bench_series series[] = {
		{"pthread_mutex", run_mutex, NULL},
		{"baton submit", run_submit, NULL},
	};
	double sizes[8];
	struct bench_sweep sweep = {
		.name = "W8: tasks streamed through one resource",
		.axis = "tasks",
		.xs = sizes,
		.x_count = w8_powers(sizes, 3, last),
		.metrics = metrics,
		.series = series,
		.series_count = 2,
		.note = "2 threads, each with up to 256 under way; until all have run",
	};

	if (bench_sweep(&sweep))
		w8_exponents(&sweep, "time");
}
