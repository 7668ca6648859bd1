/* SPDX-License-Identifier: MIT */
/*
 * The tasks that wait in a window: a list, ordered by lanes if the window has lanes. One task is
 * linked and unlinked in a time that does not depend on the others.
 *
 * A task in the list that is cancelled by baton_windowed_cancel() is unlinked by a mark of its own,
 * the task's _withdrawal. The _place of a windowed task with a future decides whether the canceller
 * sends the mark:
 *   IN_LIST               the task is in the list
 *   ASKED                 a canceller has asked for the task; it sends the mark if IN_LIST was set
 *   any -> IN_LIST        the holder, before it looks at the future and links the task
 *   IN_LIST -> 0          the holder, which takes the task out of the list
 *   ASKED is added        the canceller, after it has made the future CANCELLING
 *   IN_LIST, ASKED -> 0   the mark, on its arrival
 * An ASKED that found no IN_LIST may stay until the task comes to a window again.
 *
 * Invariants (X1 to X4: window.c):
 * X5 The _link of a windowed task is what leads to the task in the list; NULL: the task is not in
 *    the list. Touched under the baton alone, as is the list.
 * X6 A task whose _place has IN_LIST and ASKED is completed by its mark and by nothing else. A
 *    holder that takes such a task out of the list leaves the task to the mark. So the mark's
 *    memory, which is the task's, stays until the mark has arrived.
 *
 * Linearisation points: the CAS on _place, of the canceller and of the holder.
 */
#ifndef BATON_SRC_WINDOW_LIST_H
#define BATON_SRC_WINDOW_LIST_H

#include <baton/window.h>

#include "base/atomic.h"
#include "core/kind.h"
#include "future/future.h"

BATON_INLINE struct baton_windowed *baton__windowed_of(struct baton_task *task)
{
	return baton_container_of(task, struct baton_windowed, task);
}

/* Has the task's future been cancelled? */
BATON_INLINE bool baton__withdrawn(const struct baton_task *task)
{
	/* Relaxed: if not now, then it is found when it is claimed. */
	const struct baton_future *future = baton__task_future(task);

	return future &&
	       (load_relaxed(&future->_state) & BATON__FUTURE_STATE) == BATON__FUTURE_CANCELLING;
}

/*
 * Puts the task behind all others of its lane and of those above. False: the task is cancelled, and
 * is to be completed so.
 */
bool baton__window_list_append(struct baton_window *window, struct baton_task *task);

/* Takes the first task out of the list. NULL: the task's mark completes it (X6). */
struct baton_task *baton__window_list_first(struct baton_window *window);

/* The task's mark has arrived: takes the task out of the list, unless it has been taken out. */
void baton__window_list_withdraw(struct baton_windowed *windowed);

/*
 * Asks for a task whose future the calling thread has made CANCELLING. True: the task is in the
 * list, or has left it for its mark, which the caller now sends.
 */
bool baton__window_list_ask(struct baton_windowed *windowed);

#endif
