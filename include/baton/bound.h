/* SPDX-License-Identifier: MIT */
/*
 * A bound limits the tasks that wait in a resource: their number, their bytes, or both. The policy
 * of the bound says what becomes of a task beyond the limit.
 *
 *	static const struct baton_bound_config config = {
 *		.bytes_max = 1 << 20, .policy = BATON_BOUND_REFUSE, .exempt = 1U << 0,
 *	};
 *
 *	baton_bound_init(&session->bound, &config);
 *	baton_resource_set_bound(&session->resource, &session->bound);
 *
 *	baton_task_init_of(&publish->task, &publish_type);
 *	baton_stamp_set_lane(&publish->stamp, 1);
 *	baton_stamp_set_bytes(&publish->stamp, publish->length);
 *	error = baton_submit(&session->resource, &publish->task);
 *
 * A task gets its bytes and its lane from its label (baton/label.h). A task without a label is a
 * task of lane 0, and has no bytes.
 *
 *                              | may run beside          | from
 *   submits to the resource    | everything but the rest | any thread; with WAIT they may block
 *   stats_read                 | everything but the rest | any thread
 *   init, and the initialiser; | nothing                 | the owner
 *   set_bound                  |                         |
 *
 * Blocking: only a submit to a bound whose policy is WAIT may block.
 * Cost: a submit to a busy resource that has a bound makes one more atomic operation; the runner
 * makes none, but one for each task where the bound drops queued tasks. A resource without a bound
 * pays nothing.
 * Source: bounded queues' policies as brokers and reactive streams have them (refuse, drop the
 * newest, drop the oldest); high and low watermarks as in Netty's channels.
 *
 * Corner cases. What counts: a task waits from its acceptance until it is entered or cancelled. The
 * running task does not wait. A task for which its submitter has captured the resource does not
 * wait either: it runs immediately, and no bound refuses it. A task of a window (window.h) counts
 * while it waits in its window, too. A mark (await, close_then, cancel_pending) is no task.
 *
 * Control tasks: a timer that does not repeat is lost when its run is refused. Where such tasks
 * must not be lost and the bound counts tasks, give the bulk a lower lane and exempt lane 0.
 */
#ifndef BATON_BOUND_H
#define BATON_BOUND_H

#include <stdbool.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/label.h>
#include <baton/lane.h>
#include <baton/resource.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of a task for which there is no room. */
enum baton_bound_policy {
	/* The submit (also a baton_call that would wait) returns -EAGAIN; the task is untouched. */
	BATON_BOUND_REFUSE,
	/*
	 * The submit returns 0, but the task has been completed as cancelled before the submit
	 * returns, on the submitter's thread and without the baton: its future is cancelled, or,
	 * without a future, the config's `cancelled` is called.
	 */
	BATON_BOUND_DROP_NEWEST,
	/*
	 * The task is accepted, and another task is dropped for it. OLDEST: the oldest task of the
	 * same lane, or the new task itself if the lane has no other task. LOWEST: the oldest task
	 * of the lowest lane that has a task and is not exempt. A task that waits in a window
	 * is not dropped. The resource must have lanes (lane.h), at least one.
	 *
	 * The dropped task completes as cancelled before the submit returns, on the submitter's
	 * thread: also while a task runs, and while the resource is suspended. Its `cancelled` and
	 * its continuations are called without the baton there, and with the baton while the
	 * resource waits in a queue. They must not wait for tasks of this resource.
	 *
	 * While the runner is between two tasks nobody else can drop. A submitter then looks again
	 * some times, and gives way to other threads, but does not sleep. If the system has stopped
	 * the runner there, or the runner calls a function of the user's (a watermark, a drain
	 * hook, a `cancelled`), the submit returns -EAGAIN: see tasks_hard. A submit from within
	 * such a function is accepted, and the runner drops next.
	 */
	BATON_BOUND_DROP_OLDEST,
	BATON_BOUND_DROP_LOWEST,
	/*
	 * The submitter waits for room, for at most timeout_ns; a baton_call_with() no longer than
	 * its own timeout_ns. The submitter waits until the tasks accepted before have run, and
	 * helps to run these tasks, as a waiter for a future does; where tasks that wait in windows
	 * have the room, until one of them has its turn. If other submitters have taken the room
	 * meanwhile, the submitter waits again. The order of submitters that wait is not specified.
	 *
	 * The submit then returns 0, or, with the task untouched: -ETIMEDOUT; -EDEADLK, where the
	 * wait could never end (from a task of this resource, or where the wait would close a cycle
	 * of waits); -EPIPE, if the resource was closed meanwhile; -ENOMEM; -EAGAIN, for a batch
	 * that is larger than the limit.
	 *
	 * The library's own submits (runs of timers and triggers, items of fan-outs, continuations)
	 * never wait: they are refused as by REFUSE. So is baton_try_submit_later().
	 */
	BATON_BOUND_WAIT,
};

