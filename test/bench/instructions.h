/* SPDX-License-Identifier: MIT */
/*
 * Instructions that the calling thread has executed in user space, by the CPU's own counter. Many
 * virtual machines have none: then there is no figure.
 */
#ifndef BATON_BENCH_INSTRUCTIONS_H
#define BATON_BENCH_INSTRUCTIONS_H

struct instructions {
	int fd; /* -1: no counter */
	double before;
};

/* Begins to count, for this thread. */
struct instructions instructions_begin(void);

/* Ends it: how many per one of `operations`; NAN without a counter. */
double instructions_end(struct instructions *instructions, double operations);

#endif
