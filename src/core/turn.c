/* SPDX-License-Identifier: MIT */
/*
 * The transitions of the turn that are not on the hot paths.
 */
#include "core/turn.h"

#include "base/atomic.h"

/* ---- Phases ---- */

bool baton__turn_take_back(struct baton_resource *resource, bool *touched)
{
	uint32_t turn = load_relaxed(&resource->_job._turn);
	uint32_t next;

	/* Ends: each failure is a helper that borrows or gives back, or a visitor that comes or
	 * goes. */
	do {
		*touched = turn & BATON__TOUCHED;
		next = turn & ~(BATON__PHASE | BATON__TOUCHED);
		if ((turn & BATON__PHASE) == BATON__HELPED)
			next |= BATON__CONSUMED | BATON__TOUCHED;
		/* [turn.baton] acquire: what the last holder did; pairs with [turn.baton] in queue,
		 * give_back. [turn.job] release: the job is in no queue; pairs with [turn.job] in
		 * give_back. [turn.inside] acquire: that the borrower is inside the executor; pairs
		 * with [turn.inside] in is_helped */
	} while (!cas_acq_rel(&resource->_job._turn, &turn, next));
	return (next & BATON__PHASE) == BATON__HELD;
}

bool baton__turn_borrow(struct baton_resource *resource)
{
	/* thread.asleep (thread.c) seq_cst: after this thread's store of `asleep`, or after it was
	 * counted as a blocked worker. A thread that queues the resource publishes QUEUED before it
	 * looks at `asleep` and at that count. With weaker orders both threads could miss each
	 * other. */
	uint32_t turn = load_seq_cst(&resource->_job._turn);
	uint32_t next;

	/* Ends: each failure is a visitor that comes or goes, or the end of QUEUED. */
	do {
		if ((turn & BATON__PHASE) != BATON__QUEUED)
			return false;
		next = (turn & ~BATON__PHASE) | BATON__HELPED | BATON__TOUCHED;
		/* [turn.baton] acquire: what the last holder did; pairs with [turn.baton] in queue,
		 * give_back */
	} while (!cas_acquire(&resource->_job._turn, &turn, next));
	return true;
}

bool baton__turn_give_back(struct baton_resource *resource, bool withdrawn)
{
	uint32_t turn = load_relaxed(&resource->_job._turn);
	uint32_t next;

	/* Ends: each failure is a visitor that comes or goes, or a thread that pops the job. */
	do {
		BATON_ASSERT(!(turn & BATON__SHELF));
		next = turn & ~BATON__PHASE;
		if ((turn & BATON__PHASE) == BATON__HELPED && !withdrawn)
			next |= BATON__QUEUED;
		else
			next &= ~BATON__TOUCHED;
		/* [turn.baton] release: what the helper did; pairs with [turn.baton] in borrow,
		 * take_back.
		 * [turn.job] acquire: the job is in no queue; pairs with [turn.job] in take_back.
		 * thread.asleep (thread.c) seq_cst: before the caller looks for sleepers; see
		 * borrow. */
	} while (!cas_seq_cst(&resource->_job._turn, &turn, next));
	return (next & BATON__PHASE) == BATON__QUEUED;
}

/* ---- Visits ---- */

bool baton__turn_end_visit(struct baton_resource *resource)
{
	uint32_t turn = load_relaxed(&resource->_job._turn);
	uint32_t next;
	bool last;

	/* [turn.visits] release: the visitor's touches; pairs with [turn.visits] in is_visited,
	 * leave. [turn.leaving] acquire: what the runner left; pairs with [turn.leaving] in leave
	 */
	do {
		next = turn - BATON__VISIT;
		last = (next & BATON__LEAVING) && !(next & BATON__VISITS);
		/* In one step, so that exactly one visitor is the last. Ends: each failure is the
		 * runner's or another visitor's step. */
		if (last)
			next &= ~BATON__LEAVING;
	} while (!cas_acq_rel(&resource->_job._turn, &turn, next));
	return last; /* false: last touch; a thread that sees no visits may free it */
}

