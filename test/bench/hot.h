/* SPDX-License-Identifier: MIT */
/*
 * One hot resource, loaded by a team: asynchronously, each thread with a ring of tasks of its own.
 */
#ifndef BATON_BENCH_HOT_H
#define BATON_BENCH_HOT_H

#include <stdint.h>

struct hot_async {
	unsigned threads;
	unsigned batch;         /* tasks per submit */
	unsigned body_ns;       /* of computing, besides counting */
	uint32_t capture_limit; /* 0: the default */
};

/* values[0]: million tasks per second; values[1]: fairness. `setup`: a struct hot_async. */
void hot_async_run(const void *setup, double *values);

/* The pool whose workers are pinned like the teams; created on first use, never destroyed. */
struct baton_executor *hot_executor(void);

#endif
