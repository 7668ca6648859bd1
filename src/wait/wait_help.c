/* SPDX-License-Identifier: MIT */
/*
 * How a waiter gets its futures completed (law L9): the waiter helps the futures' resources, drives
 * their executors, or leaves both to other threads.
 *
 * A task that a helper enters may take long, may wait for something that the waiter does after its
 * wait, and may call a resource that the waiter holds. A wait whose only end is the awaited task
 * waits for all tasks before that task, whichever thread runs them: for such a wait, entering those
 * tasks makes nothing worse. A wait with another end, a deadline or another future, would miss that
 * end, or make the task's call fail. So:
 *
 *   the wait                     | enters tasks of a queued resource
 *   for one future, or for all   | always
 *   for any of several           | before it sleeps, if no other thread would run them, so that
 *                                |   N workers that all wait do not hang (executor.h, alone)
 *   with a deadline              | never; a wait for a mark obeys the marks
 *   of a call with `later`       | before it sleeps, if no other thread would run them
 *   any wait                     | always, if only this thread drives the resource's executor; it
 *                                |   looks at its deadline before each task
 *
 * Two kinds of task may still wait for ever. A task of the first kind ends the helper's wait before
 * the task returns (it completes its own token, or flushes its batch), and then waits for the
 * helper. A task of the second kind was entered in a wait for any of several because no other
 * thread would run it, and waits for the waiter.
 *
 * A job that an executor has refused lies in a thread's deferred list (deferred.h). That thread may
 * be the waiter itself, or may wait for the waiter. So each waiter may run the tasks of such a
 * resource, also with BATON_CAPTURE_NONE; a wait for any of several treats the executor as alone.
 */
#include "wait/wait.h"

#include "base/atomic.h"
#include "core/deferred.h"
#include "core/place.h"
#include "core/visit.h"

#include <errno.h>

/*
 * How many tasks a helper runs before it gives the baton back and looks again. The number is
 * bounded, since the submitter of the awaited task may have been stopped before its push.
 */
#ifndef BATON_HELP_MAX /* tests make it small */
#define BATON_HELP_MAX 1024U
#endif

/* Does no other thread take a job out of the executor's queue? */
static bool alone(struct baton_executor *executor)
{
	return !executor || (executor->_ops->alone && executor->_ops->alone(executor));
}

/* Would the job stay in the executor's queue if this thread slept? True, too, for an executor that
 * is driven, and does not say whether others drive it. */
static bool comes_to_none(struct baton_executor *executor)
{
	return alone(executor) || (executor->_ops->drive && !executor->_ops->alone);
}

/*
 * May this thread run the resource's tasks? With BATON_CAPTURE_NONE, only a thread of the
 * executor may, or a thread that drives the executor. (Any thread may as long as the job is
 * deferred: help_visited.)
 */
static bool may_help(const struct baton_resource *resource, const struct baton_executor *executor,
                     bool driven)
{
	return baton__capture_max(resource) || driven ||
	       (executor && baton__self->member == executor);
}

/*
 * May the wait enter the resource's tasks? `driven`: this thread drives the executor. `deferred`:
 * no executor has the job.
 */
static bool enters(const struct baton__wait *wait, struct baton_resource *resource,
                   struct baton_executor *executor, bool driven, bool deferred)
{
	if (wait->marks_alone)
		return false;
	if (driven || (wait->elsewhere && deferred))
		return true;
	if (baton__wait_has_deadline(wait))
		return false;
	return wait->all || (wait->count == 1 && !wait->elsewhere) ||
	       (wait->last_look && baton__turn_is_queued(resource) &&
	        (deferred || alone(executor)));
}

/*
 * Helps the resource, which the caller visits: runs the resource's tasks if `tasks`; otherwise
 * obeys the resource's marks, if the caller waits for a mark. `deferred`: only if no executor has
 * the job.
 */
static bool help_queued(const struct baton__wait *wait, const struct baton_future *future,
                        struct baton_resource *resource, bool tasks, bool deferred)
{
	struct baton__stay stay = {
		.tasks = tasks ? BATON_HELP_MAX : 0,
		.until = future,
		.borrowed = true,
		.limit_ns = baton__wait_has_deadline(wait) ? wait->deadline_ns : 0,
		.until_ns = baton__wait_has_deadline(wait) ? wait->deadline_ns : 0,
		.ran = true, /* read the clock before the first task, too */
		.deferred = deferred,
	};

	return (tasks || wait->mark) && baton__help(resource, &stay, wait->last_look);
}

/*
 * Helps the resource, which the caller visits; otherwise lets the resource's executor run
 * something, if this thread drives that executor. Ends the visit.
 */
static int help_visited(struct baton__wait *wait, struct baton_future *future,
                        struct baton_resource *resource, uint32_t generation)
{
	struct baton_executor *executor = baton__executor_if_any(resource);
	int (*drive)(struct baton_executor *) = executor ? executor->_ops->drive : NULL;
	bool driven = drive && alone(executor);
	bool deferred = baton__job_is_deferred(&resource->_job);
	bool able = deferred || may_help(resource, executor, driven);
	bool tasks = able && enters(wait, resource, executor, driven, deferred);
	/* The marks may have functions called, too: `cancelled` of the tasks that they cancel. */
	bool too_deep = (tasks && baton__depth(baton__self) >= BATON_HELPING_MAX) ||
	                baton__too_deep_to_call(baton__self);
	bool stuck = able && too_deep && wait->last_look &&
	             (deferred ? baton__deferred_has(&resource->_job) : comes_to_none(executor));
	int status = 0;
	bool queued;

