/* SPDX-License-Identifier: MIT */
/*
 * The end of a visit, and the return of a borrowed baton. A canceller borrows the baton to unlink
 * one task. The job stays in its queue meanwhile, as a reference that keeps the resource from being
 * released.
 */
#include "core/visit.h"

#include "base/atomic.h"
#include "core/backlog.h"
#include "core/contention.h"
#include "core/frame.h"
#include "core/handoff.h"
#include "core/inbox.h"
#include "core/marks.h"
#include "core/stats.h"

/*
 * Has an entry been pushed since this thread looked and found nothing to do? Another thread may
 * have the baton now. This thread is still a visitor: the word exists, but its entries may be gone.
 */
static bool pushed_since(struct baton_resource *resource)
{
	/* A waiter may have looked for work after the push, and found the resource HELPED, not
	 * QUEUED. Such a waiter stored `asleep` before this thread gave the baton back: so this
	 * thread sees the waiter among the sleepers (thread.asleep, thread.c). This thread loads
	 * the word after that, and so sees the push, too. */
	return baton__thread_any_asleep() && baton__word_newest(baton__word(resource));
}

/* True: the job has been popped or withdrawn, and the caller is the runner. False: the resource is
 * queued again, and the frame is popped. */
static bool give_back_queued(struct baton__stay *stay, bool did, bool withdrawn)
{
	struct baton_resource *resource = stay->frame.resource;
	struct baton_executor *executor = baton__executor_if_any(resource);
	/* The job is in a thread's deferred list: any thread may help, and the executor of the
	 * resource does not come. */
	const bool refused = stay->deferred || baton__job_is_deferred(&resource->_job);
	const struct baton_executor *member =
		refused || baton__capture_max(resource) ? NULL : executor;
	bool busy;

	/* As soon as the baton is back the job may run, and its executor may end. */
	baton__thread_enter(executor);
	/* If baton__turn_give_back returns true, it is the last touch, except in pushed_since. */
	if (!baton__turn_give_back(resource, withdrawn)) {
		baton__thread_leave();
		return true;
	}
	busy = refused ||
	       (executor && (!executor->_ops->returned || executor->_ops->returned(executor) > 0));
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

static bool take_job(const struct baton__stay *stay, bool cheaply)
{
	struct baton_resource *resource = stay->frame.resource;
	struct baton_executor *executor = baton__executor_if_any(resource);
	bool (*take)(struct baton_executor * executor, struct baton_job * job) = NULL;
	bool taken;

	if (!executor || stay->deferred || baton__job_is_deferred(&resource->_job))
		return false;
	/* Once the job has been popped the executor may end. */
	baton__thread_enter(executor);
	if (baton__turn_is_helped(resource))
		take = cheaply ? executor->_ops->recall : executor->_ops->withdraw;
	taken = take && take(executor, &resource->_job);
	baton__thread_leave();
	return taken;
}

bool baton__recall(const struct baton__stay *stay)
{
	return !BATON__LACKS(BATON__RECALL) && !baton__any_waits(stay->frame.resource) &&
	       take_job(stay, true);
}

bool baton__withdraw(const struct baton__stay *stay)
{
	return take_job(stay, false);
}

bool baton__give_back_helped(struct baton__stay *stay, bool did, bool withdrawn)
{
	if (!give_back_queued(stay, did, withdrawn))
		return false;
	/* Tasks that are left are handed off, not run here. */
	baton__stay_spent(stay);
	baton__stay(stay, baton__place_to_release(stay->frame.resource));
	return true;
}

void baton__give_back(struct baton__stay *stay)
{
	(void)baton__give_back_helped(stay, true, false);
}

bool baton__give_back_unshelved(struct baton_resource *resource)
{
	struct baton__stay stay = {0};

	baton__frame_push(&stay.frame, resource);
	if (!give_back_queued(&stay, true, false))
		return false;
	baton__frame_pop(&stay.frame);
	return true;
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
		baton__mark_cancelled(resource, task);
		return;
	}
	if (baton__has_extras(resource))
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

bool baton__visit_leave(struct baton_future *future, struct baton_resource *resource,
                        uint32_t generation)
{
	bool counted = baton__future_leave(future, generation);

	if (counted)
		baton__visit_end(resource);
	return counted;
}

void baton__visit_go_on(struct baton_resource *resource)
{
	enum baton__place place = baton__place(resource);
	struct baton__stay stay;
	/* Relaxed: a kick that this load misses is handed off. */
	const bool more = place == BATON__HERE || baton__word_newest(baton__word(resource));

	if (!more)
		place = baton__place_to_release(resource);
	if (place != BATON__HERE)
		baton__marks_unclaim(resource, resource->_list);
	if (more) {
		baton__go_on(resource, place, 1);
		return;
	}
	baton__frame_push(&stay.frame, resource);
	baton__stay_spent(&stay);
	baton__stay(&stay, place);
}

void baton__visit_end(struct baton_resource *resource)
{
	if (baton__turn_end_visit(resource))
		baton__visit_go_on(resource);
}

void baton__visit_look(struct baton_resource *resource)
{
	if (BATON_UNLIKELY(baton__turn_take_over(resource)))
		baton__visit_go_on(resource);
}
