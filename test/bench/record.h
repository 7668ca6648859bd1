/* SPDX-License-Identifier: MIT */
/*
 * The figures as files: JSON for programs (--json), tables for the plots (--data).
 */
#ifndef BATON_BENCH_RECORD_H
#define BATON_BENCH_RECORD_H

#include <stdbool.h>

struct machine;

struct record_end {
	bool complete; /* the run has come to its end */
	double others_percent;
	const char *budget; /* JSON text, or NULL */
};

/* Writes the files that were asked for, in place of those of an earlier call or run. */
void record_write(const struct machine *machine, const struct record_end *end);

#endif
