/* SPDX-License-Identifier: MIT */
/*
 * The plain list, _list, and the inbox behind it: which entry is before a task that waits there.
 * The holder calls these functions.
 *
 * To unlink a task that is cancelled by its future, the holder needs the entry before the task: in
 * _list the next older entry, in the inbox the next newer entry. While the task waits, its future's
 * _value points to that entry; _value has no other use before the future is complete. For _list
 * these pointers are written when the first of them is needed, for all tasks in one pass. Suspend
 * marks have futures, too; the pointer of a suspend mark is written as soon as the mark is found.
 *
 * Invariants:
 * list.looked: If the _next of an inbox entry has LOOKED, this entry and all older entries have
 *    been looked at: no entry among them is a cancel or suspend mark, and the future of each older
 *    entry has the next newer entry in _value.
 * list.back_link: While a task waits here, its future's _value is NULL (no index), or points to the
 *    entry before the task. If no entry is before the task, _value is NULL, or points to
 *    baton__nothing or to an entry that has gone. While the job is INDEXED, no future of a task in
 *    _list has NULL in _value. The _value of a future whose task is not accepted is NULL, even if
 *    another thread completes that future meanwhile.
 */
#ifndef BATON_SRC_LIST_H
#define BATON_SRC_LIST_H

#include "core/resource.h"

#define BATON__LOOKED ((uintptr_t)1)

BATON_INLINE bool baton__looked(const struct baton_task *task)
{
	return (uintptr_t)task->_next & BATON__LOOKED;
}

/* The entry that was pushed before `task`; NULL: `task` is the oldest entry of the inbox. */
BATON_INLINE struct baton_task *baton__older(const struct baton_task *task)
{
	return (struct baton_task *)((uintptr_t)task->_next & ~BATON__LOOKED);
}

/* Makes `older` the next older entry of `task`. `looked`: BATON__LOOKED or 0. */
void baton__older_set(struct baton_task *task, struct baton_task *older, uintptr_t looked);

/* A future's _value that points here: no entry is before the task (list.back_link). */
extern struct baton_task baton__nothing;

/* The future by which the entry may be cancelled: of a task or suspend mark. NULL: none. */
struct baton_future *baton__entry_future(struct baton_task *entry);

/* The entry before the future's task or suspend mark, which is in no lane; NULL: no index. */
struct baton_task *baton__before(const struct baton_future *future);

/* Stores `before`, the entry before `task`, in its future (list.back_link); NULL: none. */
void baton__index(struct baton_task *task, struct baton_task *before);

/*
 * Indexes an entry again if it has an index: the entry before it was unlinked, or entries were put
 * before it.
 */
void baton__index_again(struct baton_task *task, struct baton_task *before);

/* Indexes all of _list, unless the job is INDEXED. */
void baton__index_list(struct baton_resource *resource);

/* Clears INDEXED; called before tasks without an index come into _list. */
BATON_INLINE void baton__index_forget(struct baton_resource *resource)
{
	/* Relaxed: only the holder changes this bit; all other bits are constant, or belong to
	 * the deferred list or the pool. */
	if (BATON_UNLIKELY(load_relaxed(&resource->_job._kind) & BATON__JOB_INDEXED))
		(void)sub_relaxed(&resource->_job._kind, BATON__JOB_INDEXED);
}

/* Does _list begin with a suspend mark? */
BATON_INLINE bool baton__suspends(const struct baton_resource *resource)
{
	const struct baton_task *task = resource->_list;

	return task && baton__kind_is(task, BATON__KIND_OVERTAKES);
}

/* Puts a chain, linked oldest first, before all entries of _list but a suspend mark. */
void baton__list_first(struct baton_resource *resource, struct baton_task *first,
                       struct baton_task *last);

#endif
