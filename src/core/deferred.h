/* SPDX-License-Identifier: MIT */
/*
 * Deferred jobs: the jobs of resources that no executor has taken, jobs to cancel, and the thread's
 * own late_job and debt_job. A thread keeps the jobs in a list of its own, and runs them when its
 * stack is unwound.
 */
#ifndef BATON_SRC_DEFERRED_H
#define BATON_SRC_DEFERRED_H

#include "core/resource.h"

/* Runs the deferred jobs. Called when the outermost frame has been popped. */
void baton__deferred_run(struct baton__thread *self);

/*
 * Called at the end of a library call, when the caller has nothing to fire: runs the deferred jobs
 * if this thread holds no baton and is no visitor.
 */
BATON_INLINE void baton__deferred_check(struct baton__thread *self)
{
	if (BATON_UNLIKELY(self->deferred) && self->top <= BATON_INLINE_BARE && !self->visits)
		baton__deferred_run(self);
}

/*
 * push: appends the job of a held resource, which becomes QUEUED, so that helpers may borrow the
 * baton meanwhile. append: appends any job. remove: true if the job was in the list.
 * has: is the job in the list?
 */
void baton__deferred_push(struct baton_resource *resource);
void baton__deferred_append(struct baton_job *job);
bool baton__deferred_remove(struct baton_job *job);
bool baton__deferred_has(const struct baton_job *job);

#endif
