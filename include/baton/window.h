/* SPDX-License-Identifier: MIT */
/*
 * A window lets at most `limit` of a resource's tasks be in flight, that is, started and not yet
 * complete (MQTT's receive maximum; requests on a connection). Further tasks of the window wait in
 * it, and start, in order, when a task in flight completes. Other tasks of the resource pass them.
 * A task belongs to a window by its part `window` (baton/task.h).
 *
 * Experimental: may change without a table in CHANGES until a program from a real need uses it.
 *
 *	struct publish {
 *		struct baton_task task;
 *		struct baton_window_part part; // part.token completes
 *		...
 *	};
 *
 *	static int publish_run(struct baton_task *task)
 *	{
 *		struct publish *publish = baton_container_of(task, struct publish, task);
 *
 *		int error = baton_detach(&publish->part.token, 0);
 *
 *		if (!error)
 *			send_to_client(publish);
 *		return error;
 *	}
 *
 *	static const struct baton_task_type publish_type = {
 *		.run = publish_run,
 *		.window = BATON_TASK_PLACE(struct publish, task, part),
 *	};
 *
 *	baton_task_init_of(&publish->task, &publish_type);
 *	baton_window_part_init(&publish->part, &session->window);
 *	error = baton_submit(&session->resource, &publish->task);
 *
 *	// At the acknowledgement, in a task of the session; publish_free may free `publish`:
 *	if (baton_detached_complete(&publish->part.token, 0, NULL) == 0)
 *		baton_timer_stop_then(&publish->redelivery, publish_free, publish);
 *
 *                               | may run beside              | from
 *   submit, cancel_task         | everything but init, deinit | any thread
 *   complete of part.token      | everything but init, deinit | any thread
 *   set_limit, cancel           | everything but init, deinit | any thread
 *   in_flight, waiting          | everything but init, deinit | any thread: a hint, unless in a
 *                               |                             | task of the resource
 *   init, deinit                | nothing                     | the owner
 *
 * Lifetime: a window lives at least as long as its resource is used. A call from outside of the
 * resource's tasks is allowed only if the caller knows, when the call begins, that the resource is
 * open, or that some task waits or is in flight.
 *
 * Corner cases. Labels, lanes, bounds. A task of a window may have a stamp (baton/label.h). Tasks
 * that wait in the window are in no lane of the resource (see baton_window_set_lanes()). When its
 * turn in the window has come, a task runs before the tasks of all lanes. A bound counts the tasks
 * that wait in the window (bound.h); where there is no bound, the submitter looks at
 * baton_window_waiting().
 *
 * Cancels. A task that waits in the window is cancelled by its future (and completes when its turn
 * comes), by baton_window_cancel_task() (and completes soon), or by baton_window_cancel(). A
 * cancel_pending or shutdown_now cancels a task before the task has reached the window, and after
 * the task's turn has come, but not while the task waits in the window: call baton_window_cancel()
 * as well. For a disconnect: cancel a tag, or call baton_window_cancel(); and complete the tasks in
 * flight.
 *
 * Closing. A closed resource still runs the tasks that wait in its windows. An await on a closed
 * resource, and its finaliser, wait until no task is in flight or waiting in any window. So
 * complete the tasks in flight, or let them time out, and cancel the tasks that wait behind a limit
 * of 0. An await on an open resource does not wait for these tasks.
 *
 * Progress: submit and complete are lock-free. A thread stopped in complete() may delay the start
 * of the tasks that wait in this window, and nothing else.
 * Source: sliding windows with a credit per message, as in AMQP's link credit and MQTT 5's receive
 * maximum; the wake of the waiting tasks is coalesced as in a Linux workqueue.
 */
#ifndef BATON_WINDOW_H
#define BATON_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/detach.h>
#include <baton/future.h>
#include <baton/label.h>
#include <baton/resource.h>
#include <baton/task.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_window_part;

/* One lane of a window, in the caller's memory. */
struct baton_window_lane {
	struct baton_task *_last;
};

/* A window. Its members are private. It lives at least as long as its resource is used. */
struct baton_window {
	struct baton_resource *_resource;
	struct baton_task *_first;
	struct baton_task *_last;
	struct baton_window_part *_entered;
	struct baton_task _kick;
	uint32_t _limit;
	uint32_t _started;
	uint32_t _finished;
	uint32_t _word;
	uint32_t _waiting;
	bool _visiting;
	uint32_t _lane_count;
	struct baton_window_lane *_lanes;
};

