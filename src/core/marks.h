/* SPDX-License-Identifier: MIT */
/*
 * Layer 5: marks, which lie among the tasks and are no tasks: cancel, await, the finaliser. (Those
 * that suspend are shelf.c's, kicks kick.c's.) The holder alone meets them.
 */
#ifndef BATON_SRC_MARKS_H
#define BATON_SRC_MARKS_H

#include "core/resource.h"

/* Cancels all tasks before the last cancel mark of the list; marks of other kinds stay. */
struct baton_task *baton__obey_cancel_marks(struct baton_resource *resource,
                                            struct baton_task *list);

/* A mark has come to its turn: it waits for the release. */
void baton__postpone(struct baton__frame *frame, struct baton_resource *resource,
                     struct baton_task *mark);

/* More work follows: awaiters among the postponed need not wait for it. */
void baton__fire_awaits(struct baton__frame *frame, struct baton_resource *resource);

#endif
