/* SPDX-License-Identifier: MIT */
/*
 * Marks, which lie among the tasks and are no tasks: cancel, await, the finaliser. (Those
 * that suspend are shelf.c's, kicks kick.c's.) The holder alone meets them.
 */
#ifndef BATON_SRC_MARKS_H
#define BATON_SRC_MARKS_H

#include "core/resource.h"

/* A mark that a thread waits for. */
struct baton__awaiter {
	struct baton__counted counted;
	struct baton_task task;
};

/* Has the list neither tasks of the user's nor kicks, which may let tasks start? The holder. */
BATON_INLINE bool baton__only_marks(const struct baton_resource *resource)
{
	for (const struct baton_task *task = resource->_list; task; task = task->_next)
		if (!baton__is_mark(task) || baton__kind_is(task, BATON__KIND_COUNTS))
			return false;
	return true;
}

/* Fires what was waiting for the release: awaits, then the finaliser. Without the frame. */
void baton__after(struct baton_task *after);

/*
 * Cancel marks, whose memory is a node's body; those of struct baton__awaiter, for an open resource
 * and for a closed one; a finaliser of the user's.
 */
extern const struct baton__kind baton__cancel_kind;
extern const struct baton__kind baton__await_kind;
extern const struct baton__kind baton__await_closed_kind;
extern const struct baton__kind baton__final_kind;

/* Cancels all tasks before the last cancel mark of the list; marks of other kinds stay. */
struct baton_task *baton__obey_cancel_marks(struct baton_resource *resource,
                                            struct baton_task *list);

/* More work follows: awaiters among the postponed need not wait for it. */
void baton__fire_awaits(struct baton__frame *frame, struct baton_resource *resource);

#endif
