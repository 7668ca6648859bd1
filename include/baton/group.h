/* SPDX-License-Identifier: MIT */
/*
 * A group counts things that are under way, and tells when none is left: tasks on irregular sets of
 * resources, requests to a peer, members that add more members as they run.
 *
 *	struct baton_group group = BATON_GROUP_INIT;
 *
 *	baton_group_enter(&group);	before each thing is begun
 *	...
 *	baton_group_leave(&group);	when it is over, on whatever thread
 *	...
 *	error = baton_group_wait(&group);
 *
 * A task that may be cancelled leaves its group in the resource's `cancelled` callback, or reports
 * to a future. After a submit that is refused, call leave. For one function on a set of resources
 * that is known beforehand see fan_out.h.
 *
 *                         | may run beside                       | from
 *   enter, leave          | everything but init                  | any thread
 *   wait, then, status    | everything but init                  | any thread
 *   init                  | nothing                              | the owner
 *
 * Lifetime: the leave that brings the count to zero does not touch the group afterwards. A thread
 * that learns of the zero, by a wait or a notification, may free the group's memory, provided that
 * no other call on the group is still under way.
 *
 * Reuse: when the count has been zero it may rise again. A wait or then that is being registered
 * at the very moment of a zero may miss that zero if another thread enters immediately: it then
 * waits for the next zero. So begin the next round when the waiters of the last round have
 * returned.
 *
 * Source: Go's sync.WaitGroup; libdispatch's groups (enter, leave, notify, wait).
 */
#ifndef BATON_GROUP_H
#define BATON_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/future.h>
#include <baton/time.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A group. Its members are private. It may be freed by a thread that has learned that it is empty.
 */
struct baton_group {
	uint32_t _word;
	int32_t _status;
	struct baton_continuation *_waiting;
};

#define BATON_GROUP_INIT                                                                           \
	{                                                                                          \
		0, 0, NULL                                                                         \
	}

/* The largest number of things that a group counts at a time (asserted). */
#define BATON_GROUP_MAX 0x3fffffff

/* Makes a group of nothing, also out of a used one, as BATON_GROUP_INIT does.
 * Thread safety: the owner. */
void baton_group_init(struct baton_group *group) BATON_NONNULL;

/*
 * Counts one thing more, or `count` things. Enter before the thing is begun, on the thread that
 * waits or in a member that has not left yet, so that the count cannot reach zero meanwhile.
 *
 * Thread safety: any thread. Blocking: never. Progress: wait-free. Ordering: none.
 */
void baton_group_enter(struct baton_group *group) BATON_NONNULL;
void baton_group_enter_many(struct baton_group *group, size_t count) BATON_NONNULL;

/*
 * leave: one thing is over. leave_with: the same with a status; the group keeps the first that is
 * not 0. The last leave wakes the waiters, and submits the continuations, on this thread.
 *
 * Thread safety: any thread. Blocking: never. Progress: lock-free.
 * Ordering: what the caller did before is visible to a thread that learns that the count was zero.
 * Errors: none; a leave without an enter is an assertion.
 */
void baton_group_leave(struct baton_group *group) BATON_NONNULL;
void baton_group_leave_with(struct baton_group *group, int status) BATON_NONNULL;

/*
 * Waits until the count is zero, or until `deadline_ns` (time.h). The waiter cannot help,
 * since the group does not know what its members are: a worker that waits for tasks which only its
 * own pool can run occupies a thread of that pool.
 *
 * Thread safety: any thread. Blocking: yes. While a waiter registers itself, for a few
 * instructions, it counts as a member.
 * Errors: -ETIMEDOUT: the deadline has passed. About 100 bytes stay with the group then, until its
 * count is zero. -ENOMEM.
 */
BATON_MUST_USE int baton_group_wait(struct baton_group *group) BATON_NONNULL;
BATON_MUST_USE int baton_group_wait_until(struct baton_group *group,
                                          uint64_t deadline_ns) BATON_NONNULL;

/*
 * When the count is zero (immediately, if it is already) the continuation fires: its task is
 * submitted, its job scheduled, or its function called. See baton_future_then(), also for ownership
 * and refusals.
 *
 * Thread safety: any thread. Blocking: never.
 * Ownership: the continuation is baton's until it has fired.
 * Ordering: several continuations fire in the order of their registration, unless a thread enters
 * beside the last leave.
 */
void baton_group_then(struct baton_group *group,
                      struct baton_continuation *continuation) BATON_NONNULL;

/*
 * The first status other than 0 with which a thread left the group. The status is final when the
 * count is zero. take: also forgets the status, for another round.
 *
 * Returns: that status; 0: there was none.
 * Thread safety: any thread. Blocking: never.
 */
int baton_group_status(const struct baton_group *group) BATON_NONNULL;
int baton_group_take_status(struct baton_group *group) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
