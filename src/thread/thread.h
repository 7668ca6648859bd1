/* SPDX-License-Identifier: MIT */
/*
 * The record of a thread: the batons that it holds, whether it sleeps, the executor that it belongs
 * to, its caches of nodes. A record outlives its thread, and a later thread adopts it. Records are
 * never freed, so any thread may look at any record at any time.
 *
 * Invariants:
 * thread.top: Only the record's thread writes `top` (inline.h) and the frames. Only the outermost
 *    baton may have no frame. baton__top() and baton__frames() then give it the frame `outer`; the
 *    end of the short path takes that frame away. `outer` also serves the short path of a task with
 *    a future.
 * thread.sleep: Before a thread sleeps for a future it sets `asleep`, then looks for work that it
 *    could help with. A thread that makes such work publishes the work, then looks at `asleep`.
 *    Both are seq_cst ([thread.asleep]), so one of the two sees the other.
 * thread.watch: A sleeping thread watches `nudge` besides what it waits for. A thread that
 *    increments `nudge` looks at `asleep` again afterwards. A thread that ends its wait clears
 *    `asleep`, then looks at `nudge` again, and passes on a nudge that it has not acted on. Both
 *    are seq_cst ([thread.nudge]), so no nudge is lost on a thread that leaves its wait.
 * thread.touch: `inside` is the executor that the thread touches while perhaps nothing else keeps
 *    the executor alive: in the executor's schedule(), while the thread asks for the job of a
 *    borrowed resource, after the thread has given the baton back, or has ended a visit. Else NULL.
 *    Only the record's thread writes `inside`. enter and leave do not nest: after the thread has
 *    entered a second executor it is no longer inside the first, even when it has left the second.
 *    So no thread touches an executor after a call that may enter another.
 * thread.obstacle: A thread that finds a visitor in its way stores the future in `obstacle` (after
 *    it has set `asleep`), and sets WANTED in that future. The visitor that clears WANTED nudges
 *    the threads with that obstacle. WANTED is set and cleared by RMWs of the future's state
 *    (future.wanted, future.c): either the sleeper finds that the visitor has left, or the visitor
 *    finds WANTED. Progress: a thread is nudged once for each look that met a visitor, and of the
 *    nudged threads at least one finds no visitor.
 * thread.late: Destructors of other keys may use baton after the destructor of the thread's record
 *    has given the record back. Then the thread has a record again, and gives it back in the next
 *    round of destructors; after the last round (PTHREAD_DESTRUCTOR_ITERATIONS) it cannot. `late`
 *    names a thread that took the record so late: the lower half of `session`, and the thread's
 *    tid; 0: none. A thread that wants a record takes over one whose late thread has left the
 *    process, by a CAS of `late` to 0. The value cannot come back while that CAS is under way:
 *    a tid may recur, a session does not.
 */
#ifndef BATON_SRC_THREAD_H
#define BATON_SRC_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/executor.h>
#include <baton/future.h>
#include <baton/hold.h>
#include <baton/inline.h>

#include "base/atomic.h"
#include "base/platform.h"
#include "thread/learnt.h"
#include "thread/node.h"

struct baton_resource;
struct baton__node;
struct baton__batch;
struct baton__asking;
struct baton__called;
struct baton__ring;
struct baton__stay;
struct ck_epoch_record;

#define BATON__DEBTS_MAX 16

/* A struct baton__frame (hold.h) is one held baton. It lies on the runner's stack while the runner
 * runs the resource, or is `outer`, or lies in a hold. */

/* A frame's `future` if no function runs: a hold has the baton (module/hold.c). */
extern const char baton__holding;
#define BATON__HOLDING ((struct baton_future *)(uintptr_t)&baton__holding)

/* One piece of help, on the helper's stack (help.c). */
struct baton__helping {
	struct baton__helping *below;
	const struct baton__frame *frame; /* the frame of the helped resource */
	const struct baton_future *until; /* the future whose completion ends the help */
	bool enters;                      /* tasks; false: obeys marks alone */
};

