/* SPDX-License-Identifier: MIT */
/*
 * Windows: at most so many of a resource's tasks in flight, that is: started and not yet complete
 * (MQTT's receive maximum; requests on a connection). The others wait their turn in the window,
 * and start, in order, when one in flight completes; tasks of the resource that have nothing to do
 * with the window pass them. A windowed task may have a label (baton/labelled.h); when its turn in
 * the window has come it goes before what is in any lane.
 *
 *	struct publish {
 *		struct baton_windowed windowed; // .task is submitted, .token completes
 *		...
 *	};
 *
 *	static int publish_run(struct baton_task *task)
 *	{
 *		struct publish *publish = baton_container_of(task, struct publish, windowed.task);
 *
 *		(void)baton_detach(&publish->windowed.token, 0);
 *		send_to_client(publish);
 *		return 0;
 *	}
 *
 *	baton_windowed_init(&publish->windowed, &session->window, publish_run, &publish->future);
 *	baton_submit(&session->resource, &publish->windowed.task);
 *
 *                               | may run beside              | from
 *   submit of .task, its cancel | everything but init, deinit | any thread
 *   complete of .token          | everything but init, deinit | any thread
 *   set_limit, window_cancel    | everything but init, deinit | any thread
 *   windowed_cancel             | everything but init, deinit | any thread
 *   in_flight, waiting          | everything but init, deinit | any thread: a hint, unless in a
 *                               |                             | task of the resource
 *   init, deinit                | nothing                     | the owner
 *
 * Nothing is lost: a task that waits in the window is over when it has run, or was cancelled: by
 * its future (completed when its turn comes; with baton_windowed_cancel() soon), by
 * baton_window_cancel(), or on its way by a cancel_pending or shutdown_now that met it before it
 * reached the window or after its turn had come. (A cancel_pending does not reach what waits in a
 * window: call both.) A closed resource still runs what waits in its windows.
 *
 * What waits in the window is in no lane of the resource (see baton_window_set_lanes); a bound
 * counts it (bound.h), and where there is none whoever submits looks at waiting(). A disconnect is
 * a tag, or baton_window_cancel(), and the completion of what is in flight.
 *
 * Lifetime: a window lives at least as long as its resource is used. An await on a closed resource,
 * and its finaliser, wait until nothing is in flight or waiting in any window (so complete, or let
 * time out, whatever is in flight, and cancel what waits behind a limit of 0); an await on an open
 * one does not wait for these. A call from outside of the resource's tasks begins before that end:
 * the caller knows that the resource is open, or that something waits, or is in flight, until it
 * acts.
 *
 * Progress: submit and complete are lock-free. A thread stopped in complete() may hold up the start
 * of the tasks that wait in this window, and nothing else.
 * Source: sliding windows with a credit per message, as in AMQP's link credit and MQTT 5's receive
 * maximum; what wakes the waiting is coalesced as in a Linux workqueue.
 */
#ifndef BATON_WINDOW_H
#define BATON_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/detach.h>
#include <baton/future.h>
#include <baton/labelled.h>
#include <baton/resource.h>
#include <baton/task.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_windowed;

/* One lane of a window, in the caller's memory. */
struct baton_window_lane {
	struct baton_task *_last;
};

struct baton_window {
	struct baton_resource *_resource;
	struct baton_task *_first;
	struct baton_task *_last;
	struct baton_windowed *_entered;
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

/* `limit`: how many may be in flight; 0: none starts until it is raised. */
#define BATON_WINDOW_INIT(resource, limit)                                                         \
	{                                                                                          \
		(resource), NULL, NULL, NULL, {NULL, NULL, NULL}, (limit), 0, 0, 0, 0, false, 0,   \
			NULL                                                                       \
	}
void baton_window_init(struct baton_window *window, struct baton_resource *resource,
                       uint32_t limit);

/*
 * Those that wait in the window start by their lanes (labelled.h): of the highest lane first, in
 * order within a lane. `lanes`: an array of `count` lanes, which lives as long as the window;
 * zeroed here. A lane that the window does not have means its lowest. Without this call they start
 * in the order in which they came. By the owner, before the first submit.
 */
void baton_window_set_lanes(struct baton_window *window, struct baton_window_lane *lanes,
                            uint32_t count);

/* Asserts that nothing is in flight or waiting. */
void baton_window_deinit(struct baton_window *window);

/*
 * A task that needs a place in a window: `task` is what is submitted, to the window's resource
 * (asserted) and in whatever way. The function finds the place taken; it keeps it if it detaches
 * through `token` (baton_detach, baton_detach_within), until that is complete, and else gives it
 * back by returning (though drain hooks may hold its completion back for longer). Ownership: as of
 * any task; and the token's, see detach.h: without a future the memory is the caller's again when
 * the function is entered, and after a detach: when complete() has returned 0. Then it may be
 * submitted again as it is (a future: made fresh). `stamp` and `cancelled` may be set after init:
 * the task's label, and who is told instead of the config's `cancelled` (labelled.h).
 */
struct baton_windowed {
	struct baton_task task;
	struct baton_detached token;
	struct baton_stamp stamp;
	baton_task_cancelled_fn cancelled;
	struct baton_future *_future;
	struct baton_window *_window;
	baton_task_fn _fn;
	struct baton_task **_link;
	struct baton_task _withdrawal;
	uint32_t _place;
	bool _admitted;
};

void baton_windowed_init(struct baton_windowed *windowed, struct baton_window *window,
                         baton_task_fn fn, struct baton_future *future);

/*
 * Another limit. Raised, it lets waiting tasks start (within this call, if the resource is idle);
 * lowered below what is in flight, it lets none start until enough are complete.
 * Errors: see thread.h.
 */
int baton_window_set_limit(struct baton_window *window, uint32_t limit);

/*
 * What waits in the window completes as cancelled, without having run: a client has gone. Tasks in
 * flight are not concerned, nor those whose turn has come and that are about to be entered, nor
 * those that are still in the resource's queue. Happens under the baton: here, if the resource is
 * idle, else when its runner comes to it. Those without a future go to the config's `cancelled`.
 * Errors: see thread.h.
 */
int baton_window_cancel(struct baton_window *window);

/*
 * As baton_future_cancel() on the task's future. If that returns 0 and the task waits in the
 * window, the task is taken out of the window under the baton: within this call if the resource is
 * idle, else when the resource's runner comes to it. The cost does not depend on how many wait.
 * Errors: as baton_future_cancel(); -EINVAL without a future, too.
 */
int baton_windowed_cancel(struct baton_windowed *windowed);

uint32_t baton_window_in_flight(const struct baton_window *window);
uint32_t baton_window_waiting(const struct baton_window *window);

#ifdef __cplusplus
}
#endif

#endif
