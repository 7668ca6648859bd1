/* SPDX-License-Identifier: MIT */
/*
 * Three kinds of continuation: a task for a resource, a job for an executor, and a function. (A
 * fourth fires a trigger: module/trigger.c.)
 */
#include "base/checked.h"
#include "core/label.h"
#include "core/callback.h"
#include "core/submit.h"

#include <errno.h>

/*
 * Must this thread enter no task? So must a helper whose wait is over (L9); a helper that obeys
 * marks alone, since a task would prolong a wait with a deadline, and might wait for a resource
 * that this thread has suspended; and a thread in a resume_later, for the same reason.
 */
static bool enters_none(void)
{
	const struct baton__helping *helping = baton__self->helping;

	return baton__self->resumes_later ||
	       (helping && (!helping->enters || baton__future_final(helping->until)));
}

/* Submits the task. A thread that enters no task leaves the task to the executor, unless the
 * executor has shut down. */
static int submit(struct baton_resource *resource, struct baton_task *task)
{
	int error = -ESHUTDOWN;

	if (BATON_UNLIKELY(enters_none()))
		error = baton__submit(resource, task, BATON__SUBMIT_NO_WAIT | BATON__SUBMIT_LATER);
	return error == -ESHUTDOWN ? baton__submit(resource, task, BATON__SUBMIT_NO_WAIT) : error;
}

static void fire_task(struct baton_continuation *continuation)
{
	struct baton_task *task = (struct baton_task *)continuation->_subject;
	struct baton_resource *resource = (struct baton_resource *)continuation->_target;
	struct baton_future *future = baton__task_future(task);
	int error = submit(resource, task);

	/* 0: accepted; task and continuation may be gone. -ECANCELED: the future was cancelled, and
	 * may be gone, too. -EINVAL: the future is not fresh, and not this thread's to complete. */
	if (!error || error == -ECANCELED || error == -EINVAL)
		return;
	baton__entry_dropped(task);
	if (future)
		/* NULL: an unbound future has no visitor. */
		baton__future_finish(future, BATON__FUTURE_CANCELLED, -ECANCELED, NULL, NULL);
	else
		baton__tell_refused(resource, task);
}

static void fire_job(struct baton_continuation *continuation)
{
	struct baton_job *job = (struct baton_job *)continuation->_subject;
	struct baton_executor *executor = (struct baton_executor *)continuation->_target;

	if (baton_executor_schedule(executor, job) < 0)
		baton_job_cancel(job);
}

BATON_EXPORT void baton_continuation_task(struct baton_continuation *continuation,
                                          struct baton_resource *resource, struct baton_task *task)
{
	BATON__NEED(continuation, "the continuation is NULL");
	BATON__NEED(resource, "the resource is NULL: give the address of a resource");
	BATON__NEED(task, "the task is NULL");
	baton__stamp_carry(task);
	*continuation = (struct baton_continuation){NULL, fire_task, resource, task};
}

BATON_EXPORT void baton_continuation_job(struct baton_continuation *continuation,
                                         struct baton_executor *executor, struct baton_job *job)
{
	*continuation = (struct baton_continuation){NULL, fire_job, executor, job};
}

BATON_EXPORT void baton_continuation_function(struct baton_continuation *continuation,
                                              baton_told_fn fn, void *arg)
{
	BATON__NEED(continuation, "the continuation is NULL");
	BATON__NEED(fn, "the function is NULL: give a function to call");
	*continuation =
		(struct baton_continuation){NULL, baton__tell_end, arg, (void *)(uintptr_t)fn};
}
