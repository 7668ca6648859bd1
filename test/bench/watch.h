/* SPDX-License-Identifier: MIT */
/*
 * Times something in chunks, of which the median counts.
 */
#ifndef BATON_BENCH_WATCH_H
#define BATON_BENCH_WATCH_H

#include <stdint.h>
#include <stdlib.h>

#include "machine.h"

#define WATCH_MAX 2048

/* The durations of up to WATCH_MAX chunks. */
struct watch {
	uint64_t ticks[WATCH_MAX];
	unsigned count;
};

static inline void watch_add(struct watch *to, uint64_t since)
{
	uint64_t now = machine_ticks();

	if (to->count < WATCH_MAX)
		to->ticks[to->count++] = now - since;
}

static inline int watch_compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left;
	uint64_t b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* The median chunk, in nanoseconds per one of its `operations`; begins anew. */
static inline double watch_end(struct watch *from, unsigned operations)
{
	uint64_t median;

	qsort(from->ticks, from->count, sizeof(from->ticks[0]), watch_compare);
	median = from->ticks[from->count / 2];
	from->count = 0;
	return (double)median / machine_ticks_per_ns() / operations;
}

#endif
