/* SPDX-License-Identifier: MIT */
/*
 * What an executor does with a job of either kind: run it, cancel it, find the next one.
 */
#include "base/atomic.h"
#include "core/callback.h"
#include "core/deferred.h"
#include "core/guard.h"
#include "core/handoff.h"
#include "core/place.h"

#include <errno.h>

static struct baton_plain_job *plain(struct baton_job *job)
{
	return baton_container_of(job, struct baton_plain_job, job);
}

/* Attaches the thread for a resource's job. Threads of executors have records. Any other thread may
 * have none: it runs or cancels jobs that shutdown_now returned. A plain job needs no record. */
static void attach(void)
{
	int error = !baton__has_record(baton__self) ? baton__thread_attach() : 0;

	if (BATON_UNLIKELY(error == -ECHILD))
		BATON_MISUSE("baton_job_run",
		             "this process was forked while a pool existed or a task ran: let the "
		             "parent run a resource's jobs");
	if (BATON_UNLIKELY(error))
		BATON_MISUSE("baton_job_run",
		             "no memory for the thread's record: make an earlier call on this "
		             "thread that can say -ENOMEM");
}

BATON_EXPORT void baton_job_run(struct baton_job *job)
{
	if (baton__job_is_resource(job)) {
		attach();
		baton__resource_run(job);
	} else {
		const uintptr_t top = baton__self->top;

		plain(job)->_run(plain(job)); /* last touch */
		baton__guard_returned(top);
	}
}

/* Puts the cancel off until this thread's stack is less deep. */
static void cancel_later(struct baton_job *job)
{
	const bool is_resource = baton__job_is_resource(job);
	struct baton_resource *resource = baton_container_of(job, struct baton_resource, _job);
	bool touched;

	if (is_resource && !baton__turn_take_back(resource, &touched))
		return; /* last touch: the helper goes on */
	/* Relaxed: only this thread reads the bit. */
	(void)add_relaxed(&job->_kind, BATON__JOB_TO_CANCEL);
	if (is_resource)
		baton__deferred_push(resource);
	else
		baton__deferred_append(job);
}

BATON_EXPORT void baton_job_cancel(struct baton_job *job)
{
	struct baton__frame frame;

	if (baton__job_is_resource(job))
		attach();
	else if (!plain(job)->_cancel)
		return;
	else
		(void)baton__thread_attach(); /* if it fails, the job is cancelled at once */
	if (baton__place(NULL) == BATON__LATER) {
		cancel_later(job);
	} else if (baton__job_is_resource(job)) {
		baton__resource_cancel(job);
	} else {
		baton__callback_begin(&frame);
		plain(job)->_cancel(plain(job)); /* last touch */
		baton__callback_end(&frame);
	}
}

BATON_EXPORT struct baton_job *baton_job_next(const struct baton_job *job)
{
	return job->_next;
}
