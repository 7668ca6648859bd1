/* SPDX-License-Identifier: MIT */
/* Histograms of times, and what a resource does now. See gauge.h. */
#include "core/gauge.h"

#include "base/count.h"
#include "base/futex.h"
#include "core/label.h"

/* From 2^FIRST_POWER on, each doubling has BATON__HISTOGRAM_PART buckets. */
#define FIRST_POWER 3U

size_t baton__histogram_bucket(uint64_t ns)
{
	unsigned power;
	size_t bucket;

	if (ns < BATON__HISTOGRAM_PART)
		return (size_t)ns;
	power = 63U - (unsigned)__builtin_clzll(ns);
	bucket = (power - FIRST_POWER + 1) * BATON__HISTOGRAM_PART +
	         ((ns >> (power - FIRST_POWER)) & (BATON__HISTOGRAM_PART - 1));
	return bucket < BATON__HISTOGRAM_BUCKETS ? bucket : BATON__HISTOGRAM_BUCKETS - 1;
}

uint64_t baton__histogram_lowest(size_t bucket)
{
	const size_t row = bucket / BATON__HISTOGRAM_PART;

	if (row == 0)
		return bucket;
	return (uint64_t)(BATON__HISTOGRAM_PART + bucket % BATON__HISTOGRAM_PART) << (row - 1);
}

void baton__histogram_record(struct baton__histogram *histogram, uint64_t ns)
{
	/* Relaxed, here and below: only the holder writes, and the baton orders holders. */
	baton__count(&histogram->counts[baton__histogram_bucket(ns)], 1);
	if (ns > load_relaxed(&histogram->max_ns))
		store_relaxed(&histogram->max_ns, ns);
}

uint64_t baton__histogram_quantile(const struct baton__histogram *histogram, unsigned part)
{
	const uint64_t max = load_relaxed(&histogram->max_ns);
	uint64_t all = 0, below = 0, middle;
	size_t bucket;

	for (bucket = 0; bucket < BATON__HISTOGRAM_BUCKETS; bucket++)
		all += load_relaxed(&histogram->counts[bucket]);
	/* If no time was recorded, this loop finds no bucket, and the longest time is 0. */
	for (bucket = 0; bucket < BATON__HISTOGRAM_BUCKETS - 1; bucket++) {
		below += load_relaxed(&histogram->counts[bucket]);
		/* No overflow while the counts are below 2^54. */
		if (below * 1000 >= all * part && below)
			break;
	}
	if (bucket == BATON__HISTOGRAM_BUCKETS - 1)
		return max;
	middle = (baton__histogram_lowest(bucket) + baton__histogram_lowest(bucket + 1)) / 2;
	return middle < max ? middle : max;
}

void baton__gauge_waited(struct baton__gauge *gauge, uint64_t marked_ns)
{
	const uint64_t now = baton__now_ns();

	baton__histogram_record(&gauge->times->waited, now > marked_ns ? now - marked_ns : 0);
}

/* The lane for which a task counts. Only for a resource with lanes. */
static struct baton__gauge_lane *lane_of(struct baton__gauge *gauge, const struct baton_task *task)
{
	const struct baton_stamp *stamp = baton__stamp(task);
	const uint64_t lane = stamp ? stamp->_lane : 0;
	const uint64_t shown =
		gauge->lanes < BATON__GAUGE_LANES ? gauge->lanes : BATON__GAUGE_LANES;

	return &gauge->times->lane[lane < shown ? lane : shown - 1];
}

void baton__gauge_pushed(struct baton__gauge *gauge, const struct baton_task *first, uint32_t count)
{
	for (; gauge->lanes && count; count--, first = first->_next) {
		struct baton__gauge_lane *lane = lane_of(gauge, first);
		uint64_t none = 0;

		/* Relaxed: only counted. */
		(void)add_relaxed(&lane->pushed, 1);
		/* [gauge.slot] acquire: `marked` has been cleared; pairs with [gauge.slot] in
		 * unmark_lane. Relaxed goes unnoticed: as in unmark_lane. */
		if (load_relaxed(&lane->marked_ns) == 0 &&
		    cas_acquire(&lane->marked_ns, &none, baton__now_ns() | 1))
			/* Relaxed: the push publishes `marked` to the holder. */
			store_relaxed(&lane->marked, first);
	}
}

static void unmark_lane(struct baton__gauge_lane *lane)
{
	store_relaxed(&lane->marked, NULL);
	/* [gauge.slot] release: `marked`; pairs with [gauge.slot] in baton__gauge_pushed. Relaxed
	 * goes unnoticed: this NULL could come after the next mark, and the explorer's modification
	 * order is that of execution. */
	store_release(&lane->marked_ns, 0);
}

