/* SPDX-License-Identifier: MIT */
/*
 * The stay of a runner: it drains within its limits, and hands off what is left.
 */
#ifndef BATON_SRC_HANDOFF_H
#define BATON_SRC_HANDOFF_H

#include "core/drain.h"

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

/* As baton__run_captured, for a baton that was taken over and whose limits do not count. */
void baton__run_rest(struct baton__frame *frame, struct baton_resource *resource);

/* The executor's thread popped the resource's job. */
void baton__resource_run(struct baton_job *job);
void baton__resource_cancel(struct baton_job *job);

#endif
