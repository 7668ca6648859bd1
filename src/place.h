/* SPDX-License-Identifier: MIT */
/*
 * Layer 5: the place: where something of the user's may run now. Whatever is about to run tasks, or
 * to call a function of the user's that holds no baton, asks here first, or checks the depth itself
 * (the short paths of submit, batch and post). So the stack is bounded on every path (L7, L14).
 *
 * A function without a baton is a finaliser; the `cancelled` of a task that its resource has not
 * accepted; that of a trigger or of a job which a continuation could not bring to its target. It
 * has a frame of its own, without a resource: what it does counts as nested.
 *
 * Invariants:
 * PL1 A function of the user's runs with a frame on the stack, save that of a thread without a
 *     record. So the depth counts how often the library and the user have called each other.
 * PL2 What is put off is called by this thread: before it sleeps in a wait (what was put off may be
 *     what it waits for), else when its stack is unwound.
 * PL3 A resource has a visit for each of its tasks that `late_tasks` has.
 */
#ifndef BATON_SRC_PLACE_H
#define BATON_SRC_PLACE_H

#include "resource.h"

enum baton__place {
	BATON__HERE,     /* at once, in a new frame */
	BATON__EXECUTOR, /* the resource is handed off; where nobody takes it: later */
	BATON__LATER,    /* on this thread, when its stack is not as deep */
};

/* `resource`: whose tasks are to run; NULL: a function that holds no baton. */
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

/*
 * The thread's list of jobs that wait for its stack to be unwound. push: a held resource, which
 * helpers may have meanwhile. append: any job. remove: true if it was there.
 */
void baton__deferred_push(struct baton_resource *resource);
void baton__deferred_append(struct baton_job *job);
bool baton__deferred_remove(struct baton_job *job);

/*
 * The holder, without a frame, goes on with the resource: here, within the limits of a captured
 * thread (nested: up to `own` tasks), or elsewhere. `later`: not here; the caller calls
 * baton__deferred_check() when it may be here.
 */
void baton__go_on(struct baton_resource *resource, uint32_t own, bool later);

/* The frame of a function that holds no baton. Nothing, where the thread has no record. */
void baton__callback_begin(struct baton__frame *frame);
void baton__callback_end(struct baton__frame *frame);

/* Calls the finaliser, here or later. Nobody else touches its resource any more. */
void baton__finalise(struct baton_task *finaliser);

/* The task, without a future, was not accepted: its owner is told, here or later. */
void baton__tell_refused(struct baton_resource *resource, struct baton_task *task);

/* Has `tell`, which calls a function of the user's, called with the continuation, here or later. */
void baton__call_out(struct baton_continuation *continuation,
                     void (*tell)(struct baton_continuation *continuation));

/* Calls what was put off. True: there was something. */
bool baton__late_run(void);

#endif
