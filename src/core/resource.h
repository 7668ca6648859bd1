/* SPDX-License-Identifier: MIT */
/*
 * What the parts of a resource (submit, drain, help, close) share. The two shared words of
 * a resource have files of their own: word.h and turn.h.
 *
 * Invariants:
 * R1 At most one thread holds the baton: it made the CAS idle -> BUSY, or took over by a CAS on
 *    the turn from one that gave it up there.
 * R2 _list, _job, the statistics are touched by the holder alone. _list is older than the inbox.
 * R3 While a job is in an executor's queue the phase is QUEUED, HELPED; never released then.
 * R4 A task is in one place: the inbox, _list, or entered.
 * R5 A submitter touches neither task nor resource after its publishing CAS (unless it captured).
 * R6 A closed resource is released for good (awaits, finaliser) only with no visits. A submit that
 *    is refused then may count one afterwards (future.h, F3): the next await waits for it. The
 *    visits of debts are not waited for, but revoked (loan.h).
 * R7 The shelf's bits are set by the holder alone, while they are 0; then there is exactly one
 *    unshelve. A shelved resource is BUSY: never idle, awaited or finalised.
 */
#ifndef BATON_SRC_RESOURCE_H
#define BATON_SRC_RESOURCE_H

#include <baton/resource.h>

#include "base/atomic.h"
#include "base/platform.h"
#include "core/config.h"
#include "core/kind.h"
#include "core/turn.h"
#include "core/word.h"
#include "future/future.h"
#include "thread/thread.h"

_Static_assert(sizeof(struct baton_resource) <= 64, "an idle resource is one cache line");
_Static_assert(offsetof(struct baton_resource, _list) + sizeof(void *) <= 16, "hot words");

/* A frame's `value` when the running task is detached: what its function returns is ignored. */
extern const char baton__detached;
#define BATON__DETACHED ((void *)(uintptr_t)&baton__detached)

/* A mark that a thread waits for. */
struct baton__awaiter {
	struct baton__counted counted;
	struct baton_task task;
};

/* Has the list no tasks of the user's? The holder. */
BATON_INLINE bool baton__only_marks(const struct baton_resource *resource)
{
	for (const struct baton_task *task = resource->_list; task; task = task->_next)
		if (!baton__is_mark(task))
			return false;
	return true;
}

/* How far a drain goes. */
struct baton__budget {
	uint32_t tasks;                   /* left to run */
	uint64_t limit_ns;                /* 0: none */
	uint64_t until_ns;                /* 0: the clock has not been read yet */
	bool ran;                         /* a first task, before which the clock is not read */
	const struct baton_future *until; /* stop when it is complete or not bound here; or NULL */
	bool borrowed;                    /* a helper: stop when empty, never release */
};

/* Without `value`, `after` and `batch`, which a run at once does not need. */
BATON_INLINE void baton__frame_enter(struct baton__thread *self, struct baton__frame *frame,
                                     struct baton_resource *resource)
{
	frame->below = self->top;
	frame->resource = resource;
	frame->future = NULL;
	store_relaxed(&self->top, frame); /* read by on_fork_in_child */
	self->depth++;
}

BATON_INLINE void baton__frame_push(struct baton__frame *frame, struct baton_resource *resource)
{
	baton__frame_enter(baton__self, frame, resource);
	frame->value = NULL;
	frame->after = NULL;
	frame->batch = NULL;
}

/* Runs the jobs that no executor would take (place.h), when the outermost frame has gone. */
void baton__deferred_run(struct baton__thread *self);

/* On the way out of a call, with nothing held, visited or still to be fired. */
BATON_INLINE void baton__deferred_check(struct baton__thread *self)
{
	if (BATON_UNLIKELY(self->deferred) && !self->top && !self->visits)
		baton__deferred_run(self);
}

BATON_INLINE void baton__frame_pop(struct baton__frame *frame)
{
	struct baton__thread *self = baton__self;

	store_relaxed(&self->top, frame->below);
	self->depth--;
}

/* Pops the frame of a run at once, which has nothing to fire. */
BATON_INLINE void baton__frame_exit(struct baton__thread *self, struct baton__frame *frame)
{
	store_relaxed(&self->top, frame->below);
	self->depth--;
	baton__deferred_check(self);
}

BATON_INLINE void baton__count(uint64_t *counter, uint64_t more)
{
	/* The runner's alone, handed on with the baton; readers see some recent value. */
	store_relaxed(counter, load_relaxed(counter) + more);
}

/* Completes one unlinked task as cancelled. The holder. tell: one without a future. */
void baton__cancel_task(struct baton_resource *resource, struct baton_task *task);
void baton__tell_cancelled(struct baton_resource *resource, struct baton_task *task);

/*
 * Runs tasks of the resource that this thread holds, beginning with _list. True: there was nothing
 * left and it was released, or it was shelved: touch it no more, pop the frame and call
 * baton__after(). False: the budget is spent; the baton is still held.
 */
bool baton__drain(struct baton__frame *frame, struct baton_resource *resource,
                  struct baton__budget *budget);

