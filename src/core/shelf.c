/* SPDX-License-Identifier: MIT */
/*
 * The shelf: a resource's baton that nobody holds, though the resource is BUSY. A task puts it
 * there when what it has begun is to end before the next task runs; a suspend mark, when nothing
 * is to run. Submits go on queueing; whoever unshelves goes on with the queue, on any thread.
 *
 * Two parties meet in the SHELF bits of the turn word (resource.h, R7): the runner that leaves, and
 * the unsheller, which may come first. The second goes on: no memory but the resource is needed.
 * A borrowed baton is shelved as it is (HELPED: its job lies in a queue); the unsheller gives it
 * back in the helper's place.
 *
 * Progress: shelving is lock-free, unshelving too, but for the tasks that it runs.
 * Linearisation points: the CAS on the turn, in leave and in unshelve.
 */
#include "core/shelf.h"

#include "base/atomic.h"
#include "core/backlog.h"
#include "core/lane.h"
#include "core/place.h"

#include <errno.h>

void baton__shelve(struct baton_resource *resource)
{
	uintptr_t word = load_relaxed(&resource->_word);

	BATON_ASSERT(baton__thread_holds(baton__self, resource));
	/* 0 -> WANTED. Relaxed: who unshelves has learned of it from us; that orders the two. */
	BATON_ASSERT(!(load_relaxed(&resource->_job._turn) & BATON__SHELF));
	(void)add_relaxed(&resource->_job._turn, BATON__SHELF_WANTED);
	/* So that the release at the end of a short path fails. Relaxed: nothing is published.
	 * Ends: each failure is a push or a close. */
	while ((word & BATON__MODE) != BATON__ATTENTION && (word & BATON__MODE) != BATON__CLOSED &&
	       !cas_relaxed(&resource->_word, &word, (word & ~BATON__MODE) | BATON__ATTENTION))
		;
}

void baton__shelve_undo(struct baton_resource *resource)
{
	BATON_ASSERT((load_relaxed(&resource->_job._turn) & BATON__SHELF) == BATON__SHELF_WANTED);
	/* WANTED -> 0. Relaxed: the holder's, and nobody has been told that he is to unshelve. */
	(void)sub_relaxed(&resource->_job._turn, BATON__SHELF_WANTED);
}

bool baton__shelve_idle(struct baton_resource *resource, uintptr_t idle)
{
	if (!baton__capture(resource, idle, baton__mode(resource)))
		return false;
	/* 0 -> LEFT. Relaxed: as in shelve. Last touch. */
	(void)add_relaxed(&resource->_job._turn, BATON__SHELF_LEFT);
	return true;
}

/* What was postponed waits for the true release: it is met again, before all that follows. */
static void put_back(struct baton__frame *frame, struct baton_resource *resource)
{
	if (!frame->after)
		return;
	baton__list_first(resource, frame->after, frame->after_last);
	frame->after = NULL;
}

bool baton__shelf_leave(struct baton__frame *frame, struct baton_resource *resource)
{
	uint32_t turn = load_relaxed(&resource->_job._turn);
	uint32_t next;

	/* Relaxed: set by this thread. */
	if (BATON_LIKELY(!(turn & BATON__SHELF)))
		return false;
	put_back(frame, resource);
	/* Ends: each failure is a visitor coming or going, the job being popped, or the unsheller.
	 */
	do {
		next = turn & ~BATON__SHELF;
		if ((turn & BATON__SHELF) != BATON__SHELF_CALLED)
			next |= BATON__SHELF_LEFT;
		/* [H3] release: list, all that the tasks did; pairs with [H3] in unshelve. Last
		 * touch, if it is LEFT.
		 * [H4] acquire: what the unsheller did before; pairs with [H4] in unshelve */
	} while (!cas_acq_rel(&resource->_job._turn, &turn, next));
	return next & BATON__SHELF;
}

/* Nothing has come meanwhile: it is released at once. */
static bool release_empty(struct baton_resource *resource)
{
	uintptr_t word = load_relaxed(&resource->_word);
	uintptr_t mode = word & BATON__MODE;

	if (resource->_list || word & BATON__TASKS || !baton__lanes_idle(resource))
		return false;
	if (mode == BATON__ATTENTION)
		mode = baton__mode(resource);
	/* [R2] release: all that the tasks did, and the unsheller; pairs with [R2] in capture. Last
	 * touch. */
	return cas_release(&resource->_word, &word, mode);
}

