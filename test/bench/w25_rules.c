/* SPDX-License-Identifier: MIT */
/*
 * W25: the rules of admission (baton/rules.h), on one thread: what one event costs while 10 to
 * 100,000 tasks wait for 100 backends, and how many estimates a second a whole new plan makes. An
 * event is a task that finishes early, whose place another takes, or an arrival behind all others;
 * time passes by a millisecond for each pair of them. Estimates are renewed and told meanwhile.
 */
#include "harness.h"
#include "machine.h"

#include <stdlib.h>

#include <baton/rules.h>

#define BACKENDS 100U
#define CLASSES 3U

struct subject {
	struct baton_rules rules;
	struct baton_rules_entry *entries;
	struct baton_rules_entry **running; /* a ring: those that were started, in order */
	uint64_t started;
	uint64_t finished;
	uint64_t size;
	uint64_t told;
	uint64_t now;
};

static struct subject subject;

static void on_start(struct baton_rules *rules, struct baton_rules_entry *entry, uint64_t ns)
{
	subject.running[subject.started++ % subject.size] = entry;
}

static void on_estimate(struct baton_rules *rules, struct baton_rules_entry *entry, uint64_t ns)
{
	subject.told++;
}

static const struct baton_rules_events events = {.start = on_start, .estimate = on_estimate};

static void begin(uint64_t waiting)
{
	static const struct baton_rules_config config = {.limit = {BACKENDS, 50, 20}};

	subject = (struct subject){.size = waiting + BACKENDS, .now = BATON_SECOND};
	subject.entries = calloc(subject.size, sizeof(*subject.entries));
	subject.running = calloc(subject.size, sizeof(*subject.running));
	if (!subject.entries || !subject.running ||
	    baton_rules_init(&subject.rules, &config, &events))
		abort();
	for (uint64_t i = 0; i < subject.size; i++) {
		baton_rules_entry_init(&subject.entries[i], (uint32_t)(i % CLASSES));
		if (baton_rules_arrive(&subject.rules, &subject.entries[i], subject.now))
			abort();
	}
}

static void end(void)
{
	free(subject.entries);
	free(subject.running);
}

/* One finishes, and arrives again. */
static void pair(void)
{
	struct baton_rules_entry *entry = subject.running[subject.finished++ % subject.size];

	subject.now += BATON_SECOND / 1000;
	if (baton_rules_finish(&subject.rules, entry, subject.now) ||
	    baton_rules_arrive(&subject.rules, entry, subject.now))
		abort();
}

static void run(const void *setup, double *values)
{
	const uint64_t waiting = *(const uint64_t *)setup;
	const uint64_t pairs = bench_options.quick ? 20000 : 200000;
	const uint32_t limits[CLASSES] = {BACKENDS, 50, 20};
	double slowest = 0;
	uint64_t began;
	double ns;

	begin(waiting);
	began = machine_ticks();
	for (uint64_t i = 0; i < pairs; i++)
		pair();
	ns = (double)(machine_ticks() - began) / machine_ticks_per_ns();
	values[0] = ns / (double)(2 * pairs);
	for (uint64_t i = 0; i < pairs / 10; i++) {
		began = machine_ticks();
		pair();
		ns = (double)(machine_ticks() - began) / machine_ticks_per_ns();
		slowest = ns > slowest ? ns : slowest;
	}
	values[1] = slowest / 1e3;
	/* The plan is thrown away, and made anew. */
	began = machine_ticks();
	if (baton_rules_set_limits(&subject.rules, limits, 0, subject.now))
		abort();
	while (baton_rules_next(&subject.rules) <= subject.now + BATON_MILLISECOND)
		(void)baton_rules_tick(&subject.rules, subject.now);
	ns = (double)(machine_ticks() - began) / machine_ticks_per_ns();
	values[2] = (double)baton_rules_waiting(&subject.rules) * 1e3 / ns;
	end();
}

void bench_w25_rules(void)
{
	static const char *const metrics[] = {"ns per event", "slowest pair, us", "M estimates/s",
	                                      NULL};
	static const uint64_t waiting[] = {10, 1000, 10000, 100000};
	static const char *const names[] = {"10 wait", "1,000 wait", "10,000 wait", "100,000 wait"};
	struct bench_case cases[4];
	const struct bench_group group = {
		"W25: rules of admission, 100 backends",
		metrics,
		cases,
		4,
		0,
		"64 estimates are the longest part of a call; a tick makes 256"};

	for (size_t i = 0; i < 4; i++)
		cases[i] = (struct bench_case){names[i], run, &waiting[i]};
	bench_group(&group);
}
