/* SPDX-License-Identifier: MIT */
/*
 * The future's state word, claim and completion, continuations, visitors.
 *
 * The state word (futex word), low to high:
 *   STATE    3 bits  PENDING -> RUNNING -> DONE | FAILED      claim, finish: the runner
 *                    PENDING -> CANCELLING -> CANCELLED       any thread; then the runner
 *                    PENDING -> CANCELLED                     the runner, cancelling what is queued
 *                    the last three have the FINAL bit and are never left
 *   SLEEPERS         set by a waiter before it sleeps; never cleared: completion wakes all, a
 *                    refused submit too
 *   CHAINED          set by then() after linking; cleared by the completer before it takes the list
 *   VISITOR          set by the one thread (helper, canceller) that may touch the future's resource
 *                    although it is not in a call on it; whoever clears it knows who counts: the
 *                    visitor on leaving, or the runner, which then adds the visit to the resource's
 *                    count; only while PENDING or CANCELLING
 *   PROMISE, COUNTED constant after init: has no task; lives in a struct baton__counted
 *   DROPPED  the last reference from outside is gone (COUNTED only): the completer frees it
 *   STOP             the running task has been asked to stop
 *   WANTED   a thread that is about to sleep found a visitor in its way; cleared with VISITOR by
 *                    that, which then nudges the thread (thread.h, T5); or by settle, which need
 *                    not: who sleeps is woken, or looks again (doze)
 *   GENERATION       the 21 bits above: counts refused submits, modulo 2^21, so that who has looked
 *                    at the resource that the future was bound to then neither becomes its visitor
 *                    nor takes a later visitor's bit for its own
 *
 * Invariants:
 * F1 One thread makes the state final, once: every transition out of PENDING, CANCELLING and
 *    RUNNING is a CAS, and only the runner (a promise: the claimer; a detached task: who has
 *    decided its token, see detach.h) leaves CANCELLING and RUNNING.
 * F2 The store that makes it final ([F1]) is the completer's last touch of a future that was not
 *    DROPPED. The value, the status and the list are dealt with before.
 * F3 While the VISITOR bit is set, and until its count is taken back, the resource is there: its
 *    task or the count keeps it from being released for good (resource.h, R6). A task that is still
 *    being submitted does not, but then its submit is under way, and nobody may give the resource
 *    back. Refused, it leaves a count, but that may come after the release: hence await's condition
 *    (baton/resource.h). Anything else would have the submitter wait for the visitor (L4).
 * F4 A visitor clears no VISITOR bit of another generation: that visit is to another resource, and
 *    its own has been counted by settle. Within one generation the visits are to one resource: a
 *    visitor that claim has counted and the next one may leave in each other's place.
 *
 * Linearisation point of completion: the CAS to a final state in finish(). No ABA: the word's
 * states only advance, and its flags are compared together with them. The generation comes back
 * after 2^21 refused submits: who looks, or visits, through exactly so many is deceived.
 */
#ifndef BATON_SRC_FUTURE_H
#define BATON_SRC_FUTURE_H

#include <stdbool.h>
#include <stdint.h>

#include <baton/future.h>

#include "base/atomic.h"
#include "base/platform.h"

#define BATON__FUTURE_PENDING 0U
#define BATON__FUTURE_RUNNING 1U
#define BATON__FUTURE_CANCELLING 2U
#define BATON__FUTURE_FINAL 4U
#define BATON__FUTURE_DONE 4U
#define BATON__FUTURE_FAILED 5U
#define BATON__FUTURE_CANCELLED 6U
#define BATON__FUTURE_STATE 7U
#define BATON__FUTURE_SLEEPERS 8U
#define BATON__FUTURE_CHAINED 0x10U
#define BATON__FUTURE_VISITOR 0x20U
#define BATON__FUTURE_PROMISE 0x40U
#define BATON__FUTURE_COUNTED 0x80U
#define BATON__FUTURE_STOP 0x100U
#define BATON__FUTURE_DROPPED 0x200U
#define BATON__FUTURE_WANTED 0x400U
#define BATON__FUTURE_GENERATION 0x800U

