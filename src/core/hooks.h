/* SPDX-License-Identifier: MIT */
/*
 * Drain hooks: the batch that a runner has open. It lies on the drain's stack, and
 * the runner's frame points to it; nobody but the runner sees it.
 *
 *   NONE     -> OPEN      batch_begin has succeeded: before the first task that is entered
 *   NONE     -> REFUSED   batch_begin has failed: what follows is not entered
 *   OPEN     -> NONE      batch_end has been called; then the held-back completions are made
 *   REFUSED  -> NONE      with nothing to be ended
 *
 * Invariants:
 * B1 OPEN only between two steps of one drain: whoever gives the baton up, releases it, or fires
 *    awaiters, has called baton__batch_leave() or baton__batch_end() before.
 * B2 One batch_end for each batch_begin that has succeeded.
 * B3 Held-back futures are RUNNING, with their own status and value in them, and in the order in
 *    which their tasks ran. There are none unless a batch is OPEN. Of the tasks nothing is
 *    touched: a task may have freed, or submitted, itself.
 *
 * Progress: as the drain's: blocking, where a hook blocks. No atomics of its own; the completions'
 * linearisation points are future.c's.
 */
#ifndef BATON_SRC_HOOKS_H
#define BATON_SRC_HOOKS_H

#include "core/resource.h"
#include "core/drain.h"

enum baton__batch_phase { BATON__BATCH_NONE, BATON__BATCH_OPEN, BATON__BATCH_REFUSED };

struct baton__held;

struct baton__batch {
	struct baton_resource *resource;
	const struct baton_future *until; /* a helper's, or NULL */
	struct baton__held *first;        /* held back, in nodes */
	struct baton__held *last;
	struct baton_future *odd; /* the last one, where there was no memory for a node */
	uint64_t until_ns;        /* when it has lasted batch_ns; 0: no limit */
	uint32_t count;           /* tasks in it */
	uint32_t well;            /* of these, those that fail only if batch_end does */
	int status;               /* REFUSED: batch_begin's */
	int failed; /* of the running task: the first batch of its that has failed, see flush */
	enum baton__batch_phase phase;
	bool entered;  /* a task's function is running, and no hook inside it */
	bool answered; /* the helper's own completion is held back */
	bool staying;  /* the helper stays for others; its budget has been cut */
};

/* For one drain of a resource that has hooks; returns `batch`, to which `frame` points now. */
struct baton__batch *baton__batch_init(struct baton__batch *batch, struct baton__frame *frame,
                                       struct baton_resource *resource,
                                       const struct baton__budget *budget);

/*
 * Around a task's function, which enter lets in: it has been claimed. False: there is no batch for
 * it, and it has been completed as failed. entered: what it returned; the future may be NULL.
 */
bool baton__batch_enter(struct baton__batch *batch, struct baton_task *task);
void baton__batch_entered(struct baton__batch *batch, struct baton_future *future, int status,
                          void *value);

/*
 * A task has run. A helper whose own completion is now held back still waits, and runs what is
 * queued in the same batch, up to a quantum: else each helper would have a batch of its own.
 */
void baton__batch_look(struct baton__batch *batch, struct baton__budget *budget);

/* Ends the open batch, and completes what it has held back. False: there was none. */
bool baton__batch_end(struct baton__batch *batch);

/* Does it hold this completion back? The runner; or who knows that the runner sleeps. */
bool baton__batch_holds(const struct baton__batch *batch, const struct baton_future *future);

/* The drain ends with the baton held; without hooks it does nothing. */
BATON_INLINE void baton__batch_leave(struct baton__frame *frame)
{
	if (BATON_LIKELY(!frame->batch))
		return;
	(void)baton__batch_end(frame->batch);
	frame->batch = NULL;
}

#endif
