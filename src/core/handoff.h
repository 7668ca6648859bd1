/* SPDX-License-Identifier: MIT */
/*
 * The stay of a runner: the runner drains within its limits, and hands off what is left.
 */
#ifndef BATON_SRC_HANDOFF_H
#define BATON_SRC_HANDOFF_H

#include "core/place.h"
#include "core/stay.h"

enum baton__handoff {
	BATON__GIVEN,           /* handed off: the caller touches the resource no more */
	BATON__REFUSED,         /* the caller still holds the baton; no helper has had it */
	BATON__REFUSED_TOUCHED, /* the caller holds the baton; a helper has had it meanwhile */
};

/* Gives the held resource to its executor. Called by the holder. */
enum baton__handoff baton__hand_off(struct baton_resource *resource);

/*
 * Decides which thread goes on with a held resource. Every holder calls this function before it
 * leaves. HERE: this thread drains within the limits of the stay, then hands the resource off if
 * tasks wait. LATER, EXECUTOR: this thread hands the resource off at once.
 *
 * If no executor takes the resource, this thread drains it. At the bottom of its stack this thread
 * drains at once and without limits. In a nested stay, and after LATER, this thread drains when its
 * stack is unwound.
 *
 * The function pops the frame, and fires the marks that waited for the release. After LATER the
 * caller calls baton__deferred_check() as soon as the resource may run on this thread.
 */
void baton__stay(struct baton__stay *stay, enum baton__place place);

/*
 * The same for a holder that has no stay yet. `own`: how many tasks a nested stay runs at most.
 */
void baton__go_on(struct baton_resource *resource, enum baton__place place, uint32_t own);

/*
 * The same after a capture, for a stay of which only the frame and `until_ns` are set. The limits
 * are the capture limits, which also count the `ran` tasks that have run already. `own`: as in
 * baton__go_on.
 */
void baton__run_captured(struct baton__stay *stay, uint32_t ran, uint32_t own);

/* The executor's thread has popped the resource's job: runs, or cancels, the tasks. */
void baton__resource_run(struct baton_job *job);
void baton__resource_cancel(struct baton_job *job);

#endif