struct baton__thread {
	/* The members that programs know (inline.h). */
	union {
		struct baton__thread_head head;
		struct {
			uintptr_t top;              /* thread.top */
			struct baton_job *deferred; /* jobs to run when the stack is unwound */
			uint32_t wary;              /* inline.h: captures that look first */
			uint32_t calling_max;       /* place.h: calls at this depth fail */
		};
	};
	struct baton__frame outer; /* thread.top */
	uint32_t used; /* a thread has this record: set by CAS, cleared by that thread */
	struct baton_executor *member; /* the executor that the thread belongs to, or NULL */
	struct baton_job *deferred_last;
	/* callback.c: the user's functions for which the stack was too deep; owner only, FIFO. */
	struct baton_task *late_tasks;
	struct baton_task *late_tasks_last;
	struct baton_continuation *late_continuations;
	struct baton_continuation *late_continuations_last;
	/* calls the late functions; in `deferred` while late_queued */
	struct baton_plain_job late_job;
	bool late_queued;
	struct baton_job *leaving; /* handed off by a worker that goes straight back to its queue */
	bool deferred_running;     /* a function on the stack runs the jobs in `deferred` */
	uint32_t visits;           /* visits by this thread; `deferred` waits for their end */
	struct baton__contention learnt;
	struct baton_plain_job debt_job; /* pays the debts; in `deferred` while debt_queued */
	bool debt_queued;
	bool debt_paying;
	struct baton__stay *timed; /* drain.c, bracket.h: the innermost stay with a time limit */
	/* call.c, bound.c: the innermost call with a deadline that is being submitted, or NULL */
	const struct baton__in_time {
		const struct baton_task *task;
		uint64_t deadline_ns;
	} * in_time;
	struct baton__carried *carried; /* carried.h; NULL: nothing */
	uint64_t session;               /* the number of threads that have had this record */
	uint64_t late;                  /* thread.late */
	uint32_t tid;                   /* the kernel's id of the last of these */
	struct baton__helping *helping; /* the innermost; NULL: none. Owner only */
	/* core/called.h: the chain of sleeping callers; NULL: none. Others read what it means while
	 * the thread sleeps in a call. */
	const struct baton__called *called;
	uintptr_t lent; /* called.lent: `top` as it was at the call; 0: none */
	const struct baton__reading *reading; /* called.h; NULL: the thread runs no reader */
	const struct baton_resource *asks;    /* cycle.h: what the next wait is to hold, or NULL */
	const struct baton__asking *asking;   /* cycle.h; NULL: nothing */
	bool resumes_later;                   /* suspend.c: a resume_later is under way */
	uint32_t blocking;                    /* blocking.c: the number of open brackets */
	const struct baton__frame *blocking_top; /* `top` when the outermost bracket was opened */
	struct baton__parcel parcel;             /* node.c; owner only */
	struct baton__thread *next;              /* in the registry; constant once linked */
	/* cycle.c: the last deadlock. Written by the thread, or under the lock while it sleeps. */
	size_t cycle_length;
	struct baton_deadlock_link cycle[BATON_DEADLOCK_MAX];
	struct ck_epoch_record *epoch; /* epoch.c: since the first section; never freed */
	struct baton__ring *ring;      /* trace.h; written by the thread, once */
	/* For messages: the wait that is about to sleep, or sleeps; all 0: none. Others read it at
	 * any time, and only show or compare what they find. */
	struct baton__thread_wait {
		uint64_t since_ns; /* CLOCK_MONOTONIC */
		const void *future;
		const void *resource; /* the future's when the wait began; NULL: not known */
		bool promise;
		uint32_t maker; /* the kernel's id of the thread that has made the promise, or 0 */
	} wait;
	/* Below: words that other threads read or write. Of those above, other threads use `used`,
	 * `late`, `member`, `next`; they read `tid`, `ring` and `wait` for messages and traces. */
	uint32_t asleep BATON_CACHE_ALIGNED; /* thread.sleep */
	uint32_t nudge;                      /* thread.watch: a futex word */
	/* While asleep: the resource of the awaited task. NULL: several resources, or a resource
	 * that is not known yet. The record itself: the thread can help no resource. */
	const void *awaiting;
	const void *inside;   /* thread.touch */
	const void *obstacle; /* thread.obstacle; NULL: none; the record itself: several futures */
	uint64_t left;        /* epoch.c: the number of sections that have ended */
	uint32_t loops;       /* parallel.c: the nodes of the thread's parallel loops */
	struct baton_resource *debts[BATON__DEBTS_MAX]; /* loan.h: each a counted visit, or NULL */
	struct baton__node_cache caches[BATON__NODE_SIZES];
};

