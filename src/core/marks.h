/* SPDX-License-Identifier: MIT */
/*
 * Marks: entries that lie among the tasks and are no tasks. Here are those of cancel and await;
 * close.c has the finaliser, shelf.c the suspend marks, kick.c the kicks. Only the holder meets a
 * mark.
 */
#ifndef BATON_SRC_MARKS_H
#define BATON_SRC_MARKS_H

#include "core/list.h"
#include "core/resource.h"

/* A mark whose completion a thread waits for. */
struct baton__awaiter {
	struct baton__counted counted;
	struct baton_task task;
};

/* Is the entry a mark that stays among its like: no cancel mark, no suspend mark, no kick? */
BATON_INLINE bool baton__only_mark(const struct baton_task *task)
{
	return baton__is_mark(task) &&
	       !baton__kind_is(task,
	                       BATON__KIND_COUNTS | BATON__KIND_CANCELS | BATON__KIND_OVERTAKES);
}

/*
 * Has _list neither tasks of the user's nor kicks, which may let tasks start? Walks over _list,
 * unless the job is MARKS. Called by the holder.
 */
BATON_INLINE bool baton__only_marks(const struct baton_resource *resource)
{
	if (baton__marks_known(resource))
		return true;
	for (const struct baton_task *task = resource->_list; task; task = task->_next)
		if (!baton__is_mark(task) || baton__kind_is(task, BATON__KIND_COUNTS))
			return false;
	return true;
}

/*
 * Fires the marks that waited for the release: awaits, then the finaliser. Called after the frame
 * is popped.
 */
void baton__after(struct baton_task *after);

/*
 * cancel: the memory of the mark is a node's body. await, await_closed: a struct baton__awaiter,
 * for an open and for a closed resource.
 */
extern const struct baton__kind baton__cancel_kind;
extern const struct baton__kind baton__await_kind;
extern const struct baton__kind baton__await_closed_kind;

/* The turn of a mark has come: appends the mark to those that wait for the release. */
enum baton__met baton__postpone(struct baton__frame *frame, struct baton_resource *resource,
                                struct baton_task *mark);

/*
 * Cancels all tasks before the last cancel mark of the list, and frees the cancel marks. Marks of
 * other kinds stay. Returns the list.
 */
struct baton_task *baton__obey_cancel_marks(struct baton_resource *resource,
                                            struct baton_task *list);

/* Puts the suspend marks of the list first, and returns the list. */
struct baton_task *baton__suspend_marks_first(struct baton_task *list);

/*
 * More tasks follow before the release: fires the postponed awaits, and puts the marks that are
 * FOR_GOOD back into _list.
 */
void baton__fire_awaits(struct baton__frame *frame, struct baton_resource *resource);

#endif
