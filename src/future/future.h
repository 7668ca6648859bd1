/* SPDX-License-Identifier: MIT */
/*
 * The future's state word: claim and completion, continuations, visitors.
 *
 * Bits, low to high (a futex word):
 *   STATE      3 bits. DONE, FAILED and CANCELLED have the bit FINAL.
 *              PENDING -> RUNNING             claim: the runner; claim_promise: any thread
 *              RUNNING -> PENDING             unclaim: the runner, of an await's future
 *              RUNNING -> DONE, FAILED        finish: the runner. A promise: CANCELLED, too
 *              PENDING -> CANCELLING          baton__cancel_decide (cancel.c): any thread
 *              CANCELLING -> CANCELLED        finish: the runner, or a refused submitter
 *              PENDING -> any final state     finish: a task that is not entered; a fan-out
 *              PENDING -> DONE, FAILED        finish_entered, finish: a task that was entered at
 *                                             once (future.entered)
 *              PENDING -> RUNNING             detach, of a task that was entered at once
 *   SLEEPERS   A waiter sleeps, or is about to. Set by the waiter (wait.c), cleared by completion.
 *              Completion and a refused submit wake all sleepers.
 *   CHAINED    A continuation is in the list. Set by then() after it has linked the node, cleared
 *              by the completer before it takes the list.
 *   VISITOR    One thread, a helper or a canceller, may touch the future's resource although it is
 *              in no call on that resource. Set while PENDING or CANCELLING: visit, cancel_decide.
 *              Cleared by the visitor (leave), or by the runner or a refused submitter (claim,
 *              finish, settle), which then adds the visit to the count in the resource's turn.
 *   PROMISE    The future has no task. Constant after init.
 *   COUNTED    The future is the first member of a struct baton__counted. Constant after init.
 *   STOP       A canceller has asked the task to stop.
 *   DROPPED    The last reference from outside is gone (COUNTED only): the completer frees the
 *              future.
 *   WANTED     A thread that is about to sleep has found VISITOR set. Cleared together with VISITOR
 *              by leave, which then nudges that thread (thread.obstacle, thread.h), and by settle.
 *              settle needs no nudge: it wakes the sleepers, and a thread that does not sleep yet
 *              looks again (doze, wait.c). claim leaves WANTED: completion wakes the thread.
 *   GENERATION 21 bits: the number of refused submits, modulo 2^21. See future.generation.
 *
 * Invariants:
 * future.once: One thread makes the state final, once. Each transition out of PENDING, CANCELLING
 *    and RUNNING is a CAS. Exceptions, where no other thread can decide: detach adds RUNNING to a
 *    future that is ENTERED; see also future.forgotten. The transition out of CANCELLING or RUNNING
 *    is the runner's. Exceptions: for a promise, the thread that has claimed the promise; for a
 *    detached task, the thread that has decided its token (detach.h); for a refused task, its
 *    submitter.
 * future.last_touch: The CAS that makes the state final ([future.final]) is the completer's last
 *    touch of a future that is not DROPPED. Before that CAS the completer stores value and status,
 *    and takes the list of continuations.
 * future.visit: While VISITOR is set, and then until the count of the visit is taken back, the
 *    resource exists. The future's task, or the count, keeps the resource from being released for
 *    good (resource.visits, resource.h). During a submit there may be neither task nor count, but
 *    nobody may free the resource then. A refused submit may leave a count after the release. Hence
 *    baton_resource_await() must begin after such a submit (baton/resource.h); otherwise the
 *    submitter would have to wait for the visitor, against L4.
 * future.generation: leave clears no VISITOR bit of another generation: that bit may belong to a
 *    visit to another resource, and the leaver's own visit was counted by settle. Within one
 *    generation all visits are to one resource. So if claim has counted a visitor, and the next
 *    visitor has set the bit, it does not matter which of the two clears the bit, and which takes
 *    back the count.
 *
 * future.entered: The short path of a submit binds the future and enters its task by one store of
 *    `_resource`, with bit ENTERED. The state stays PENDING, and counts as RUNNING. A claim is not
 *    needed: no other thread can decide about a future that is not bound, and a thread that finds
 *    the future bound finds ENTERED with it. If an earlier submit was refused, a thread that has
 *    looked before that refusal fails in its CAS (future.generation). ENTERED stays until the
 *    future is detached, or initialised anew.
 *
 * future.forgotten: No other thread touches a future that is DROPPED and has none of CHAINED,
 *    SLEEPERS, VISITOR and WANTED: a thread that waits, cancels, visits or calls then() has a
 *    reference meanwhile. The runner claims such a future by a store, and frees it without making
 *    it final.
 *
 * Linearisation point of completion: the CAS to a final state in publish(), or in
 * baton__future_finish_entered(). ABA: STATE only advances, and the flags are compared together
 * with STATE. An unclaim makes STATE what it was before the claim. A thread that has looked before
 * the claim then finds what it has seen: the future is PENDING, and its mark keeps the resource. A
 * generation comes back after 2^21 refused submits. If exactly so many submits are refused between
 * two looks of a thread, this thread takes the future for unchanged.
 */
