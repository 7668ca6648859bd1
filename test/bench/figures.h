/* SPDX-License-Identifier: MIT */
/*
 * All that was measured in this process, kept until the end: for the files, and for whoever
 * compares figures of several tables.
 */
#ifndef BATON_BENCH_FIGURES_H
#define BATON_BENCH_FIGURES_H

#include <stddef.h>

#include "summary.h"

struct figure {
	const char *group, *contender, *metric;
	const char *axis; /* what `x` is, with its unit; NULL if the table has none */
	double x;         /* NAN if the table has no axis */
	struct summary summary;
	unsigned runs;
	const double *samples; /* `runs` of them, in the order of the runs */
};

/* Copies everything. A figure of which nothing could be measured (all NAN) is not kept. */
void figures_add(const struct figure *figure);

/* NULL if there is none. `x`: NAN for those of tables without an axis. */
const struct figure *figures_find(const char *group, const char *contender, const char *metric,
                                  double x);

/* The `index`-th that was added, or NULL. */
const struct figure *figures_at(size_t index);

/* The unit in a metric's title: "us" of "p50, us", "ns/task" of "CPU ns/task"; else all of it. */
const char *figures_unit(const char *metric);

#endif
