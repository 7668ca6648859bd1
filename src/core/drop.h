/* SPDX-License-Identifier: MIT */
/* What becomes of a task that will not be entered. */
#ifndef BATON_SRC_DROP_H
#define BATON_SRC_DROP_H

#include "core/resource.h"

/* Completes, as cancelled, a task that has been counted as left already. Called by the holder. */
void baton__cancel_entered(struct baton_resource *resource, struct baton_task *task);

/* The same, but calls no `cancelled`. True: the task has no future, and baton__tell_cancelled()
 * must still be called. */
bool baton__cancel_untold(struct baton_resource *resource, struct baton_task *task);

/* Calls the `cancelled` of a task without a future, if there is one. */
void baton__tell_cancelled(struct baton_resource *resource, struct baton_task *task);

#endif
