/* SPDX-License-Identifier: MIT */
/*
 * W2, asynchronous: threads that all submit to one resource and do not wait for each task, but have
 * at most RING of them under way. Each thread's tasks lie in a ring of its own; since they run in
 * the order of submission, one counter per thread says how many are done. The locks' users count
 * the same two counters, the shared one under the lock.
 */
#include "harness.h"
#include "hot.h"
#include "locks.h"
#include "machine.h"
#include "team.h"

#include <math.h>
#include <stdlib.h>

#include <baton.h>

#define RING 256U
#define WINDOW_MS 60

struct slot {
	struct baton_task task;
	struct team_member *owner;
	struct machine_work work;
} __attribute__((aligned(64)));

struct hot {
	uint64_t counter __attribute__((aligned(64)));
	struct baton_resource resource;
	struct lock lock;
	struct machine_work work;
	unsigned batch;
};

static int slot_run(struct baton_task *task)
{
	struct slot *slot = baton_container_of(task, struct slot, task);
	struct hot *hot = slot->owner->context;

	hot->counter++;
	machine_work(slot->work);
	team_count(slot->owner, 1); /* from here on the slot may be used again */
	return 0;
}

struct baton_executor *hot_executor(void)
{
	static struct baton_pool *pool;
	int cpus[64];
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;

	if (!pool) {
		options.cpu_count = team_cpus() < 64 ? team_cpus() : 64;
		options.workers = options.cpu_count;
		for (unsigned i = 0; i < options.cpu_count; i++)
			cpus[i] = team_cpu(i);
		options.cpus = cpus;
		if (baton_pool_create(&options, &pool))
			abort();
	}
	return baton_pool_executor(pool);
}

static void submitter(struct team_member *member)
{
	struct hot *hot = member->context;
	struct slot *slots = aligned_alloc(64, RING * sizeof(*slots));
	struct baton_task *pointers[RING];
	uint64_t sent = 0;
	uint64_t done = 0;
	unsigned turns = 0;

	if (!slots)
		abort();
	for (unsigned i = 0; i < RING; i++) {
		slots[i] = (struct slot){BATON_TASK_INIT(slot_run, NULL), member, hot->work};
		pointers[i] = &slots[i].task;
	}
	while (!team_stopped(member)) {
		if (sent - done > RING - hot->batch) {
			done = __atomic_load_n(&member->done, __ATOMIC_ACQUIRE);
			if (sent - done > RING - hot->batch) {
				team_wait(&turns);
				continue;
			}
			turns = 0;
		}
		if (hot->batch == 1)
			(void)baton_submit(&hot->resource, pointers[sent % RING]);
		else
			(void)baton_submit_batch(&hot->resource, &pointers[sent % RING],
			                         hot->batch);
		sent += hot->batch;
	}
	for (turns = 0; __atomic_load_n(&member->done, __ATOMIC_ACQUIRE) != sent;)
		team_wait(&turns);
	free(slots);
}

static void report(double *values, struct team_result result)
{
	values[0] = result.per_second / 1e6;
	values[1] = result.fairness;
}

/* With many threads per CPU each of them must have had several turns. */
static unsigned window_ms(unsigned threads)
{
	return bench_sample_ms(threads > 4 * team_cpus() ? 4 * WINDOW_MS : WINDOW_MS);
}

void hot_async_run(const void *setup, double *values)
{
	static struct hot hot;
	static struct baton_resource_config config;
	const struct hot_async *async = setup;

	config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	config.executor = hot_executor();
	if (async->capture_limit)
		config.capture_limit = async->capture_limit;
	baton_resource_init(&hot.resource, NULL, NULL, &config, NULL);
	hot.work = machine_work_of(async->body_ns);
	hot.batch = async->batch;
	report(values, team_run(async->threads, submitter, &hot, window_ms(async->threads), false));
	/* The tasks are done; a job may still be on its way to release the resource. */
	if (baton_resource_await(&hot.resource, NULL))
		abort();
}

static inline __attribute__((always_inline)) void locker(struct team_member *member,
                                                         enum lock_kind kind)
{
	struct hot *hot = member->context;
	struct machine_work work = hot->work;
	struct ck_spinlock_mcs node;

	while (!team_stopped(member)) {
		lock_acquire(&hot->lock, kind, &node);
		hot->counter++;
		machine_work(work);
		lock_release(&hot->lock, kind, &node);
		team_count(member, 1);
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

static void run_lock(const struct hot_async *async, enum lock_kind kind, team_body body,
                     double *values)
{
	static struct hot hot;

	lock_init(&hot.lock, kind);
	hot.work = machine_work_of(async->body_ns);
	report(values, team_run(async->threads, body, &hot, window_ms(async->threads), false));
}

static void run_mutex(const void *setup, double *values)
{
	run_lock(setup, LOCK_MUTEX, mutex_locker, values);
}

static void run_ticket(const void *setup, double *values)
{
	run_lock(setup, LOCK_TICKET, ticket_locker, values);
}

static void run_mcs(const void *setup, double *values)
{
	run_lock(setup, LOCK_MCS, mcs_locker, values);
}

static void run_group(unsigned threads, unsigned body_ns)
{
	static const char *const metrics[] = {"M tasks/s", "slowest/fastest", NULL};
	const struct hot_async single = {threads, 1, body_ns, 0};
	const struct hot_async patient = {threads, 1, body_ns, 1000};
	const struct hot_async batch = {threads, 16, body_ns, 0};
	const struct hot_async patient_batch = {threads, 16, body_ns, 1000};
	const struct bench_case cases[] = {
		{"pthread_mutex", run_mutex, &single},
		{"baton submit", hot_async_run, &single},
		{"baton submit, limit 1000", hot_async_run, &patient},
		{"baton batch of 16", hot_async_run, &batch},
		{"baton batch of 16, limit 1000", hot_async_run, &patient_batch},
		{"CK ticket lock", run_ticket, &single},
		{"CK MCS lock", run_mcs, &single},
	};
	/* Queue locks stand still when their next holder has no CPU. */
	size_t locks = threads <= team_cpus() ? 2 : 0;
	char name[96];
	const struct bench_group group = {
		name, metrics, cases, sizeof(cases) / sizeof(cases[0]) - 2 + locks, 0, NULL,
	};

	(void)snprintf(name, sizeof(name), "W2: asynchronous, one resource, %u threads, %s body",
	               threads, body_ns ? "200 ns" : "empty");
	bench_group(&group);
}

void bench_w2_async(void)
{
	static const unsigned threads[] = {2, 4, 16, 64};

	for (unsigned body_ns = 0; body_ns <= 200; body_ns += 200)
		for (unsigned i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
			run_group(threads[i], body_ns);
}