/*
 * Would the next task come from an inbox with more than a quantum's tasks? Taking it, which walks
 * over all of them, is no work for a thread that only unshelves (L8, L12). The holder.
 */
static bool many_wait(struct baton_resource *resource)
{
	/* [R1] acquire: the tasks' links; pairs with [R1] in push */
	uintptr_t word = load_acquire(&resource->_word);
	const struct baton_task *task = (const struct baton_task *)(word & BATON__TASKS);

	if (resource->_list)
		return false;
	for (uint32_t count = 0; task && count < BATON_QUANTUM; count++)
		task = baton__older(task);
	return task;
}

/* The holder, without a frame, runs what is there, or gives it away. */
static void go_on(struct baton_resource *resource, bool later)
{
	struct baton__frame frame;

	/* HELPED may become CONSUMED meanwhile. */
	if ((load_relaxed(&resource->_job._turn) & BATON__PHASE) != BATON__HELD) {
		baton__frame_push(&frame, resource);
		baton__give_back(&frame, resource);
		return;
	}
	if (release_empty(resource))
		return;
	baton__go_on(resource, 0, later || many_wait(resource));
}

void baton__unshelve(struct baton_resource *resource, bool later)
{
	uint32_t turn = load_relaxed(&resource->_job._turn);
	uint32_t next;

	/* Ends: as in leave. */
	do {
		BATON_ASSERT((turn & BATON__SHELF) == BATON__SHELF_WANTED ||
		             (turn & BATON__SHELF) == BATON__SHELF_LEFT);
		next = turn & ~BATON__SHELF;
		if ((turn & BATON__SHELF) == BATON__SHELF_WANTED)
			next |= BATON__SHELF_CALLED;
		/* [H3] acquire: what the last holder did; pairs with [H3] in leave.
		 * [H4] release: what we did; pairs with [H4] in leave. Last touch, if CALLED. */
	} while (!cas_acq_rel(&resource->_job._turn, &turn, next));
	if (next & BATON__SHELF)
		return;
	go_on(resource, later);
	if (!later)
		baton__deferred_check(baton__self);
}

/* A suspend mark has come to its turn: LEFT, unless it has been cancelled. */
static enum baton__met suspend_here(struct baton__frame *frame, struct baton_resource *resource,
                                    struct baton_task *mark)
{
	struct baton_future *future = baton__mark_future(mark);

	/* 0 -> WANTED, before the claim, whose release publishes it: who finds the future claimed
	 * unshelves. */
	(void)add_relaxed(&resource->_job._turn, BATON__SHELF_WANTED);
	if (!baton__future_claim(future, &resource->_job._turn)) {
		(void)sub_relaxed(&resource->_job._turn, BATON__SHELF_WANTED);
		baton__suspend_cancelled(resource, mark);
		return BATON__MET;
	}
	/* It has taken effect: nothing runs from here on. Last touch of the mark. */
	baton__future_finish(future, BATON__FUTURE_DONE, 0, NULL, NULL);
	return baton__shelf_leave(frame, resource) ? BATON__MET_LEFT : BATON__MET;
}

const struct baton__kind baton__suspend_kind = {
	.flags = BATON__KIND_MARK | BATON__KIND_OVERTAKES | BATON__KIND_PROMPT,
	.meet = suspend_here,
};

void baton__suspend_cancelled(struct baton_resource *resource, struct baton_task *mark)
{
	baton__future_finish(baton__mark_future(mark), BATON__FUTURE_CANCELLED, -ECANCELED, NULL,
	                     &resource->_job._turn);
}

struct baton_task *baton__suspend_marks_first(struct baton_task *list)
{
	struct baton_task *marks = NULL;
	struct baton_task **end = &marks;
	struct baton_task **link = &list;

	while (*link) {
		struct baton_task *task = *link;

		if (!baton__kind_is(task, BATON__KIND_OVERTAKES)) {
			link = &task->_next;
			continue;
		}
		*link = task->_next;
		*end = task;
		end = &task->_next;
	}
	*end = list;
	return marks;
}
