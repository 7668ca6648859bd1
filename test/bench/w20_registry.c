/* SPDX-License-Identifier: MIT */
/*
 * W20: 1 to 16 threads look names up, of 1,000 that are there: the registry, a hash table under a
 * mutex and under a read-write lock, and liburcu's hash table. And making and ending one.
 */
#include "harness.h"
#include "w20.h"

#include <baton/all.h>

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

struct w20_name w20_names[W20_NAMES];

static void must(bool ok)
{
	if (!ok)
		abort();
}

/* ---- baton ---- */

static struct baton_registry *registry;
static struct baton_registry_entry *held[W20_NAMES];

static void baton_begin(void)
{
	const struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct baton_registry_entry), NULL, NULL, NULL);

	must(baton_registry_create(&options, &registry) == 0);
	for (unsigned i = 0; i < W20_NAMES; i++)
		must(baton_registry_acquire(registry, w20_names[i].bytes, W20_NAME_SIZE,
		                            &held[i]) == 0);
}

static void baton_end(void)
{
	for (unsigned i = 0; i < W20_NAMES; i++)
		must(baton_registry_unref(held[i]) == 0);
	must(baton_registry_destroy(registry) == 0);
}

static void baton_loop(struct team_member *member)
{
	struct baton_registry_entry *entry;
	uint64_t state = member->index;

	while (!team_stopped(member)) {
		for (int i = 0; i < 16; i++) {
			must(baton_registry_find(registry, w20_pick(&state), W20_NAME_SIZE,
			                         &entry) == 0);
			must(baton_registry_unref(entry) == 0);
		}
		team_count(member, 16);
	}
}

/* Each thread makes names of its own, and ends them. */
static void churn_loop(struct team_member *member)
{
	struct baton_registry_entry *entry;
	uint64_t name[2] = {member->index, 0};

	while (!team_stopped(member)) {
		must(baton_registry_acquire(registry, name, sizeof(name), &entry) == 0);
		must(baton_registry_unref(entry) == 0);
		name[1] = (name[1] + 1) % W20_NAMES;
		team_count(member, 1);
	}
}

/* ---- A chained hash table under a lock ---- */

#define BUCKETS 2048

struct chained {
	struct chained *next;
	uint64_t hash;
	uint64_t references;
	const char *name;
};

static struct chained *buckets[BUCKETS];
static struct chained chained[W20_NAMES];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void chained_begin(void)
{
	for (unsigned i = 0; i < W20_NAMES; i++) {
		const uint64_t hash = w20_hash(w20_names[i].bytes, W20_NAME_SIZE);

		chained[i] = (struct chained){buckets[hash % BUCKETS], hash, 1, w20_names[i].bytes};
		buckets[hash % BUCKETS] = &chained[i];
	}
}

static void chained_end(void)
{
	memset(buckets, 0, sizeof(buckets));
}

static struct chained *chained_find(const char *name, uint64_t hash)
{
	struct chained *entry = buckets[hash % BUCKETS];

	while (entry && (entry->hash != hash || memcmp(entry->name, name, W20_NAME_SIZE) != 0))
		entry = entry->next;
	must(entry);
	__atomic_add_fetch(&entry->references, 1, __ATOMIC_RELAXED);
	return entry;
}

static void mutex_loop(struct team_member *member)
{
	uint64_t state = member->index;

	while (!team_stopped(member)) {
		for (int i = 0; i < 16; i++) {
			const char *name = w20_pick(&state);
			const uint64_t hash = w20_hash(name, W20_NAME_SIZE);
			struct chained *entry;

			(void)pthread_mutex_lock(&mutex);
			entry = chained_find(name, hash);
			(void)pthread_mutex_unlock(&mutex);
			__atomic_sub_fetch(&entry->references, 1, __ATOMIC_ACQ_REL);
		}
		team_count(member, 16);
	}
}

static void rwlock_loop(struct team_member *member)
{
	uint64_t state = member->index;

	while (!team_stopped(member)) {
		for (int i = 0; i < 16; i++) {
			const char *name = w20_pick(&state);
			const uint64_t hash = w20_hash(name, W20_NAME_SIZE);
			struct chained *entry;

			(void)pthread_rwlock_rdlock(&rwlock);
			entry = chained_find(name, hash);
			(void)pthread_rwlock_unlock(&rwlock);
			__atomic_sub_fetch(&entry->references, 1, __ATOMIC_ACQ_REL);
		}
		team_count(member, 16);
	}
}

/* ---- Groups ---- */

struct setup {
	unsigned threads;
	void (*begin)(void);
	void (*end)(void);
	team_body loop;
};

static void run(const void *argument, double *values)
{
	const struct setup *setup = argument;
	struct team_result result;

	setup->begin();
	result = team_run(setup->threads, setup->loop, NULL, bench_sample_ms(200), false);
	setup->end();
	values[0] = result.per_second / 1e6;
	values[1] = result.cpu_ns;
}

static void lfht_begin(void)
{
	must(w20_lfht_begin());
}

static void run_group(unsigned threads)
{
	static const char *const metrics[] = {"M/s", "CPU ns/op", NULL};
	const struct setup setups[] = {
		{threads, chained_begin, chained_end, mutex_loop},
		{threads, chained_begin, chained_end, rwlock_loop},
		{threads, baton_begin, baton_end, baton_loop},
		{threads, lfht_begin, w20_lfht_end, w20_lfht_loop},
		{threads, baton_begin, baton_end, churn_loop},
	};
	struct bench_case cases[5] = {
		{"mutex, hash table", run, &setups[0]},
		{"rwlock, hash table", run, &setups[1]},
		{"baton_registry_find, release", run, &setups[2]},
		{"baton_registry_acquire a new one, release", run, &setups[4]},
	};
	char name[96];
	struct bench_group group = {
		.name = name,
		.metrics = metrics,
		.cases = cases,
		.case_count = 4,
		.note = "1,000 names of 28 bytes at random; each look-up takes a reference and "
			"gives it back",
	};

	if (w20_lfht_begin()) {
		w20_lfht_end();
		cases[group.case_count++] =
			(struct bench_case){"liburcu lfht, counted", run, &setups[3]};
	}
	(void)snprintf(name, sizeof(name), "W20: names, %u thread%s", threads,
	               threads > 1 ? "s" : "");
	bench_group(&group);
}

void bench_w20_registry(void)
{
	if (!bench_wanted("W20: names"))
		return;
	for (unsigned i = 0; i < W20_NAMES; i++)
		(void)snprintf(w20_names[i].bytes, sizeof(w20_names[i].bytes),
		               "sensors/room-%04u/humidity/%u", i % 10000, i % 10);
	run_group(1);
	run_group(2);
	run_group(4);
	run_group(16);
}
