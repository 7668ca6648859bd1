/* SPDX-License-Identifier: MIT */
/*
 * A group counts things that are under way, whatever they are, and says when none is left: tasks on
 * irregular sets of resources, requests to a peer, members that add more members as they go.
 *
 *	struct baton_group group = BATON_GROUP_INIT;
 *
 *	baton_group_enter(&group);	before each thing is begun
 *	...
 *	baton_group_leave(&group);	when it is over, on whatever thread
 *	...
 *	baton_group_wait(&group, NULL);
 *
 * A task that may be cancelled leaves its group in the resource's `cancelled` callback, or reports
 * to a future; a submit that is refused is followed by a leave. For one function on a set of
 * resources that is known beforehand there is fan_out.h.
 *
 *                         | may run beside                       | from
 *   enter, leave          | everything but init                  | any thread
 *   wait, notify, status  | everything but init                  | any thread
 *   init                  | nothing                              | the owner
 *
 * Lifetime: the leave that brings the count to zero touches the group no more afterwards. So who
 * learns of that, by a wait or a notification, may give its memory back, provided that no other
 * call on it is still under way.
 *
 * Reuse: when the count has been zero it may rise again. A wait or notify that is being registered
 * in the very moment of a zero may miss it if somebody enters again at once: it then counts for the
 * next one. So a round that lets the last round's waiters go begins when they have returned.
 *
 * Source: Go's sync.WaitGroup; libdispatch's groups (enter, leave, notify, wait).
 */
#ifndef BATON_GROUP_H
#define BATON_GROUP_H

#include <stdint.h>
#include <time.h>

#include <baton/future.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_group {
	uint32_t _word;
	int32_t _status;
	struct baton_continuation *_waiting;
};

#define BATON_GROUP_INIT                                                                           \
	{                                                                                          \
		0, 0, NULL                                                                         \
	}

/* As many things at a time as a group counts; more is an assertion. */
#define BATON_GROUP_MAX 0x3fffffff

/* The same at run time. */
void baton_group_init(struct baton_group *group);

/*
 * Counts one thing more, or `count` things.
 *
 * Thread safety: any thread. Blocking: never. Progress: wait-free.
 * Ordering: none. So that the count cannot reach zero meanwhile, enter before the thing is begun,
 * by whoever waits or by one who has not left yet.
 */
void baton_group_enter(struct baton_group *group);
void baton_group_enter_many(struct baton_group *group, uint32_t count);

/*
 * One thing is over; leave_with: with a status, of which the group keeps the first that is not 0.
 * The last one wakes those who wait, and submits what was to be notified, on this thread.
 *
 * Thread safety: any thread. Blocking: never. Progress: lock-free.
 * Ordering: what the caller did before is visible to whoever learns that the count was zero.
 * Errors: none; a leave without an enter is an assertion.
 */
void baton_group_leave(struct baton_group *group);
void baton_group_leave_with(struct baton_group *group, int status);

/*
 * Waits until the count is zero; returns at once if it is. `deadline` as for
 * baton_future_wait(). The waiter cannot help, since it does not know what it waits for: a
 * worker that waits for tasks which only its own pool can run keeps a thread from them.
 *
 * Blocking: yes. While it registers itself, a few instructions, it counts as a member.
 * Errors: -ETIMEDOUT: about 100 bytes stay with the group until its count is zero. -EINVAL.
 * -ENOMEM.
 */
int baton_group_wait(struct baton_group *group, const struct timespec *deadline);

/*
 * When the count is zero (at once, if it is) the continuation fires: its task is submitted, its job
 * scheduled; see baton_future_then(), also for ownership and refusals. Several fire in the order of
 * their registration, save that somebody who enters beside the last leave may disturb it.
 *
 * Thread safety: any thread. Blocking: never.
 */
void baton_group_notify(struct baton_group *group, struct baton_continuation *continuation);

/*
 * The first status other than 0 that somebody left with; 0: there was none. take: and forgets it,
 * for another round. All are in when the count is zero.
 */
int baton_group_status(const struct baton_group *group);
int baton_group_take_status(struct baton_group *group);

#ifdef __cplusplus
}
#endif

#endif
