/* SPDX-License-Identifier: MIT */
/*
 * W4: what each pool does, and what its jobs have in common: they count in a tally of their
 * thread's, and take their memory from its list of free ones.
 */
#ifndef BATON_BENCH_W4_POOL_H
#define BATON_BENCH_W4_POOL_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "queue_pool.h"

#include <baton.h>

struct peer;
struct w4_job;

struct w4_pool {
	const char *name;
	const struct peer *peer; /* of the peers' kind */
	void (*start)(const struct w4_pool *pool, unsigned workers);
	void (*stop)(const struct w4_pool *pool);
	/* Submits `count` jobs that count, from this thread; `jobs`: memory for them. */
	void (*outside)(const struct w4_pool *pool, struct w4_job *jobs, size_t count);
	/* Runs 2^depth - 1 jobs that count, each of which submits its two children. */
	void (*tree)(const struct w4_pool *pool, unsigned depth);
	/* The same; each job has memory of its own from malloc. NULL: the pool's jobs have memory
	 * of the pool's. */
	void (*tree_of_malloc)(const struct w4_pool *pool, unsigned depth);
	unsigned long (*fib)(const struct w4_pool *pool, unsigned n);
	/* A job that submits `count` jobs that count (it is given memory), `rounds` times, and each
	 * time stays, and runs none of them, until all have run elsewhere. */
	void (*spread)(const struct w4_pool *pool, unsigned rounds, struct w4_job *jobs,
	               size_t count);
	/* Jobs taken from other workers since the start; NULL: it does not say. */
	uint64_t (*stolen)(const struct w4_pool *pool);
};

extern const struct w4_pool w4_queue;
extern const struct w4_pool w4_baton;
extern const struct w4_pool w4_peer; /* to be copied, and given a peer */

/* Jobs run by one thread, and its free jobs. */
struct w4_tally {
	uint64_t count __attribute__((aligned(64)));
	struct w4_job *free;
	struct w4_tally *next;
};

/*
 * A job of a tree (n: its depth), or a call of fib(n), which is also the frame in which the results
 * of the two calls below it come together.
 */
struct w4_job {
	union {
		struct baton_plain_job plain;
		struct queue_job queued;
		struct w4_job *next_free;
	};
	struct w4_job *parent;
	uint16_t n;
	uint16_t side;    /* of the parent's results */
	uint32_t pending; /* results that are still to come */
	uint64_t results[2];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct w4_job) == 64, "one cache line");

extern __thread struct w4_tally *w4_mine;

struct w4_tally *w4_new_tally(void);

static inline struct w4_tally *w4_tally(void)
{
	struct w4_tally *tally = w4_mine;

	return tally ? tally : w4_new_tally();
}

static inline void w4_count(struct w4_tally *tally)
{
	__atomic_store_n(&tally->count, tally->count + 1, __ATOMIC_RELAXED);
}

/* What all threads have counted; waits until that is `expected`, asleep, or pausing. */
uint64_t w4_total(void);
void w4_await_total(uint64_t expected);
void w4_pause_until_total(uint64_t expected);

static inline struct w4_job *w4_new_job(struct w4_tally *tally)
{
	struct w4_job *job = tally->free;

	if (job)
		tally->free = job->next_free;
	else if (!(job = aligned_alloc(64, sizeof(*job))))
		abort();
	return job;
}

static inline void w4_free_job(struct w4_tally *tally, struct w4_job *job)
{
	job->next_free = tally->free;
	tally->free = job;
}

typedef void (*w4_spawn)(struct w4_job *job);

/* A job of the tree: its memory is free when it is entered, so it becomes its own first child. */
static inline __attribute__((always_inline)) void w4_tree_run(struct w4_job *job, w4_spawn spawn)
{
	struct w4_tally *tally = w4_tally();
	uint16_t depth = job->n;

	if (depth > 1) {
		struct w4_job *second = w4_new_job(tally);

		job->n = second->n = (uint16_t)(depth - 1);
		spawn(job);
		spawn(second);
	} else {
		w4_free_job(tally, job);
	}
	w4_count(tally);
}

/* The caller of fib, and its result. */
void w4_fib_begin(void);
void w4_fib_over(uint64_t result);
uint64_t w4_fib_await(void);

/* A result for a frame. Whoever brings its second one goes on with the frame's own. */
static inline void w4_deliver(struct w4_job *frame, unsigned side, uint64_t value)
{
	/* Ends at the root. */
	for (;;) {
		struct w4_job *parent = frame->parent;

		frame->results[side] = value;
		/* acq_rel: the other one's result, and ours for the other one */
		if (__atomic_sub_fetch(&frame->pending, 1, __ATOMIC_ACQ_REL))
			return;
		value = frame->results[0] + frame->results[1];
		side = frame->side;
		w4_free_job(w4_tally(), frame);
		if (!parent) {
			w4_fib_over(value);
			return;
		}
		frame = parent;
	}
}

/* A frame for fib(n) and what is added to it; its job brings results[0]. */
static inline struct w4_job *w4_frame(struct w4_tally *tally, struct w4_job *parent, unsigned side,
                                      unsigned n, uint32_t pending)
{
	struct w4_job *frame = w4_new_job(tally);

	frame->parent = parent;
	frame->n = (uint16_t)n;
	frame->side = (uint16_t)side;
	frame->pending = pending;
	frame->results[1] = 0;
	return frame;
}

/* fib(n), entered as the frame's job: fib(n - 1) becomes a job, fib(n - 2) is done here. */
static inline __attribute__((always_inline)) void w4_fib_run(struct w4_job *frame, w4_spawn spawn)
{
	struct w4_tally *tally = w4_tally();
	unsigned n = frame->n;
	unsigned side = 0;

	while (n >= 2) {
		frame = w4_frame(tally, frame, side, n - 1, 2);
		spawn(frame);
		side = 1;
		n -= 2;
	}
	w4_deliver(frame, side, n);
}

#endif
