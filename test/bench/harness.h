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

#define BENCH_METRICS_MAX 12
#define BENCH_RUNS_MAX 64

struct bench_options {
	bool quick;
	bool deep; /* sizes that take minutes or gigabytes, too */
	unsigned runs;
	const char *only; /* a part of a group's "Wn: name"; NULL: all */
	const char *json; /* a path; NULL: none */
	const char *data; /* a directory for the plots' tables; NULL: none */
};

extern struct bench_options bench_options;

/* One thing to measure, in one setting. */
struct bench_case {
	const char *contender; /* indented: a variant of the one above it */
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

/* One contender, over the values of an axis. */
struct bench_series {
	const char *contender;
	/* As a case's, at this point of the axis. */
	void (*run)(const void *setup, double x, double *values);
	const void *setup;
};

/* A group for each of some values of a number: a line for each value, a column per contender. */
struct bench_sweep {
	const char *name;
	const char *axis; /* "body, ns" */
	const double *xs;
	size_t x_count;
	const char *const *metrics; /* as a group's; each gets a table of its own */
	const struct bench_series *series;
	size_t series_count;
	size_t baseline;
	const char *note;
};

/* Runs the sweep, unless --only leaves it out (then false); prints and records it. */
bool bench_sweep(const struct bench_sweep *sweep);

/* Is some group with this in its name to be run? For workloads with an expensive set-up. */
bool bench_wanted(const char *name);

/* One figure by itself, printed and recorded; as baton's, or as somebody's. */
void bench_figure(const char *name, const char *metric, double value);
void bench_figure_of(const char *name, const char *contender, const char *metric, double value);

/* Milliseconds per sample: a shorter one with --quick, and while warming up. */
unsigned bench_sample_ms(unsigned normal_ms);

/* Says what is run, where; looks whether the files can be written. */
void bench_begin(const char *program);
/* The goals' table; writes the files. `budget`: JSON text to go into them, or NULL. */
void bench_end(const char *budget);

/* ---- For harness.c and sweep.c ---- */

/* The samples of one case: [metric][run]. */
typedef double bench_samples[BENCH_METRICS_MAX][BENCH_RUNS_MAX];

/* The runs that follow do not count: short samples will do. */
void bench_warming_up(bool on);
/* Keeps one metric's samples, `runs` of them; `axis`: NULL, and `x`: NAN, if there is none. */
void bench_keep(const char *group, const char *contender, const char *metric, const char *axis,
                double x, const double *samples, unsigned runs);
/* The median of the runs' ratios; printed in 7 columns and an x, if it is a number. */
double bench_ratio(const double *samples, const double *baseline);
void bench_print_ratio(const double *samples, const double *baseline);
/* Writes the files as they are so far: what was measured is not lost when a later one fails. */
void bench_save(void);

/* ---- The workloads ---- */

void bench_w1_uncontended(void);
void bench_w2_async(void);
void bench_w2_sync(void);
void bench_w3_many(void);
void bench_w4_pool(void);
void bench_w5_wake(void);
void bench_w6_broker(void);
void bench_w6_seen(void);
void bench_w6_mix(void);
void bench_w7_length(void);
void bench_w8_tasks(void);
void bench_w8_resources(void);
void bench_w8_threads(void);
void bench_w8_memory(void);
void bench_w17_suspend(void);
void bench_w10_timers(void);
void bench_w13_trigger(void);
void bench_w15_fan_out(void);
void bench_w19_undo(void);
void bench_w18_hooks(void);
void bench_w14_detach(void);
void bench_w9_lanes(void);
void bench_w12_tags(void);
void bench_w16_bounds(void);
void bench_w11_waits(void);
void bench_w20_registry(void);
void bench_w21_policies(void);
void bench_w22_readers(void);
void bench_w22_holds(void);
void bench_w23_overload(void);
void bench_w23_modules(void);
void bench_w24_load(void);
void bench_w25_rules(void);
void bench_w25_admission(void);
void bench_w26_mainloop(void);
void bench_w27_parallel(void);
void bench_w28_switch(void);

#endif
