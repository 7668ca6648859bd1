/* SPDX-License-Identifier: MIT */
/* Counts a resource's statistics, and reads them. See stats.h. */
#include "core/stats.h"

#include "base/atomic.h"
#include "base/futex.h"
#include "core/gauge.h"

/* The most looks of a reader while tasks leave the queue. */
#define LOOKS 16

/* The time for a mark; never 0, which means that no task is marked. */
static uint64_t stamp(void)
{
	return baton__now_ns() | 1;
}

void baton__stats_pushed(struct baton_resource *resource, const struct baton_task *first,
                         uint32_t count)
{
	struct baton_resource_stats *stats = baton__stats(resource);
	uint64_t none = 0;

	if (!stats)
		return;
	if (stats->_gauge) {
		baton__gauge_trace(stats, BATON__EVENT_PUSHED, first, count);
		baton__gauge_pushed(stats->_gauge, first, count);
	}
	/* [stats.mark] seq_cst: before the look for a mark; pairs with [stats.mark] in unmark_task.
	 * With weaker orders neither side might see the other, and the tasks that wait would have
	 * no time. */
	(void)add_seq_cst(&stats->_pushed, count);
	/* [stats.slot] acquire: `_marked` has been cleared; pairs with [stats.slot] in
	 * unmark_task */
	if (load_seq_cst(&stats->_marked_ns) == 0 &&
	    /* Relaxed goes unnoticed: the load has acquired the end of the last mark, unless
	     * another mark has come and gone in between; and the explorer's modification order is
	     * that of execution. */
	    cas_acquire(&stats->_marked_ns, &none, stamp()))
		/* Relaxed: the push publishes `_marked` to the holder. */
		store_relaxed(&stats->_marked, first);
}

static bool any_waits(struct baton_resource_stats *stats, uint64_t left)
{
	/* [stats.mark] seq_cst: after the mark was taken away; pairs with [stats.mark] in
	 * baton__stats_pushed */
	return load_seq_cst(&stats->_pushed) + load_relaxed(&stats->submitted) != left;
}

/* Takes the mark away: the marked task leaves, or was not accepted. */
static void unmark_task(struct baton_resource_stats *stats)
{
	store_relaxed(&stats->_marked, NULL);
	/* [stats.slot] release: `_marked` and `_passed_ns`; pairs with [stats.slot] in
	 * baton__stats_pushed and in oldest. [stats.mark] seq_cst: before the look for tasks that
	 * wait; pairs with [stats.mark] in baton__stats_pushed */
	store_seq_cst(&stats->_marked_ns, 0);
}

void baton__stats_unpushed(struct baton_resource *resource, const struct baton_task *first,
                           uint32_t count)
{
	struct baton_resource_stats *stats = baton__stats(resource);

	if (!stats)
		return;
	if (stats->_gauge)
		baton__gauge_unpushed(stats->_gauge, first, count);
	/* Relaxed: only compared; no other thread marks this task, which is in no queue. */
	if (load_relaxed(&stats->_marked) == first)
		unmark_task(stats);
	/* Relaxed: nothing was published under this count. */
	(void)sub_relaxed(&stats->_pushed, count);
}

void baton__stats_left_last(struct baton_resource_stats *stats, uint64_t left)
{
	/* A submitter that pushes from here on finds no mark, or the mark of a task that waits. */
	const bool last = !any_waits(stats, left);

	/* [stats.left] release: the task was counted as submitted; pairs with [stats.left] in
	 * read_queue */
	store_release(&stats->_left, left);
	/* [stats.passed] release: `_left`; pairs with [stats.passed] in oldest */
	if (last)
		store_release(&stats->_passed_ns, 0);
}

BATON_NOINLINE void baton__stats_enter(struct baton_resource_stats *stats, uintptr_t function)
{
	if (load_relaxed(&stats->_passed_ns))
		baton__stats_left_last(stats, load_relaxed(&stats->_left));
	if (stats->_gauge)
		baton__gauge_enter(stats, function, load_relaxed(&stats->_idle_runs) / 2);
}

void baton__stats_beside(struct baton_resource *resource)
{
	struct baton_resource_stats *stats = baton__stats(resource);

	if (!stats)
		return;
	/* Relaxed: only counted. */
	(void)add_relaxed(&stats->submitted, 1);
	/* [stats.left] release: the task was counted as submitted; pairs with [stats.left] in
	 * read_queue. Release is enough: atomic.h has no such addition. */
	(void)add_seq_cst(&stats->_left, 1);
}

void baton__stats_dropped(struct baton_resource *resource, uint32_t count)
{
	struct baton_resource_stats *stats = baton__stats(resource);

	/* Relaxed: only counted. */
	if (stats)
		(void)add_relaxed(&stats->_dropped, count);
}

