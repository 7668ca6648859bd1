/* SPDX-License-Identifier: MIT */
/*
 * Helping (law L9), and the end of a visit. A waiter borrows the baton of a queued resource, and
 * runs the tasks up to the awaited task. A canceller borrows the baton to unlink one task. The job
 * stays in its queue meanwhile, as a reference that keeps the resource from being released.
 */
#include "core/help.h"

#include "base/atomic.h"
#include "core/backlog.h"
#include "core/deferred.h"
#include "core/drain.h"
#include "core/frame.h"
#include "core/handoff.h"
#include "core/shelf.h"
#include "core/stats.h"

/*
 * Withdraws the job from its queue if only marks are left: these wait for a release, which the job
 * prevents. True: the job is in no queue.
 */
static bool withdraw(struct baton_executor *executor, struct baton_resource *resource)
{
	if (!resource->_list || !baton__backlog_only_marks(resource))
		return false;
	return baton__deferred_remove(&resource->_job) ||
	       (executor && executor->_ops->withdraw &&
	        executor->_ops->withdraw(executor, &resource->_job));
}

/*
 * Has an entry been pushed since this thread looked and found nothing to do? Another thread may
 * have the baton now. This thread is still a visitor: the word exists, but its entries may be gone.
 */
static bool pushed_since(struct baton_resource *resource)
{
	/* Suppose that a waiter looked for work after the push, and found the resource HELPED, not
	 * QUEUED. Then it had stored `asleep` before this thread gave the baton back, and this
	 * thread sees it among the sleepers (thread.asleep, thread.c). The word is loaded after
	 * that, so this thread sees the push, too. */
	return baton__thread_any_asleep() && baton__word_newest(baton__word(resource));
}

/*
 * Gives the borrowed baton back. False: the resource is queued again. True: the job was popped
 * meanwhile, or is withdrawn now, and this thread has continued as the runner. If not `did`, the
 * caller is still a visitor.
 */
static bool give_back(struct baton__stay *stay, bool did, bool last_look)
{
	struct baton_resource *resource = stay->frame.resource;
	struct baton_executor *executor = baton__executor_if_any(resource);
	const struct baton_executor *member = baton__capture_limit(resource) ? NULL : executor;
	bool withdrawn = last_look && withdraw(executor, resource);
	bool busy;

	/* As soon as the baton is back the job may run, and its executor may end. */
	baton__thread_enter(executor);
	/* If this returns true, it is the last touch of the resource, except in pushed_since. */
	if (!baton__turn_give_back(resource, withdrawn)) {
		baton__thread_leave();
		/* Tasks that are left are handed off, not run here. */
		baton__stay_spent(stay);
		baton__stay(stay, baton__place_to_release(resource));
		return true;
	}
	busy = executor && (!executor->_ops->returned || executor->_ops->returned(executor) > 0);
	baton__thread_leave();
	baton__frame_pop(&stay->frame);
	/* Other threads that sleep for the resource may have to help next; nudge_for only compares
	 * the address. If this thread did nothing, and no entry was pushed, it must not nudge: two
	 * awaiters would nudge each other for ever. After a push the next look takes the entry, so
	 * each push makes at most one such nudge. */
	if (busy && (did || pushed_since(resource)))
		baton__thread_nudge_for(resource, member);
	return false;
}

void baton__give_back(struct baton__stay *stay)
{
	(void)give_back(stay, true, false);
}

/* The rest of baton__help, after the borrow. */
static bool help(struct baton__stay *stay, bool last_look)
{
	const struct baton_resource *resource = stay->frame.resource;
	const uint32_t tasks = stay->tasks;
	bool helped;

	if (baton__drain(stay)) {
		/* Shelved: the unsheller gives the borrowed baton back. */
		baton__frame_pop(&stay->frame);
		return true;
	}
	helped = stay->tasks != tasks || baton__future_final(stay->until);
	if (helped && baton__stats(resource))
		baton__count(&baton__stats(resource)->helped, 1);
	return give_back(stay, helped, last_look) || helped;
}

bool baton__help(struct baton_resource *resource, struct baton__stay *stay, bool last_look)
{
	struct baton__thread *self = baton__self;
	struct baton__helping helping = {
		.below = self->helping, .frame = &stay->frame, .until = stay->until};
	bool did;

	if (!baton__turn_borrow(resource))
		return false;
	baton__frame_push(&stay->frame, resource);
	self->helping = &helping;
	did = help(stay, last_look);
	self->helping = helping.below;
	return did;
}

/*
 * Unlinks and cancels the task or suspend mark of `future`. Does nothing if the drain has met it
 * already.
 */
static void unlink_from(struct baton_resource *resource, struct baton_future *future)
{
	struct baton_task *task = baton__backlog_unlink(resource, future);

	if (!task)
		return;
	if (baton__is_mark(task)) {
		baton__suspend_cancelled(resource, task);
		return;
	}
	if (resource->_stats)
		baton__stats_unlinked(resource, task);
	baton__cancel_task(resource, task);
}

bool baton__unlink(struct baton_resource *resource, struct baton_future *future,
                   uint32_t generation)
{
	struct baton__stay stay = {.borrowed = true};
	bool counted;

	if (!baton__turn_borrow(resource))
		return false;
	/* The visit of the future ends here: the baton keeps the resource now, and the completion
	 * of the future may give back the future's memory. */
	counted = baton__future_leave(future, generation);
	baton__frame_push(&stay.frame, resource);
	unlink_from(resource, future);
	baton__give_back(&stay);
	if (counted)
		baton__visit_end(resource);
	return true;
}

bool baton__leave(struct baton_future *future, struct baton_resource *resource, uint32_t generation)
{
	bool counted = baton__future_leave(future, generation);

	if (counted)
		baton__visit_end(resource);
	return counted;
}

/* The runner has left, and this visitor holds the baton: for the release, or for the work that a
 * kick has brought. */
static void go_on(struct baton_resource *resource)
{
	const enum baton__place place = baton__place(resource);
	struct baton__stay stay;

	/* Relaxed: a kick that this load misses is handed off. */
	if (place == BATON__HERE || baton__word_newest(baton__word(resource))) {
		baton__go_on(resource, place, 1);
		return;
	}
	baton__frame_push(&stay.frame, resource);
	baton__stay_spent(&stay);
	baton__stay(&stay, baton__place_to_release(resource));
}

void baton__visit_end(struct baton_resource *resource)
{
	if (baton__turn_end_visit(resource))
		go_on(resource);
}

void baton__visit_look(struct baton_resource *resource)
{
	if (BATON_UNLIKELY(baton__turn_take_over(resource)))
		go_on(resource);
}

/* ---- The shelf ---- */

/* Releases the resource if no entry waits. False: an entry waits. */
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

/* Runs the tasks that wait, or hands the resource off. Called by the holder, which has no frame. */
static void go_on_unshelved(struct baton_resource *resource, bool later)
{
	struct baton__stay stay = {.borrowed = true};

	/* The baton is borrowed: HELPED, or CONSUMED. */
	if (!baton__turn_seems_held(resource)) {
		baton__frame_push(&stay.frame, resource);
		baton__give_back(&stay);
		return;
	}
	if (release_empty(resource))
		return;
	baton__go_on(resource, later || many_wait(resource) ? BATON__LATER : baton__place(resource),
	             0);
}

void baton__unshelve(struct baton_resource *resource, bool later)
{
	if (!baton__turn_unshelve(resource))
		return; /* that was the last touch */
	go_on_unshelved(resource, later);
	if (!later)
		baton__deferred_check(baton__self);
}
