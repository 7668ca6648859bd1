/* SPDX-License-Identifier: MIT */
/*
 * W5: pools behind one face, and where their workers are. What the face costs (an indirect call) is
 * a thousandth of what is measured.
 */
#ifndef BATON_BENCH_W5_POOL_H
#define BATON_BENCH_W5_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "pool_name.h"
#include "queue_pool.h"

#include <baton.h>

#define W5_POOLS_MAX 8

enum w5_place {
	W5_APART,  /* the submitter has a CPU, the workers have the others */
	W5_SHARED, /* one worker, on the submitter's CPU */
	W5_FREE,   /* a worker for each CPU; nobody is pinned */
};

enum w5_kind {
	W5_QUEUE,
	W5_BATON,
	W5_PEER,
};

struct w5_pool {
	enum w5_kind kind;
	const struct peer *peer;
	char name[POOL_NAME_MAX];
};

/* A job, in the user's memory. */
struct w5_job {
	union {
		struct baton_plain_job plain;
		struct queue_job queued;
	};
	void (*run)(struct w5_job *job);
};

/* All that there are; how many. */
size_t w5_pools(struct w5_pool pools[W5_POOLS_MAX]);

unsigned w5_workers(enum w5_place place);
void w5_start(const struct w5_pool *pool, enum w5_place place);
void w5_stop(const struct w5_pool *pool);

/* Where the calling thread belongs, which submits; and nowhere, afterwards. */
void w5_take_place(enum w5_place place);
void w5_leave_place(void);

void w5_submit(const struct w5_pool *pool, struct w5_job *job);

/* A job that says when it started, in ticks. */
struct w5_probe {
	struct w5_job job;
	uint64_t started; /* 0: not yet */
};

#define W5_PROBE_INIT                                                                              \
	{                                                                                          \
		.job = {.run = w5_probe_run},                                                      \
	}
void w5_probe_run(struct w5_job *job);

/* The tables of their own files. */
void w5_pairs(void);
void w5_idle(void);
void w5_busy(void);

#endif