	if (able && !too_deep)
		status = help_queued(wait, future, resource, tasks, deferred);
	queued = status == 0 && baton__turn_is_queued(resource);
	/* After the visit only thread_enter keeps the executor from being destroyed by another
	 * thread. drive() may enter other executors, which ends this protection; but where drive()
	 * does something, this thread owns the executor, and no other thread destroys it. */
	baton__thread_enter(executor);
	/* The leave is the last touch of the resource. If it returns true, the visit was counted,
	 * and the leave is the last touch of the executor, too: this thread may have been the last
	 * visitor. The last visitor may have handed the resource off, and then is inside the
	 * executor no more (thread.touch, thread.h); or the resource has ended, and its finaliser
	 * may have ended the executor. In that case there is no need to drive: the visit was
	 * counted because the runner has come to the task, or because the task was refused. */
	if (!baton__visit_leave(future, resource, generation) && status == 0 &&
	    !baton__future_final(future)) {
		if (drive) {
			baton__wait_for_others(wait, true);
			status = drive(executor);
			baton__wait_for_others(wait, false);
		}
		if (status != 1)
			status = queued && wait->last_look && (stuck || status == -EDEADLK)
			                 ? -EDEADLK
			                 : 0;
	}
	baton__thread_leave();
	return status;
}

/*
 * -EDEADLK: the future can never complete, because this thread holds its resource, or a sleeping
 * caller does. 0: neither. A wait with a deadline inside a task that a helper has entered ends as
 * it would on another thread: the resources that the helper holds further down the stack do not
 * count. Nor do the sleeping callers of functions down there: the helper's wait has set their chain
 * aside.
 */
static int held_here(const struct baton__wait *wait, const struct baton_resource *resource)
{
	return baton__cycle_if_held(wait->called, resource, baton__wait_has_deadline(wait));
}

/*
 * Helps the resource of one future, or drives its executor. 1: something was done; 0: there was
 * nothing to do; -EDEADLK: the future can never complete. At the last look this includes a resource
 * that is still queued, and that this thread's stack is too deep to help.
 */
static int help_one(struct baton__wait *wait, struct baton_future *future)
{
	struct baton_resource *resource = baton__future_binding(future);
	uint32_t calling_max;
	uint32_t generation;
	int status;

	/* wait.last_look seq_cst: after this thread's store of `asleep`. The submitter has
	 * written `_resource` before the seq_cst operation that queues the task, and looks for
	 * sleepers after that operation. The write itself is not seq_cst: that would cost each
	 * submit an atomic. A load might miss the write. This RMW does not, on machines where a
	 * seq_cst operation takes along the writes before it: x86, ARMv8, POWER. C11 does not say
	 * so. The other end is baton__ready (submit.h). Ends: each failure is another submit.
	 * Relaxed goes unnoticed: wait.last_look is about machines, and the explorer's
	 * read-modify-writes read the newest value in any order. */
	while (wait->last_look && !cas_seq_cst(&future->_resource, &resource, resource))
		continue;
	if (!resource || baton__future_final(future))
		return 0;
	resource = baton__binding_resource(resource);
	status = held_here(wait, resource);
	if (status)
		return status;
	resource = baton__future_visit(future, &generation);
	if (!resource)
		return 0;
	calling_max = baton__weigh(baton__self, BATON__HELP_LEVELS - 1);
	baton__self->visits++;
	status = help_visited(wait, future, resource, generation);
	baton__self->visits--;
	baton__self->calling_max = calling_max;
	baton__deferred_check(baton__self);
	if (status == -EDEADLK)
		(void)baton__cycle_of_one(NULL);
	return status;
}

/*
 * Can one future of a wait for all never complete? Then the wait ends before it helps another
 * resource, whose tasks may need a resource that this thread holds.
 */
static bool one_held_here(const struct baton__wait *wait)
{
	for (size_t i = wait->index; wait->all && baton__top(baton__self) && i < wait->count; i++) {
		struct baton_resource *resource = baton__future_resource(wait->futures[i]);

		if (resource && !baton__future_final(wait->futures[i]) && held_here(wait, resource))
			return true;
	}
	return false;
}

int baton__wait_help(struct baton__wait *wait)
{
	size_t first = wait->all ? wait->index : 0;
	size_t dead = 0;

	if (one_held_here(wait))
		return -EDEADLK;
	for (size_t i = first; i < wait->count; i++) {
		int status = help_one(wait, wait->futures[i]);

		if (status == 1)
			return 1;
		if (status == -EDEADLK && !baton__future_final(wait->futures[i]))
			dead++;
	}
	return dead && (wait->all || dead == wait->count) ? -EDEADLK : 0;
}
