/* SPDX-License-Identifier: MIT */
/*
 * The stay of a runner: the runner drains within its limits, and hands off what is left.
 */
#ifndef BATON_SRC_HANDOFF_H
#define BATON_SRC_HANDOFF_H

#include "core/drain.h"

enum baton__handoff {
	BATON__GIVEN,           /* handed off: the caller touches the resource no more */
	BATON__REFUSED,         /* the caller still holds the baton; no helper has had it */
	BATON__REFUSED_TOUCHED, /* the caller holds the baton; a helper has had it meanwhile */
};

/* Gives the held resource to its executor. Called by the holder. */
enum baton__handoff baton__hand_off(struct baton_resource *resource);

/*
 * The holder drains within the limits, then hands off what is left. If the executor refuses, this
 * thread runs what is left, here or when its stack is unwound. Pops the frame, and fires the marks
 * that waited for the release.
 */
void baton__stay(struct baton__stay *stay);

/*
 * A stay after a capture, of which only the frame is set: the limits are the capture limits. `ran`:
 * how many tasks have run already, which count. `own`: how many tasks a nested capture may run.
 */
void baton__run_captured(struct baton__stay *stay, uint32_t ran, uint32_t own);

/* A stay without limits: runs until the resource is released or shelved. */
void baton__run_rest(struct baton__stay *stay);

/*
 * Continues to drain the resource here, or hands the resource off. A stay here has the limits of a
 * captured thread; a nested stay runs up to `own` tasks. `later`: does not run tasks in this call;
 * the caller calls baton__deferred_check() when the resource may run here. Called by the holder,
 * which has no frame.
 */
void baton__go_on(struct baton_resource *resource, uint32_t own, bool later);

/* The executor's thread has popped the resource's job: runs, or cancels, the tasks. */
void baton__resource_run(struct baton_job *job);
void baton__resource_cancel(struct baton_job *job);

#endif
