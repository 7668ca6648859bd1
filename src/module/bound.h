/* SPDX-License-Identifier: MIT */
/*
 * Bounds: counts the tasks that wait in a resource, and their bytes.
 *
 * A task weighs BATON__BOUND_TASK + its bytes; an exempt task weighs 0. _pushed and _gone are sums
 * of weights, modulo 2^64. Their difference has the number of waiting tasks in its upper part and
 * their bytes in its lower part, as long as both stay within the constants of baton/bound.h. So one
 * word, and one atomic operation, serves both.
 *
 * Invariants:
 * bound.reserved: The weight of each accepted task is in _pushed: its submitter reserves before the
 *    push. Only a captured task (_at_once) is not reserved: it leaves next. (A task of a window may
 *    stay, and so is always reserved.)
 * bound.counted: The holder adds each accepted task to _gone, once, when the task leaves the queue
 *    to be entered or cancelled. A submit that is not accepted takes its reservation back.
 * bound.difference: A submitter reads _gone before _pushed ([bound.pushed]), so the difference may
 *    be too large, but is never negative. A submit is refused only if _gone has not changed between
 *    two looks: at the second look the bound was full.
 *
 * bound.aside: With WAIT, `_awaits` has marks of submitters that wait for room. A mark comes into
 *    the list only if there is no room and a task that is not exempt waits in a window: such a task
 *    leaves by `left`, which fires all marks. So no mark is forgotten, and none is in the list of a
 *    resource that is released for good. A reservation that is taken back fires no mark: the
 *    resource is closed, or its executor has ended. Marks whose waiters have gone are freed with
 *    the next mark.
 *
 * Linearisation point of a refusal: the second look at _gone. ABA: a value of _pushed that recurs
 * stands for the same reservations, and _gone only makes room.
 */
#ifndef BATON_SRC_BOUND_H
#define BATON_SRC_BOUND_H

#include <baton/bound.h>

#include "base/platform.h"
#include "core/resource.h"

#define BATON__BOUND_TASK ((uint64_t)1 << 40)

bool baton__bound_valid(const struct baton_bound_config *config);

/* Does the bound drop queued tasks? Then the resource must have lanes. */
BATON_INLINE bool baton__bound_drops_oldest(const struct baton_bound_config *config)
{
	return config->policy == BATON_BOUND_DROP_OLDEST ||
	       config->policy == BATON_BOUND_DROP_LOWEST;
}

/*
 * Reserves room for a chain. 0: reserved. -EAGAIN: there is no room. 1: there is no room, and the
 * chain has been dropped (completed as cancelled), or accepted in place of dropped tasks. Also
 * errors of the wait, unless `how` has BATON__SUBMIT_NO_WAIT.
 */
int baton__bound_reserve(struct baton_resource *resource, struct baton_task *first, uint32_t count,
                         unsigned how);

/*
 * For lend.c, where queued tasks are dropped for a chain. reserve_beyond: reserves up to the second
 * limit; if the caller is the holder, which drops next, up to the greatest amount. exceed: reserves
 * in any case; the caller has the queue, and drops what is too much next.
 */
bool baton__bound_reserve_beyond(struct baton_resource *resource, const struct baton_task *first);
void baton__bound_exceed(struct baton_resource *resource, const struct baton_task *first);

/* Takes the reservation of a chain back, which is not accepted. */
void baton__bound_unreserve(struct baton_resource *resource, const struct baton_task *first);

/* A task was captured without a reservation, and leaves next. Called by the holder. */
void baton__bound_captured(struct baton_resource *resource, const struct baton_task *task);

/* An accepted task is about to be entered or cancelled. Called by the holder. */
void baton__bound_left(struct baton_resource *resource, const struct baton_task *task);

/* A task waits in a window now, or no longer. Called by the holder. */
void baton__bound_set_aside(struct baton_resource *resource, const struct baton_task *task,
                            bool aside);

/* Calls a watermark's function if the watermark was passed. For the holder, with its frame. */
void baton__bound_look(struct baton_resource *resource);

/* For the lanes. sorted: a task comes into a lane. unsorted: a task leaves its lane. excess: do too
 * many tasks wait in the lanes? If so, a drop is counted, and the caller drops the oldest task of
 * the lane that victim names. */
void baton__bound_sorted(struct baton_resource *resource, const struct baton_task *task);
void baton__bound_unsorted(struct baton_resource *resource, const struct baton_task *task);
bool baton__bound_excess(struct baton_resource *resource);
unsigned baton__bound_victim(struct baton_resource *resource, unsigned own, uint32_t busy);

#endif
