/* SPDX-License-Identifier: MIT */
/*
 * A resource's statistics: how many tasks the resource has accepted, how many of them wait, and
 * since when the oldest of them has waited. Called only for resources that have statistics or an
 * extension, which are SPECIAL.
 *
 * Holder and submitters count in different words. The holder counts the tasks of a submit that has
 * captured the resource (`submitted`), and the tasks that leave the queue (`_left`), by plain
 * stores. A submitter counts the tasks that it is about to push (`_pushed`), by one atomic
 * addition. A task that a bound drops at its submit is counted in `_dropped` alone, which a reader
 * adds to `submitted` and to `cancelled`.
 *
 * An idle run is a task or call that a short path runs as soon as it has captured the resource: it
 * is never in the queue. The holder counts it in `_idle_runs` alone, by one plain store when it
 * begins and by one when it ends. A reader adds the runs that have begun to `submitted` and to
 * `captures`, and those that have ended to `executed`.
 *
 * The time of the oldest: at most one task that waits is marked. A submitter that finds no mark
 * marks its first task with the time. `_passed_ns` is the time of the last marked task that has
 * left in its order. In a queue without overtaking all tasks that wait are younger than
 * `_passed_ns`. If a marked task is unlinked before the runner reaches it, `_passed_ns` is set only
 * if it was not set.
 *
 * _marked_ns is 0 while no task is marked, else the time of the mark:
 *   0 -> time   a submitter, which then stores its task in `_marked` and pushes that task
 *   time -> 0   the holder, when the marked task leaves; a submitter whose marked task is refused
 *
 * Invariants:
 * stats.order: A task is counted once in `submitted` or in `_pushed`, and after that once in
 *    `_left`. A submit that is not accepted takes its count back.
 * stats.idle: `_idle_runs` is odd while an idle run is under way. Half of `_idle_runs`, rounded
 *    down, is the number of idle runs that have ended. So a reader finds both numbers as of one
 *    moment. An idle run is in neither side of stats.order: the number of tasks that wait does not
 *    depend on it.
 * stats.marked: `_marked` belongs to the submitter from its CAS on _marked_ns to its push, and to
 *    the holder from that push until the holder sets _marked_ns to 0.
 * stats.mark_there: While tasks wait a task is marked, or `_passed_ns` is set. For this, a holder
 *    that takes the mark away and a submitter that has found a mark cannot miss each other
 *    ([stats.mark]). Exception: a submit that is refused takes its mark away, although other
 *    submits may have been accepted beside it.
 *
 * Progress: wait-free; a reader tries a bounded number of times.
 */
#ifndef BATON_SRC_STATS_H
#define BATON_SRC_STATS_H

#include <baton/stats.h>

#include "base/count.h"
#include "core/extras.h"
#include "core/gauge.h"
#include "core/resource.h"

/*
 * Counts a chain, oldest first, that is about to be pushed, or to be kept in the backlog. Called by
 * the submitter.
 */
void baton__stats_pushed(struct baton_resource *resource, const struct baton_task *first,
                         uint32_t count);

/* Takes back the count of a chain that was not accepted. Called by the submitter. */
void baton__stats_unpushed(struct baton_resource *resource, const struct baton_task *first,
                           uint32_t count);

/*
 * A submit has captured the resource. `task`: its only task, which is not counted as pushed. NULL:
 * all tasks of the submit are counted as pushed. Called by the holder.
 */
void baton__stats_captured(struct baton_resource *resource, const struct baton_task *task);

/*
 * As baton__stats_count_left, while `_passed_ns` is set: the last task to leave clears
 * `_passed_ns`. `left`: how many tasks have left by now.
 */
void baton__stats_left_last(struct baton_resource_stats *stats, uint64_t left);

/* Counts a task that no longer waits. Called by the holder. */
BATON_INLINE void baton__stats_count_left(struct baton_resource_stats *stats)
{
	const uint64_t left = load_relaxed(&stats->_left) + 1;

	if (BATON_UNLIKELY(load_relaxed(&stats->_passed_ns) != 0)) {
		baton__stats_left_last(stats, left);
		return;
	}
	/* [stats.left] release: the task was counted as submitted; pairs with [stats.left] in
	 * read_queue */
	store_release(&stats->_left, left);
}

/*
 * The rare part of baton__stats_entered. Tells the gauge. Clears `_passed_ns` if a submit that was
 * refused has left it behind.
 */
void baton__stats_enter(struct baton_resource_stats *stats, uintptr_t function);

/* entered: an idle run of `function` begins. executed: the idle run has ended. `stats` may be NULL.
 * Called by the holder. */
BATON_INLINE void baton__stats_entered(struct baton_resource_stats *stats, uintptr_t function)
{
	if (!stats)
		return;
	if (BATON_UNLIKELY(stats->_gauge != NULL) ||
	    BATON_UNLIKELY(load_relaxed(&stats->_passed_ns) != 0))
		baton__stats_enter(stats, function);
	baton__count(&stats->_idle_runs, 1);
}

BATON_INLINE void baton__stats_executed(struct baton_resource_stats *stats)
{
	if (!stats)
		return;
	if (BATON_UNLIKELY(stats->_gauge != NULL))
		baton__gauge_leave(stats, load_relaxed(&stats->_idle_runs) / 2);
	baton__count(&stats->_idle_runs, 1);
}

/*
 * The task that has been entered runs a function of the user's, which a board shows in place of the
 * task's own. Called by the holder.
 */
BATON_INLINE void baton__stats_show(const struct baton_resource *resource, uintptr_t function)
{
	struct baton_resource_stats *stats = baton__stats(resource);

	if (stats && stats->_gauge)
		store_relaxed(&stats->_function, function);
}

/* The function that a board shows; 0: none. Called by the holder. */
BATON_INLINE uintptr_t baton__stats_shown(const struct baton_resource *resource)
{
	const struct baton_resource_stats *stats = baton__stats(resource);

	return stats && stats->_gauge ? load_relaxed(&stats->_function) : 0;
}

/* Counts a task that is accepted, and runs beside tasks of the resource. Called by the submitter,
 * while no holder counts. */
void baton__stats_beside(struct baton_resource *resource);

/* Counts tasks that a bound drops at their submit. Called by the submitter. */
void baton__stats_dropped(struct baton_resource *resource, uint32_t count);

/* Counts a task that leaves the queue, to be entered or cancelled. Called by the holder. */
void baton__stats_left(struct baton_resource *resource, const struct baton_task *task);

/*
 * The task leaves the queue next, although older tasks wait: `_passed_ns` does not move on to the
 * time of this task. Called by the holder.
 */
void baton__stats_unlinked(struct baton_resource *resource, const struct baton_task *task);

#endif
