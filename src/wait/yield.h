/* SPDX-License-Identifier: MIT */
/*
 * Yields of a thread that waits, and when they do not pay; see yield.c.
 */
#ifndef BATON_SRC_YIELD_H
#define BATON_SRC_YIELD_H

#include <stdbool.h>
#include <stdint.h>

/* A row of yields by one thread, with nothing between them but a look at some words. */
struct baton__yields {
	uint64_t begun_ns;
	uint64_t cpu_ns;  /* CPU time of the process when the row began */
	uint64_t last_ns; /* when the last yield ended, or the row began */
};

/*
 * Begins a row of yields. False: yields do not pay now, and the caller should sleep instead. The
 * calling thread must have a record (thread.h).
 */
bool baton__yields_begin(struct baton__yields *yields);

/*
 * Gives the CPU to the other threads that want it, by one sched_yield(). False: yields do not pay
 * now.
 */
bool baton__yield(struct baton__yields *yields);

#endif
