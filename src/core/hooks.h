/* SPDX-License-Identifier: MIT */
/*
 * Drain hooks: the batch of a runner. The batch lies on the drain's stack, and the runner's frame
 * points to it. Only the runner touches the batch; cycle.c reads it while the runner sleeps.
 *
 * Phases:
 *   NONE     -> OPEN      batch_begin has succeeded: before the first task that is entered
 *   NONE     -> REFUSED   batch_begin has failed: the tasks of this batch are not entered
 *   OPEN     -> NONE      batch_end has been called; the held-back completions are made next
 *   REFUSED  -> NONE      there is no batch_end
 *
 * Invariants:
 * hooks.open: A batch is OPEN only inside one drain. Before the runner gives the baton up, releases
 *    the resource, or fires awaiters, the drain calls baton__batch_end().
 * hooks.pairs: For each batch_begin that has succeeded there is one batch_end.
 * hooks.held_back: Held-back futures are RUNNING, have their own status and value in them, and are
 *    in the order in which their tasks ran. A future is held back only while the batch is OPEN, or
 *    until `end` completes it. The batch touches none of their tasks: a task may have freed, or
 *    submitted, itself.
 *
 * Progress: blocking, where a hook blocks; otherwise that of the drain. No atomics here: the
 * linearisation points of the completions are in future.c.
 */
#ifndef BATON_SRC_HOOKS_H
#define BATON_SRC_HOOKS_H

#include "core/resource.h"
#include "core/stay.h"

enum baton__batch_phase { BATON__BATCH_NONE, BATON__BATCH_OPEN, BATON__BATCH_REFUSED };

struct baton__held;

struct baton__batch {
	struct baton__stay *stay;
	struct baton__held *first; /* the held-back futures, in nodes */
	struct baton__held *last;
	struct baton_future *odd; /* the last held-back future, if no node could be allocated */
	uint64_t until_ns;        /* when the batch has lasted batch_ns; 0: no limit */
	uint32_t count;           /* the batch's tasks */
	uint32_t well;            /* of these, the tasks that fail only if batch_end does */
	int status;               /* what batch_begin returned */
	/* the first error of a hook that the running task's flushes have called, or 0 */
	int failed;
	enum baton__batch_phase phase;
	bool entered;  /* a task's function is running, and in it no hook */
	bool answered; /* the completion of `until` is held back */
	bool staying;  /* the helper runs tasks behind its own; its limit has been cut */
};

/* Sets up the batch of one drain, and points the frame of the stay to it. */
void baton__batch_init(struct baton__batch *batch, struct baton__stay *stay);

/*
 * Called before and after a task's function.
 * enter: begins a batch if none is open. The task has been claimed. False: batch_begin has failed:
 * the task has been completed as failed, and is not entered.
 * entered: takes what the function returned, and completes or holds back `future`, which may be
 * NULL.
 */
bool baton__batch_enter(struct baton__batch *batch, struct baton_task *task);
void baton__batch_entered(struct baton__batch *batch, struct baton_future *future, int status,
                          void *value);

/*
 * Called after a task has run. A helper whose own completion is held back still waits. The helper
 * runs queued tasks in the same batch, up to a quantum: otherwise each helper would have a batch of
 * its own.
 */
void baton__batch_look(struct baton__batch *batch);

/* Ends the open batch, and completes the futures that it holds back. False: no batch was open. */
bool baton__batch_end(struct baton__batch *batch);

/* Does the batch hold this future back? For the runner, and for cycle.c while the runner sleeps. */
bool baton__batch_holds(const struct baton__batch *batch, const struct baton_future *future);

#endif
