/* SPDX-License-Identifier: MIT */
/*
 * One hot resource, loaded by a team: asynchronously, each thread with a ring of HOT_RING tasks of
 * its own, which run in the order of submission, so that one counter per thread says how many of
 * them are done. The locks' users count the same two counters, the shared one under the lock.
 *
 * Each HOT_SAMPLE-th task of a thread is timed, from before its submit to the end of its body.
 */
#ifndef BATON_BENCH_HOT_H
#define BATON_BENCH_HOT_H

#include <stdint.h>

#include "combine.h"
#include "histogram.h"
#include "locks.h"
#include "machine.h"
#include "team.h"

#include <baton.h>

struct peer;

#define HOT_RING 256U
#define HOT_SAMPLE 64U

struct hot_async {
	unsigned threads;
	unsigned batch;       /* tasks per submit */
	unsigned body_ns;     /* of computing, besides counting */
	uint32_t capture_max; /* 0: the default */
};

/* What hot_*_run() put into values[]; the titles of a group's metrics. */
enum hot_metric {
	HOT_RATE,
	HOT_FAIRNESS,
	HOT_P50,
	HOT_P99,
	HOT_P999,
	HOT_MAX,
	HOT_CPU,
	HOT_SWITCHES,
	HOT_WAKES,
	HOT_METRICS,
};

extern const char *const hot_metrics[HOT_METRICS + 1];

/*
 * `setup`: a struct hot_async; `values`: BENCH_METRICS_MAX of them. A thread with a full ring waits
 * for the future of its last task; or looks, again and again, how many tasks are done.
 */
void hot_future_run(const void *setup, double *values);
void hot_polling_run(const void *setup, double *values);
/* The library's nodes: a post; an async whose future is dropped at once. Both ways to wait. */
void hot_post_run(const void *setup, double *values);
void hot_unref_run(const void *setup, double *values);
void hot_polling_post_run(const void *setup, double *values);
void hot_polling_unref_run(const void *setup, double *values);
/* The floor (locks.h): runs each batch at once, the same tasks by their pointers. */
void hot_two_cases_run(const void *setup, double *values);

struct hot_lock {
	struct hot_async load;
	enum hot_lock_kind {
		HOT_MUTEX,
		HOT_MUTEX_BATCH, /* held for a batch */
		HOT_TICKET,
		HOT_MCS,
		HOT_CC_SYNCH,
		HOT_FLAT,
		HOT_OYAMA,
	} kind;
};

/* `setup`: a struct hot_lock. */
void hot_lock_run(const void *setup, double *values);

struct hot_peer {
	struct hot_async load;
	const struct peer *peer;
};

/* `setup`: a struct hot_peer, whose peer is present. */
void hot_peer_run(const void *setup, double *values);

/* The pool whose workers are pinned like the teams; created on first use, never destroyed. */
struct baton_pool *hot_pool(void);
struct baton_executor *hot_executor(void);

/* ---- For those who implement the above ---- */

struct hot {
	/* In one cache line with the lock, or the resource. */
	uint64_t counter __attribute__((aligned(64)));
	union {
		struct baton_resource resource;
		struct lock lock;
		struct cc_synch cc;
		struct flat flat;
		struct oyama oyama;
		uintptr_t word; /* two CASes alone */
	};
	/* Does not change while the team runs. */
	struct machine_work work __attribute__((aligned(64)));
	unsigned batch;
	struct cc_node *nodes; /* the threads', and one for the lock */
	struct flat_record *records;
	const struct peer *peer;
	void *queue;
	/* Ticks; written by whoever holds the resource. */
	struct histogram latency __attribute__((aligned(64)));
};

_Static_assert(offsetof(struct hot, resource) + sizeof(struct baton_resource) <= 64 &&
                       offsetof(struct hot, lock) + sizeof(pthread_mutex_t) <= 64,
               "the counter shares its line with the resource, and with the lock");

/* What every contender's task does. `submitted`: ticks, or 0 if it is not timed. */
static inline __attribute__((always_inline)) void hot_body(struct hot *hot,
                                                           struct machine_work work,
                                                           uint64_t submitted)
{
	hot->counter++;
	machine_work(work);
	if (submitted) {
		uint64_t now = machine_ticks();

		histogram_add(&hot->latency, now > submitted ? now - submitted : 0);
	}
}

/* When the thread's `index`-th task is submitted, if that is to be timed; else 0. */
static inline uint64_t hot_stamp(const struct team_member *member, uint64_t index)
{
	return index % HOT_SAMPLE == 0 && team_measuring(member) ? machine_ticks() : 0;
}

/* A cleared `hot` for this load; runs the team and fills in `values`. */
void hot_begin(struct hot *hot, const struct hot_async *load);
void hot_run(struct hot *hot, const struct hot_async *load, team_body body, double *values);

#endif
