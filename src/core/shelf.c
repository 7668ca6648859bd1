/* SPDX-License-Identifier: MIT */
/*
 * The shelf: the baton of a BUSY resource that no thread holds. A task shelves its resource when
 * what the task has begun must end before the next task runs. A suspend mark shelves the resource
 * when no task is to run. Submits still queue their tasks. The thread that unshelves continues the
 * drain; it may be any thread.
 *
 * The runner that leaves and the unsheller meet in the shelf bits of the turn (turn.h,
 * resource.shelf). The unsheller may come first. The second of the two continues the drain: this
 * needs no memory but the resource. A borrowed baton is shelved as it is (HELPED: the job is in a
 * queue); the unsheller gives the baton back in the helper's place.
 *
 * Progress: shelving is lock-free. Unshelving is lock-free, too, save for the tasks that it runs.
 */
#include "core/shelf.h"

#include "base/atomic.h"

#include <errno.h>

void baton__shelve(struct baton_resource *resource)
{
	BATON_ASSERT(baton__thread_holds(baton__self, resource));
	baton__turn_want_shelf(resource);
	/* The release at the end of a short path then fails. */
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

bool baton__shelf_leave(struct baton__stay *stay)
{
	struct baton_resource *resource = stay->frame.resource;

	if (BATON_LIKELY(!baton__turn_is_shelving(resource)))
		return false;
	/* The postponed marks wait for the release, and shelving is no release. */
	baton__marks_put_back(stay);
	return baton__turn_shelve(resource); /* last touch, if true */
}

/*
 * The turn of a suspend mark has come. LEFT: the runner has left; MET: the mark was cancelled, or
 * the unsheller came first.
 */
static enum baton__met suspend_here(struct baton__stay *stay, struct baton_task *mark)
{
	struct baton_resource *resource = stay->frame.resource;
	struct baton_future *future = baton__mark_future(mark);

	/* Before the claim, whose release publishes WANTED: a thread that finds the future claimed
	 * may unshelve. */
	baton__turn_want_shelf(resource);
	if (!baton__future_claim(future, baton__turn_visits(resource))) {
		baton__turn_unwant_shelf(resource);
		baton__suspend_cancelled(resource, mark);
		return BATON__MET;
	}
	/* The suspension has taken effect: no task runs from here on. Last touch of the mark. */
	baton__future_finish(future, BATON__FUTURE_DONE, 0, NULL, NULL);
	return baton__shelf_leave(stay) ? BATON__MET_LEFT : BATON__MET;
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
