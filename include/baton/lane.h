/* SPDX-License-Identifier: MIT */
/*
 * Lanes: priority levels inside one resource. Its runner always takes the oldest task of the
 * highest lane that has one, looking for what has arrived before each task: an acknowledgement
 * that is submitted behind 100,000 queued publishes runs after the one that is running.
 *
 * Within a lane tasks run in the order of their submits (a batch's too); so law L2 holds per lane.
 * A task without a label is in lane 0, the highest. Tasks of every sort may have a label; see
 * baton/labelled.h. The inbox stays one word: only the runner sorts, and a submit costs what it
 * did.
 *
 * baton_resource_await waits for what was accepted before it, in whatever lane: if the lower lanes
 * starve (no aging), so does it. When several wait, it may wait for some later tasks, too: those
 * that were accepted before the awaits in front of it ended. cancel_pending cancels all that was
 * accepted before it; a finaliser comes after everything.
 *
 * Source: multi-level queues with aging, as in operating systems' schedulers.
 */
#ifndef BATON_LANE_H
#define BATON_LANE_H

#include <stddef.h>
#include <stdint.h>

#include <baton/labelled.h>
#include <baton/task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One lane's list: the runner's alone. */
struct baton_lane {
	struct baton_task *_head;
	struct baton_task *_tail;
	uint64_t _served;   /* when it last had its turn, or got its first task: in turns */
	uint64_t _since_ns; /* the same in time; only with aging_ns */
	size_t _count;
	size_t _older; /* of these, accepted before the marks that wait */
};

/*
 * Embeddable; the lanes themselves are an array of the caller's. Given to one resource by
 * baton_resource_extend, and to live as long as that.
 */
struct baton_lanes {
	struct baton_lane *_lanes;
	uint32_t _count;
	uint32_t _aging_turns;
	uint64_t _aging_ns;
	uint64_t _turns;
	struct baton_task *_unsorted; /* accepted with the capture, and not looked at yet */
	struct baton_task *_marks;    /* wait for _older tasks */
	struct baton_task *_marks_later;
	struct baton_task *_marks_last; /* of _marks_later */
	struct baton_task *_picked;     /* and how things were before, lest it be put back */
	uint64_t _picked_served;
	uint64_t _picked_since_ns;
	size_t _older;
	uint32_t _busy; /* bit n: lane n has tasks */
	uint32_t _epoch;
	uint8_t _picked_lane;
	bool _picked_older;
	bool _picked_aged;
	bool _aged; /* the last turn was out of order */
	bool _indexed;
};

/*
 * `lanes`: an array of `count` zeroed struct baton_lane, 1 to BATON_LANES_MAX; 0 is the highest.
 *
 * Aging, so that nothing starves: a lane that was passed over aging_turns times since it last had a
 * turn (or got its first task), or has had none for aging_ns nanoseconds, gets one; but at most
 * every other turn is given so. 0: not by that. aging_ns costs a clock reading per task while
 * several lanes have work.
 */
#define BATON_LANES_INIT(lanes, count, aging_turns, aging_ns)                                      \
	{                                                                                          \
		(lanes), (count), (aging_turns), (aging_ns), 0, NULL, NULL, NULL, NULL, NULL, 0,   \
			0, 0, 0, 0, 0, false, false, false, false                                  \
	}

/* The same at run time; zeroes the array. */
void baton_lanes_init(struct baton_lanes *lanes, struct baton_lane *array, uint32_t count,
                      uint32_t aging_turns, uint64_t aging_ns);

/*
 * How many tasks wait in the lane, of those that the runner has sorted: what has arrived since its
 * last look is not among them. Some recent value. 0 for a lane that there is not.
 *
 * Thread safety: any thread. Blocking: never.
 */
size_t baton_lanes_waiting(const struct baton_lanes *lanes, unsigned lane);

#ifdef __cplusplus
}
#endif

#endif
