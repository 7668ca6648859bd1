/* SPDX-License-Identifier: MIT */
/*
 * An errand is a task, a plain job or a promise, with a future and a continuation that it may have,
 * in one cell. The cell of a task without a future is given back as soon as the task is entered or
 * cancelled. An errand with a future is counted: the owner drops its reference after it has seen
 * the future complete, and the last holder of a reference gives the cell back.
 */
#ifndef BATON_TEST_STRESS_ERRAND_H
#define BATON_TEST_STRESS_ERRAND_H

#include <baton.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "note.h"

struct open;

struct errand {
	struct baton_task task;
	struct baton_future future;
	struct baton_continuation continuation;
	struct baton_plain_job job;
	struct note *note;
	struct site *site;
	struct engine *engine; /* a job's */
	atomic_uint references;
	bool pinned; /* a continuation's site, until it is entered or cancelled */
};

_Static_assert(sizeof(struct errand) <= 384, "a cell");

/* These make an errand, and begin its note. */
struct errand *errand_task(enum note_kind kind, struct site *site, bool future);
struct errand *errand_job(struct engine *engine);
struct errand *errand_promise(void);

/* The errand's submit was refused, or never made. */
void errand_discard(struct errand *errand);

/* For configs: a task without a future has been cancelled. */
void errand_cancelled(struct baton_task *task);

/* For post, async, call: the argument is the note. */
void *errand_call(void *note);

/* The function of a call that waits. */
void *errand_of_caller(void *caller);

int errand_status(const struct note *note);

/* Is the complete future as its note says? Any thread that may look at it. */
void errand_check(const struct baton_future *future, struct note *note);

/* The owner has seen the future complete, and uses it no more. */
void errand_finish(struct open *open);

void errand_unref(struct errand *errand);

#endif
