/* SPDX-License-Identifier: MIT */
/*
 * What baton knows of a thread: the chain of batons that it holds, whether it sleeps, the
 * executor that it belongs to, its cache of nodes. A record outlives its thread and is adopted by a
 * later one; records are never freed, so that others may look at them at any time.
 *
 * Invariants:
 * T1 `top` and `depth` are written by the record's thread alone; depth is the chain's length.
 * T2 Before a thread sleeps for a future it sets `asleep`, then looks for work that it could help
 *    with; whoever makes such work looks at `asleep` after publishing it. Both seq_cst ([N1]), so
 *    one of the two sees the other.
 * T3 A sleeping thread watches `nudge` besides what it waits for. Who bumps it looks at `asleep`
 *    again afterwards; who ends a wait clears `asleep`, then looks at `nudge` again, and passes a
 *    nudge on that it has not acted on. Both seq_cst ([N4]): a nudge is not lost on one who leaves.
 * T4 `inside` is the executor that the thread touches although nothing else may keep it: in its
 *    schedule(), or when it has given back a helped resource's baton, or ended a visit. Or NULL.
 *    Written by its thread. Not nested: who enters is inside the outer one no more, even after it
 *    has left; so nobody touches an executor after a call that may enter one.
 * T5 Who finds a visitor in its way says at which future in `obstacle`, after `asleep`, and sets
 *    that future's WANTED; the visitor that clears WANTED nudges those who have said so. Both are
 *    RMWs of the future's state ([N5]): one finds the visitor gone, or the other the sleeper. It
 *    ends: a nudge answers a look in vain, and of those who look again one has nobody in its way.
 */
#ifndef BATON_SRC_THREAD_H
#define BATON_SRC_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/executor.h>
#include <baton/future.h>

#include "base/atomic.h"
#include "base/platform.h"
#include "thread/node.h"

struct baton_executor;
struct baton_future;
struct baton_job;
struct baton_resource;
struct baton_task;
struct baton__node;
struct baton__batch;
struct ck_epoch_record;

#define BATON__DEBTS_MAX 16

/* Bounds of loan_skip, and the value that loan_eager begins with, see loan.h. */
#ifndef BATON_LOAN_SKIP_MIN /* tests make these small */
#define BATON_LOAN_SKIP_MIN 16U
#define BATON_LOAN_SKIP_MAX 512U
#define BATON_LOAN_EAGER 64U
#endif

/* One held baton: lives on the runner's stack while it runs the resource. */
struct baton__frame {
	struct baton__frame *below;
	struct baton_resource *resource; /* NULL: a callback that holds no baton, see place.h */
	struct baton_future *future;     /* of the running task, or NULL */
	void *value;                     /* baton_set_result, or BATON__DETACHED */
	struct baton_task *after;        /* to be fired after the release: awaits, the finaliser */
	struct baton_task *after_last;   /* of these, if there is one */
	struct baton__batch *batch;      /* hooks.h: while a resource with hooks is drained */
};

/* One piece of help under way: on the helper's stack (help.c). */
struct baton__helping {
	struct baton__helping *below;
	const struct baton__frame *frame; /* of the resource that is helped */
	const struct baton_future *until; /* the helper's wait is over when it is complete */
};

struct baton__thread {
	struct baton__frame *top; /* innermost held baton, NULL if none */
	uint32_t depth; /* frames in the chain; from BATON__DEPTH_NONE on: take the slow path */
	uint32_t used;  /* a thread has this record: taken by CAS, given back by the owner */
	struct baton_executor
		*member;            /* the executor whose thread this is, or NULL; set by itself */
	struct baton_job *deferred; /* resources that no executor would take; owner only, FIFO */
	struct baton_job *deferred_last;
	/* Functions of the user's that the stack was too deep for (place.c); owner only, FIFO. */
	struct baton_task *late_tasks;
	struct baton_task *late_tasks_last;
	struct baton_continuation *late_continuations;
	struct baton_continuation *late_continuations_last;
	struct baton_plain_job late_job; /* in `deferred` while late_queued: calls all of these */
	bool late_queued;
	struct baton_job
		*leaving;      /* handed off by a runner that goes straight back to its executor */
	bool deferred_running; /* the list is being worked off */
	uint32_t visits;       /* visits to resources that this thread is on; the list waits */
	uint16_t barge_skip;   /* barge.c: so many busy submits push without a look */
	uint16_t barge_next;   /* what the last failure has set it to; 0: it was none */
	uint16_t loan_skip;    /* loan.h: so many pushes to queued resources take no loan */
	uint16_t loan_next;    /* the value that the last loan has set loan_skip to */
	uint16_t loan_eager;   /* loan.h: so many empty loans do not put the next one off */
	struct baton_plain_job debt_job; /* in `deferred` while debt_queued: pays the debts */
	bool debt_queued;
	bool debt_paying;
	uint64_t yields_from_ns;                 /* yield.c: no sched_yield before this moment */
	uint64_t session;                        /* counts the threads that have had this record */
	struct baton__helping *helping;          /* the innermost; NULL: none. Its own */
	uint32_t blocking;                       /* blocking.c: brackets that are open */
	const struct baton__frame *blocking_top; /* `top` when the outermost was opened */
	/* node.c: nodes of one other cache, collected to be sent home; owner only. */
	struct baton__node *parcel;
	struct baton__node *parcel_last;
	uint32_t parcel_count;
	struct baton__thread *next; /* registry, immutable once linked */
	/* cycle.c: the last deadlock; its own, or under the lock, while it sleeps. */
	size_t cycle_length;
	struct baton_deadlock_link cycle[BATON_DEADLOCK_MAX];
	struct ck_epoch_record *epoch; /* epoch.c: from the first section on, and never freed */
	/* From here on other threads look or write. */
	uint32_t asleep BATON_CACHE_ALIGNED; /* T2 */
	uint32_t nudge;                      /* T3: a futex word, bumped by nudges */
	/* While asleep: the resource; NULL: several, or one not known yet; the record: none. */
	const void *awaiting;
	const void *inside;   /* T4 */
	const void *obstacle; /* T5: the future; NULL: none; the record itself: several */
	uint64_t left;        /* epoch.c: counts the sections that have ended */
	struct baton_resource *debts[BATON__DEBTS_MAX]; /* loan.h: counted visits, or NULL */
	struct baton__node_cache caches[BATON__NODE_SIZES];
};

