/* SPDX-License-Identifier: MIT */
/*
 * A gauge shows what a resource does now, and how long its tasks wait and run. Statistics may have
 * a gauge. Both then lie in a board (inspect/board.h), so that another process may read them at any
 * time, also after this process has died.
 *
 * Each task writes three words of the statistics. They lie in the cache line that a task on an idle
 * resource touches anyhow. `_function`: the function of the running task or call; 0 while none
 * runs. `_thread`: the kernel's id of the thread that runs it, or ran the last one. `_began_ns`:
 * when it began; 0 if its time is not taken.
 *
 * Only the holder writes these words, by plain stores. The holder reads the clock for a sample of
 * the tasks: for the marked task (stats.h), which is at most one in the queue, and for one in
 * BATON__GAUGE_EVERY of the tasks that run.
 *
 * A histogram has buckets as those of HdrHistogram (Tene): 8 of equal width for each power of two.
 * So the middle of a bucket differs from each of the bucket's times by at most a sixteenth.
 */
#ifndef BATON_SRC_GAUGE_H
#define BATON_SRC_GAUGE_H

#include <baton/resource.h>
#include <baton/stats.h>

#include "base/atomic.h"
#include "base/platform.h"
#include "thread/thread.h"
#include "thread/trace.h"

#define BATON__GAUGE_EVERY 64U

/* The last bucket also has all times from 2^38 ns (275 s). */
#define BATON__HISTOGRAM_PART 8U
#define BATON__HISTOGRAM_BUCKETS (36 * BATON__HISTOGRAM_PART)

struct baton__histogram {
	uint64_t max_ns;
	uint64_t counts[BATON__HISTOGRAM_BUCKETS];
};

/* So many lanes have times of their own; the tasks of lower lanes count for the last of these. */
#define BATON__GAUGE_LANES 4U

/*
 * One lane of a resource that has lanes. As in the statistics (stats.h), a submitter that finds no
 * marked task in the lane marks its first task with the time, and the holder records how long the
 * marked task has waited. `passed_ns` is the time of the last marked task that has left in its
 * order, while tasks wait.
 *
 * gauge.mark: `marked` belongs to the submitter from its CAS on marked_ns to its push, and to the
 *    holder from that push until the holder sets marked_ns to 0.
 */
struct baton__gauge_lane {
	uint64_t captured; /* tasks that have captured the resource */
	uint64_t left;     /* tasks that have left the queue */
	uint64_t passed_ns;
	/* Submitters' words. */
	uint64_t pushed;
	uint64_t marked_ns;
	const struct baton_task *marked;
	struct baton__histogram waited;
};

/* Why the baton is on the shelf. */
enum baton__who_why {
	BATON__SUSPENDED,
	BATON__DETACHED_TASK, /* the task that holds has detached itself */
	BATON__READERS,       /* readers are at work */
};

/* The thread that has suspended a resource, and the task in which it has done so (module/who.h). */
struct baton__who {
	uint32_t thread;      /* the kernel's id; 0: not known */
	uint32_t why;         /* an enum baton__who_why */
	uintptr_t function;   /* 0: in no task, or not known */
	const void *resource; /* an address of the program; NULL: in no task */
};

struct baton__gauge {
	uint64_t lanes; /* of the resource; 0: the resource has none, and `lane` is unused */
	struct baton__times *times; /* valid in the program alone, not in a reader */
	/* The holder's words. Of the last suspension, which may be over. */
	struct baton__who shelved;
	struct baton__who paused; /* the lower lanes */
	/* How many readers are at work (module/reader.c); each reader counts itself. */
	uint64_t readers;
};

/* The times of a resource lie apart, so that the lines of many resources lie together. */
struct baton__times {
	struct baton__histogram waited;
	struct baton__histogram ran;
	struct baton__gauge_lane lane[BATON__GAUGE_LANES];
};

/* What a lane shows. */
struct baton__lane_queue {
	uint64_t waiting;
	uint64_t oldest_ns; /* since when its oldest task waits; 0: none waits, or not known */
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

/*
 * Count the tasks of a chain, oldest first, for their lanes. pushed: they are about to be pushed;
 * unpushed: they are not accepted after all. Called by the submitter.
 */
void baton__gauge_pushed(struct baton__gauge *gauge, const struct baton_task *first,
                         uint32_t count);
void baton__gauge_unpushed(struct baton__gauge *gauge, const struct baton_task *first,
                           uint32_t count);

/*
 * captured: the task has captured the resource, and was not counted as pushed. left: the task
 * leaves the queue. unlinked: the task leaves the queue next, although older tasks wait. Called by
 * the holder.
 */
void baton__gauge_captured(struct baton__gauge *gauge, const struct baton_task *task);
void baton__gauge_left(struct baton__gauge *gauge, const struct baton_task *task);
void baton__gauge_unlinked(struct baton__gauge *gauge, const struct baton_task *task);

/* Any thread or process; the counts may change meanwhile. */
void baton__gauge_lane_read(const struct baton__gauge_lane *lane, struct baton__lane_queue *queue);

/* A task that was marked at `marked_ns` leaves the queue. */
void baton__gauge_waited(struct baton__gauge *gauge, uint64_t marked_ns);

/*
 * The rare parts of enter and leave. begin: a task is about to be entered, whose time may have to
 * be taken. end: a task whose time was taken has ended. `first`: the task is the first of
 * BATON__GAUGE_EVERY, and its time goes into the histogram. The times of other tasks are taken for
 * a trace alone, to spare the histogram's cache lines.
 */
void baton__gauge_begin(struct baton_resource_stats *stats, bool first);
void baton__gauge_end(struct baton_resource_stats *stats, bool first);

/*
 * enter: the function is about to be entered. leave: the function has returned. `before`: how many
 * runs of the same sort (idle runs, or all others) have ended before. The statistics have a gauge.
 * Both called by the holder.
 */
BATON_INLINE void baton__gauge_enter(struct baton_resource_stats *stats, uintptr_t function,
                                     uint64_t before)
{
	const bool first = before % BATON__GAUGE_EVERY == 0;

	if (BATON_UNLIKELY(first) || baton__trace_is_on())
		baton__gauge_begin(stats, first);
	store_relaxed(&stats->_thread, baton__self->tid);
	store_relaxed(&stats->_function, function);
}

BATON_INLINE void baton__gauge_leave(struct baton_resource_stats *stats, uint64_t before)
{
	if (BATON_UNLIKELY(load_relaxed(&stats->_began_ns) != 0))
		baton__gauge_end(stats, before % BATON__GAUGE_EVERY == 0);
	store_relaxed(&stats->_function, 0);
}

/*
 * How many tasks and calls have been entered. Called by any thread or process; a hint while tasks
 * run. The holder clears `_function` before it counts the run: no run shows twice.
 */
BATON_INLINE uint64_t baton__gauge_entered(const struct baton_resource_stats *stats)
{
	return load_relaxed(&stats->executed) + load_relaxed(&stats->_idle_runs) / 2 +
	       (load_relaxed(&stats->_function) != 0);
}

/* Writes an event of the resource, which has a gauge, while a trace is on. `task`: the task pushed
 * or entered; `more`: the change of the queue's length, not counted yet. */
void baton__gauge_trace(const struct baton_resource_stats *stats, enum baton__event_kind kind,
                        const void *task, int64_t more);

#endif
