/* SPDX-License-Identifier: MIT */
/*
 * W2, synchronous: threads that all run something under one resource and wait for it each time. One
 * clock reading per operation, in all contenders alike; a latency is the time from one operation's
 * end to the next one's, so it contains whatever kept the thread from running.
 */
#include "harness.h"
#include "hot.h"
#include "locks.h"
#include "machine.h"
#include "team.h"

#include <stdlib.h>

#include <baton.h>

#define WINDOW_MS 100

struct shared {
	uint64_t counter __attribute__((aligned(64)));
	struct baton_resource resource;
	struct lock lock;
};

static struct shared shared;

static void *count(void *arg)
{
	struct shared *mine = arg;

	mine->counter++;
	return NULL;
}

static inline void note(struct team_member *member, uint64_t *last)
{
	uint64_t now = machine_ticks();

	histogram_add(member->latency, now - *last);
	*last = now;
	team_count(member, 1);
}

static void caller(struct team_member *member)
{
	uint64_t last = machine_ticks();

	while (!team_stopped(member)) {
		if (baton_call(&shared.resource, count, &shared, NULL))
			abort();
		note(member, &last);
	}
}

static inline __attribute__((always_inline)) void locker(struct team_member *member,
                                                         enum lock_kind kind)
{
	struct ck_spinlock_mcs node;
	uint64_t last = machine_ticks();

	while (!team_stopped(member)) {
		lock_acquire(&shared.lock, kind, &node);
		shared.counter++;
		lock_release(&shared.lock, kind, &node);
		note(member, &last);
	}
}

static void mutex_locker(struct team_member *member)
{
	locker(member, LOCK_MUTEX);
}

static void ticket_locker(struct team_member *member)
{
	locker(member, LOCK_TICKET);
}

static void mcs_locker(struct team_member *member)
{
	locker(member, LOCK_MCS);
}

static void run(const void *setup, team_body body, double *values)
{
	unsigned threads = *(const unsigned *)setup;
	unsigned window_ms = bench_sample_ms(threads > 4 * team_cpus() ? 3 * WINDOW_MS : WINDOW_MS);
	struct team_result result = team_run(threads, body, NULL, window_ms, true);

	values[0] = result.per_second / 1e6;
	values[1] = result.p50_ns / 1e3;
	values[2] = result.p99_ns / 1e3;
	values[3] = result.max_ns / 1e6;
	values[4] = result.fairness;
}

static void run_mutex(const void *setup, double *values)
{
	lock_init(&shared.lock, LOCK_MUTEX);
	run(setup, mutex_locker, values);
}

static void run_ticket(const void *setup, double *values)
{
	lock_init(&shared.lock, LOCK_TICKET);
	run(setup, ticket_locker, values);
}

static void run_mcs(const void *setup, double *values)
{
	lock_init(&shared.lock, LOCK_MCS);
	run(setup, mcs_locker, values);
}

static void run_call(const void *setup, double *values)
{
	static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;

	config.executor = hot_executor();
	baton_resource_init(&shared.resource, NULL, NULL, &config, NULL);
	run(setup, caller, values);
	if (baton_resource_await(&shared.resource, NULL))
		abort();
}

static void run_group(unsigned threads)
{
	static const char *const metrics[] = {"M calls/s", "p50, us",         "p99, us",
	                                      "max, ms",   "slowest/fastest", NULL};
	const struct bench_case cases[] = {
		{"pthread_mutex", run_mutex, &threads},
		{"baton call", run_call, &threads},
		{"CK ticket lock", run_ticket, &threads},
		{"CK MCS lock", run_mcs, &threads},
	};
	size_t locks = threads <= team_cpus() ? 2 : 0;
	char name[96];
	const struct bench_group group = {name, metrics, cases, 2 + locks, 0, NULL};

	(void)snprintf(name, sizeof(name), "W2s: synchronous, one resource, %u threads", threads);
	bench_group(&group);
}

void bench_w2_sync(void)
{
	static const unsigned threads[] = {2, 4, 16, 64};

	for (unsigned i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		run_group(threads[i]);
}
