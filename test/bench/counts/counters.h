/* SPDX-License-Identifier: MIT */
/*
 * What a piece of code costs in counts, and the table that holds it against the budget.
 */
#ifndef BATON_BENCH_COUNTERS_H
#define BATON_BENCH_COUNTERS_H

#include <stdbool.h>

#include "counting_atomic.h"

/* Per task (or hand-off). As a limit: NAN means that nothing is demanded. */
struct counts {
	double rmws;
	double allocations;
	double syscalls;
};

static inline struct bench_counts counts_now(void)
{
	return bench_counts;
}

/* What the calling thread has done since, per one of `tasks`. */
struct counts counts_since(const struct bench_counts *since, double tasks);

/* The difference of two costs, per one of `tasks`. */
struct counts counts_slope(struct counts more, struct counts less, double tasks);

/* Adds a row: printed at once, with its verdict. */
void counts_row(const char *path, struct counts limit, struct counts measured);

/* Begins the table, and ends it: how many rows exceeded their budget. `json`: a path or NULL. */
void counts_begin(const char *json);
unsigned counts_end(void);

/* The scenarios. */
void counts_submitter(void);
void counts_runner(void);
void counts_nodes(void);
void counts_handoff(void);
void counts_compose(void);
void counts_hooks(void);
void counts_modules(void);

#endif
