/* SPDX-License-Identifier: MIT */
/*
 * Batches, as the drain knows them: on a resource with drain hooks each run of consecutive tasks is
 * a batch, and the functions below are called around the batch and around its tasks. The functions
 * are in hooks.c; the drain of a resource without hooks calls none of them.
 */
#ifndef BATON_SRC_BATCHING_H
#define BATON_SRC_BATCHING_H

#include "core/stay.h"

struct baton__batch;

struct baton__batching {
	/* Calls baton__drain_batched() with a batch of its own, and returns what that returned. */
	bool (*drain)(struct baton__stay *stay);
	/* Runs a task that has captured the resource: a batch of one task. */
	void (*run_alone)(struct baton__stay *stay, struct baton_task *task);
	/*
	 * Called before and after a task's function.
	 * enter: begins a batch if none is open. The task has been claimed. False: batch_begin has
	 * failed, and the task is not entered: its future has been completed as failed, or, without
	 * a future, its `cancelled` has been called.
	 * entered: takes what the function returned, and completes or holds back `future`, which
	 * may be NULL.
	 */
	bool (*enter)(struct baton__batch *batch, struct baton_task *task);
	void (*entered)(struct baton__batch *batch, struct baton_future *future, int status,
	                void *value);
	/* Called after a task has run: may shorten a helper's stay. */
	void (*look)(struct baton__batch *batch);
	/* Ends the open batch, and completes the futures that it holds back. False: no batch was
	 * open. */
	bool (*end)(struct baton__batch *batch);
	/* Does the batch hold this future back, or is it that of a task that flushes? The caller
	 * knows that the runner sleeps. */
	bool (*holds)(const struct baton__batch *batch, const struct baton_future *future);
};

/* The drain refers to this table: so a program that links the archive has hooks.c, too. */
extern const struct baton__batching baton__batching;

#endif
