/* SPDX-License-Identifier: MIT */
/*
 * W23: overload. Producers submit tasks to resources drawn at random and wait for nothing, so that
 * only what the contender itself does keeps the number of waiting tasks down. One disturbance
 * comes; the table says whether throughput comes back.
 *
 * Nothing bounds the tasks that wait, since a bound would hide a collapse: a ring of nodes stops
 * its producer before its contender has to. A run ends when W23_WAITING_MAX tasks wait.
 */
#ifndef BATON_BENCH_W23_H
#define BATON_BENCH_W23_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/all.h>

#include "machine.h"

struct peer;

#define W23_RESOURCES 1000U
#define W23_WAITING_MAX 4000000U
#define W23_PAUSE_NS UINT64_C(20000000)
#define W23_PRODUCERS_MAX 64U
/* A burst gives each resource so many tasks of so many nanoseconds of computing. */
#define W23_BURST 10U
#define W23_BURST_NS 30000
/* So many resources get a slow task, which computes for as long as a pause lasts. */
#define W23_SLOW 10U
/* Tasks under way of each producer, where a case bounds them. */
#define W23_RING 256U

/* With modules: a bound of so many tasks for each resource. */
#define W23_BOUND 100U

enum w23_disturbance { W23_PAUSE, W23_BURSTS, W23_SLOW_TASKS };

/* One resource of each contender's kind, with the state that its tasks change. */
struct w23_target {
	uint64_t state __attribute__((aligned(64)));
	union {
		struct baton_resource resource;
		pthread_mutex_t mutex;
	};
	void *queue;               /* a peer's */
	struct w23_extras *extras; /* of w23_modules.c */
	struct w23_run *run;
};

/* The counts of one thread; only that thread writes them. */
struct w23_counter {
	uint64_t ran __attribute__((aligned(64)));
	uint64_t dropped; /* or refused */
	uint64_t submitted;
	uint64_t random;
};

struct w23_node;

struct w23_producer {
	struct w23_run *run;
	struct w23_counter *counter;
	struct w23_node *nodes;  /* free nodes; the producer's own */
	struct w23_node *chunks; /* of all its nodes, to be freed at the end */
	unsigned index;
	pthread_t thread;
	uint64_t finished __attribute__((aligned(64))); /* of a bounded producer's tasks */
	struct w23_node *returned; /* pushed by other threads, taken whole by the producer */
};

struct w23_way {
	void (*begin)(struct w23_run *run);
	void (*end)(struct w23_run *run); /* when all tasks have run */
	/* One task for a target; counts itself by w23_ran() when its last stage has run. */
	void (*submit)(struct w23_producer *producer, struct w23_target *target);
	/* Stops all targets for W23_PAUSE_NS; NULL: the contender has no such thing. */
	void (*pause)(struct w23_run *run);
	/* A task that computes for a while; not on the submitting thread, if there is a choice. */
	void (*work)(struct w23_target *target, struct machine_work *work);
};

extern const struct w23_way w23_mutex;
extern const struct w23_way w23_submit; /* nodes of the producer's own */
extern const struct w23_way w23_post;   /* the library's nodes */
extern const struct w23_way w23_peer;
extern const struct w23_way w23_modules; /* posts to resources that have `modules` */

/* What the resources of a case have besides. */
struct w23_modules {
	const char *name;
	bool lanes, stats, hooks, tags;
	bool bounded; /* by W23_BOUND tasks, with this policy */
	enum baton_bound_policy policy;
};

struct w23_case {
	const char *contender;
	const struct w23_way *way;
	const struct peer *peer;
	const struct w23_modules *modules;
	bool ring; /* a producer has at most W23_RING tasks under way */
	unsigned producers;
	enum w23_disturbance disturbance;
	bool stages;   /* each task submits a second one, to one of as many other resources */
	unsigned grew; /* runs that W23_WAITING_MAX has ended */
};

struct w23_run {
	const struct w23_case *what;
	struct w23_target *targets; /* of the first stage, then those of the second one */
	unsigned target_count;
	bool stop;
	struct machine_work burst, slow;
	struct w23_producer producers[W23_PRODUCERS_MAX];
};

/* The figures of one run of a case: `setup` is a struct w23_case **. */
void w23_run_case(const void *setup, double *values);
extern const char *const w23_metrics[];

/* The calling thread's counter. */
struct w23_counter *w23_counter(void);

/* A task has run for good: `producer` is NULL where nobody waits for it. */
static inline void w23_ran(struct w23_producer *producer)
{
	struct w23_counter *counter = w23_counter();

	__atomic_store_n(&counter->ran, counter->ran + 1, __ATOMIC_RELAXED);
	if (producer)
		(void)__atomic_fetch_add(&producer->finished, 1, __ATOMIC_RELEASE);
}

/* A task will not run. */
static inline void w23_dropped(void)
{
	struct w23_counter *counter = w23_counter();

	__atomic_store_n(&counter->dropped, counter->dropped + 1, __ATOMIC_RELAXED);
}

static inline uint32_t w23_below(uint64_t *random, uint32_t end)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (uint32_t)((*random >> 32) * end >> 32);
}

/* The target of a task's second stage; NULL: the task has one stage. */
static inline struct w23_target *w23_next(const struct w23_target *target)
{
	struct w23_run *run = target->run;

	if (!run->what->stages || target >= run->targets + W23_RESOURCES)
		return NULL;
	return &run->targets[W23_RESOURCES + w23_below(&w23_counter()->random, W23_RESOURCES)];
}

#endif
