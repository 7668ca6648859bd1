/* SPDX-License-Identifier: MIT */
/*
 * Lanes are priority levels inside one resource. Before each task the runner looks at what has
 * arrived, and takes the oldest task of the highest lane that has a task. So an acknowledgement
 * that is submitted behind 100,000 queued publishes runs after the task that is running.
 *
 * Experimental: may change without a table in CHANGES until a program from a real need uses it.
 *
 *	static struct baton_lane array[2];
 *
 *	static const struct baton_lanes_config aging = {.aging_turns = 100};
 *
 *	baton_lanes_init(&session->lanes, array, 2, &aging);
 *	baton_resource_set_lanes(&session->resource, &session->lanes);
 *
 *	baton_task_init_of(&publish->task, &publish_type);
 *	baton_stamp_set_lane(&publish->stamp, 1);
 *	error = baton_submit(&session->resource, &publish->task);
 *
 * A task gets its lane from its label (baton/label.h). Tasks of every sort may have a label. A
 * task without a label is in lane 0, the highest.
 *
 * Within a lane tasks run in the order of their submits; the tasks of a batch too. So law L2
 * (order) holds for each lane. The inbox stays one word: only the runner sorts, and a submit to a
 * resource with lanes costs no additional atomic operation.
 *
 *                              | may run beside          | from
 *   waiting                    | everything but the rest | any thread
 *   init, and the initialiser; | nothing                 | the owner
 *   set_lanes                  |                         |
 *
 * Corner cases. Await, cancel_pending and a finaliser know no lanes. baton_resource_await() waits
 * for the tasks that were accepted before the await, in whatever lane: if a lower lane starves (no
 * aging), the await does not return. If several awaits are under way, an await may also wait for
 * some later tasks: for tasks that were accepted before an earlier await ended. cancel_pending
 * cancels everything that was accepted before the call. A finaliser comes after everything.
 *
 * Source: multi-level queues with aging, as in operating systems' schedulers.
 */
#ifndef BATON_LANE_H
#define BATON_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/label.h>
#include <baton/resource.h>
#include <baton/task.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_bound;
struct baton_lanes;

/*
 * Settings that many resources' lanes share. Must outlive the lanes and not change. For growth see
 * resource.h.
 *
 * Aging, so that no lane starves: a lane gets a turn when it was passed over `aging_turns` times
 * since its last turn (or its first task), or has had no turn for `aging_ns` nanoseconds. At most
 * every other turn is given by aging. 0: no aging by that member. With `aging_ns` the runner reads
 * the clock for each task while several lanes have tasks.
 */
struct baton_lanes_config {
	uint32_t aging_turns;
	uint64_t aging_ns;
	uint64_t _reserved[4];
};

#define BATON_LANES_CONFIG_INIT                                                                    \
	{                                                                                          \
		0, 0,                                                                              \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

/* What the lanes and the bound of one resource share. */
struct baton__extension {
	struct baton__extension_head _head;
	struct baton_lanes *_lanes;
	struct baton_bound *_bound;
};

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
 * A resource's lanes. Embeddable; the lanes themselves are an array in the caller's memory. One
 * struct serves one resource.
 */
struct baton_lanes {
	struct baton__extension _extension;
	struct baton_lane *_lanes;
	const struct baton_lanes_config *_config;
	uint64_t _turns;
	struct baton_task *_unsorted; /* accepted with the capture, and not looked at yet */
	struct baton_task *_marks;    /* wait for _older tasks */
	struct baton_task *_marks_later;
	struct baton_task *_marks_last; /* of _marks_later */
	/* tasks that a window admits, before all tasks in the lanes: of lane 0, of lower lanes */
	struct baton_task *_admitted[2];
	struct baton_task *_admitted_last[2];
	/* the picked task; and values from before the pick, in case the task is put back */
	struct baton_task *_picked;
	uint64_t _picked_served;
	uint64_t _picked_since_ns;
	size_t _older;
	uint32_t _count;
	uint32_t _busy; /* bit n: lane n has tasks */
	uint32_t _epoch;
	uint32_t _paused; /* suspensions of the lower lanes that are in effect */
	uint8_t _picked_lane;
	bool _picked_older;
	bool _picked_aged;
	bool _aged; /* the last turn was out of order */
	bool _indexed;
};

/*
 * `lanes`: an array of `count` zeroed struct baton_lane, 1 to BATON_LANES_MAX. Lane 0 is the
 * highest. `config`: NULL: no aging.
 */
#define BATON_LANES_INIT(lanes, count, config)                                                     \
	{                                                                                          \
		{{NULL, NULL, NULL}, NULL, NULL}, (lanes), (config), 0, NULL, NULL, NULL, NULL,    \
			{NULL, NULL}, {NULL, NULL}, NULL, 0, 0, 0, (count), 0, 0, 0, 0, false,     \
			false, false, false                                                        \
	}

/* The same at run time; zeroes the array. Thread safety: the owner, before set_lanes. */
void baton_lanes_init(struct baton_lanes *lanes, struct baton_lane *array, uint32_t count,
                      const struct baton_lanes_config *config) BATON_NONNULL_AT(1, 2);

/*
 * Gives the resource lanes. To be called once, between the resource's initialiser and its first
 * submit; before or after baton_resource_set_stats() and baton_resource_set_bound().
 *
 * A resource with lanes takes the same longer way through submit as a resource with statistics: the
 * same atomic operations, some more loads and branches.
 *
 * Thread safety: the owner, before any other thread sees the resource.
 * Ownership: `lanes` and its array must live as long as the resource.
 * Errors: none. Asserts that the resource is open and idle and has no lanes, and that `lanes` is
 * initialised.
 */
void baton_resource_set_lanes(struct baton_resource *resource,
                              struct baton_lanes *lanes) BATON_NONNULL;

/*
 * How many tasks of the lane the runner has sorted, and not yet entered. Tasks that have arrived
 * since the runner's last look are not counted. The value is a recent one. 0 for a lane that the
 * resource does not have.
 *
 * Thread safety: any thread. Blocking: never.
 */
size_t baton_lanes_waiting(const struct baton_lanes *lanes, unsigned lane) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