/* Takes the inbox and puts it behind _list, cancel marks obeyed. The holder. */
void baton__take(struct baton_resource *resource);

/* Fires what was waiting for the release: awaits, then the finaliser. Without the frame. */
void baton__after(struct baton_task *after);

enum baton__handoff {
	BATON__GIVEN,           /* gone: touch it no more */
	BATON__REFUSED,         /* still held; nobody has had it meanwhile */
	BATON__REFUSED_TOUCHED, /* still held, but a helper had it meanwhile */
};

/* Gives the held resource to its executor. */
enum baton__handoff baton__hand_off(struct baton_resource *resource);

/*
 * The holder drains within the budget; what is left is handed off, or run here where nobody takes
 * it. Pops the frame and fires what waited for the release.
 */
void baton__stay(struct baton__frame *frame, struct baton_resource *resource,
                 struct baton__budget *budget);

/*
 * Captured: the holder runs _list and what has come meanwhile within the limits, hands off the
 * rest, and goes on where nobody takes it. Pops the frame. `own`: how many tasks a nested capture
 * may run.
 */
void baton__run_captured(struct baton__frame *frame, struct baton_resource *resource, uint32_t ran,
                         uint32_t own);

/* The same from a short path, which has set up only half of this thread's topmost frame. */
void baton__run_on(uint32_t ran, uint32_t own);

/* As above, for a baton that was taken over and whose limits do not count. */
void baton__run_rest(struct baton__frame *frame, struct baton_resource *resource);

/* How to submit. */
#define BATON__SUBMIT_LATER 1U /* never run it on this thread */
#define BATON__SUBMIT_NO_WAIT                                                                      \
	2U /* refuse it where a bound's policy says that the submitter waits */

/*
 * Publishes a chain of `count` tasks, linked oldest first; captures if that is possible. The tasks
 * are ready (see baton__ready).
 */
int baton__submit_chain(struct baton_resource *resource, struct baton_task *first, uint32_t count,
                        unsigned how);

/* A submit the long way: attaches the thread, binds the future; does not stand back. */
int baton__submit(struct baton_resource *resource, struct baton_task *task, unsigned how);

/*
 * The same for a task without a future, by a thread that has a record and has found the resource
 * busy: pushed at once, where that is all.
 */
int baton__submit_busy(struct baton_resource *resource, struct baton_task *task);

/*
 * The task was not accepted: its future is bound no more. Returns `error`; -ECANCELED if the future
 * was cancelled meanwhile, and is now complete.
 */
int baton__unready(struct baton_resource *resource, struct baton_task *task, int error);

/* Binds the task's future to the resource. False: the future is not fresh. */
BATON_INLINE bool baton__ready(struct baton_resource *resource, struct baton_task *task)
{
	struct baton_future *future = baton__task_future(task);

	if (BATON_LIKELY(!future))
		return true;
	if (!baton__future_fresh(future))
		return false;
	/* [N6] before the task is queued, and the look for sleepers after that; pairs with [N6] in
	 * help_one */
	baton__future_bind(future, resource);
	return true;
}

/* Puts a mark that is to be looked at before the next task into the inbox of a busy resource.
 * False: it is idle. */
bool baton__push_attention(struct baton_resource *resource, struct baton_task *mark);

/* Gives a borrowed baton back (turn.h), or goes on as the runner; pops the frame. */
void baton__give_back(struct baton__frame *frame, struct baton_resource *resource);

/* The executor's thread popped the resource's job. */
void baton__resource_run(struct baton_job *job);
void baton__resource_cancel(struct baton_job *job);

/*
 * What a visitor may do. help: true if it took the baton of the queued resource and did something
 * with it: within the budget, and up to the end of its wait. `last_look`: before the caller sleeps.
 * unlink: true if it took the baton and unlinked the cancelled task; the visit is then
 * over, and the future is not to be touched.
 */
bool baton__help(struct baton_resource *resource, struct baton__budget *budget, bool last_look);
bool baton__unlink(struct baton_resource *resource, struct baton_future *future,
                   uint32_t generation);

/*
 * The two steps of baton_future_cancel() for a task's future. decide: makes the future CANCELLING;
 * returns what baton_future_cancel() returns. If decide returns 0 and sets *resource, the caller is
 * the future's visitor, and then calls unlink, which unlinks the task if the resource is queued, or
 * baton__leave().
 */
int baton__cancel_decide(struct baton_future *future, struct baton_resource **resource,
                         uint32_t *generation);
void baton__cancel_unlink(struct baton_future *future, struct baton_resource *resource,
                          uint32_t generation);

/* Unlinks the task of a future that is being cancelled, if its resource is queued. */
void baton__cancel_visit(struct baton_future *future);

/*
 * A counted visit is over: the last visitor may have to go on as the runner. This may run anything,
 * and enters executors (thread.h, T4).
 */
void baton__visit_end(struct baton_resource *resource);

/* Ends a visit; `generation`: from visit. True: it had been counted, see baton__visit_end. */
bool baton__leave(struct baton_future *future, struct baton_resource *resource,
                  uint32_t generation);

#endif
