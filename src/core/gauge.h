/* SPDX-License-Identifier: MIT */
/*
 * A gauge shows what a resource does now, and how long its tasks wait and run. Statistics may have
 * a gauge, which then lies in a board (inspect/board.h), so that another process may read the gauge
 * at any time, also after this process has died.
 *
 * Only the holder writes, by plain stores, and reads the clock for a sample of the tasks: for the
 * task that is marked (stats.h), of which there is at most one in the queue, and for one in
 * BATON__GAUGE_EVERY of the tasks that run.
 *
 * A histogram has buckets as those of HdrHistogram (Tene): 8 of equal width for each power of two.
 * So the middle of a bucket differs from each of the bucket's times by at most a sixteenth.
 */
#ifndef BATON_SRC_GAUGE_H
#define BATON_SRC_GAUGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/platform.h"
#include "thread/trace.h"

#define BATON__GAUGE_EVERY 64U

/* The last bucket also has all times from 2^38 ns (275 s). */
#define BATON__HISTOGRAM_PART 8U
#define BATON__HISTOGRAM_BUCKETS (36 * BATON__HISTOGRAM_PART)

struct baton__histogram {
	uint64_t max_ns;
	uint64_t counts[BATON__HISTOGRAM_BUCKETS];
};

struct baton__gauge {
	uint64_t entered;   /* tasks and calls that have been entered */
	uintptr_t function; /* of the task or call that runs; 0: none runs */
	uint64_t thread;    /* the kernel's id of the thread that runs it, or ran the last */
	uint64_t began_ns;  /* when it began, if its time is taken; else 0 */
	struct baton__histogram waited;
	struct baton__histogram ran;
};

/* The bucket of a time; the first time that a bucket has. */
size_t baton__histogram_bucket(uint64_t ns);
uint64_t baton__histogram_lowest(size_t bucket);

void baton__histogram_record(struct baton__histogram *histogram, uint64_t ns);

/*
 * The time below which `part` of 1,000 of the recorded times lie: the middle of its bucket, at most
 * max_ns. 0: no time was recorded. Any thread or process; the counts may change meanwhile.
 */
uint64_t baton__histogram_quantile(const struct baton__histogram *histogram, unsigned part);

/* A marked task leaves the queue, in which it was since `marked_ns`. */
void baton__gauge_waited(struct baton__gauge *gauge, uint64_t marked_ns);

/* The function is about to be entered; has returned. */
void baton__gauge_enter(struct baton__gauge *gauge, uintptr_t function);
void baton__gauge_leave(struct baton__gauge *gauge);

/* Writes an event of the resource, while a trace is on. `task`: that is pushed or entered. */
void baton__gauge_trace(const struct baton__gauge *gauge, enum baton__event_kind kind,
                        const void *task, uint64_t more);

#endif
