/* SPDX-License-Identifier: MIT */
/*
 * The parts of a task that its type names: its stamp, which is the label that the task carries, and
 * the part that a module treats (a place in a window, a reader).
 *
 * A thread that takes a task out of the queue to enter it calls baton__stamp_enter() before it
 * claims the task's future. So a future that ends as cancelled has never been RUNNING. A thread
 * that cancels a task calls baton__entry_dropped().
 *
 * Tags, and the stamps that tasks carry. A stamp is valid while its generation is the tag's.
 *
 * Invariants:
 * tag.advances: The generation only advances. It counts down, modulo 2^64, so that no ABA comes
 *    within reach.
 * tag.stamp: A stamp that holds its tag is counted in the tag's _held until the stamp lets go,
 *    once. Letting go is the last touch of the tag for that stamp.
 *
 * Linearisation points: of a cancel, its subtraction; of a task's look, the load in
 * baton__tag_generation.
 */
#ifndef BATON_SRC_LABEL_H
#define BATON_SRC_LABEL_H

#include <baton/label.h>
#include <baton/tag.h>

#include "base/atomic.h"
#include "base/checked.h"
#include "base/platform.h"
#include "core/kind.h"
#include "thread/carried.h"

/* ---- Tags ---- */

BATON_INLINE uint64_t baton__tag_generation(const struct baton_tag *tag)
{
	/* [tag.generation] acquire: what the canceller did; pairs with [tag.generation] in
	 * baton_tag_cancel */
	return load_acquire(&tag->_generation);
}

BATON_INLINE void baton__tag_hold(struct baton_tag *tag)
{
	/* Relaxed: the caller keeps the tag. */
	(void)add_relaxed(&tag->_held, 1);
}

BATON_INLINE void baton__tag_let_go(struct baton_tag *tag)
{
	/* [tag.held] release: the look at the tag; pairs with [tag.held] in baton_tag_held. Last
	 * touch. Release is enough: the caller learns nothing by it. */
	(void)sub_acq_rel(&tag->_held, 1);
}

/* ---- Stamps ---- */

/* The stamp of a task. NULL: the task has none. */
BATON_INLINE struct baton_stamp *baton__stamp(const struct baton_task *task)
{
	int32_t place;

	if (BATON_LIKELY(!baton__of_kind(task)))
		return NULL;
	place = baton__type(task)->stamp;
	return place ? (struct baton_stamp *)baton__member(task, place) : NULL;
}

/* The task, if it has a stamp, carries what the running function does. Before its submit. */
BATON_INLINE void baton__stamp_carry(struct baton_task *task)
{
	struct baton_stamp *stamp = baton__stamp(task);

	/* Relaxed: a timer may be armed, and a watch started, while an earlier run reads it. */
	if (stamp)
		store_relaxed(&stamp->_carried, baton__carried());
}

/* Lets go of the tag, if the stamp holds one. */
BATON_INLINE void baton__stamp_let_go(struct baton_stamp *stamp)
{
	struct baton_tag *tag = stamp->_tag;

	if (!stamp->_holds)
		return;
	stamp->_holds = false;
	stamp->_tag = NULL;
	baton__tag_let_go(tag);
}

/*
 * The task is about to be entered. False: its tag has been cancelled, and the task must be
 * cancelled.
 */
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

/* ---- Parts that a module treats ---- */

/*
 * What a module does with the tasks of users' types that have its part: the place in a window, the
 * reader. The part begins with the address of this table.
 */
struct baton__part_hooks {
	/* The runner has reached the task; the task is unlinked. True: the module keeps the task
	 * elsewhere, and the task still waits; or the module has run the task. False: the task is
	 * to be entered. Called by the holder. A bound counts such a task even if the task captures
	 * the resource. */
	bool (*keep)(struct baton_task *task);
	/* Calls `run`, the function of the task's type, and returns its status. */
	int (*run)(struct baton_task *task, baton_task_fn run);
	/* Optional. A submitter, which has a record, comes with the task. True: the task has been
	 * accepted and has run beside other tasks, and the submit is over. */
	bool (*join)(struct baton_resource *resource, struct baton_task *task);
	/* The task will not be entered: gives back what the task has taken. Called before the task
	 * is completed or its `cancelled` called. */
	void (*drop)(struct baton_task *task);
};

/* The hooks of the task's part; NULL: it has none. */
BATON_INLINE const struct baton__part_hooks *baton__part_hooks(const struct baton_task *task)
{
	int32_t place;

	if (BATON_LIKELY(!baton__of_kind(task)))
		return NULL;
	place = baton__type(task)->window;
	return place ? ((struct baton__part *)baton__member(task, place))->_hooks : NULL;
}

/* Calls the function of a task of a kind, which has been claimed, or a `cancelled` of its type; the
 * function finds what the task carries. Last touch of the task. */
int baton__run_of_kind(struct baton_task *task);
void baton__cancelled_of_kind(struct baton_task *task, baton_task_cancelled_fn cancelled);

/*
 * The task will not be entered: gives back what the task has taken. Called before the task's future
 * is completed or its `cancelled` called.
 */
BATON_INLINE void baton__entry_dropped(struct baton_task *task)
{
	struct baton_stamp *stamp = baton__stamp(task);
	const struct baton__part_hooks *hooks = baton__part_hooks(task);

	BATON__CHECKED(drop(task));
	if (stamp)
		baton__stamp_let_go(stamp);
	if (hooks)
		hooks->drop(task);
}

#endif
