/* SPDX-License-Identifier: MIT */
/*
 * Counts of a resource's past and waiting tasks. One struct serves one resource, in the caller's
 * memory, zeroed. Read a copy made by baton_resource_stats_read(): only the copy's counts are
 * whole. When the resource is idle, and no task waits in a window, the counts are balanced:
 * submitted = executed + cancelled, outstanding and waiting 0.
 *
 * Cost: the runner counts without atomic read-modify-writes; a submit that finds the resource busy
 * pays one more atomic operation, or two if no waiting task is marked with its time.
 */
#ifndef BATON_STATS_H
#define BATON_STATS_H

#include <stdint.h>

#include <baton/attributes.h>
#include <baton/resource.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The counters of one resource. The caller's memory, which must outlive the resource. */
struct baton_resource_stats {
	/* All that is touched for a task on an idle resource: on a board, one cache line. */
	const struct baton_resource_config *_config; /* the resource's */
	struct baton__gauge *_gauge;                 /* set by a board, see board.h; or NULL */
	uint64_t _idle_runs;
	uint64_t _passed_ns;
	uintptr_t _function; /* this one and the next two: only with a gauge */
	uint64_t _thread;
	uint64_t _began_ns;
	uint64_t _unused;
	/* On a board the runner's cache line. */
	uint64_t submitted;   /* tasks accepted; a task whose submit is under way may count */
	uint64_t executed;    /* of these, run to the end of their function */
	uint64_t cancelled;   /* of these, never to run; also those that a bound has dropped */
	uint64_t captures;    /* submits that found the resource idle, and ran tasks */
	uint64_t failed;      /* executed tasks that returned a status, or whose batch_end did */
	uint64_t handoffs;    /* times the resource was given to its executor */
	uint64_t backlog_max; /* most tasks that a runner has found, or that wait now */
	uint64_t _left;
	uint64_t helped;      /* times a waiter or submitter took the queued baton */
	uint64_t refused;     /* hand-offs that the executor refused: the runner went on */
	uint64_t outstanding; /* submitted tasks that are not executed nor cancelled yet */
	uint64_t waiting;     /* of these, not begun: in the inbox, a lane or a window */
	/*
	 * The time (CLOCK_MONOTONIC) since which the oldest waiting task waits. 0: no task waits.
	 * The value is the time of the task's submit, or earlier, by at most the time that a task
	 * before it took through the queue. It is earlier by more when the task that had stored the
	 * time of its submit was cancelled by its future. Where tasks overtake each other (lanes,
	 * windows) the oldest task may have waited for longer. Also 0 (not known) when the submit
	 * that had stored the time was refused, because of a concurrent close.
	 */
	uint64_t oldest_ns;
	/* Submitters' words, on another cache line than most of the runner's. */
	uint64_t _pushed;
	uint64_t _marked_ns;
	const struct baton_task *_marked;
	uint64_t _dropped;
};

/*
 * Gives the resource statistics. To be called once, between the resource's initialiser and its
 * first submit.
 *
 * Thread safety: the owner, before any other thread sees the resource.
 * Ownership: `stats` is zeroed, and must live as long as the resource.
 * Errors: none. Asserts that the resource is open and idle, and has no statistics.
 */
void baton_resource_set_stats(struct baton_resource *resource,
                              struct baton_resource_stats *stats) BATON_NONNULL;

/*
 * Copies the counters, each read atomically. `waiting` is a number that was right at one moment of
 * the call, unless tasks go on leaving the queue: then `waiting` is too large by some of these.
 *
 * Thread safety: any thread, at any time. Blocking: never.
 */
void baton_resource_stats_read(const struct baton_resource_stats *stats,
                               struct baton_resource_stats *copy) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