bool baton__turn_leave(struct baton_resource *resource)
{
	uint32_t turn;
	uint32_t next;

	/* Ends: each failure is another thread's step on the turn. */
	do {
		/* [turn.visits] acquire: what former visitors did; pairs with [turn.visits] in
		 * end_visit */
		turn = load_acquire(&resource->_job._turn);
		if (!(turn & BATON__VISITS))
			return false;
		next = (turn + BATON__VISIT) | BATON__LEAVING;
		/* [turn.leaving] release: _list, and all that the runner did; pairs with
		 * [turn.leaving] in end_visit, take_over. [turn.kick] seq_cst: before the look for
		 * a kick; pairs with [turn.kick] in take_over. Relaxed is seldom noticed: rare. */
	} while (!cas_seq_cst(&resource->_job._turn, &turn, next));
	return true;
}

bool baton__turn_take_over(struct baton_resource *resource)
{
	/* [turn.kick] seq_cst: after the push, or after LEAVING was set; pairs with [turn.kick] in
	 * leave. Relaxed is seldom noticed below: as in leave. */
	uint32_t turn = load_seq_cst(&resource->_job._turn);

	/* Ends: each failure is another visitor's step.
	 * [turn.leaving] acquire: what the runner left; pairs with [turn.leaving] in leave */
	while (turn & BATON__LEAVING)
		if (cas_acquire(&resource->_job._turn, &turn, turn & ~BATON__LEAVING))
			return true;
	return false;
}

/* ---- The finaliser ---- */

bool baton__turn_set_final(struct baton_resource *resource)
{
	/* Relaxed is enough: only the thread that sets the bit continues. */
	return !(or_acq_rel(&resource->_job._turn, BATON__FINAL) & BATON__FINAL);
}

/* ---- The shelf ---- */

void baton__turn_want_shelf(struct baton_resource *resource)
{
	BATON_ASSERT(!(load_relaxed(&resource->_job._turn) & BATON__SHELF));
	/* Relaxed: what the holder tells the unsheller publishes the bit. */
	(void)add_relaxed(&resource->_job._turn, BATON__SHELF_WANTED);
}

void baton__turn_unwant_shelf(struct baton_resource *resource)
{
	BATON_ASSERT((load_relaxed(&resource->_job._turn) & BATON__SHELF) == BATON__SHELF_WANTED);
	/* Relaxed: no other thread touches the shelf's bits now. */
	(void)sub_relaxed(&resource->_job._turn, BATON__SHELF_WANTED);
}

void baton__turn_shelve_idle(struct baton_resource *resource)
{
	/* Relaxed: as in want_shelf. Last touch. */
	(void)add_relaxed(&resource->_job._turn, BATON__SHELF_LEFT);
}

bool baton__turn_shelve(struct baton_resource *resource)
{
	uint32_t turn = load_relaxed(&resource->_job._turn);
	uint32_t next;

	/* Ends: each failure is a visitor that comes or goes, a thread that pops the job, or the
	 * unsheller. */
	do {
		next = turn & ~BATON__SHELF;
		if ((turn & BATON__SHELF) != BATON__SHELF_CALLED)
			next |= BATON__SHELF_LEFT;
		/* [turn.shelf] release: _list, all that the tasks did; pairs with [turn.shelf] in
		 * unshelve. Last touch if this sets LEFT.
		 * [turn.call] acquire: what the unsheller did before; pairs with [turn.call] in
		 * unshelve */
	} while (!cas_acq_rel(&resource->_job._turn, &turn, next));
	return next & BATON__SHELF;
}

bool baton__turn_unshelve(struct baton_resource *resource)
{
	uint32_t turn = load_relaxed(&resource->_job._turn);
	uint32_t next;

	/* Ends: as in shelve. */
	do {
		BATON_ASSERT((turn & BATON__SHELF) == BATON__SHELF_WANTED ||
		             (turn & BATON__SHELF) == BATON__SHELF_LEFT);
		next = turn & ~BATON__SHELF;
		if ((turn & BATON__SHELF) == BATON__SHELF_WANTED)
			next |= BATON__SHELF_CALLED;
		/* [turn.shelf] acquire: what the last holder did; pairs with [turn.shelf] in
		 * shelve. [turn.call] release: what the unsheller did; pairs with [turn.call] in
		 * shelve. Last touch if this sets CALLED. */
	} while (!cas_acq_rel(&resource->_job._turn, &turn, next));
	return !(next & BATON__SHELF);
}
