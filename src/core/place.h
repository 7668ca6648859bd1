/* SPDX-License-Identifier: MIT */
/*
 * The place: where a task or another function of the user's may run now. Code that is about to run
 * tasks, or to call a user's function that holds no baton, calls baton__place() first; the short
 * paths of submit, batch and post check the depth themselves. So the stack is bounded on every path
 * (L7, L14).
 *
 * Functions without a baton: a finaliser; the `cancelled` of a task that its resource has not
 * accepted; the `cancelled` of a trigger or of a job that a continuation could not hand to its
 * target. Such a function has a frame of its own, without a resource: the calls that the function
 * makes count as nested.
 *
 * Invariants:
 * place.frame: A function of the user's runs with a frame on the stack, except on a thread without
 *    a record. So the depth counts how often the library and the user have called each other.
 * place.late: A function that a thread puts off is called by the same thread: before the thread
 *    sleeps in a wait (which may be a wait for that function), otherwise when the thread's stack is
 *    unwound.
 * place.visit: For each refused task in a thread's `late_tasks` the task's resource has a counted
 *    visit.
 */
#ifndef BATON_SRC_PLACE_H
#define BATON_SRC_PLACE_H

#include "core/resource.h"

enum baton__place {
	BATON__HERE,     /* at once, in a new frame */
	BATON__EXECUTOR, /* hand off; later on this thread, if no executor takes the job */
	BATON__LATER,    /* on this thread, when its stack is less deep */
};

/* `resource`: the resource whose tasks are to run; NULL: for a function that holds no baton. */
BATON_INLINE enum baton__place baton__place(const struct baton_resource *resource)
{
	const uint32_t depth = baton__self->depth;

	if (resource)
		return depth < BATON_NESTING_MAX && baton__capture_limit(resource)
		               ? BATON__HERE
		               : BATON__EXECUTOR;
	/* A thread without a record cannot put anything off. */
	return depth < BATON_NESTING_MAX || depth >= BATON__DEPTH_NONE ? BATON__HERE : BATON__LATER;
}

/* Runs the deferred jobs. Called when the outermost frame has been popped. */
void baton__deferred_run(struct baton__thread *self);

/*
 * Called at the end of a library call, when the caller has nothing to fire: runs the deferred jobs
 * if this thread holds no baton and is no visitor.
 */
BATON_INLINE void baton__deferred_check(struct baton__thread *self)
{
	if (BATON_UNLIKELY(self->deferred) && !self->top && !self->visits)
		baton__deferred_run(self);
}

/*
 * The calling thread's deferred jobs: a list of jobs that run when the thread's stack is unwound.
 * push: appends the job of a held resource, which becomes QUEUED, so that helpers may borrow the
 * baton meanwhile. append: appends any job. remove: true if the job was in the list.
 */
void baton__deferred_push(struct baton_resource *resource);
void baton__deferred_append(struct baton_job *job);
bool baton__deferred_remove(struct baton_job *job);

/*
 * Continues to drain the resource here, or hands the resource off. A stay here has the limits of a
 * captured thread; a nested stay runs up to `own` tasks. `later`: does not run tasks in this call;
 * the caller calls baton__deferred_check() when the resource may run here. Called by the holder,
 * which has no frame.
 */
void baton__go_on(struct baton_resource *resource, uint32_t own, bool later);

/* Push and pop the frame of a function that holds no baton; not on a thread without a record. */
void baton__callback_begin(struct baton__frame *frame);
void baton__callback_end(struct baton__frame *frame);

/* Calls the finaliser, here or later. No other thread touches the finaliser's resource any more. */
void baton__finalise(struct baton_task *finaliser);

/* Tells the owner of a task without a future, here or later, that the task was not accepted. */
void baton__tell_refused(struct baton_resource *resource, struct baton_task *task);

/* Calls `tell(continuation)`, here or later. `tell` calls a function of the user's. */
void baton__call_out(struct baton_continuation *continuation,
                     void (*tell)(struct baton_continuation *continuation));

/* Calls the functions that this thread has put off. True: there was at least one. */
bool baton__late_run(void);

#endif
