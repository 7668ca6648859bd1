/* SPDX-License-Identifier: MIT */
/*
 * What executors do with a job, whatever kind it is.
 */
#include "core/place.h"

#include "base/atomic.h"
#include "core/handoff.h"

static struct baton_plain_job *plain(struct baton_job *job)
{
	return baton_container_of(job, struct baton_plain_job, job);
}

/* Executors' threads are attached long before; others bring jobs from shutdown_now. A plain job
 * needs no record of the thread, and is run or cancelled where there is no memory for one, too. */
static void attach(void)
{
	int error = baton__self->depth >= BATON__DEPTH_NONE ? baton__thread_attach() : 0;

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
		plain(job)->_run(plain(job));
	}
}

BATON_EXPORT void baton_job_cancel(struct baton_job *job)
{
	struct baton__frame frame;

	if (baton__job_is_resource(job))
		attach();
	else if (!plain(job)->_cancel)
		return;
	else
		(void)baton__thread_attach(); /* without a record nothing can be put off */
	if (baton__place(NULL) == BATON__LATER) {
		/* Relaxed: read by this thread alone. */
		(void)add_relaxed(&job->_kind, BATON__JOB_TO_CANCEL);
		baton__deferred_append(job);
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
