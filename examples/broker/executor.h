/* SPDX-License-Identifier: MIT */
/*
 * The executor of a loop thread: baton's own for event loops, whose descriptor wakes the thread,
 * for jobs that come from other threads; and a plain array, which needs no wake-up, for those that
 * come from callbacks of libuv on the thread itself: they are run in the same turn of the loop.
 */
#ifndef BROKER_EXECUTOR_H
#define BROKER_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>

#include <baton/executor.h>

#define EXECUTOR_JOBS_MAX 512 /* what is more goes the other way */

struct executor {
	struct baton_executor base; /* first: found from it */
	struct baton_loop *remote;
	bool gathering; /* the jobs will be run before the thread sleeps */
	size_t count;
	struct baton_job *jobs[EXECUTOR_JOBS_MAX];
};

/* Errors: those of baton_loop_create(). destroy: as baton_loop_destroy(). */
int executor_init(struct executor *executor);
void executor_destroy(struct executor *executor);

/* The thread whose executor this is calls that first. Errors: -ENOMEM. */
int executor_adopt(struct executor *executor);

/* On that thread: before it sleeps or polls; after that, when the descriptor has `signalled`. */
void executor_gather(struct executor *executor);
void executor_run(struct executor *executor, bool signalled);

#endif
