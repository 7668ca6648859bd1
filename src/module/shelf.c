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
#include "module/shelf.h"

#include "base/atomic.h"
#include "core/backlog.h"
#include "core/bracket.h"
#include "core/deferred.h"
#include "core/drain.h"
#include "core/frame.h"
#include "core/handoff.h"
#include "core/list.h"
#include "core/marks.h"
#include "core/visit.h"
#include "module/who.h"

void baton__shelve(struct baton_resource *resource, enum baton__who_why why)
{
	struct baton__who who = baton__who_now();

	who.why = why;
	baton__shelve_for(resource, &who);
}

void baton__shelve_for(struct baton_resource *resource, const struct baton__who *who)
{
	BATON_ASSERT(baton__thread_holds(baton__self, resource));
	baton__turn_want_shelf(resource);
	baton__who_shelved(resource, who);
	/* The release at the end of a short path then fails. */
	baton__word_set_attention(resource);
}

bool baton__shelve_idle(struct baton_resource *resource, uintptr_t idle)
{
	const struct baton__who who = baton__who_now();

	if (!baton__word_capture(resource, idle, baton__mode(resource)))
		return false;
	baton__who_shelved(resource, &who);
	(void)baton__backlog_lend(resource);
	baton__turn_shelve_idle(resource); /* last touch */
	return true;
}

/*
 * The runner has reached a suspend mark. LEFT: the runner has left; MET: the mark was cancelled, or
 * the unsheller came first.
 */
static enum baton__met suspend_here(struct baton__stay *stay, struct baton_task *mark)
{
	struct baton_resource *resource = stay->frame.resource;
	struct baton_future *future = baton__mark_future(mark);
	const struct baton__who *who =
		&baton_container_of(mark, struct baton__suspend_mark, awaiter.task)->who;

	baton__who_shelved(resource, who);
	/* Before the claim, whose release publishes WANTED: a thread that finds the future claimed
	 * may unshelve. */
	baton__turn_want_shelf(resource);
	if (!baton__future_claim(future, baton__turn_visits(resource))) {
		baton__turn_unwant_shelf(resource);
		baton__mark_cancelled(resource, mark);
		return BATON__MET;
	}
	/* The suspension has taken effect: no task runs from here on. Last touch of the mark. */
	baton__future_finish(future, BATON__FUTURE_DONE, 0, NULL, NULL);
	return baton__shelf_leave(stay) ? BATON__MET_LEFT : BATON__MET;
}

const struct baton__kind baton__suspend_kind = {
	.type._flags = BATON__KIND_MARK | BATON__KIND_OVERTAKES | BATON__KIND_PROMPT,
	.meet = suspend_here,
};

/* ---- Unshelving ---- */

/* Releases the resource if no entry waits. */
static bool release_empty(struct baton_resource *resource)
{
	uintptr_t word = baton__word(resource);

	if (resource->_list || baton__word_newest(word) || baton__backlog_has(resource) ||
	    baton__backlog_rests(resource))
		return false;
	return baton__word_release(resource, word); /* last touch */
}

/*
 * Does the next task come from an inbox with more than BATON_QUANTUM entries? Taking that inbox
 * means walking over all entries, and is no work for a thread that only unshelves (L8, L12). Called
 * by the holder.
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

/* Runs the tasks that wait, or hands the resource off. Called by the holder, which has no frame.
 * `held`: the holder has had the resource for one task (hold.c). */
static void go_on_unshelved(struct baton_resource *resource, bool later, bool held)
{
	enum baton__place place;

	/* The baton is borrowed: HELPED, or CONSUMED. */
	if (!baton__turn_seems_held(resource) && !baton__give_back_unshelved(resource))
		return;
	if (release_empty(resource))
		return;
	place = later || many_wait(resource) ? BATON__LATER : baton__place(resource);
	if (held && place == BATON__HERE)
		baton__go_on_captured(resource, 1, 1);
	else
		baton__go_on(resource, place, 0);
}

static void unshelve(struct baton_resource *resource, bool later, bool held)
{
	/* False: another thread goes on, and that was the last touch. */
	if (baton__turn_unshelve(resource) && baton__backlog_regain(resource, true))
		go_on_unshelved(resource, later, held);
	/* Whoever goes on: the frame of a hold may have been this thread's outermost. */
	if (!later)
		baton__deferred_check(baton__self);
}

void baton__unshelve(struct baton_resource *resource, bool later)
{
	unshelve(resource, later, false);
}

void baton__unshelve_held(struct baton_resource *resource)
{
	unshelve(resource, false, true);
}

void baton__unshelve_left(struct baton_resource *resource)
{
	/* The holder has left before it could shelve the baton, if its task has asked for that. */
	if (baton__turn_is_shelving(resource) && baton__shelf_put(resource))
		return; /* that was the last touch */
	go_on_unshelved(resource, true, false);
}
