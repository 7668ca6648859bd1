/* SPDX-License-Identifier: MIT */
/*
 * A bound limits what waits in a resource, in tasks, in bytes (baton/labelled.h), or both; and says
 * what becomes of what is too much. No submit ever blocks, save to a bound whose policy is WAIT.
 *
 * What waits: what was accepted and has not been entered; not the running task, nor one that its
 * submitter captured the resource for and runs at once, which no bound refuses. A windowed task
 * (window.h) is always counted, also while it waits in its window, until it is entered; but what
 * waits there is not dropped as the oldest. A mark (await, close_then, cancel_pending) is no task.
 *
 * Whatever has no label is a task of lane 0 like any other: the runs of timers and triggers, the
 * items of fan-outs, posts. Where tasks are counted and such a one must not be lost (a timer that
 * does not repeat, and is refused, is gone), put the bulk into a lower lane and exempt lane 0.
 *
 * Cost: a submit to a busy resource that has a bound makes one more atomic operation; the runner
 * none; a resource without a bound, nothing.
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
	/* The submit returns -EAGAIN; the task is untouched. baton_call: too. */
	BATON_BOUND_REFUSE,
	/*
	 * The submit returns 0, and the task has been completed as cancelled before it returns, on
	 * the submitter's thread and without the baton: its future is cancelled, or the config's
	 * `cancelled` called.
	 */
	BATON_BOUND_DROP_NEWEST,
	/*
	 * The task is accepted, and the oldest of its own lane goes for it (the task itself, if
	 * there is no other); of the lowest lane that has a task and is not exempt. They complete
	 * as cancelled under the baton, at the runner's next look between two tasks: nobody but the
	 * runner can unlink anything, so until then the excess lies in the inbox; see tasks_hard.
	 * The resource must have lanes, be it one.
	 */
	BATON_BOUND_DROP_OLDEST,
	BATON_BOUND_DROP_LOWEST,
	/*
	 * The submitter waits for room, for at most wait_ns: until what was accepted before has
	 * run, which it helps with, as a waiter for a future does; again where other submitters
	 * have taken the room. The submit then returns 0, or, with the task untouched: -ETIMEDOUT;
	 * -EDEADLK, where the wait could never end (from a task of this resource, or where it would
	 * close a cycle of waits); -EPIPE, if the resource was closed meanwhile; -ENOMEM; -EAGAIN,
	 * for a batch that is larger than the limit. The order of submitters that wait is open.
	 *
	 * What the library submits (runs of timers and triggers, items of fan-outs, continuations)
	 * never waits, but is refused as by REFUSE.
	 */
	BATON_BOUND_WAIT,
};

#define BATON_BOUND_TASKS_MAX ((uint32_t)1 << 23)
#define BATON_BOUND_BYTES_MAX ((uint64_t)1 << 39)

/* Shared by many; must outlive them and not change. */
struct baton_bound_config {
	/* How much may wait: up to the constants above. 0: these. A batch that is larger than that
	 * is too much at any time. */
	uint32_t tasks_max;
	/* DROP_OLDEST and DROP_LOWEST: from where on the submit is refused with -EAGAIN after all,
	 * since the runner does not come to look. 0: the constants above. */
	uint32_t tasks_hard;
	uint64_t bytes_max;
	uint64_t bytes_hard;
	enum baton_bound_policy policy;
	/* Bit n: tasks of lane n are neither counted nor refused nor dropped. The lane as it is in
	 * the resource, or where that has no lanes, as the task has it. */
	uint32_t exempt;
	/*
	 * Watermarks: `high` is called when at least tasks_high tasks, or bytes_high bytes, wait;
	 * then `low`, when at most tasks_low and bytes_low do; then high again: strictly in turn.
	 * By the runner, under the baton, at its looks between two tasks (so not while it is in a
	 * long one, and a crossing and its way back between two looks is none); on whatever thread
	 * that is. They may submit, and must not wait for what this resource is to do. tasks_high,
	 * bytes_high 0: none. Above the low ones. Either function may be NULL.
	 */
	uint32_t tasks_high;
	uint32_t tasks_low;
	uint64_t bytes_high;
	uint64_t bytes_low;
	void (*high)(struct baton_resource *resource, void *arg);
	void (*low)(struct baton_resource *resource, void *arg);
	void *arg;
	uint64_t wait_ns; /* WAIT: at most so long; 0, BATON_NEVER: without end */
};

/* No limit, REFUSE, nothing exempt, no watermarks. */
#define BATON_BOUND_CONFIG_INIT                                                                    \
	{                                                                                          \
		0, 0, 0, 0, BATON_BOUND_REFUSE, 0, 0, 0, 0, 0, NULL, NULL, NULL, 0                 \
	}

/* Embeddable. Given to one resource by baton_resource_extend, and to live as long as that. */
struct baton_bound {
	const struct baton_bound_config *_config;
	uint64_t _pushed; /* submitters add; tasks and bytes in one: see src/bound.h */
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

/* What a bound has counted. */
struct baton_bound_counts {
	uint64_t tasks;   /* that wait now; exempt ones left out */
	uint64_t bytes;   /* theirs */
	uint64_t refused; /* submits (a batch is one) */
	uint64_t dropped; /* tasks */
	uint32_t waited;  /* submits that found no room, and waited; those refused then included */
};

/* Thread safety: any thread. Blocking: never. Not one instant's values. */
void baton_bound_read(const struct baton_bound *bound, struct baton_bound_counts *counts);

#ifdef __cplusplus
}
#endif

#endif
