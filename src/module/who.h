/* SPDX-License-Identifier: MIT */
/*
 * The thread that has suspended a resource or its lower lanes, or has detached the task that holds
 * the resource: it explains why the resource's tasks wait. The gauge shows the thread on a board
 * (core/gauge.h). A debugger finds the thread's id without a board, too (who.guest).
 */
#ifndef BATON_SRC_WHO_H
#define BATON_SRC_WHO_H

#include "core/gauge.h"

/* The calling thread, which has a record, and the task that it runs. */
struct baton__who baton__who_now(void);

/*
 * shelved: the holder shelves the resource. paused: the holder pauses its lower lanes; NULL: from
 * here on it is not known who has paused them. Called by the holder.
 */
void baton__who_shelved(struct baton_resource *resource, const struct baton__who *who);
void baton__who_paused(struct baton_resource *resource, const struct baton__who *who);

#endif
