/* SPDX-License-Identifier: MIT */
/*
 * W2, synchronous: threads that all run something under one resource and wait for it each time. One
 * clock reading per operation, in all contenders alike; a latency is the time from one operation's
 * end to the next one's, so it contains whatever kept the thread from running.
 */
#include "combine.h"
#include "harness.h"
#include "hot.h"
#include "locks.h"
#include "machine.h"
#include "peers/peer.h"
#include "team.h"

#include <stdlib.h>

#include <baton.h>

#define WINDOW_MS 100
#define TURNS_MS 60 /* for each thread on a CPU, if there are many */
#define MANY_THREADS 16
#define THREADS_MAX 64
#define CASES_MAX 24

struct shared {
	/* In one cache line with the lock, or the resource. */
	uint64_t counter __attribute__((aligned(64)));
	union {
		struct baton_resource resource;
		struct lock lock;
		struct cc_synch cc;
		struct flat flat;
		struct oyama oyama;
	};
	/* Does not change while a team runs. */
	const struct peer *peer __attribute__((aligned(64)));
	void *queue;
};

struct setup {
	unsigned threads;
	const struct peer *peer;
};

static struct shared shared;
static struct cc_node nodes[THREADS_MAX + 1];
static struct flat_record records[THREADS_MAX];

static void *count(void *arg)
{
	struct shared *mine = arg;

	mine->counter++;
	return NULL;
}

static void count_only(void *arg)
{
	struct shared *mine = arg;

	mine->counter++;
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

static void cc_locker(struct team_member *member)
{
	struct cc_node *mine = &nodes[member->index + 1];
	uint64_t last = machine_ticks();

	while (!team_stopped(member)) {
		cc_call(&shared.cc, &mine, count_only, &shared);
		note(member, &last);
	}
}

static void flat_locker(struct team_member *member)
{
	struct flat_record *mine = &records[member->index];
	uint64_t last = machine_ticks();

	flat_join(&shared.flat, mine);
	while (!team_stopped(member)) {
		flat_call(&shared.flat, mine, count_only, &shared);
		note(member, &last);
	}
}

static void oyama_locker(struct team_member *member)
{
	uint64_t last = machine_ticks();

	while (!team_stopped(member)) {
		oyama_call(&shared.oyama, count_only, &shared);
		note(member, &last);
	}
}

static void peer_caller(struct team_member *member)
{
	uint64_t last = machine_ticks();

	while (!team_stopped(member)) {
		shared.peer->queue_call(shared.queue, count_only, &shared);
		note(member, &last);
	}
}

/*
 * A thread waits for the turns of all others on its CPU, some milliseconds each: over a window in
 * which it has only a few turns of its own fairness is a matter of luck.
 */
static unsigned window_ms(unsigned threads)
{
	unsigned turns_ms = threads * TURNS_MS / team_cpus();

	if (bench_options.quick)
		return bench_sample_ms(threads > 4 * team_cpus() ? 3 * WINDOW_MS : WINDOW_MS);
	return bench_sample_ms(threads >= MANY_THREADS && turns_ms > WINDOW_MS ? turns_ms
	                                                                       : WINDOW_MS);
}

static void run(const struct setup *setup, team_body body, double *values)
{
	unsigned threads = setup->threads;
	struct team_result result;

	shared.counter = 0;
	result = team_run(threads, body, NULL, window_ms(threads), true);
	if (shared.counter != result.done) {
		fprintf(stderr, "W2s: %llu calls ran of %llu\n", (unsigned long long)shared.counter,
		        (unsigned long long)result.done);
		abort();
	}
	values[0] = result.per_second / 1e6;
	values[1] = result.fairness;
	values[2] = result.p50_ns / 1e3;
	values[3] = result.p99_ns / 1e3;
	values[4] = result.p999_ns / 1e3;
	values[5] = result.max_ns / 1e6;
	values[6] = result.cpu_ns;
	values[7] = result.switches * 1e3;
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

static void run_cc(const void *setup, double *values)
{
	cc_init(&shared.cc, &nodes[0]);
	run(setup, cc_locker, values);
}

static void run_flat(const void *setup, double *values)
{
	flat_init(&shared.flat);
	run(setup, flat_locker, values);
}

static void run_oyama(const void *setup, double *values)
{
	oyama_init(&shared.oyama);
	run(setup, oyama_locker, values);
}

static void run_call(const void *setup, double *values)
{
	static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;

	config.executor = hot_executor();
	baton_resource_init(&shared.resource, &config);
	run(setup, caller, values);
	if (baton_resource_close(&shared.resource) || baton_resource_await(&shared.resource))
		abort();
}

static void run_peer(const void *setup, double *values)
{
	const struct setup *mine = setup;
	const struct peer *peer = mine->peer;

	shared.peer = peer;
	shared.queue = peer_open_queue(peer);
	run(mine, peer_caller, values);
	peer_close_queue(peer, shared.queue);
}

static void run_group(unsigned threads)
{
	static const char *const metrics[] = {
		"M calls/s", "slowest/fastest", "p50, us",       "p99, us", "p99.9, us",
		"max, ms",   "CPU ns/call",     "switches/1000", NULL,
	};
	const struct setup setup = {threads, NULL};
	struct setup setups[CASES_MAX];
	struct bench_case cases[CASES_MAX] = {
		{"pthread_mutex", run_mutex, &setup}, {"baton call", run_call, &setup},
		{"CC-Synch", run_cc, &setup},         {"flat combining", run_flat, &setup},
		{"Oyama's lock", run_oyama, &setup},
	};
	size_t used = 5;
	char name[96];
	struct bench_group group = {
		.name = name,
		.metrics = metrics,
		.cases = cases,
		.note = "times: from the end of a thread's call to that of its next one; task "
			"queues: submit and wait in their own way; oneTBB's nodes have none",
	};

	if (threads <= team_cpus()) {
		cases[used++] = (struct bench_case){"CK ticket lock", run_ticket, &setup};
		cases[used++] = (struct bench_case){"CK MCS lock", run_mcs, &setup};
	}
	for (size_t i = 0; peers[i] && used < CASES_MAX; i++) {
		setups[i] = (struct setup){threads, peers[i]};
		if (peers[i]->queue_call)
			cases[used++] = (struct bench_case){peers[i]->name, run_peer, &setups[i]};
	}
	if (bench_options.quick && threads >= MANY_THREADS)
		group.note = "short windows: slowest/fastest means nothing here";
	group.case_count = used;
	(void)snprintf(name, sizeof(name), "W2s: synchronous, one resource, %u threads", threads);
	bench_group(&group);
}

void bench_w2_sync(void)
{
	static const unsigned threads[] = {2, 4, 16, THREADS_MAX};

	for (unsigned i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		run_group(threads[i]);
}
