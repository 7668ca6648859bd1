/* SPDX-License-Identifier: MIT */
/*
 * W8: how cost grows with work. What its parts share.
 *
 * The exponent is the slope of the total cost over the size, both as logarithms: 1 is linear growth
 * (of a cost that is all there at once, like the memory of tasks that wait), 0 none. What grows
 * with the caches' levels is above 1 for everybody, so a baseline's exponent stands beside it.
 */
#ifndef BATON_BENCH_W8_H
#define BATON_BENCH_W8_H

#include <stddef.h>

#include "harness.h"

/* Sizes 10^first, 10^(first + 1), ... 10^last. Returns how many. */
size_t w8_powers(double *sizes, unsigned first, unsigned last);

/*
 * Prints and records the exponents of the contenders' first metric, a cost per piece, within this
 * sweep (of at least three points), next to its baseline's, with a verdict; as group "<name>,
 * exponent" with metric `what`.
 */
void w8_exponents(const struct bench_sweep *sweep, const char *what);

/* Tasks streamed through one resource, up to 10^last of them: w8_stream.c. */
void w8_streamed(unsigned last);

/* Each of up to 10^last queued tasks holds, suspends, is cancelled, is awaited: w8_concerned.c. */
void w8_concerned(unsigned last);

/* Up to 10^last jobs wait in a pool: w8_jobs.c. */
void w8_jobs(unsigned last);

/*
 * A process of its own, so that nothing else has touched its memory: prints the bytes that `kind`
 * (a name in w8_probe.c) takes when there are `size` of it. Returns the process's status.
 */
int w8_probe(const char *kind, unsigned long size);

#endif
