/* SPDX-License-Identifier: MIT */
/*
 * The turn: who holds a BUSY resource, and how many visitors the resource has. Each
 * transition of the turn is a function of turn.h or turn.c; no other file touches `_turn`.
 * (Exception: a future counts its visitors in `_turn`, by baton__turn_visits: future.h.)
 *
 * Bits, low to high:
 *   phase     2 bits. Where the baton is:
 *   HELD      A thread holds the baton, or the baton is on the shelf. Also while the resource is
 *             idle.
 *   QUEUED    The resource's job is in an executor's queue, or in a thread's list of deferred jobs.
 *   HELPED    The job is in the queue, and a helper has borrowed the baton.
 *   CONSUMED  The executor's thread has popped the job, and has left the rest to the helper.
 *   LEAVING   The runner wants to release for good, but visitors remain: the last of them, or a
 *             visitor that has pushed a kick, continues in the runner's place. Only with visits.
 *   TOUCHED   A helper has had the baton since the resource was queued. A hint for the thread whose
 *             hand-off is refused.
 *   FINAL     The resource has a finaliser. Set once, never cleared.
 *   visits    25 bits. How many visitors are counted: threads that may touch the resource although
 *             they are in no call on it, tokens, debts, windows in which tasks wait.
 *   shelf     2 bits, with phase HELD, HELPED or CONSUMED. Of the holder that leaves and the thread
 *             that unshelves, the one that comes second continues the drain. A QUEUED resource has
 *             no such bits: a thread that borrows its baton runs tasks, or takes the inbox and with
 *             it ATTENTION, which would tell the next holder to leave:
 *   WANTED    The holder leaves before it runs another task. Set by the holder alone, while the
 *             bits are 0; then exactly one thread unshelves.
 *   LEFT      The holder has left.
 *   CALLED    The unsheller came first: the holder does not leave.
 *
 * Transitions, and the functions that make them (with baton__turn_ before the name):
 *   HELD -> QUEUED                    queue: the holder
 *   QUEUED -> HELD                    take_back: the thread that has the job
 *   QUEUED -> HELPED, TOUCHED         borrow: a visitor, which is then the holder
 *   HELPED -> QUEUED                  give_back: the helper
 *   HELPED -> CONSUMED                take_back: the thread that has the job
 *   CONSUMED -> HELD                  give_back: the helper, which is then the runner
 *   HELPED -> HELD                    give_back: a helper that has withdrawn the job
 *   one visit more                    visit: the holder, or a thread that keeps the resource
 *   one visit more, LEAVING           leave: the runner
 *   one visit less                    unvisit: the holder; end_visit: the visitor
 *   LEAVING -> 0                      end_visit: the last visitor; take_over: any visitor; both are
 *                                     then the holder
 *   0 -> FINAL                        set_final: any thread
 *   0 -> WANTED -> 0                  want_shelf, unwant_shelf: the holder
 *   0 -> LEFT                         shelve_idle: the holder
 *   WANTED -> LEFT, CALLED -> 0       shelve: the holder
 *   LEFT -> 0, WANTED -> CALLED       unshelve: any thread; after LEFT it is the holder
 *
 * Linearisation points of shelving and unshelving: the CAS of shelve and unshelve. Progress: lock-
 * free; a CAS fails only because another thread has made a transition.
 * ABA: each transition depends on the word alone.
 */
#ifndef BATON_SRC_TURN_H
#define BATON_SRC_TURN_H

#include <baton/resource.h>

#include "base/atomic.h"
#include "base/checked.h"
#include "base/platform.h"
#include "future/future.h"

/* For turn.h, turn.c, and tests that watch the turn: other files call the functions. */
#define BATON__PHASE 3U
#define BATON__HELD 0U
#define BATON__QUEUED 1U
#define BATON__HELPED 2U
#define BATON__CONSUMED 3U
#define BATON__LEAVING 4U
#define BATON__TOUCHED 8U
#define BATON__FINAL 16U
#define BATON__VISITS 0x3FFFFFE0U /* counted in units of BATON__VISIT */
#define BATON__SHELF 0xC0000000U
#define BATON__SHELF_WANTED 0x40000000U
#define BATON__SHELF_CALLED 0x80000000U
#define BATON__SHELF_LEFT 0xC0000000U

/* ---- Phases ---- */

/*
 * Makes the resource QUEUED; called by the holder before it puts the job into a queue. From here on
 * any helper may take the baton.
 */
BATON_INLINE void baton__turn_queue(struct baton_resource *resource)
{
	/* [turn.baton] release: _list, statistics, all that the tasks did; pairs with [turn.baton]
	 * in take_back, borrow. An addition, since visitors change the word meanwhile.
	 * thread.asleep (thread.c) seq_cst: before the look for sleepers, see baton__turn_borrow.
	 */
	const uint32_t before = add_seq_cst(&resource->_job._turn, BATON__QUEUED);

	BATON__CHECK(!(before & BATON__SHELF));
	(void)before;
}

/*
 * Called by the thread that has the job, which an executor has refused or a thread has popped.
 * *touched: a helper has had the baton meanwhile. True: the caller is the holder. False: a helper
 * has the baton, and continues; this was the last touch of the resource.
 */
bool baton__turn_take_back(struct baton_resource *resource, bool *touched);

