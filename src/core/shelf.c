/* SPDX-License-Identifier: MIT */
/*
 * The shelf: a resource's baton that nobody holds, though the resource is BUSY. A task puts it
 * there when what it has begun is to end before the next task runs; a suspend mark, when nothing
 * is to run. Submits go on queueing; whoever unshelves goes on with the queue, on any thread.
 *
 * Two parties meet in the shelf bits of the turn (turn.h, R7): the runner that leaves, and the
 * unsheller, which may come first. The second goes on: no memory but the resource is needed.
 * A borrowed baton is shelved as it is (HELPED: its job lies in a queue); the unsheller gives it
 * back in the helper's place.
 *
 * Progress: shelving is lock-free, unshelving too, but for the tasks that it runs.
 */
#include "core/shelf.h"

#include "base/atomic.h"
#include "core/backlog.h"
#include "core/place.h"
#include "core/frame.h"
#include "core/help.h"

#include <errno.h>

void baton__shelve(struct baton_resource *resource)
{
	BATON_ASSERT(baton__thread_holds(baton__self, resource));
	baton__turn_want_shelf(resource);
	/* So that the release at the end of a short path fails. */
	baton__word_ask(resource);
}

void baton__shelve_undo(struct baton_resource *resource)
{
	baton__turn_unwant_shelf(resource);
}

bool baton__shelve_idle(struct baton_resource *resource, uintptr_t idle)
{
	if (!baton__word_capture(resource, idle, baton__mode(resource)))
		return false;
	baton__turn_shelve_idle(resource); /* last touch */
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
	if (BATON_LIKELY(!baton__turn_is_shelving(resource)))
		return false;
	put_back(frame, resource);
	return baton__turn_shelve(resource); /* last touch, if it has left */
}

/* Nothing has come meanwhile: it is released at once. */
static bool release_empty(struct baton_resource *resource)
{
	uintptr_t word = baton__word(resource);

	if (resource->_list || baton__word_newest(word) || baton__backlog_has(resource))
		return false;
	return baton__word_release(resource, word); /* last touch */
}

/*
 * Would the next task come from an inbox with more than a quantum's tasks? Taking it, which walks
 * over all of them, is no work for a thread that only unshelves (L8, L12). The holder.
 */
static bool many_wait(struct baton_resource *resource)
{
	const struct baton_task *task = baton__word_newest(baton__word_inbox(resource));

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
	if (!baton__turn_seems_held(resource)) {
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
	if (!baton__turn_unshelve(resource))
		return; /* that was the last touch */
	go_on(resource, later);
	if (!later)
		baton__deferred_check(baton__self);
}

/* A suspend mark has come to its turn: LEFT, unless it has been cancelled. */
static enum baton__met suspend_here(struct baton__frame *frame, struct baton_resource *resource,
                                    struct baton_task *mark)
{
	struct baton_future *future = baton__mark_future(mark);

	/* Before the claim, whose release publishes it: a thread that finds the future claimed
	 * unshelves. */
	baton__turn_want_shelf(resource);
	if (!baton__future_claim(future, baton__turn_visits(resource))) {
		baton__turn_unwant_shelf(resource);
		baton__suspend_cancelled(resource, mark);
		return BATON__MET;
	}
	/* It has taken effect: nothing runs from here on. Last touch of the mark. */
	baton__future_finish(future, BATON__FUTURE_DONE, 0, NULL, NULL);
	return baton__shelf_leave(frame, resource) ? BATON__MET_LEFT : BATON__MET;
}

const struct baton__kind baton__suspend_kind = {
	.type._flags =
		BATON__KIND_OWN | BATON__KIND_MARK | BATON__KIND_OVERTAKES | BATON__KIND_PROMPT,
	.meet = suspend_here,
};

void baton__suspend_cancelled(struct baton_resource *resource, struct baton_task *mark)
{
	baton__future_finish(baton__mark_future(mark), BATON__FUTURE_CANCELLED, -ECANCELED, NULL,
	                     baton__turn_visits(resource));
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
