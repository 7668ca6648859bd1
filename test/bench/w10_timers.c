/* SPDX-License-Identifier: MIT */
/*
 * W10: timers. What a broker does to them: arm and stop (a request that is answered in time), arm
 * again for later (keep-alive, at each packet), and let a lot of them expire; with few and with
 * very many armed besides. Beside baton stands what one would write first: a binary heap under a
 * mutex, each timer with its index in it.
 */
#include "harness.h"
#include "machine.h"
#include "team.h"

#include <baton/all.h>

#include <pthread.h>
#include <stdlib.h>

#define ARMED_FEW 100U
#define SECOND_NS ((uint64_t)1000000000)

/* ---- The heap ---- */

struct heap_timer {
	uint64_t deadline;
	size_t index; /* from 1 on; 0: not armed */
	uint64_t *fired;
};

static struct {
	pthread_mutex_t lock;
	struct heap_timer **items; /* from 1 on */
	size_t count;
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void heap_put(size_t index, struct heap_timer *timer)
{
	heap.items[index] = timer;
	timer->index = index;
}

/* Finds the place of a timer that is to lie at `index` or above or below it. */
static void heap_settle(size_t index, struct heap_timer *timer)
{
	for (; index > 1 && heap.items[index / 2]->deadline > timer->deadline; index /= 2)
		heap_put(index, heap.items[index / 2]);
	for (size_t child; (child = 2 * index) <= heap.count; index = child) {
		if (child < heap.count &&
		    heap.items[child + 1]->deadline < heap.items[child]->deadline)
			child++;
		if (heap.items[child]->deadline >= timer->deadline)
			break;
		heap_put(index, heap.items[child]);
	}
	heap_put(index, timer);
}

static void heap_remove(struct heap_timer *timer)
{
	size_t index = timer->index;
	struct heap_timer *last = heap.items[heap.count--];

	timer->index = 0;
	if (last != timer)
		heap_settle(index, last);
}

static void heap_arm(struct heap_timer *timer, uint64_t deadline)
{
	(void)pthread_mutex_lock(&heap.lock);
	timer->deadline = deadline;
	heap_settle(timer->index ? timer->index : ++heap.count, timer);
	(void)pthread_mutex_unlock(&heap.lock);
}

static void heap_stop(struct heap_timer *timer)
{
	(void)pthread_mutex_lock(&heap.lock);
	if (timer->index)
		heap_remove(timer);
	(void)pthread_mutex_unlock(&heap.lock);
}

static void heap_advance(uint64_t now)
{
	(void)pthread_mutex_lock(&heap.lock);
	while (heap.count && heap.items[1]->deadline <= now) {
		struct heap_timer *timer = heap.items[1];

		heap_remove(timer);
		(void)pthread_mutex_unlock(&heap.lock);
		++*timer->fired;
		(void)pthread_mutex_lock(&heap.lock);
	}
	(void)pthread_mutex_unlock(&heap.lock);
}

/* ---- The cases ---- */

struct setup {
	bool heap;
	bool disarm;      /* instead of stop */
	bool later;       /* arm again for later, or arm and stop */
	unsigned threads; /* 0: let them all expire */
	size_t armed;     /* besides */
};

static struct baton_timers *timers;
static struct baton_timer *wheel_timers;
static struct heap_timer *heap_timers;
static struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
static uint64_t fired;

static int timer_fired(struct baton_timer *timer)
{
	fired++;
	return 0;
}

/* Between one and three minutes, spread as keep-alives are. */
static uint64_t deadline_of(size_t i)
{
	return 60 * SECOND_NS + i * 2654435761U % (120 * SECOND_NS);
}

static void must(bool so)
{
	if (!so)
		abort();
}

/* Timers 0 to 15 are the threads' own. */
static void begin(const struct setup *setup)
{
	size_t count = setup->armed + 16;

	wheel_timers = calloc(count, sizeof(*wheel_timers));
	heap_timers = calloc(count, sizeof(*heap_timers));
	heap.items = calloc(count + 1, sizeof(struct heap_timer *));
	must(wheel_timers && heap_timers && heap.items);
	must(baton_timers_create(&(struct baton_timers_options){.source = BATON_TIMERS_VIRTUAL},
	                         &timers) == 0);
	heap.count = 0;
	fired = 0;
	for (size_t i = 0; i < count; i++) {
		baton_timer_init(&wheel_timers[i], timers, &resource, timer_fired);
		heap_timers[i].fired = &fired;
		if (i < 16)
			continue;
		if (setup->heap)
			heap_arm(&heap_timers[i], deadline_of(i));
		else
			must(baton_timer_arm_at(&wheel_timers[i], deadline_of(i)) == 0);
	}
}

static void end(void)
{
	must(baton_timers_destroy(timers) == 0);
	free(wheel_timers);
	free(heap_timers);
	free(heap.items);
}

static void wheel_body(struct team_member *member)
{
	const struct setup *setup = member->context;
	struct baton_timer *timer = &wheel_timers[member->index % 16];

	for (uint64_t i = 0; !team_stopped(member); i++) {
		must(baton_timer_arm_at(timer, 60 * SECOND_NS + i * 1000) == 0);
		if (setup->disarm)
			baton_timer_disarm(timer);
		else if (!setup->later)
			must(baton_timer_stop(timer).met == BATON_STOP_PREVENTED);
		team_count(member, 1);
	}
}

static void heap_body(struct team_member *member)
{
	const struct setup *setup = member->context;
	struct heap_timer *timer = &heap_timers[member->index % 16];

	for (uint64_t i = 0; !team_stopped(member); i++) {
		heap_arm(timer, 60 * SECOND_NS + i * 1000);
		if (!setup->later)
			heap_stop(timer);
		team_count(member, 1);
	}
}

static void run(const void *argument, double *values)
{
	struct setup setup = *(const struct setup *)argument;

	begin(&setup);
	if (setup.threads) {
		struct team_result result =
			team_run(setup.threads, setup.heap ? heap_body : wheel_body, &setup,
		                 bench_sample_ms(200), false);

		values[0] = 1e9 / result.per_second;
	} else {
		uint64_t began = machine_ticks();

		/* Second by second. */
		for (uint64_t now = 59; now <= 181; now++) {
			if (setup.heap)
				heap_advance(now * SECOND_NS);
			else
				must(baton_timers_advance_to(timers, now * SECOND_NS) >= 0);
		}
		values[0] = (double)(machine_ticks() - began) / machine_ticks_per_ns() /
		            (double)setup.armed;
		must(fired == setup.armed);
	}
	end();
}

void bench_w10_timers(void)
{
	static const char *const metrics[] = {"ns/operation", NULL};
	static const struct {
		const char *name;
		unsigned threads;
		bool later;
		bool many;
	} tables[] = {
		{"W10: arm and stop, 1 thread, 100 others armed", 1, false, false},
		{"W10: arm and stop, 1 thread, very many armed (10^6; quick: 10^5)", 1, false,
	         true},
		{"W10: arm again for later, 1 thread, very many armed", 1, true, true},
		{"W10: arm and stop, 2 threads, very many armed", 2, false, true},
		{"W10: arm again for later, 2 threads, very many armed", 2, true, true},
		{"W10: very many expire", 0, false, true},
	};
	size_t many = bench_options.quick ? 100000 : 1000000;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		struct setup setup = {.later = tables[i].later,
		                      .threads = tables[i].threads,
		                      .armed = tables[i].many ? many : ARMED_FEW};
		struct setup setups[3] = {setup, setup, setup};
		struct bench_case cases[3] = {
			{"mutex + binary heap", run, &setups[0]},
			{"baton timers", run, &setups[1]},
			{"  disarm, and the wheel forgets it later", run, &setups[2]},
		};
		struct bench_group group = {
			.name = tables[i].name,
			.metrics = metrics,
			.cases = cases,
			.case_count = setup.later || !setup.threads ? 2 : 3,
			.note = "wall-clock time per arm (and stop) of all threads together; an "
				"expiry runs a function that counts",
		};

		setups[0].heap = true;
		setups[2].disarm = true;
		bench_group(&group);
	}
}
