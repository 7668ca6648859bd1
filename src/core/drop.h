/* SPDX-License-Identifier: MIT */
/* What becomes of a task that will not be entered. */
#ifndef BATON_SRC_DROP_H
#define BATON_SRC_DROP_H

#include "core/kind.h"
#include "core/resource.h"

/* Completes, as cancelled, a task that has been counted as left already. Called by the holder. */
void baton__cancel_entered(struct baton_resource *resource, struct baton_task *task);

/* The same, but calls no `cancelled`. True: baton__tell_cancelled() must still be called. */
bool baton__cancel_untold(struct baton_resource *resource, struct baton_task *task);

/* Is a `cancelled` to be called for the task? Ask before the task's future is complete. */
BATON_INLINE bool baton__tells(const struct baton_task *task)
{
	return !baton__task_future(task) || baton__kind_is(task, BATON__KIND_TELLS);
}

/* Calls the `cancelled` of the task, if there is one. The resource is not touched afterwards. */
void baton__tell_cancelled(struct baton_resource *resource, struct baton_task *task);

/* The same in two halves. of: the function to call; NULL: none. call: calls it. */
baton_task_cancelled_fn baton__cancelled_of(const struct baton_resource *resource,
                                            const struct baton_task *task);
void baton__call_cancelled(struct baton_task *task, baton_task_cancelled_fn cancelled);

#endif