/* Deeper than any limit: the depth of a thread without a record, and after a bad fork. */
#define BATON__DEPTH_NONE 0x40000000U

/* Never NULL: before attach, a static record with depth BATON__DEPTH_NONE. */
extern __thread struct baton__thread *baton__self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* baton__self under a second name. A function that uses both names keeps the place of neither in a
 * register between the two uses (baton__leave_bare, core/bracket.h). */
extern __thread struct baton__thread *baton__self_again
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The frame that is meant by a value of `top`. NULL: none, or a baton without a frame. */
BATON_INLINE struct baton__frame *baton__frame_of(uintptr_t top)
{
	return top & BATON_INLINE_BARE ? NULL : (struct baton__frame *)top;
}

/* Relaxed: a fork's child reads the `top` of threads that it does not have. */
BATON_INLINE void baton__top_set(uintptr_t *top, uintptr_t value)
{
	store_relaxed(top, value);
}

/* Makes a frame of the baton without one that `*top` means, and puts it there. NULL: `*top` means
 * no baton. */
struct baton__frame *baton__frame_make(struct baton__thread *self, uintptr_t *top);

/* The innermost frame of the calling thread. NULL: the thread holds nothing. */
BATON_INLINE struct baton__frame *baton__top(struct baton__thread *self)
{
	if (self->top & BATON_INLINE_BARE)
		return baton__frame_make(self, &self->top);
	return (struct baton__frame *)self->top;
}

/*
 * As `top`, without the holds: what is meant is the innermost function. 0: the thread runs none.
 */
BATON_INLINE uintptr_t baton__top_function(uintptr_t top)
{
	/* Bounded by the number of holds. */
	while (!(top & BATON_INLINE_BARE) && top &&
	       ((struct baton__frame *)top)->future == BATON__HOLDING)
		top = ((struct baton__frame *)top)->below;
	return top & BATON_INLINE_HOLD && top & BATON_INLINE_BARE ? 0 : top;
}

/* As baton__top, and gives each baton of the thread a frame: the caller can follow `below`. */
struct baton__frame *baton__frames(struct baton__thread *self);

/* The frame of the innermost function. NULL: the thread runs none. */
BATON_INLINE struct baton__frame *baton__top_running(struct baton__thread *self)
{
	(void)baton__frames(self);
	return baton__frame_of(baton__top_function(self->top));
}

/* How many batons and callbacks the thread has on its stack; or BATON__DEPTH_NONE and more. */
BATON_INLINE uint32_t baton__depth(const struct baton__thread *self)
{
	if (!self->top)
		return 0;
	if (self->top & BATON_INLINE_BARE)
		return self->top == BATON_INLINE_BARE ? BATON__DEPTH_NONE : 1;
	return ((const struct baton__frame *)self->top)->depth;
}

/* Has the thread a record that it may use? */
BATON_INLINE bool baton__has_record(const struct baton__thread *self)
{
	return baton__depth(self) < BATON__DEPTH_NONE;
}

/*
 * Gives the calling thread a record, if it has none.
 * Errors: -ENOMEM; -ECHILD: this process is a fork's child that baton cannot serve.
 */
int baton__thread_attach(void);

/* Between begin and end attach fails on this thread (callback.told). */
void baton__thread_bare_begin(void);
void baton__thread_bare_end(void);

/* The first of all records that are linked by now. `next` leads to the other records. */
struct baton__thread *baton__thread_first(void);

/* Gives the calling thread's record back now. Otherwise its exit does that. */
void baton__thread_detach(void);

/*
 * Is this process a fork's child, and did its parent have a thread of the library, a runner, or a
 * locked board? The parent's threads and unfinished tasks are lost here, and calls that would need
 * them are refused.
 */
bool baton__forked(void);