/* Borrows the baton; the job stays in the queue. False: the resource is not queued. */
bool baton__turn_borrow(struct baton_resource *resource);

/*
 * Gives a borrowed baton back. True: the resource is queued again. False: the job has been popped
 * meanwhile, or the caller has `withdrawn` the job: the caller is the runner.
 */
bool baton__turn_give_back(struct baton_resource *resource, bool withdrawn);

/* Does the resource's job wait in a queue? Asked by a visitor. */
BATON_INLINE bool baton__turn_is_queued(struct baton_resource *resource)
{
	/* thread.asleep (thread.c) seq_cst: as in borrow. Relaxed is seldom noticed: rare. */
	return (load_seq_cst(&resource->_job._turn) & BATON__PHASE) == BATON__QUEUED;
}

/*
 * Does the job still lie in the queue? If so, the executor does not end before this thread has left
 * the executor. Asked by the borrower, which has said before that it is inside (thread.touch).
 */
BATON_INLINE bool baton__turn_is_helped(struct baton_resource *resource)
{
	/* [turn.inside] release: the store of `inside`; pairs with [turn.inside] in take_back. A
	 * write: so take_back comes after it, or before it, and then the answer is false. Release
	 * is enough: a thread that is too late touches nothing. Relaxed is seldom noticed: rare. */
	return (or_acq_rel(&resource->_job._turn, 0U) & BATON__PHASE) == BATON__HELPED;
}

/* Hints (relaxed). queued: as baton__turn_is_queued. held: is the baton held and not borrowed? */
BATON_INLINE bool baton__turn_seems_queued(const struct baton_resource *resource)
{
	return (load_relaxed(&resource->_job._turn) & BATON__PHASE) == BATON__QUEUED;
}

BATON_INLINE bool baton__turn_seems_held(const struct baton_resource *resource)
{
	return (load_relaxed(&resource->_job._turn) & BATON__PHASE) == BATON__HELD;
}

/* A hint (relaxed): is the baton on the shelf? */
BATON_INLINE bool baton__turn_seems_shelved(const struct baton_resource *resource)
{
	return (load_relaxed(&resource->_job._turn) & BATON__SHELF) == BATON__SHELF_LEFT;
}

/* ---- Visits ---- */

/* Counts a visit. Until now the caller keeps the resource by the baton, or by its call. */
BATON_INLINE void baton__turn_visit(struct baton_resource *resource)
{
	/* Relaxed: the baton's release, or the end of the caller's call, publishes the count. */
	(void)add_relaxed(&resource->_job._turn, BATON__VISIT);
}

/* Takes back a visit whose visitor is gone. Called by the holder. */
BATON_INLINE void baton__turn_unvisit(struct baton_resource *resource)
{
	/* Relaxed: only the holder releases for good. */
	(void)sub_relaxed(&resource->_job._turn, BATON__VISIT);
}

/* The word in which futures of the resource count their visitors. */
BATON_INLINE uint32_t *baton__turn_visits(struct baton_resource *resource)
{
	return &resource->_job._turn;
}

/* Are visits counted? False: all touches of former visitors have happened before. */
BATON_INLINE bool baton__turn_is_visited(const struct baton_resource *resource)
{
	/* [turn.visits] acquire: what visitors did; pairs with [turn.visits] in end_visit */
	return load_acquire(&resource->_job._turn) & BATON__VISITS;
}

/*
 * The visitor's last step. True: the runner has left, this visitor was the last, and is the holder
 * now. False: this was the last touch of the resource.
 */
bool baton__turn_end_visit(struct baton_resource *resource);

/*
 * The runner leaves the resource to the visitors, and is a visitor from here on. False: no visit is
 * counted.
 */
bool baton__turn_leave(struct baton_resource *resource);

/* A visitor takes over the baton of a runner that has left. False: no runner has left. */
bool baton__turn_take_over(struct baton_resource *resource);

/* ---- The finaliser ---- */

/* Says that the resource has a finaliser. False: it has one already. */
bool baton__turn_set_final(struct baton_resource *resource);

/* ---- The shelf ---- */

/* Must the holder leave, or has the unsheller come first? Called by the holder. */
BATON_INLINE bool baton__turn_is_shelving(const struct baton_resource *resource)
{
	/* Relaxed: the holder has set WANTED, which the unsheller can only change to CALLED. */
	return load_relaxed(&resource->_job._turn) & BATON__SHELF;
}

/*
 * want_shelf: sets WANTED: the holder will leave. The step by which a thread learns that it is to
 * unshelve comes later, and publishes WANTED. unwant_shelf: clears WANTED, before any thread has
 * learnt to unshelve.
 */
void baton__turn_want_shelf(struct baton_resource *resource);
void baton__turn_unwant_shelf(struct baton_resource *resource);

/* The holder, which runs no task, leaves at once. This is its last touch of the resource. */
void baton__turn_shelve_idle(struct baton_resource *resource);

/*
 * The holder leaves. True: the holder has left; last touch. False: the unsheller came first, and
 * the holder stays.
 */
bool baton__turn_shelve(struct baton_resource *resource);

/*
 * The unsheller's step. True: the caller is the holder. False: the holder has not left yet, and
 * will stay.
 */
bool baton__turn_unshelve(struct baton_resource *resource);

#endif
