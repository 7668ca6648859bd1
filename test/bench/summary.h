/* SPDX-License-Identifier: MIT */
/*
 * What is told of several runs of one case: the median, the middle half, the whole range.
 */
#ifndef BATON_BENCH_SUMMARY_H
#define BATON_BENCH_SUMMARY_H

#define SUMMARY_MAX 64

struct summary {
	double median;
	double least, most;
	double lower, upper; /* quartiles: half of the runs lie between them */
};

/* `count`: 1 to SUMMARY_MAX. Values that are NAN are left out; all NAN if nothing is left. */
struct summary summary_of(const double *values, unsigned count);

#endif