/*
 * Counts what a fork's child would lose: a thread of the library that starts (+1) or has ended
 * (-1), a board that a thread locks (+1) or has unlocked (-1). Some thread must have attached
 * before: attaching registers the fork handler.
 */
void baton__fork_losses_add(int delta);

/* Wakes the thread, if it sleeps in a wait, to look for work again. True: it will look. */
bool baton__thread_nudge(struct baton__thread *thread);

/* Does any thread sleep in a wait? Usually not: then no thread walks the registry. */
bool baton__thread_any_asleep(void);

/*
 * Wakes one thread that sleeps in a wait for a task of the resource, so that it helps. `member`, if
 * not NULL: wakes only threads of that executor. `resource` is only compared: it may be gone.
 */
void baton__thread_nudge_for(const void *resource, const struct baton_executor *member);

/* The calling thread, which is about to sleep, has found a visitor in its way (thread.obstacle). */
void baton__thread_obstructed(const void *future);

/* Wakes the threads that have found a visitor of the future in their way. `future` is only
 * compared. */
void baton__thread_nudge_obstructed(const void *future);

/* Wakes all threads that sleep in a wait and could help. */
void baton__thread_nudge_all(void);

/*
 * sleeps: the calling thread is about to sleep in a wait. `resource`: as `awaiting`. Returns the
 * value of `nudge` to watch.
 * wakes: the calling thread has woken. True: it was nudged since `nudge`.
 */
uint32_t baton__thread_sleeps(const void *resource);
bool baton__thread_wakes(uint32_t nudge);

/*
 * An executor's schedule() touches the executor after it has published the job. By then the job may
 * have run, and the executor's owner may have seen that and be about to free the executor. So
 * schedule() says where it is (enter, leave; thread.touch), and destroy waits until no thread is
 * inside (await_outside).
 */
BATON_INLINE void baton__thread_enter(const void *object)
{
	/* This store comes before the publication of the job, and destroy has seen an effect of
	 * that publication: so destroy sees this store.
	 * [thread.inside] release: our last touch of the object entered before: a thread that waits
	 * for us to leave that object may read this store; pairs with [thread.inside] in
	 * await_outside. (C11's release sequences would order that, too; C++20's do not.) A thread
	 * without a record cannot say where it is. Relaxed is seldom noticed: rare. */
	if (baton__has_record(baton__self))
		store_release(&baton__self->inside, object);
}

/* Is the calling thread inside this object? */
BATON_INLINE bool baton__thread_is_inside(const void *object)
{
	/* Relaxed: only this thread writes the word. */
	return load_relaxed(&baton__self->inside) == object;
}

BATON_INLINE void baton__thread_leave(void)
{
	/* [thread.inside] release: our last touch of the object; pairs with [thread.inside] in
	 * await_outside */
	if (baton__has_record(baton__self))
		store_release(&baton__self->inside, NULL);
}

void baton__thread_await_outside(const void *object);

/* Does the thread hold the resource's baton? Looks at what `top` means and at the frames below it,
 * down to the value `end` of `top`, and without that. 0: at all. */
BATON_INLINE bool baton__held_above(uintptr_t top, const struct baton_resource *resource,
                                    uintptr_t end)
{
	const struct baton__frame *frame;

	/* Bounded by the depth of nested calls on this stack. */
	for (; top != end && (frame = baton__frame_of(top)); top = frame->below)
		if (frame->resource == resource)
			return true;
	return top != end &&
	       (top & ~BATON_INLINE_HOLD) == ((uintptr_t)resource | BATON_INLINE_BARE);
}

/* Does the thread hold the resource's baton? */
BATON_INLINE bool baton__thread_holds(const struct baton__thread *thread,
                                      const struct baton_resource *resource)
{
	return baton__held_above(thread->top, resource, 0);
}

/*
 * Does the thread hold the resource's baton, and has it taken that baton since it began its
 * innermost help? The tasks that it runs in that help could run on another thread, which would not
 * hold the batons below.
 */
BATON_INLINE bool baton__thread_holds_in_help(const struct baton__thread *thread,
                                              const struct baton_resource *resource)
{
	return baton__held_above(thread->top, resource,
	                         thread->helping ? thread->helping->frame->below : 0);
}

#endif