#ifndef BATON_SRC_FUTURE_H
#define BATON_SRC_FUTURE_H

#include <stdbool.h>
#include <stdint.h>

#include <baton/future.h>

#include "base/atomic.h"
#include "base/checked.h"
#include "base/platform.h"

struct baton__frame;

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

/* Bit 0 of `_resource` (future.entered). */
#define BATON__FUTURE_ENTERED ((uintptr_t)1)

/* One visit, in the turn of a resource. */
#define BATON__VISIT 0x20U

/*
 * A future that the library has allocated; the body of a node begins with it (node.h). `references`
 * counts the references from outside; the completer's reference is the state. Of the thread that
 * makes the state final and the thread that sets DROPPED, the one that comes second frees the
 * future.
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
	BATON__CHECK(!((uintptr_t)resource & BATON__FUTURE_ENTERED));
	/* [future.bind] release: the words of the resource, since a visitor may learn of the
	 * resource by this store; if a detach unbinds the future: the claim, which came before.
	 * Pairs with [future.bind] in baton__future_resource */
	store_release(&future->_resource, resource);
}

/* Binds a fresh future to the resource of its task, which the caller enters now: the caller holds
 * the resource. */
BATON_INLINE void baton__future_enter(struct baton_future *future, struct baton_resource *resource)
{
	/* Relaxed: no thread visits the resource of an entered future. A search for cycles reads,
	 * under the lock of the search, the name of a resource that a sleeping thread holds. */
	store_relaxed(&future->_resource,
	              (struct baton_resource *)((uintptr_t)resource | BATON__FUTURE_ENTERED));
}

/* The address in a value of `_resource`. */
BATON_INLINE struct baton_resource *baton__binding_resource(struct baton_resource *binding)
{
	return (struct baton_resource *)((uintptr_t)binding & ~BATON__FUTURE_ENTERED);
}

/* Does a value of `_resource` say that the task was entered at once? */
BATON_INLINE bool baton__binding_entered(const struct baton_resource *binding)
{
	return (uintptr_t)binding & BATON__FUTURE_ENTERED;
}

/* The value of `_resource`: the resource to which the future is bound, and bit ENTERED. NULL: it is
 * not bound. */
BATON_INLINE struct baton_resource *baton__future_binding(const struct baton_future *future)
{
	/* [future.bind] acquire: pairs with [future.bind] in baton__future_bind */
	return load_acquire(&future->_resource);
}

/* The resource to which the future is bound. NULL: none. */
BATON_INLINE struct baton_resource *baton__future_resource(const struct baton_future *future)
{
	return baton__binding_resource(baton__future_binding(future));
}

BATON_INLINE bool baton__future_final(const struct baton_future *future)
{
	/* [future.final] acquire: what the task did; pairs with [future.final] in publish */
	return load_acquire(&future->_state) & BATON__FUTURE_FINAL;
}