/* `limit`: how many tasks may be in flight; 0: none starts until the limit is raised. The limit is
 * at most UINT32_MAX: a larger one is taken as that. */
#define BATON_WINDOW_INIT(resource, limit)                                                         \
	{                                                                                          \
		(resource), NULL, NULL, NULL, {NULL, NULL, NULL}, (limit), 0, 0, 0, 0, false, 0,   \
			NULL                                                                       \
	}
void baton_window_init(struct baton_window *window, struct baton_resource *resource,
                       size_t limit) BATON_NONNULL;

/*
 * Gives the window lanes: the tasks that wait start by their lanes (label.h), those of the
 * highest lane first, in order within a lane. Without this call they start in the order in which
 * they came. A lane that the window does not have means the window's lowest lane.
 *
 * `lanes`: an array of `count` lanes, zeroed here.
 * Thread safety: the owner, before the first submit. Ownership: the array lives as long as the
 * window.
 */
void baton_window_set_lanes(struct baton_window *window, struct baton_window_lane *lanes,
                            uint32_t count) BATON_NONNULL;

/* Asserts that no task is in flight or waiting. Thread safety: the owner. */
void baton_window_deinit(struct baton_window *window) BATON_NONNULL;

/*
 * The part of a task that needs a place in a window. Submit the task to the window's resource
 * (asserted), by any call. When the function is entered, the task has its place. A function that
 * detaches the task through `token` (baton_detach(), baton_detach_within()) keeps the place until
 * the token is complete. Any other function gives the place back by returning (though drain hooks
 * may hold its completion back for longer).
 *
 * Ownership: as of any task and of its token (detach.h). Without a future the memory is the
 * caller's again when the function is entered; if the function detaches the task, when complete()
 * has returned 0. The task may then be submitted again without a new init; its future must be made
 * fresh.
 */
struct baton_window_part {
	struct baton__part _part;
	struct baton_detached token;
	struct baton_task **_link;
	struct baton_task _withdrawal;
	struct baton_task *_task; /* set with _withdrawal */
	uint32_t _place;
	bool _admitted;
};

/* The task needs a place in the window. Call it after baton_task_init_of(), with a type whose
 * `.window` says where the part lies, and before the task is submitted. Otherwise the call has no
 * effect on the task, and baton_detach() refuses the token (-EINVAL). Thread safety: the task's
 * owner. */
void baton_window_part_init(struct baton_window_part *part,
                            struct baton_window *window) BATON_NONNULL;

/*
 * Sets the limit. A higher limit lets waiting tasks start (within this call, if the resource is
 * idle). A limit below the number of tasks in flight lets none start until enough are complete.
 *
 * Thread safety: any thread. Blocking: never. Errors: see thread.h.
 */
BATON_MUST_USE int baton_window_set_limit(struct baton_window *window, size_t limit) BATON_NONNULL;

/*
 * Cancels the tasks that wait in the window: a client has gone. Each completes as cancelled,
 * without having run; a task without a future goes to the config's `cancelled`. The call does not
 * touch tasks in flight, tasks whose turn has come and that are about to be entered, and tasks that
 * are still in the resource's queue. The cancel happens under the baton: within this call, if the
 * resource is idle, else when the resource's runner comes to it.
 *
 * Thread safety: any thread. Blocking: never. Errors: see thread.h.
 */
int baton_window_cancel(struct baton_window *window) BATON_NONNULL;

/*
 * Cancels one task of a window, as baton_future_cancel() on its future does. If that returns 0 and
 * the task waits in the window, the task is taken out of the window under the baton: within this
 * call if the resource is idle, else when the resource's runner comes to it. The cost does not
 * depend on the number of tasks that wait.
 *
 * Thread safety: any thread. Blocking: never.
 * Errors: as baton_future_cancel(); -EINVAL also without a future, or for a task of no window.
 */
int baton_window_cancel_task(struct baton_task *task) BATON_NONNULL;

/* How many tasks are in flight; how many wait in the window. Any thread. Blocking: never. */
uint32_t baton_window_in_flight(const struct baton_window *window) BATON_NONNULL;
uint32_t baton_window_waiting(const struct baton_window *window) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
