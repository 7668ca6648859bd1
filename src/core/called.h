/* SPDX-License-Identifier: MIT */
/*
 * The chain of sleeping callers. A thread that holds batons calls a busy resource, and sleeps in
 * the call; the resource's runner runs the function, mostly on another thread. That function is
 * inside the caller's task as if the caller had run it: no other thread can run in a resource that
 * the caller holds. So the function counts as holding these resources (baton_held), and a wait for
 * them can never end. The runner of the function may be such a caller itself: hence a chain.
 *
 * What a thread does to a resource because it has the baton (detach, flush, shelve) asks for frames
 * of its own, and never for the chain.
 *
 * Invariants:
 * called.asleep: Once the function has been entered, the caller does not return from its call
 *    before the call's future is complete; not at a deadline either (must_wait_on, call.c). The
 *    future completes after the function has returned. So the `struct baton__caller`, the frames
 *    at and below its `top`, and the caller's own chain exist as long as the function runs.
 *    Exception: called.detached.
 * called.constant: While the caller sleeps none of these change. Tasks that it runs in its wait
 *    push and pop frames above `top`; only its own innermost task can be detached. baton__frames
 *    has been called before, so each baton at or below `top` has a frame, and no later
 *    baton__frames writes there. word.publish (word.h) orders what the caller has written before
 *    the function.
 * called.detached: A function that detaches itself ends its part of the chain: its future may be
 *     completed at any time, and the caller may be gone. Its frame, on the runner's stack, has the
 *    value DETACHED then. (That the frame has no future would not tell: a flush hides it.) The
 *    detach is this thread's own step, or, for a function further up the chain, that of a thread
 *    that has gone to sleep since: so the walk looks at `value` first, and at the caller only
 *    then.
 * called.withdrawn: A call that is withdrawn leaves an entry whose function is never entered,
 *    since one CAS on the future decides; only an entered function looks at the caller.
 * called.forked: In a fork's child of such a function there is no caller, and the C library may
 *    use its stack again: the chain counts as empty.
 *
 * called.lent: While a thread that holds batons is in such a call, they are the called function's:
 *    at each moment one thread at most may touch what a baton guards. What the caller runs
 *    meanwhile in its wait (functions that it has put off, jobs that it drives, others' tasks) does
 *    not have these batons: `lent`. They still count where a wait for them could never end.
 *
 * A wait sets the chain aside (wait_some, wait.c): what a thread runs in a wait runs for others.
 */
#ifndef BATON_SRC_CALLED_H
#define BATON_SRC_CALLED_H

#include <baton/resource.h>

#include "thread/thread.h"

/* A thread that holds batons, and sleeps in a call; on its stack. */
struct baton__caller {
	const struct baton__thread *thread;
	const struct baton__frame *top;     /* its innermost frame */
	uintptr_t end; /* its frames from here down are not in the chain; 0: all are */
	uintptr_t lent;                     /* of its calls further down its stack */
	const struct baton__called *called; /* its own chain */
	const struct baton__reading *reading;
	void *arg;                          /* call/post.c: the function's argument */
};

/* A function that runs for such a caller; on its runner's stack. */
struct baton__called {
	const struct baton__frame *frame; /* BATON__DETACHED: `caller` may be gone */
	const struct baton__caller *caller;
};

/* begin: called by a thread that is about to sleep in a call. False: the thread holds nothing. end:
 * the call is over. */
bool baton__caller_begin(struct baton__caller *caller);
void baton__caller_end(const struct baton__caller *caller);

/* Runs the function of a call, which is the thread's innermost task. `caller` may be NULL. */
void *baton__run_called(const struct baton__caller *caller, baton_call_fn fn, void *arg);

/* The next sleeping caller of the chain. NULL: no further one. */
const struct baton__caller *baton__caller_of(const struct baton__called *called);

/* The sleeping caller, of the chain, that holds the resource. NULL: none. */
const struct baton__caller *baton__caller_holds(const struct baton__called *called,
                                                const struct baton_resource *resource);

/* Is the thread a sleeping caller of the chain? */
bool baton__caller_is(const struct baton__called *called, const struct baton__thread *thread);

/* May the thread touch what the resource guards? It holds the resource's baton, and has not lent
 * it; or a sleeping caller for which it runs has lent it. */
BATON_INLINE bool baton__thread_runs_in(const struct baton__thread *thread,
                                        const struct baton_resource *resource)
{
	return baton__held_above(thread->top, resource, thread->lent) ||
	       (BATON_UNLIKELY(thread->called != NULL) &&
	        baton__caller_holds(thread->called, resource));
}

/* Does the thread run in the resource as a reader, beside other readers? */
bool baton__thread_reads(const struct baton__thread *thread, const struct baton_resource *resource);

/* Does the thread run in the resource, and no other thread beside it? */
BATON_INLINE bool baton__thread_excludes(const struct baton__thread *thread,
                                         const struct baton_resource *resource)
{
	return baton__thread_runs_in(thread, resource) && !baton__thread_reads(thread, resource);
}

#endif
