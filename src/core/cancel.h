/* SPDX-License-Identifier: MIT */
/*
 * Cancelling one task by its future.
 */
#ifndef BATON_SRC_CANCEL_H
#define BATON_SRC_CANCEL_H

#include "core/resource.h"

/*
 * The two steps of baton_future_cancel() for a task's future. decide: makes a PENDING future
 * CANCELLING, or asks a running task to stop; returns what baton_future_cancel() returns. If decide
 * returns 0 and sets *resource, the caller is the future's visitor, and then calls unlink or
 * baton__visit_leave(). unlink: unlinks the task if the resource is queued, and ends the visit.
 */
int baton__cancel_decide(struct baton_future *future, struct baton_resource **resource,
                         uint32_t *generation);
void baton__cancel_unlink(struct baton_future *future, struct baton_resource *resource,
                          uint32_t generation);

/* Unlinks the task of a future that is being cancelled, if its resource is queued. */
void baton__cancel_visit(struct baton_future *future);

#endif
