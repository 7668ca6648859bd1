/* SPDX-License-Identifier: MIT */
/*
 * W3: many resources, picked at random with a Zipf distribution (0.99: a few are hot). Each has a
 * counter beside its lock or its hot words. Submits are asynchronous: tasks from a ring of the
 * thread's own, each with a word that says whether it is under way.
 */
#include "harness.h"
#include "hot.h"
#include "locks.h"
#include "team.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <baton.h>

#define RING 256U
#define KEYS (1U << 18)
#define SKEW 0.99
#define WINDOW_MS 60

/* The counter and the resource's hot words share a cache line. */
struct topic {
	uint64_t state[6];
	struct baton_resource resource;
} __attribute__((aligned(64)));

struct locked_topic {
	struct lock lock;
	uint64_t state;
} __attribute__((aligned(64)));

struct many {
	unsigned count;
	unsigned threads;
	struct topic *topics;
	struct locked_topic *locked;
	uint32_t *keys[64];
};

struct slot {
	struct baton_task task;
	struct topic *topic;
	uint32_t under_way;
} __attribute__((aligned(64)));

static int slot_run(struct baton_task *task)
{
	struct slot *slot = baton_container_of(task, struct slot, task);

	slot->topic->state[0]++;
	__atomic_store_n(&slot->under_way, 0, __ATOMIC_RELEASE);
	return 0;
}