/* What a visitor remembers of the state (future.generation). */
BATON_INLINE uint32_t baton__future_generation(uint32_t state)
{
	return state / BATON__FUTURE_GENERATION;
}

/*
 * The kernel's id of the thread that has made the promise. `_status` holds the id until the promise
 * is completed. 0: not known (BATON_PROMISE_INIT), or the future is no promise.
 */
uint32_t baton__promise_maker(const struct baton_future *future);

/* Can a task be submitted with the future? Called by the submitter. */
BATON_INLINE bool baton__future_fresh(const struct baton_future *future)
{
	uint32_t state = load_relaxed(&future->_state);

	return !(state & (BATON__FUTURE_STATE | BATON__FUTURE_PROMISE)) &&
	       !load_relaxed(&future->_resource);
}

/*
 * The runner claims the future, then enters the task: true. False: the task was cancelled, and the
 * caller finishes the future as CANCELLED. In both cases a visitor is counted in `*visits`, the
 * turn of the resource that the caller holds.
 */
bool baton__future_claim(struct baton_future *future, uint32_t *visits);

/*
 * Takes back the claim of an await's future, if the future is claimed: threads may become visitors
 * by the future again. False: nobody waits for the future any more, and the future stays as it is.
 */
bool baton__future_unclaim(struct baton_future *future);

/*
 * Completes the future: makes it final, wakes its sleepers, fires its continuations, and frees it
 * if it was dropped. `state`: a final state. `visits`: as for claim; NULL where no visitor can be.
 */
void baton__future_finish(struct baton_future *future, uint32_t state, int status, void *value,
                          uint32_t *visits);

/*
 * finish, for a task that was entered by baton__future_enter: one CAS. False: a thread waits for
 * the future, has chained to it, or has asked the task to stop, or an earlier submit with the
 * future was refused; the caller calls finish.
 */
BATON_INLINE bool baton__future_finish_entered(struct baton_future *future, int status, void *value)
{
	uint32_t found = BATON__FUTURE_PENDING;

	/* The future was fresh: its value is NULL (list.back_link, core/list.h), and its status 0.
	 * Each store costs time, also one that changes nothing (baton__leave_bare,
	 * core/submit.h). Relaxed: as in publish. */
	if (value)
		store_relaxed(&future->_value, value);
	if (status)
		store_relaxed(&future->_status, status);
	/* [future.final] release: value, status, and all that the task did; pairs with
	 * [future.final] in baton__future_final. Linearisation point, and the last touch. */
	return cas_release(&future->_state, &found,
	                   status ? BATON__FUTURE_FAILED : BATON__FUTURE_DONE);
}

/* Unbinds the future of a running task. Another thread will complete the future. */
void baton__future_detach(struct baton_future *future);

/*
 * finish in two halves, for a caller that gathers wakes (L5).
 * publish makes a RUNNING future final, and appends its continuations to `*continuations`. The
 * future's memory may be gone afterwards. True: the caller wakes the sleepers of the state word.
 */
bool baton__future_publish(struct baton_future *future, uint32_t state, int status, void *value,
                           struct baton_continuation **continuations);

/*
 * visit: the caller becomes the future's visitor. Returns the task's resource, which the caller may
 * touch until leave, and in `*generation` an argument of leave. NULL: the task is not submitted
 * yet, or is entered or complete; or there is a visitor. When that visitor leaves, it nudges a
 * caller that was about to sleep.
 * leave: true: the visit was counted in the resource's turn, and the caller takes the count back.
 */
struct baton_resource *baton__future_visit(struct baton_future *future, uint32_t *generation);
bool baton__future_leave(struct baton_future *future, uint32_t generation);

/*
 * After a task was refused and its future unbound: counts a visitor in `*visits`, and clears its
 * bit. Returns the state found. `*spare`: the visitor left before its bit was cleared, and the
 * caller ends the visit that was counted.
 */
uint32_t baton__future_settle(struct baton_future *future, uint32_t *visits, bool *spare);

/* Cancels a promise: 0 or -EALREADY; -EINVAL: the future is a task's. */
int baton__promise_cancel(struct baton_future *future);

#endif
