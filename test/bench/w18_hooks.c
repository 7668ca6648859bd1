/* SPDX-License-Identifier: MIT */
/*
 * W18, drain hooks: threads that each write something and want to know that it is durable. The disk
 * is a sleep of 100 us: what matters is how many share one. A mutex held across the disk's sleep,
 * one sleep per task under the baton, group commit by hand (the first to come is the leader, and
 * syncs for all who have written by then), and batch_end with held-back completions.
 */
#include "harness.h"
#include "hot.h"
#include "machine.h"
#include "team.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include <baton.h>

#define DISK_NS 100000
#define WINDOW_MS 100
#define BATCH_MAX 256
#define RING 16

struct setup {
	unsigned threads;
};

struct shared {
	struct baton_resource resource;
	struct baton_resource_config config;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool syncing;
	uint64_t written;
	uint64_t durable;
	uint64_t syncs;
};

static struct shared shared;

static void sync_disk(void)
{
	struct timespec disk = {0, DISK_NS};

	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &disk, NULL);
	shared.syncs++;
}

static inline void note(struct team_member *member, uint64_t *last)
{
	uint64_t now = machine_ticks();

	histogram_add(member->latency, now - *last);
	*last = now;
	team_count(member, 1);
}

static void mutex_writer(struct team_member *member)
{
	uint64_t last = machine_ticks();

	while (!team_stopped(member)) {
		(void)pthread_mutex_lock(&shared.mutex);
		shared.written++;
		sync_disk();
		(void)pthread_mutex_unlock(&shared.mutex);
		note(member, &last);
	}
}

static void by_hand(void)
{
	uint64_t mine;

	(void)pthread_mutex_lock(&shared.mutex);
	mine = ++shared.written;
	while (shared.durable < mine) {
		uint64_t all = shared.written;

		if (shared.syncing) {
			(void)pthread_cond_wait(&shared.changed, &shared.mutex);
			continue;
		}
		shared.syncing = true;
		(void)pthread_mutex_unlock(&shared.mutex);
		sync_disk();
		(void)pthread_mutex_lock(&shared.mutex);
		shared.syncing = false;
		shared.durable = all;
		(void)pthread_cond_broadcast(&shared.changed);
	}
	(void)pthread_mutex_unlock(&shared.mutex);
}

static void hand_writer(struct team_member *member)
{
	uint64_t last = machine_ticks();

	while (!team_stopped(member)) {
		by_hand();
		note(member, &last);
	}
}

static void *write_and_sync(void *arg)
{
	shared.written++;
	sync_disk();
	return arg;
}

static void *write_only(void *arg)
{
	shared.written++;
	return arg;
}

static int sync_batch(struct baton_resource *resource)
{
	sync_disk();
	shared.durable = shared.written;
	return 0;
}

static void caller(struct team_member *member)
{
	baton_call_fn fn = shared.config.batch_end ? write_only : write_and_sync;
	uint64_t last = machine_ticks();

	while (!team_stopped(member)) {
		if (baton_call(&shared.resource, fn, NULL, NULL))
			abort();
		note(member, &last);
	}
}

/* The same with RING of them under way for each thread. */
static void async_writer(struct team_member *member)
{
	struct baton_future *ring[RING] = {NULL};
	uint64_t last = machine_ticks();

	for (uint64_t i = 0; !team_stopped(member); i++) {
		struct baton_future **slot = &ring[i % RING];

		if (*slot) {
			if (baton_future_wait(*slot))
				abort();
			baton_future_unref(*slot);
			note(member, &last);
		}
		if (baton_async(&shared.resource, write_only, NULL, slot))
			abort();
	}
	for (unsigned i = 0; i < RING; i++) {
		if (ring[i] && baton_future_wait(ring[i]))
			abort();
		if (ring[i])
			baton_future_unref(ring[i]);
	}
}

static void run(const struct setup *setup, team_body body, double *values)
{
	struct team_result result;

	shared.written = shared.durable = shared.syncs = 0;
	shared.syncing = false;
	result = team_run(setup->threads, body, NULL, bench_sample_ms(WINDOW_MS), true);
	values[0] = result.per_second / 1e3;
	values[1] = shared.syncs ? (double)shared.written / (double)shared.syncs : 0;
	values[2] = result.p50_ns / 1e3;
	values[3] = result.p99_ns / 1e3;
	values[4] = result.cpu_ns / 1e3;
}

static void run_mutex(const void *setup, double *values)
{
	run(setup, mutex_writer, values);
}

static void run_hand(const void *setup, double *values)
{
	run(setup, hand_writer, values);
}

static void run_baton(const void *setup, team_body body, bool hooks, uint32_t limit, double *values)
{
	shared.config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	shared.config.executor = hot_executor();
	if (hooks) {
		shared.config.capture_max = limit;
		shared.config.quantum = BATCH_MAX;
		shared.config.batch_end = sync_batch;
		shared.config.delay_completions = true;
	}
	baton_resource_init(&shared.resource, &shared.config);
	run(setup, body, values);
	if (baton_resource_close(&shared.resource) || baton_resource_await(&shared.resource))
		abort();
}

static void run_call(const void *setup, double *values)
{
	run_baton(setup, caller, false, 0, values);
}

static void run_hooks(const void *setup, double *values)
{
	run_baton(setup, caller, true, BATCH_MAX, values);
}

static void run_pool(const void *setup, double *values)
{
	run_baton(setup, caller, true, BATON_CAPTURE_NONE, values);
}

static void run_async(const void *setup, double *values)
{
	run_baton(setup, async_writer, true, BATCH_MAX, values);
}

void bench_w18_hooks(void)
{
	static const char *const metrics[] = {
		"k writes/s", "writes/sync", "p50, us", "p99, us", "CPU us/write", NULL,
	};
	static const unsigned threads[] = {4, 32};

	(void)pthread_mutex_init(&shared.mutex, NULL);
	(void)pthread_cond_init(&shared.changed, NULL);
	for (unsigned i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		const struct setup setup = {threads[i]};
		const struct bench_case cases[] = {
			{"mutex, by hand: leader syncs", run_hand, &setup},
			{"mutex, a sync per write", run_mutex, &setup},
			{"baton call, a sync per task", run_call, &setup},
			{"baton call, drain hooks", run_hooks, &setup},
			{"  async, 16 under way", run_async, &setup},
			{"  no capture: in the pool", run_pool, &setup},
		};
		char name[96];
		const struct bench_group group = {
			.name = name,
			.metrics = metrics,
			.cases = cases,
			.case_count = sizeof(cases) / sizeof(cases[0]),
			.note = "a sync is a sleep of 100 us; latency: from the end of a thread's "
				"write to that of its next one",
		};

		(void)snprintf(name, sizeof(name), "W18: group commit, %u threads", threads[i]);
		bench_group(&group);
	}
}