#define BATON_BOUND_TASKS_MAX (UINT32_C(1) << 23)
#define BATON_BOUND_BYTES_MAX (UINT64_C(1) << 39)

/* Settings that many bounds share. Must outlive the bounds and not change. */
struct baton_bound_config {
	/* How many tasks and bytes may wait, at most the constants above. 0: those constants. A
	 * batch larger than the limit never fits. */
	uint32_t tasks_max;
	/* DROP_OLDEST and DROP_LOWEST: where so many tasks or bytes wait, and nobody can drop
	 * because the runner is between two tasks, a submit is refused with -EAGAIN. 0: tasks_max,
	 * bytes_max. */
	uint32_t tasks_hard;
	uint64_t bytes_max;
	uint64_t bytes_hard;
	enum baton_bound_policy policy;
	/* Bit n: tasks of lane n are neither counted nor refused nor dropped. Lane n is the lane in
	 * the resource; in a resource without lanes, the lane that the task was given. */
	uint32_t exempt;
	/*
	 * Watermarks: `high` is called when at least tasks_high tasks, or bytes_high bytes, wait;
	 * then `low`, when at most tasks_low tasks and bytes_low bytes wait; then `high` again:
	 * strictly in turn. tasks_high and bytes_high are above tasks_low and bytes_low; 0: no such
	 * watermark. Either function may be NULL.
	 *
	 * The runner calls both under the baton, at its looks between two tasks: not during a long
	 * task, and not for a crossing that is undone before the next look. The functions may
	 * submit; they must not wait for tasks of this resource.
	 */
	uint32_t tasks_high;
	uint32_t tasks_low;
	uint64_t bytes_high;
	uint64_t bytes_low;
	void (*high)(struct baton_resource *resource, void *arg);
	void (*low)(struct baton_resource *resource, void *arg);
	void *arg;
	uint64_t timeout_ns; /* WAIT: the longest wait; 0: without end */
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

/* A bound, which serves one resource. Its members are private. */
struct baton_bound {
	struct baton__extension _extension;
	const struct baton_bound_config *_config;
	uint64_t _pushed; /* submitters add; tasks and bytes in one: see src/module/bound.h */
	uint64_t _gone;   /* the same, entered or cancelled; the runner's */
	union {
		uint64_t _sorted; /* DROP_*: in the lanes now; the runner's */
		uint64_t _aside;  /* WAIT: tasks that wait in windows now; the runner's */
	};
	const struct baton_task *_at_once; /* captured, and never counted; the runner's */
	uint64_t _refused;
	union {
		uint64_t _dropped;
		struct baton_task *_awaits; /* WAIT: submitters that wait for these tasks */
	};
	bool _above;
	union {
		uint32_t _waited; /* WAIT */
		uint32_t _lent;   /* DROP_*: who has the queue: see src/module/lend.h */
	};
};

#define BATON_BOUND_INIT(config)                                                                   \
	{                                                                                          \
		{{NULL, NULL, NULL}, NULL, NULL}, (config), 0, 0, {0}, NULL, 0, {0}, false,        \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

/* The same at run time. Thread safety: the owner, before set_bound. */
void baton_bound_init(struct baton_bound *bound,
                      const struct baton_bound_config *config) BATON_NONNULL;

/*
 * Gives the resource a bound. To be called once, between the resource's initialiser and its first
 * submit; before or after baton_resource_set_stats() and baton_resource_set_lanes().
 *
 * A resource with a bound takes the same longer way through submit as a resource with statistics:
 * some more loads and branches. The cost of the bound itself is added (see Cost).
 *
 * Thread safety: the owner, before any other thread sees the resource.
 * Ownership: the bound must live as long as the resource.
 * Errors: none. Asserts that the resource is open and idle and has no bound, and that the members
 * of the config are within their ranges. The first submit asserts that a resource whose bound drops
 * queued tasks has lanes.
 */
void baton_resource_set_bound(struct baton_resource *resource,
                              struct baton_bound *bound) BATON_NONNULL;

/* The counts of a bound. */
struct baton_bound_stats {
	uint64_t tasks;   /* that wait now, without exempt ones */
	uint64_t bytes;   /* of these tasks */
	uint64_t refused; /* submits (a batch is one) */
	uint64_t dropped; /* tasks */
	uint32_t waited;  /* submits that found no room, and waited; also if refused in the end */
};

/*
 * Copies the counts. Each count is exact, but the counts are not of one moment.
 *
 * Thread safety: any thread. Blocking: never.
 */
void baton_bound_stats_read(const struct baton_bound *bound,
                            struct baton_bound_stats *copy) BATON_NONNULL;

/*
 * As baton_submit_later(), but never waits: a bound whose policy is WAIT refuses the task with
 * -EAGAIN, as REFUSE does. For a thread that must go on: of an event loop, of a task that
 * serves many resources.
 * Errors: as baton_submit().
 */
BATON_MUST_USE int baton_try_submit_later(struct baton_resource *resource,
                                          struct baton_task *task) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
