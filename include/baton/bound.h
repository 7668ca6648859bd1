/* SPDX-License-Identifier: MIT */
/*
 * A bound limits the tasks that wait in a resource: their number, their bytes (baton/labelled.h),
 * or both. Its policy says what becomes of a task beyond the limit. Only a submit to a bound whose
 * policy is WAIT may block.
 *
 * A task waits from its acceptance until it is entered. The running task does not wait, nor does a
 * task for which its submitter has captured the resource: it runs at once, and no bound refuses it.
 * A windowed task (window.h) is always counted until it is entered, also while it waits in its
 * window; a task in its window is not dropped as the oldest. A mark (await, close_then,
 * cancel_pending) is no task.
 *
 * A task without a label is a task of lane 0. A timer that does not repeat is lost when its run is
 * refused. Where such tasks must not be lost and the bound counts tasks, put the bulk into a lower
 * lane and exempt lane 0.
 *
 * Cost: a submit to a busy resource that has a bound makes one more atomic operation; the runner
 * makes none. A resource without a bound pays nothing.
 *
 * Source: bounded queues' policies as brokers and reactive streams have them (refuse, drop the
 * newest, drop the oldest); high and low watermarks as in Netty's channels.
 */
#ifndef BATON_BOUND_H
#define BATON_BOUND_H

#include <stdbool.h>
#include <stdint.h>

#include <baton/resource.h>

#ifdef __cplusplus
extern "C" {
#endif

enum baton_bound_policy {
	/* The submit (baton_call, too) returns -EAGAIN; the task is untouched. */
	BATON_BOUND_REFUSE,
	/*
	 * The submit returns 0, and the task has been completed as cancelled before it returns, on
	 * the submitter's thread and without the baton: its future is cancelled, or the config's
	 * `cancelled` called.
	 */
	BATON_BOUND_DROP_NEWEST,
	/*
	 * The task is accepted, and another task is dropped for it. OLDEST: the oldest task of the
	 * same lane (the new task itself, if there is no other). LOWEST: the oldest task of the
	 * lowest lane that has a task and is not exempt. The dropped task completes as cancelled
	 * under the baton, at the runner's next look between two tasks. Only the runner can unlink
	 * tasks: until its look the excess lies in the inbox, see tasks_hard. The resource must
	 * have lanes, at least one.
	 */
	BATON_BOUND_DROP_OLDEST,
	BATON_BOUND_DROP_LOWEST,
	/*
	 * The submitter waits for room, for at most wait_ns. It waits until the tasks accepted
	 * before have run, and helps to run them, as a waiter for a future does. If other
	 * submitters have taken the room meanwhile, the submitter waits again. The submit then
	 * returns 0, or, with the task untouched: -ETIMEDOUT;
	 * -EDEADLK, where the wait could never end (from a task of this resource, or where it would
	 * close a cycle of waits); -EPIPE, if the resource was closed meanwhile; -ENOMEM; -EAGAIN,
	 * for a batch that is larger than the limit. The order of submitters that wait is open.
	 *
	 * The library's own submits (runs of timers and triggers, items of fan-outs, continuations)
	 * never wait: they are refused as by REFUSE.
	 */
	BATON_BOUND_WAIT,
};

#define BATON_BOUND_TASKS_MAX ((uint32_t)1 << 23)
#define BATON_BOUND_BYTES_MAX ((uint64_t)1 << 39)

/* Shared by many; must outlive them and not change. */
struct baton_bound_config {
	/* How many tasks and bytes may wait, at most the constants above. 0: those constants. A
	 * batch larger than the limit never fits. */
	uint32_t tasks_max;
	/* DROP_OLDEST and DROP_LOWEST: beyond this the submit is refused with -EAGAIN after all, as
	 * the runner does not come to look. 0: the constants above. */
	uint32_t tasks_hard;
	uint64_t bytes_max;
	uint64_t bytes_hard;
	enum baton_bound_policy policy;
	/* Bit n: tasks of lane n are neither counted nor refused nor dropped. Lane n is the lane in
	 * the resource; in a resource without lanes, the lane that the task was given. */
	uint32_t exempt;
	/*
	 * Watermarks: `high` is called when at least tasks_high tasks, or bytes_high bytes, wait;
	 * then `low`, when at most tasks_low and bytes_low do; then high again: strictly in turn.
	 * The runner calls them under the baton, on its own thread, at its looks between two tasks:
	 * not during a long task, and not for a crossing that is undone before the next look. They
	 * may submit. They must not wait for tasks of this resource. tasks_high, bytes_high: above
	 * tasks_low, bytes_low; 0: no such watermark. Either function may be NULL.
	 */
	uint32_t tasks_high;
	uint32_t tasks_low;
	uint64_t bytes_high;
	uint64_t bytes_low;
	void (*high)(struct baton_resource *resource, void *arg);
	void (*low)(struct baton_resource *resource, void *arg);
	void *arg;
	uint64_t wait_ns; /* WAIT: the longest wait; 0, BATON_NEVER: without end */
	uint64_t _reserved[4];
};

/* No limit, REFUSE, nothing exempt, no watermarks. */
#define BATON_BOUND_CONFIG_INIT                                                                    \
	{                                                                                          \
		0, 0, 0, 0, BATON_BOUND_REFUSE, 0, 0, 0, 0, 0, NULL, NULL, NULL, 0,                \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

/*
 * Embeddable. Given to one resource by baton_resource_extend; must live as long as that resource.
 */
struct baton_bound {
	const struct baton_bound_config *_config;
	uint64_t _pushed; /* submitters add; tasks and bytes in one: see src/module/bound.h */
	uint64_t _gone;   /* the same, entered or cancelled; the runner's */
	uint64_t _sorted; /* in the lanes now; the runner's */
	const struct baton_task *_at_once; /* captured, and never counted; the runner's */
	uint64_t _refused;
	uint64_t _dropped;
	bool _above;
	uint32_t _waited;
};

#define BATON_BOUND_INIT(config)                                                                   \
	{                                                                                          \
		(config), 0, 0, 0, NULL, 0, 0, false, 0                                            \
	}

void baton_bound_init(struct baton_bound *bound, const struct baton_bound_config *config);

/* The counts of a bound. */
struct baton_bound_stats {
	uint64_t tasks;   /* that wait now, without exempt ones */
	uint64_t bytes;   /* of these tasks */
	uint64_t refused; /* submits (a batch is one) */
	uint64_t dropped; /* tasks */
	uint32_t waited;  /* submits that found no room, and waited; those refused then included */
};

/* Thread safety: any thread. Blocking: never. Not one instant's values. */
void baton_bound_stats_read(const struct baton_bound *bound, struct baton_bound_stats *counts);

#ifdef __cplusplus
}
#endif

#endif
