/* SPDX-License-Identifier: MIT */
/*
 * Layer 5: finding marks and tasks in what waits, without walking over the same ones again. The
 * holder; for a resource without lanes.
 *
 * While _list has tasks, what comes into the inbox stays there: it could only be put behind them,
 * and nothing knows their end. A look walks over what is new, takes the marks out that are to be
 * obeyed before the next task, and says in each entry that it has been looked at. So each entry is
 * walked over once in the inbox, and once when the inbox is taken.
 *
 * A task that is cancelled by its future is unlinked by the entry before it, in _list the one that
 * is older, in the inbox the one that is newer. While the task waits its future's _value has that
 * entry: nothing else is there before the future is complete. In _list this is written when it is
 * asked for first, for all of them.
 *
 * Invariants:
 * BL1 An entry of the inbox whose _next has LOOKED has been looked at, with all older ones: none is
 *     a mark that cancels or suspends; and their futures know the newer entry.
 * BL2 The _value of a future whose task waits here is NULL, or the entry before that task, or, of
 *     the first one, anything but NULL. All of _list have one while the job is INDEXED. Of a
 *     future whose task is not accepted it is NULL, whoever completes that future meanwhile.
 */
#ifndef BATON_SRC_BACKLOG_H
#define BATON_SRC_BACKLOG_H

#include "resource.h"

#define BATON__LOOKED ((uintptr_t)1)

BATON_INLINE bool baton__looked(const struct baton_task *task)
{
	return (uintptr_t)task->_next & BATON__LOOKED;
}

/* Of an entry of the inbox. */
BATON_INLINE struct baton_task *baton__older(const struct baton_task *task)
{
	return (struct baton_task *)((uintptr_t)task->_next & ~BATON__LOOKED);
}

/* BL2: what comes before the task; NULL: nothing. */
void baton__index(struct baton_task *task, struct baton_task *before);

/* The inbox has been taken: what is in _list now may have no index. */
BATON_INLINE void baton__index_forget(struct baton_resource *resource)
{
	/* Relaxed: the holder's bit; the others are constant, or the deferred list's. */
	if (BATON_UNLIKELY(load_relaxed(&resource->_job._kind) & BATON__JOB_INDEXED))
		(void)sub_relaxed(&resource->_job._kind, BATON__JOB_INDEXED);
}

/* Puts a chain, linked oldest first, before all that is in _list. */
void baton__list_first(struct baton_resource *resource, struct baton_task *first,
                       struct baton_task *last);

/*
 * Attention, with a _list that is not empty and begins with no suspend mark: obeys cancel marks of
 * the inbox, and puts its suspend marks first. False: nothing was to be done.
 */
bool baton__look(struct baton_resource *resource);

/* Unlinks the task of that future, whose CANCELLING keeps it there; NULL: it is not here. */
struct baton_task *baton__backlog_unlink(struct baton_resource *resource,
                                         struct baton_future *future);

#endif