/* Deeper than any limit: what a thread without a record has, and every thread after a bad fork. */
#define BATON__DEPTH_NONE 0x40000000U

/* Never NULL: a static stand-in with depth BATON__DEPTH_NONE until the thread is attached. */
extern __thread struct baton__thread *baton__self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/*
 * Makes sure that the calling thread has a record of its own.
 * Errors: -ENOMEM; -ECHILD: this process is a fork's child that baton cannot serve.
 */
int baton__thread_attach(void);

/* The first of all records that there are by now; the others by `next`. */
struct baton__thread *baton__thread_first(void);

/* Gives the thread's record back now; else this happens at its exit. */
void baton__thread_detach(void);

/*
 * Has this process been forked off one that had a pool or a runner? Then its threads and half-done
 * tasks are gone, and every call that would need them is refused.
 */
bool baton__forked(void);

/* A pool begins (+1) or ends (-1) to exist. */
void baton__fork_pools_add(int delta);

/* Wakes the thread, if it sleeps in a wait, so that it looks around. True: it will. */
bool baton__thread_nudge(struct baton__thread *thread);

/* Does anybody sleep in a wait? Usually not, and then nobody walks the registry. */
bool baton__thread_any_asleep(void);

/*
 * Wakes one thread that sleeps in a wait for a task of this resource (which is only compared: it
 * may be gone), so that it helps; `member` not NULL: only one of that executor's threads.
 */
void baton__thread_nudge_for(const void *resource, const struct baton_executor *member);

/* The calling thread, about to sleep, finds a visitor of this future in its way; see T5. */
void baton__thread_obstructed(const void *future);

/* Wakes who has found a visitor of this future (which is only compared) in its way. */
void baton__thread_nudge_obstructed(const void *future);

/* Wakes every thread that sleeps in a wait, and may come to help. */
void baton__thread_nudge_all(void);

/*
 * The calling thread is about to sleep in a wait for this resource (or see `awaiting`); returns the
 * value of `nudge` to watch. And it has woken: true if there was a nudge since `nudge`.
 */
uint32_t baton__thread_sleeps(const void *resource);
bool baton__thread_wakes(uint32_t nudge);

/*
 * An executor's schedule() still touches the executor after it has published the job, by which time
 * the job may have run and the executor's owner, having seen that, may be about to free it. So
 * schedule() says where it is (enter, leave; not nested), and destroy waits until nobody is there.
 */
BATON_INLINE void baton__thread_enter(const void *object)
{
	/* Ordered by the publication of the job that follows, which destroy has seen the effect of.
	 * [N2] release: for who reads this and waits for our leaving an earlier object; pairs with
	 * [N2] in await_outside. (C11's release sequence, which C++20 has no more, would do.)
	 * Without a record there is nothing to say; only who could not be attached has none. */
	if (baton__self->depth < BATON__DEPTH_NONE)
		store_release(&baton__self->inside, object);
}

BATON_INLINE void baton__thread_leave(void)
{
	/* [N2] release: our last touch of the object; pairs with [N2] in await_outside */
	if (baton__self->depth < BATON__DEPTH_NONE)
		store_release(&baton__self->inside, NULL);
}

void baton__thread_await_outside(const void *object);

/* Does the thread hold the resource's baton? */
BATON_INLINE bool baton__thread_holds(const struct baton__thread *thread,
                                      const struct baton_resource *resource)
{
	/* Bounded by the chain, whose length is the depth of nested calls on this stack. */
	for (const struct baton__frame *frame = thread->top; frame; frame = frame->below)
		if (frame->resource == resource)
			return true;
	return false;
}

/*
 * The same, but only for batons that the thread has taken since it began its innermost help. The
 * tasks that the thread runs in that help might as well run on another thread, which would not hold
 * the batons below.
 */
BATON_INLINE bool baton__thread_holds_in_help(const struct baton__thread *thread,
                                              const struct baton_resource *resource)
{
	const struct baton__frame *last = thread->helping ? thread->helping->frame : NULL;

	/* Bounded by the depth of nested calls. */
	for (const struct baton__frame *frame = thread->top; frame; frame = frame->below) {
		if (frame->resource == resource)
			return true;
		if (frame == last)
			return false;
	}
	return false;
}

#endif