void baton__gauge_unpushed(struct baton__gauge *gauge, const struct baton_task *first,
                           uint32_t count)
{
	for (; gauge->lanes && count; count--, first = first->_next) {
		struct baton__gauge_lane *lane = lane_of(gauge, first);

		/* Relaxed: no other thread marks this task, which is in no queue. */
		if (load_relaxed(&lane->marked) == first)
			unmark_lane(lane);
		(void)sub_relaxed(&lane->pushed, 1);
	}
}

void baton__gauge_captured(struct baton__gauge *gauge, const struct baton_task *task)
{
	if (gauge->lanes)
		baton__count(&lane_of(gauge, task)->captured, 1);
}

/* Records a marked task that leaves. `oldest`: no older task waits. */
static void record_marked(struct baton__gauge_lane *lane, bool oldest)
{
	const uint64_t marked_ns = load_relaxed(&lane->marked_ns);
	const uint64_t now = baton__now_ns();

	baton__histogram_record(&lane->waited, now > marked_ns ? now - marked_ns : 0);
	if (oldest || !load_relaxed(&lane->passed_ns))
		store_relaxed(&lane->passed_ns, marked_ns);
	unmark_lane(lane);
}

void baton__gauge_unlinked(struct baton__gauge *gauge, const struct baton_task *task)
{
	/* Relaxed: if this task is marked, its push has published the mark. */
	if (gauge->lanes && load_relaxed(&lane_of(gauge, task)->marked) == task)
		record_marked(lane_of(gauge, task), false);
}

void baton__gauge_left(struct baton__gauge *gauge, const struct baton_task *task)
{
	struct baton__gauge_lane *lane;
	uint64_t left;

	if (!gauge->lanes)
		return;
	lane = lane_of(gauge, task);
	left = load_relaxed(&lane->left) + 1;
	if (load_relaxed(&lane->marked) == task)
		record_marked(lane, true);
	store_relaxed(&lane->left, left);
	/* A submitter that pushes just now may have found the old mark. Then the lane has no time
	 * until its next push (baton__gauge_lane_read). */
	if (load_relaxed(&lane->passed_ns) &&
	    load_relaxed(&lane->pushed) + load_relaxed(&lane->captured) == left)
		store_relaxed(&lane->passed_ns, 0);
}

void baton__gauge_lane_read(const struct baton__gauge_lane *lane, struct baton__lane_queue *queue)
{
	const uint64_t left = load_relaxed(&lane->left);
	const uint64_t all = load_relaxed(&lane->pushed) + load_relaxed(&lane->captured);
	const uint64_t passed_ns = load_relaxed(&lane->passed_ns);

	queue->waiting = all > left ? all - left : 0;
	queue->oldest_ns = !queue->waiting ? 0
	                   : passed_ns     ? passed_ns
	                                   : load_relaxed(&lane->marked_ns);
}

void baton__gauge_begin(struct baton_resource_stats *stats, bool first)
{
	const bool traced = baton__trace_is_on() && baton__trace_run_begins();

	if (first || traced)
		store_relaxed(&stats->_began_ns, baton__now_ns());
}

void baton__gauge_end(struct baton_resource_stats *stats, bool first)
{
	const uint64_t began = load_relaxed(&stats->_began_ns);
	const uint64_t ns = baton__now_ns() - began;

	store_relaxed(&stats->_began_ns, 0);
	if (first)
		baton__histogram_record(&stats->_gauge->times->ran, ns);
	if (baton__trace_is_on())
		baton__trace_run(&(struct baton__event){began, (uintptr_t)stats->_gauge,
		                                        load_relaxed(&stats->_function),
		                                        baton__event_word(BATON__EVENT_RAN, ns)},
		                 ns);
}

void baton__gauge_trace(const struct baton_resource_stats *stats, enum baton__event_kind kind,
                        const void *task, int64_t more)
{
	int64_t length;

	if (!baton__trace_is_on())
		return;
	/* Relaxed: the counts need not be of one moment. */
	length = (int64_t)(load_relaxed(&stats->submitted) + load_relaxed(&stats->_pushed) -
	                   load_relaxed(&stats->_left)) +
	         more;
	baton__trace(
		&(struct baton__event){baton__now_ns(), (uintptr_t)stats->_gauge, (uintptr_t)task,
	                               baton__event_word(kind, length > 0 ? (uint64_t)length : 0)});
}
