/* SPDX-License-Identifier: MIT */
/* A thread's list of deferred jobs. The list is intrusive: it needs no memory. */
#include "core/deferred.h"

#include "base/atomic.h"

void baton__deferred_append(struct baton_job *job)
{
	struct baton__thread *self = baton__self;

	job->_next = NULL;
	if (self->deferred)
		self->deferred_last->_next = job;
	else
		self->deferred = job;
	self->deferred_last = job;
}

void baton__deferred_push(struct baton_resource *resource)
{
	uint32_t before;

	baton__deferred_append(&resource->_job);
	/* Relaxed: the turn publishes the bit. */
	before = add_relaxed(&resource->_job._kind, BATON__JOB_DEFERRED);
	BATON_ASSERT(!(before & BATON__JOB_DEFERRED));
	baton__turn_queue(resource);
	/* No executor has the job: until this thread's stack is unwound, only helpers run the
	 * resource's tasks. */
	baton__thread_nudge_for(resource, NULL);
}

/* The job has been taken out of the list: clears its bits. True: the job is to be cancelled. */
static bool was_to_cancel(struct baton_job *job)
{
	/* Relaxed: only this thread changes these bits. */
	const uint32_t bits =
		load_relaxed(&job->_kind) & (BATON__JOB_TO_CANCEL | BATON__JOB_DEFERRED);

	if (bits)
		(void)sub_relaxed(&job->_kind, bits);
	return bits & BATON__JOB_TO_CANCEL;
}

bool baton__deferred_remove(struct baton_job *job)
{
	struct baton__thread *self = baton__self;
	struct baton_job *before = NULL;

	for (struct baton_job *other = self->deferred; other;
	     before = other, other = other->_next) {
		if (other != job)
			continue;
		if (before)
			before->_next = job->_next;
		else
			self->deferred = job->_next;
		if (self->deferred_last == job)
			self->deferred_last = before;
		(void)was_to_cancel(job);
		return true;
	}
	return false;
}

bool baton__deferred_has(const struct baton_job *job)
{
	for (struct baton_job *other = baton__self->deferred; other; other = other->_next)
		if (other == job)
			return true;
	return false;
}

void baton__deferred_run(struct baton__thread *self)
{
	/* A job that runs here pops an outermost frame, which would call this function again. */
	if (self->deferred_running)
		return;
	self->deferred_running = true;
	/* Ends when the jobs that run here defer no more jobs. */
	while (self->deferred) {
		struct baton_job *job = self->deferred;

		self->deferred = job->_next;
		if (was_to_cancel(job))
			baton_job_cancel(job);
		else
			baton_job_run(job);
	}
	self->deferred_running = false;
}
