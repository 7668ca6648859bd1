/* SPDX-License-Identifier: MIT */
/*
 * W17: suspending. One thread: an idle resource suspended and resumed, and a set of them quiesced
 * and let go again, against mutexes taken and given back in one order. And with another thread at
 * work on them: a set of resources that is called, a set of mutexes under which the same is done.
 */
#include "harness.h"
#include "machine.h"
#include "team.h"

#include <baton/all.h>

#include <pthread.h>
#include <stdlib.h>

#define SET_MAX 64

struct item {
	struct baton_resource resource;
	pthread_mutex_t mutex;
	uint64_t value;
} __attribute__((aligned(128)));

static struct item items[SET_MAX];
static struct baton_resource *set[SET_MAX];
static struct baton_suspension held[SET_MAX];

struct setup {
	unsigned count;
	bool loaded; /* another thread works on them */
	void (*visit)(unsigned count);
	void (*change)(struct item *item);
};

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void suspend_each(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		must(baton_resource_suspend(set[i], &held[i]) == 0);
		items[i].value++;
		must(baton_resource_resume(&held[i]) == 0);
	}
}

static void lock_each(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		(void)pthread_mutex_lock(&items[i].mutex);
		items[i].value++;
		(void)pthread_mutex_unlock(&items[i].mutex);
	}
}

static void quiesce(unsigned count)
{
	must(baton_quiesce(set, count, held) == 0);
	for (unsigned i = 0; i < count; i++)
		items[i].value++;
	must(baton_quiesce_end(held, count) == 0);
}

static void lock_all(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		(void)pthread_mutex_lock(&items[i].mutex);
	for (unsigned i = 0; i < count; i++)
		items[i].value++;
	for (unsigned i = count; i > 0; i--)
		(void)pthread_mutex_unlock(&items[i - 1].mutex);
}

static void *add_one(void *value)
{
	++*(uint64_t *)value;
	return NULL;
}

static void change_called(struct item *item)
{
	must(baton_call(&item->resource, add_one, &item->value, NULL) == 0);
}

static void change_locked(struct item *item)
{
	(void)pthread_mutex_lock(&item->mutex);
	item->value++;
	(void)pthread_mutex_unlock(&item->mutex);
}

/* The first member visits the set, the other one changes it; only visits are counted. */
static void work(struct team_member *member)
{
	const struct setup *setup = member->context;

	for (uint64_t i = 0; !team_stopped(member); i++) {
		if (member->index > 0) {
			setup->change(&items[i % setup->count]);
			continue;
		}
		setup->visit(setup->count);
		team_count(member, 1);
	}
}

static void run(const void *argument, double *values)
{
	const struct setup *setup = argument;
	struct team_result result;

	for (unsigned i = 0; i < SET_MAX; i++) {
		baton_resource_init(&items[i].resource, NULL);
		must(pthread_mutex_init(&items[i].mutex, NULL) == 0);
		set[i] = &items[i].resource;
		held[i] = (struct baton_suspension)BATON_SUSPENSION_INIT;
	}
	result = team_run(setup->loaded ? 2 : 1, work, (void *)(uintptr_t)setup,
	                  bench_sample_ms(60), false);
	values[0] = 1e9 / result.per_second / setup->count;
	for (unsigned i = 0; i < SET_MAX; i++) {
		must(baton_resource_close(set[i]) == 0);
		must(baton_resource_await(set[i]) == 0);
		baton_resource_deinit(set[i]);
		(void)pthread_mutex_destroy(&items[i].mutex);
	}
}

static void run_set(const char *name, unsigned count, bool loaded)
{
	static const char *const metrics[] = {"ns per resource", NULL};
	const struct setup setups[] = {
		{count, loaded, lock_all, change_locked},
		{count, loaded, quiesce, change_called},
	};
	const struct bench_case cases[] = {
		{"mutexes, in one order", run, &setups[0]},
		{"baton_quiesce", run, &setups[1]},
	};
	const struct bench_group group = {name, metrics, cases, 2, 0, NULL};

	bench_group(&group);
}

void bench_w17_suspend(void)
{
	static const char *const metrics[] = {"ns", NULL};
	static const struct setup setups[] = {
		{1, false, lock_each, change_locked},
		{1, false, suspend_each, change_called},
	};
	static const struct bench_case cases[] = {
		{"mutex: lock, unlock", run, &setups[0]},
		{"baton: suspend, resume", run, &setups[1]},
	};
	static const struct bench_group group = {
		"W17: an idle resource", metrics, cases, 2, 0, NULL};

	bench_group(&group);
	run_set("W17: 8 idle resources", 8, false);
	run_set("W17: 64 idle resources", 64, false);
	run_set("W17: 8 resources, one thread at work on them", 8, true);
}
