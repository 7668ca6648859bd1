/* SPDX-License-Identifier: MIT */
/*
 * The label that an entry carries, its stamp: found by the place that the entry's type names.
 *
 * Who takes a task out of the queue to enter it calls baton__stamp_enter first, before the task's
 * future is claimed: so a future that ends as cancelled has never been running. Who cancels a task
 * calls baton__entry_dropped.
 */
#ifndef BATON_SRC_LABEL_H
#define BATON_SRC_LABEL_H

#include <baton/labelled.h>

#include "base/platform.h"
#include "core/kind.h"
#include "core/tag.h"

/* The stamp of a task; NULL: it has none. */
BATON_INLINE struct baton_stamp *baton__stamp(const struct baton_task *task)
{
	int32_t place;

	if (BATON_LIKELY(!baton__of_kind(task)))
		return NULL;
	place = baton__type(task)->stamp;
	return place ? (struct baton_stamp *)baton__member(task, place) : NULL;
}

/* A tag that the stamp holds is let go. */
BATON_INLINE void baton__stamp_let_go(struct baton_stamp *stamp)
{
	struct baton_tag *tag = stamp->_tag;

	if (!stamp->_holds)
		return;
	stamp->_holds = false;
	stamp->_tag = NULL;
	baton__tag_let_go(tag);
}

/* The task is to be entered. False: its tag has been cancelled, and it must not be. */
BATON_INLINE bool baton__stamp_enter(struct baton_task *task)
{
	struct baton_stamp *stamp = baton__stamp(task);
	bool valid;

	if (!stamp || !stamp->_tag)
		return true;
	valid = baton__tag_generation(stamp->_tag) == stamp->_generation;
	baton__stamp_let_go(stamp);
	return valid;
}

/* The task will not be entered: gives back what it has taken. Before it is told, or complete. */
BATON_INLINE void baton__entry_dropped(struct baton_task *task)
{
	struct baton_stamp *stamp = baton__stamp(task);

	if (stamp)
		baton__stamp_let_go(stamp);
	if (baton__kind_is(task, BATON__KIND_OWN) && baton__kind(task)->drop)
		baton__kind(task)->drop(task);
}

#endif
