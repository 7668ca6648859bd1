/* SPDX-License-Identifier: MIT */
/*
 * What waits in a resource, counted.
 *
 * A task weighs BATON__BOUND_TASK + its bytes, an exempt one nothing. _pushed and _gone are sums of
 * weights, modulo 2^64; while fewer tasks and bytes wait than the constants in bound.h allow, their
 * difference has the tasks that wait in its upper part and the bytes in the lower one, whatever the
 * sums have carried: one word, one atomic for both.
 *
 * Invariants:
 * K1 What is accepted is in _pushed, reserved by its submitter before the push; but not the one
 *    task, _at_once, that is captured to be the next to leave. (A windowed one may stay: it is
 *    reserved always.)
 * K2 Each accepted task is added to _gone once, by the holder, when it leaves the queue to be
 *    entered or cancelled. A submit that is not accepted after all takes its reservation back.
 * K3 A submitter reads _gone before _pushed: [K1] makes the difference too large at worst, never
 *    negative; and says "full" only if _gone is still what it was, so that it has been full.
 *
 * Linearisation point of a submit that is too much: its second look at _gone. No ABA: a recurring
 * _pushed means as much as before, and _gone only makes room.
 */
#ifndef BATON_SRC_BOUND_H
#define BATON_SRC_BOUND_H

#include <baton/bound.h>

#include "core/resource.h"
#include "base/platform.h"

#define BATON__BOUND_TASK ((uint64_t)1 << 40)

bool baton__bound_valid(const struct baton_bound_config *config);

/*
 * Reserves for a chain of the resource, which is bounded. 0; -EAGAIN: it is too much; 1: it is, and
 * has been dropped (completed as cancelled); with `may_wait`, an error of a wait for room.
 */
int baton__bound_reserve(struct baton_resource *resource, struct baton_task *first, bool may_wait);

/* The chain is not accepted after all. */
void baton__bound_take_back(struct baton_resource *resource, const struct baton_task *first);

/* One task captured, to run at once, without a reservation. The holder. */
void baton__bound_captured(struct baton_resource *resource, const struct baton_task *task);

/* An accepted task is about to be entered or cancelled. The holder. */
void baton__bound_left(struct baton_resource *resource, const struct baton_task *task);

/* Calls the watermarks' functions, if there is reason. The holder, with its frame. */
void baton__bound_look(struct baton_resource *resource);

/* For the lanes: a task comes into them, leaves them; is it too much; whose oldest goes. */
void baton__bound_sorted(struct baton_resource *resource, const struct baton_task *task);
void baton__bound_unsorted(struct baton_resource *resource, const struct baton_task *task);
bool baton__bound_excess(struct baton_resource *resource);
unsigned baton__bound_victim(struct baton_resource *resource, unsigned own, uint32_t busy);

#endif
