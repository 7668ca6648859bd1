/* SPDX-License-Identifier: MIT */
/*
 * The benchmark's harness. A workload file describes groups of cases; the cases of one group are
 * run in turn, again and again (so that whatever the machine does meanwhile meets them all), and
 * reported as the median and the range of their runs, next to one of them, the baseline.
 */
#ifndef BATON_BENCH_HARNESS_H
#define BATON_BENCH_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define BENCH_METRICS_MAX 6

struct bench_options {
	bool quick;
	unsigned runs;
	const char *only; /* a part of a group's "Wn: name"; NULL: all */
	const char *json; /* a path; NULL: none */
};

extern struct bench_options bench_options;

/* One thing to measure, in one setting. */
struct bench_case {
	const char *contender;
	/* One run: fills a value for each of the group's metrics; NAN where there is none. */
	void (*run)(const void *setup, double *values);
	const void *setup;
};

struct bench_group {
	const char *name; /* "W1: one thread, an idle resource" */
	const char *const
		*metrics; /* with their units, NULL-terminated; the first one is compared */
	const struct bench_case *cases;
	size_t case_count;
	size_t baseline;  /* index of the case with which all are compared */
	const char *note; /* what one must know to read it; may be NULL */
};

/* Runs the group, unless --only leaves it out; prints and records it. */
void bench_group(const struct bench_group *group);

/* Is some group with this in its name to be run? For workloads with an expensive set-up. */
bool bench_wanted(const char *name);

/* One figure by itself, printed and recorded. */
void bench_figure(const char *name, const char *metric, double value);

/* Milliseconds per sample: a shorter one with --quick. */
unsigned bench_sample_ms(unsigned normal_ms);

void bench_begin(const char *program);
/* Writes the JSON file, if one was asked for; `budget`: JSON text to go into it, or NULL. */
void bench_end(const char *budget);

/* The workloads. */
void bench_w1_uncontended(void);
void bench_w2_async(void);
void bench_w2_sync(void);
void bench_w3_many(void);
void bench_w4_pool(void);
void bench_w5_wake(void);

#endif