void baton__stats_unlinked(struct baton_resource *resource, const struct baton_task *task)
{
	struct baton_resource_stats *stats = baton__stats(resource);

	if (!stats)
		return;
	if (stats->_gauge)
		baton__gauge_unlinked(stats->_gauge, task);
	/* Relaxed: as in baton__stats_left. */
	if (load_relaxed(&stats->_marked) != task)
		return;
	if (!load_relaxed(&stats->_passed_ns))
		store_relaxed(&stats->_passed_ns, load_relaxed(&stats->_marked_ns));
	unmark_task(stats);
}

void baton__stats_left(struct baton_resource *resource, const struct baton_task *task)
{
	struct baton_resource_stats *stats = baton__stats(resource);

	if (!stats)
		return;
	if (stats->_gauge) {
		baton__gauge_trace(stats, BATON__EVENT_ENTERED, task, -1);
		baton__gauge_left(stats->_gauge, task);
	}
	/* Relaxed: if this task is marked, its push has published the mark. */
	if (load_relaxed(&stats->_marked) == task) {
		if (stats->_gauge)
			baton__gauge_waited(stats->_gauge, load_relaxed(&stats->_marked_ns));
		store_relaxed(&stats->_passed_ns, load_relaxed(&stats->_marked_ns));
		unmark_task(stats);
	}
	baton__stats_count_left(stats);
}

void baton__stats_captured(struct baton_resource *resource, const struct baton_task *task)
{
	struct baton_resource_stats *stats = baton__stats(resource);

	if (!stats)
		return;
	baton__count(&stats->submitted, task ? 1 : 0);
	baton__count(&stats->captures, 1);
	if (task && stats->_gauge)
		baton__gauge_captured(stats->_gauge, task);
}

/*
 * The time since which the oldest waiting task waits; 0: no task waits, or the time is not known.
 */
static uint64_t oldest(const struct baton_resource_stats *stats)
{
	/* [stats.slot] acquire: `_passed_ns`, if the mark has just been taken away; pairs with
	 * [stats.slot] in unmark_task */
	uint64_t marked = load_acquire(&stats->_marked_ns);
	/* [stats.passed] acquire: if no task waits any more, the caller sees that in `_left`; pairs
	 * with [stats.passed] in baton__stats_left_last */
	uint64_t passed = load_acquire(&stats->_passed_ns);

	return passed ? passed : marked;
}

/*
 * Reads the number of waiting tasks as it was at one moment. If tasks leave during every look, the
 * number may be too large, never too small.
 */
static void read_queue(const struct baton_resource_stats *stats, struct baton_resource_stats *copy)
{
	uint64_t left;
	int looks = 0;

	do {
		/* [stats.left] acquire: what has left was counted as submitted; pairs with
		 * [stats.left] in baton__stats_count_left */
		left = load_acquire(&stats->_left);
		copy->submitted = load_relaxed(&stats->submitted) + load_relaxed(&stats->_pushed);
		copy->oldest_ns = oldest(stats);
		/* Relaxed: the times were loaded with acquire. */
	} while (load_relaxed(&stats->_left) != left && ++looks < LOOKS);
	copy->waiting = copy->submitted - left;
	if (copy->waiting == 0)
		copy->oldest_ns = 0;
}

BATON_EXPORT void baton_resource_stats_read(const struct baton_resource_stats *stats,
                                            struct baton_resource_stats *copy)
{
	const uint64_t dropped = load_relaxed(&stats->_dropped);
	/* Relaxed, here and below: as baton__count. */
	const uint64_t runs = load_relaxed(&stats->_idle_runs);
	uint64_t over;

	*copy = (struct baton_resource_stats){
		.executed = load_relaxed(&stats->executed) + runs / 2,
		.failed = load_relaxed(&stats->failed),
		.cancelled = load_relaxed(&stats->cancelled) + dropped,
		.captures = load_relaxed(&stats->captures) + runs / 2 + runs % 2,
		.handoffs = load_relaxed(&stats->handoffs),
		.helped = load_relaxed(&stats->helped),
		.refused = load_relaxed(&stats->refused),
		.backlog_max = load_relaxed(&stats->backlog_max),
	};
	read_queue(stats, copy);
	copy->submitted += dropped + runs / 2 + runs % 2;
	/* Not one instant's values: `executed` and `cancelled` were read before `submitted`. */
	if (copy->backlog_max < copy->waiting)
		copy->backlog_max = copy->waiting;
	over = copy->executed + copy->cancelled;
	copy->outstanding = copy->submitted > over ? copy->submitted - over : 0;
}