static void *count(void *arg)
{
	struct topic *topic = arg;

	topic->state[0]++;
	return NULL;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Gray et al., "Quickly generating billion-record synthetic databases", as in YCSB. */
static void draw_keys(uint32_t *keys, unsigned count, uint64_t seed)
{
	double zeta = 0;
	double alpha = 1 / (1 - SKEW);
	double eta;

	for (unsigned i = 1; i <= count; i++)
		zeta += pow(i, -SKEW);
	eta = (1 - pow(2.0 / count, 1 - SKEW)) / (1 - (1 + pow(0.5, SKEW)) / zeta);
	for (unsigned i = 0; i < KEYS; i++) {
		double u = (double)(next_random(&seed) >> 11) / 9007199254740992.0;
		double uz = u * zeta;
		uint64_t rank;

		if (uz < 1)
			rank = 0;
		else if (uz < 1 + pow(0.5, SKEW))
			rank = 1;
		else
			rank = (uint64_t)(count * pow(eta * u - eta + 1, alpha));
		/* The popular ones are not neighbours. */
		keys[i] = (uint32_t)((rank * 2654435761U) % count);
	}
}

static void submitter(struct team_member *member)
{
	struct many *many = member->context;
	const uint32_t *keys = many->keys[member->index];
	struct slot *slots = aligned_alloc(64, RING * sizeof(*slots));
	unsigned next = 0;

	if (!slots)
		abort();
	for (unsigned i = 0; i < RING; i++)
		slots[i] = (struct slot){.task = BATON_TASK_INIT(slot_run, NULL)};
	for (unsigned i = 0; !team_stopped(member); i++) {
		struct topic *topic = &many->topics[keys[i % KEYS]];
		unsigned turns = 0;
		unsigned busy = 0;

		/* Some other slot will do when this one waits for a hot resource. */
		while (__atomic_load_n(&slots[next].under_way, __ATOMIC_ACQUIRE)) {
			next = (next + 1) % RING;
			if (++busy % RING == 0)
				team_wait(&turns);
		}
		slots[next].topic = topic;
		slots[next].under_way = 1;
		(void)baton_submit(&topic->resource, &slots[next].task);
		next = (next + 1) % RING;
		team_count(member, 1);
	}
	for (unsigned i = 0, turns = 0; i < RING; i++)
		while (__atomic_load_n(&slots[i].under_way, __ATOMIC_ACQUIRE))
			team_wait(&turns);
	free(slots);
}

static void poster(struct team_member *member)
{
	struct many *many = member->context;
	const uint32_t *keys = many->keys[member->index];

	for (unsigned i = 0; !team_stopped(member); i++) {
		struct topic *topic = &many->topics[keys[i % KEYS]];

		if (baton_post(&topic->resource, count, topic))
			abort();
		team_count(member, 1);
	}
}

static void caller(struct team_member *member)
{
	struct many *many = member->context;
	const uint32_t *keys = many->keys[member->index];

	for (unsigned i = 0; !team_stopped(member); i++) {
		struct topic *topic = &many->topics[keys[i % KEYS]];

		if (baton_call(&topic->resource, count, topic, NULL))
			abort();
		team_count(member, 1);
	}
}

static void locker(struct team_member *member)
{
	struct many *many = member->context;
	const uint32_t *keys = many->keys[member->index];

	for (unsigned i = 0; !team_stopped(member); i++) {
		struct locked_topic *topic = &many->locked[keys[i % KEYS]];

		lock_acquire(&topic->lock, LOCK_MUTEX, NULL);
		topic->state++;
		lock_release(&topic->lock, LOCK_MUTEX, NULL);
		team_count(member, 1);
	}
}

static double seconds(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What was posted may still be under way, and must not be in the next contender's. */
static void settle(const struct many *many)
{
	for (unsigned i = 0; i < many->count; i++)
		if (baton_resource_await(&many->topics[i].resource, NULL))
			abort();
}

static void run(const void *setup, team_body body, double *values)
{
	const struct many *many = setup;
	unsigned window_ms = bench_sample_ms(WINDOW_MS);
	struct many copy = *many;
	struct team_result result = team_run(many->threads, body, &copy, window_ms, false);
	double window = window_ms / 1e3;
	double start = seconds();

	settle(many);
	/* Posts are not bounded: they count when they have run. The others' rings are empty. */
	if (body == poster)
		window += seconds() - start;
	values[0] = result.per_second / 1e6 * (window_ms / 1e3) / window;
	values[1] = result.fairness;
}

static void run_mutex(const void *setup, double *values)
{
	run(setup, locker, values);
}

static void run_submit(const void *setup, double *values)
{
	run(setup, submitter, values);
}

static void run_post(const void *setup, double *values)
{
	run(setup, poster, values);
}

static void run_call(const void *setup, double *values)
{
	run(setup, caller, values);
}

static void name_group(char *name, size_t size, unsigned count, unsigned threads)
{
	(void)snprintf(name, size, "W3: %u resources, Zipf 0.99, %u threads", count, threads);
}

static void run_group(struct many *many)
{
	static const char *const metrics[] = {"M tasks/s", "slowest/fastest", NULL};
	const struct bench_case cases[] = {
		{"pthread_mutex", run_mutex, many},
		{"baton submit", run_submit, many},
		{"baton call", run_call, many},
		{"baton post", run_post, many},
	};
	char name[96];
	const struct bench_group group = {
		name, metrics, cases, sizeof(cases) / sizeof(cases[0]), 0, NULL,
	};

	name_group(name, sizeof(name), many->count, many->threads);
	bench_group(&group);
}

/* Setting up takes longer than measuring: only for a group that is wanted. */
static bool wanted(unsigned count)
{
	char name[96];

	name_group(name, sizeof(name), count, 2);
	if (bench_wanted(name))
		return true;
	name_group(name, sizeof(name), count, 8);
	return bench_wanted(name);
}

static void run_many(unsigned count)
{
	static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct many many = {.count = count};

	config.executor = hot_executor();
	many.topics = aligned_alloc(64, count * sizeof(*many.topics));
	many.locked = aligned_alloc(64, count * sizeof(*many.locked));
	if (!many.topics || !many.locked)
		abort();
	for (unsigned i = 0; i < count; i++) {
		memset(many.topics[i].state, 0, sizeof(many.topics[i].state));
		baton_resource_init(&many.topics[i].resource, NULL, NULL, &config, NULL);
		lock_init(&many.locked[i].lock, LOCK_MUTEX);
		many.locked[i].state = 0;
	}
	for (unsigned t = 0; t < 8; t++) {
		many.keys[t] = malloc(KEYS * sizeof(uint32_t));
		if (!many.keys[t])
			abort();
		draw_keys(many.keys[t], count, 0x9e3779b97f4a7c15U * (t + 1));
	}
	for (many.threads = 2; many.threads <= 8; many.threads += 6)
		run_group(&many);
	for (unsigned t = 0; t < 8; t++)
		free(many.keys[t]);
	free(many.topics);
	free(many.locked);
}

void bench_w3_many(void)
{
	if (wanted(1024))
		run_many(1024);
	if (wanted(1000000))
		run_many(1000000);
	bench_figure("W3: memory of an idle resource", "bytes (a mutex: 40)",
	             sizeof(struct baton_resource));
}
