/* SPDX-License-Identifier: MIT */
/*
 * Helping (law L9): a waiter borrows the baton of a queued resource, and runs the tasks up to the
 * awaited task. The job stays in its queue meanwhile, as a reference that keeps the resource from
 * being released.
 */
#include "wait/wait.h"

#include "core/backlog.h"
#include "core/deferred.h"
#include "core/drain.h"
#include "core/frame.h"
#include "core/stats.h"
#include "core/visit.h"

/*
 * Is nothing left but marks: no task of the user's, and no kick, which may let tasks start? Called
 * by the holder.
 */
static bool only_marks(const struct baton_resource *resource)
{
	for (const struct baton_task *task = resource->_list; task; task = task->_next)
		if (!baton__is_mark(task) || baton__kind_is(task, BATON__KIND_COUNTS))
			return false;
	return baton__backlog_has(resource) != BATON__HAS_TASKS;
}

/*
 * Withdraws the job from its queue if only marks are left: marks wait for a release, which the
 * queued job prevents. True: the job is in no queue.
 */
static bool withdraw_marks(const struct baton__stay *stay)
{
	struct baton_resource *resource = stay->frame.resource;

	if (!resource->_list || !only_marks(resource))
		return false;
	return baton__deferred_remove(&resource->_job) || baton__withdraw(stay);
}

/*
 * Does this thread, which has done nothing, leave tasks that another waiter may enter? That waiter
 * may have found this thread in its way, and sleep. `tasks`: how many this thread might enter. If
 * it might enter tasks and has entered none, none may run: other waiters that it nudged would find
 * none either, and would nudge this thread.
 */
static bool leaves_tasks(const struct baton__stay *stay, uint32_t tasks)
{
	const struct baton_resource *resource = stay->frame.resource;
	/* Relaxed: only compared; another thread may unbind the future at any time. */
	const bool bound = load_relaxed(&stay->until->_resource) == resource;

	return (tasks == 0 || !bound) && !only_marks(resource);
}

/* The rest of baton__help, after the borrow. */
static bool help(struct baton__stay *stay, bool last_look)
{
	struct baton_resource *resource = stay->frame.resource;
	const uint32_t tasks = stay->tasks;
	bool helped;
	bool leaves;
	bool withdrawn;

	/* The visitor's look was a hint: meanwhile an executor may have taken the job. A thread of
	 * that executor may have found the resource HELPED: give_back nudges it. */
	if (stay->deferred && !baton__job_is_deferred(&resource->_job)) {
		stay->deferred = false;
		baton__give_back(stay);
		return true; /* look again */
	}
	if (baton__drain(stay)) {
		/* Shelved: the unsheller gives the borrowed baton back. */
		baton__frame_pop(&stay->frame);
		return true;
	}
	helped = stay->tasks != tasks || baton__future_final(stay->until);
	if (helped && baton__stats(resource))
		baton__count(&baton__stats(resource)->helped, 1);
	leaves = !helped && leaves_tasks(stay, tasks);
	withdrawn = (last_look && withdraw_marks(stay)) || baton__recall(stay);
	return baton__give_back_helped(stay, helped || leaves, withdrawn) || helped;
}

bool baton__help(struct baton_resource *resource, struct baton__stay *stay, bool last_look)
{
	struct baton__thread *self = baton__self;
	struct baton__helping helping = {
		.below = self->helping,
		.frame = &stay->frame,
		.until = stay->until,
		.enters = stay->tasks > 0,
	};
	bool did;

	if (!baton__turn_borrow(resource))
		return false;
	baton__frame_push(&stay->frame, resource);
	self->helping = &helping;
	did = help(stay, last_look);
	self->helping = helping.below;
	return did;
}
