/* SPDX-License-Identifier: MIT */
/*
 * Threads that load something together for a while: pinned round robin to the usable CPUs, started
 * at once, counted over a window of time that begins after a warm-up.
 */
#ifndef BATON_BENCH_TEAM_H
#define BATON_BENCH_TEAM_H

#include <stdbool.h>
#include <stdint.h>

#include "histogram.h"

#ifdef __cplusplus
extern "C" {
#endif

struct team_member {
	/* Operations done; written by the member, or by whoever runs its tasks (then release). */
	uint64_t done __attribute__((aligned(64)));
	/* The member's own. */
	unsigned index __attribute__((aligned(64)));
	const bool *stop;
	const bool *measuring; /* the warm-up is over */
	void *context;
	struct histogram *latency; /* ticks; NULL unless asked for */
};

typedef void (*team_body)(struct team_member *member);

struct team_result {
	double per_second;
	double fairness; /* slowest member's operations over the fastest one's */
	double p50_ns, p99_ns, p999_ns, max_ns;
	/* Of the whole process, per operation within the window. */
	double cpu_ns;
	double switches; /* of context, voluntary and not */
	uint64_t done;   /* by all, from the start to the end */
};

/* Runs `body` in `threads` threads until the window of `window_ms` is over. */
struct team_result team_run(unsigned threads, team_body body, void *context, unsigned window_ms,
                            bool latency);

static inline bool team_stopped(const struct team_member *member)
{
	return __atomic_load_n(member->stop, __ATOMIC_RELAXED);
}

static inline bool team_measuring(const struct team_member *member)
{
	return __atomic_load_n(member->measuring, __ATOMIC_RELAXED);
}

static inline void team_count(struct team_member *member, uint64_t more)
{
	uint64_t done = __atomic_load_n(&member->done, __ATOMIC_RELAXED);

	__atomic_store_n(&member->done, done + more, __ATOMIC_RELEASE);
}

/*
 * One turn of waiting for something that another thread does: pauses at first, then yields, then
 * short sleeps, since a spinning waiter keeps its share of the CPU from the one that it waits for.
 */
void team_wait(unsigned *turns);

/* CPUs that this process may use, and the i-th of them (round robin). */
unsigned team_cpus(void);
int team_cpu(unsigned index);

/* Pins the calling thread; lets it go anywhere again. */
void team_pin(unsigned index);
void team_unpin(void);

/*
 * Starts a thread that sleeps for ever: glibc's mutex and malloc leave out their lock prefixes in a
 * process with one thread, and nobody has such processes here.
 */
void team_be_multithreaded(void);

#ifdef __cplusplus
}
#endif

#endif
