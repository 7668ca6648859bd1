/* SPDX-License-Identifier: MIT */
/*
 * The tasks that wait in a window: a list, ordered by lanes if the window has lanes. Linking and
 * unlinking a task takes O(lanes), whatever the length of the list.
 *
 * If baton_window_cancel_task() cancels a task in the list, a mark of the task, its `_withdrawal`,
 * unlinks it. The word `_place` of a task with a future decides whether the canceller sends the
 * mark:
 *   IN_LIST               the task is in the list
 *   ASKED                 a canceller has asked for the task, and sends the mark if IN_LIST was set
 *   any -> IN_LIST        the holder, before it looks at the future and links the task
 *   IN_LIST -> 0          the holder, which takes the task out of the list
 *   ASKED is added        the canceller, after it has made the future CANCELLING
 *   IN_LIST, ASKED -> 0   the mark, on its arrival
 * An ASKED that found no IN_LIST may stay until the task comes to a window again.
 *
 * Invariants (others: window.c):
 * window.link: `_link` of a task points to the pointer that leads to the task in the list.
 *    NULL: the task is not in the list. Only the holder touches list and links.
 * window.asked: Only its mark completes a task whose `_place` has IN_LIST and ASKED. A holder that
 *    takes such a task out of the list leaves the task to the mark. So the memory of the mark,
 *    which is the task's, stays until the mark has arrived.
 *
 * Linearisation points: the canceller's and the holder's CAS on `_place`.
 */
#ifndef BATON_SRC_WINDOW_LIST_H
#define BATON_SRC_WINDOW_LIST_H

#include <baton/window.h>

#include "base/atomic.h"
#include "future/future.h"
#include "core/kind.h"

/* The task's part, which its type names. */
BATON_INLINE struct baton_window_part *baton__window_part(const struct baton_task *task)
{
	return (struct baton_window_part *)baton__member(task, baton__type(task)->window);
}

/* Has the task's future been cancelled? */
BATON_INLINE bool baton__withdrawn(const struct baton_task *task)
{
	/* Relaxed: a cancel that this load misses is found by the claim. */
	const struct baton_future *future = baton__task_future(task);

	return future &&
	       (load_relaxed(&future->_state) & BATON__FUTURE_STATE) == BATON__FUTURE_CANCELLING;
}

/*
 * Puts the task behind the tasks of its lane and of the lanes above. False: the task is cancelled,
 * and the caller completes it as cancelled.
 */
bool baton__window_list_append(struct baton_window *window, struct baton_task *task);

/* Takes the first task out of the list. NULL: the task's mark completes it (window.asked). */
struct baton_task *baton__window_list_first(struct baton_window *window);

/* Called by the task's mark: takes the task out of the list, unless it has been taken out. */
void baton__window_list_withdraw(struct baton_window *window, struct baton_task *task);

/*
 * Called by the thread that has made the task's future CANCELLING. True: the caller sends the
 * task's mark; until the mark arrives, the task is in the list, or was taken out and left to the
 * mark.
 */
bool baton__window_list_ask(struct baton_window_part *part);

#endif