/* One visit, in the resource's turn word. */
#define BATON__VISIT 0x20U

/*
 * A future from the library; lies at the start of a node's body (node.h). The references are those
 * from outside; the runner's is the state itself: who is second of "final" and "dropped" frees it.
 */
struct baton__counted {
	struct baton_future future;
	uint32_t references;
};

/*
 * Binds the future to the resource of its task; NULL: unbinds it. From then on other threads look
 * at that resource.
 */
BATON_INLINE void baton__future_bind(struct baton_future *future, struct baton_resource *resource)
{
	/* [future.bound] release: the words of the resource, which a visitor may see here for the
	 * first time; of a future that a detach unbinds, the claim. Pairs with [future.bound] in
	 * baton__future_resource */
	store_release(&future->_resource, resource);
}

/* The resource to which the future is bound. NULL: none. */
BATON_INLINE struct baton_resource *baton__future_resource(struct baton_future *future)
{
	/* [future.bound] acquire: pairs with [future.bound] in baton__future_bind */
	return load_acquire(&future->_resource);
}

BATON_INLINE bool baton__future_final(const struct baton_future *future)
{
	/* [F1] acquire: what the task did; pairs with [F1] in finish */
	return load_acquire(&future->_state) & BATON__FUTURE_FINAL;
}

/* What a visitor remembers of the state, see F4. */
BATON_INLINE uint32_t baton__future_generation(uint32_t state)
{
	return state / BATON__FUTURE_GENERATION;
}

/* Is it fresh, so that a task can be submitted with it? The submitter's thread. */
BATON_INLINE bool baton__future_fresh(const struct baton_future *future)
{
	uint32_t state = load_relaxed(&future->_state);

	return !(state & (BATON__FUTURE_STATE | BATON__FUTURE_PROMISE)) &&
	       !load_relaxed(&future->_resource);
}

/*
 * The runner enters the task: true. False: it was cancelled, and is now to be finished so. In both
 * cases a visitor is counted in `*visits`, the turn word of the resource that the caller holds.
 */
bool baton__future_claim(struct baton_future *future, uint32_t *visits);

/*
 * Completes: wakes sleepers, fires continuations, frees what was dropped. `state` is one of
 * the final ones. `visits` as above; NULL if the state is RUNNING or it is a promise's.
 */
void baton__future_finish(struct baton_future *future, uint32_t state, int status, void *value,
                          uint32_t *visits);

/*
 * The same in halves, for who gathers wakes (L5). publish: makes a RUNNING future final, after
 * which its memory may be gone, and appends its continuations to `*continuations`. True: the
 * sleepers of its state word are to be woken. fire: after all wakes; where continuations are being
 * fired already, further up on this stack and with no function of the user's in between, they are
 * only put in front of those.
 */
bool baton__future_publish(struct baton_future *future, uint32_t state, int status, void *value,
                           struct baton_continuation **continuations);
void baton__future_fire(struct baton_continuation *continuation);

/*
 * Becomes the visitor: the task's resource, which may now be touched until leave, and in
 * *generation what leave wants to know. NULL: there is a visitor, whose leaving nudges who found it
 * and is about to sleep, or there is nothing to visit: not submitted, entered, complete.
 * leave: true: the visit had been counted in the resource's turn word and must be taken back there.
 */
struct baton_resource *baton__future_visit(struct baton_future *future, uint32_t *generation);
bool baton__future_leave(struct baton_future *future, uint32_t generation);

/*
 * The task was not accepted, and its future has been unbound: counts and clears a visitor. Returns
 * the state found; *spare: a visit was counted for a visitor that had left, and is to be ended.
 */
uint32_t baton__future_settle(struct baton_future *future, uint32_t *visits, bool *spare);

/* Cancels a promise: 0, -EALREADY; -EINVAL if it is a task's. */
int baton__promise_cancel(struct baton_future *future);

#endif
