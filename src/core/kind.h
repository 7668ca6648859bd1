/* SPDX-License-Identifier: MIT */
/*
 * Kinds. An entry of an inbox is a plain task, or an entry of a kind. The _future of a plain task
 * is the task's future, or NULL. The _future of an entry of a kind is the kind's address, with bit
 * 0 set. A kind is a constant table: it says what the entry is, and what to do with the entry. Code
 * that must know what an entry is asks the kind; no code compares an entry's function with a known
 * one.
 *
 * A kind begins with a struct baton_task_type, which is all that a task's kind has. The kind of a
 * mark is a struct baton__kind, which adds hooks. A module brings a kind of its own; the core knows
 * no module's kind. A task comes to a module by a part, which names the module's hooks.
 *
 * A plain task pays for kinds one test of bit 0, on the paths that must know what the entry is.
 *
 * Invariants:
 * kind.run: The core does not call the _run of a task of a kind: it calls the type's `run`. So _run
 *    is free. A kick and a finaliser keep their function there; a refused task that callback.c puts
 *    off keeps its resource there.
 */
#ifndef BATON_SRC_KIND_H
#define BATON_SRC_KIND_H

#include <baton/resource.h>
#include <baton/task.h>

#include "base/checked.h"
#include "base/platform.h"

#include <stdbool.h>
#include <stdint.h>

struct baton__stay;

/*
 * An entry that lies among the tasks and is no task of the user's. No statistics count a mark, no
 * bound limits marks, and a cancel of the queued tasks leaves marks alone. The type of a mark is
 * the first member of a struct baton__kind.
 */
#define BATON__KIND_MARK 1U
/* A mark that cancels all older tasks as soon as the runner finds it. */
#define BATON__KIND_CANCELS 2U
/* A mark that goes before everything that is queued. It has a future (baton__mark_future). */
#define BATON__KIND_OVERTAKES 4U
/* A mark that waits for no task in a lane. */
#define BATON__KIND_PROMPT 8U
/* A mark that counts for the limits of the stay, as a task does. */
#define BATON__KIND_COUNTS 0x10U
/* A mark that, once reached, waits until a closed resource is released for good. */
#define BATON__KIND_FOR_GOOD 0x20U
/* A mark that comes after all others that wait for the same release. */
#define BATON__KIND_LAST 0x40U

/* The place `future` is that of the task's future itself, not of a pointer to it. */
#define BATON__KIND_HAS_FUTURE 0x80U
/* The type's `cancelled` is called although the task has a future. The task's memory lives until
 * then. */
#define BATON__KIND_TELLS 0x100U
/* A task of the library's that shelves the baton, and runs no function of the user's: no batch and
 * no context is around it, and it needs no budget. */
#define BATON__KIND_ALONE 0x200U

/* What a runner does after it has met a mark. */
enum baton__met {
	BATON__MET,      /* continue with the next entry */
	BATON__MET_LEFT, /* the resource has been left: touch it no more */
};

struct baton__kind {
	struct baton_task_type type;
	/* The runner has reached the mark; the mark is unlinked. Called by the holder. */
	enum baton__met (*meet)(struct baton__stay *stay, struct baton_task *mark);
	/* A mark that was postponed (marks.h): the release has come. Last touch of the mark. */
	void (*after)(struct baton_task *mark);
};

#define BATON__OF_KIND ((uintptr_t)1)

BATON_INLINE bool baton__of_kind(const struct baton_task *task)
{
	return (uintptr_t)task->_future & BATON__OF_KIND;
}

/* The type of an entry that is of a kind. */
BATON_INLINE const struct baton_task_type *baton__type(const struct baton_task *task)
{
	BATON__CHECK(baton__of_kind(task));
	return (const struct baton_task_type *)((uintptr_t)task->_future - BATON__OF_KIND);
}

/* The kind of a mark. */
BATON_INLINE const struct baton__kind *baton__kind(const struct baton_task *task)
{
	BATON__CHECK(baton__type(task)->_flags & BATON__KIND_MARK);
	return (const struct baton__kind *)baton__type(task);
}

/* Has the entry a kind with this flag? */
BATON_INLINE bool baton__kind_is(const struct baton_task *task, uint32_t flag)
{
	return BATON_UNLIKELY(baton__of_kind(task)) && baton__type(task)->_flags & flag;
}

BATON_INLINE bool baton__is_mark(const struct baton_task *task)
{
	return baton__kind_is(task, BATON__KIND_MARK);
}

/* Makes the entry an entry of that kind. _next and _run stay as they are. */
BATON_INLINE void baton__kind_set(struct baton_task *task, const struct baton__kind *kind)
{
	task->_future = (struct baton_future *)((uintptr_t)&kind->type | BATON__OF_KIND);
}

/* Makes the entry a task of that type. _run and the parts stay as they are. */
BATON_INLINE void baton__type_set(struct baton_task *task, const struct baton_task_type *type)
{
	task->_next = NULL;
	task->_future = (struct baton_future *)((uintptr_t)type | BATON__OF_KIND);
}

/* The member of the task's struct at that place (baton/task.h). */
BATON_INLINE void *baton__member(const struct baton_task *task, int32_t place)
{
	return (char *)(uintptr_t)task + place;
}

/* The future of a task. NULL: the task has none, or the entry is a mark. */
BATON_INLINE struct baton_future *baton__task_future(const struct baton_task *task)
{
	const struct baton_task_type *type;

	if (BATON_LIKELY(!baton__of_kind(task)))
		return task->_future;
	type = baton__type(task);
	if (type->_flags & BATON__KIND_HAS_FUTURE)
		return baton__member(task, type->future);
	return type->future ? *(struct baton_future **)baton__member(task, type->future) : NULL;
}

/* The function that a message about the task shows. */
BATON_INLINE uintptr_t baton__function(const struct baton_task *task)
{
	const struct baton_task_type *type;

	if (!baton__of_kind(task))
		return (uintptr_t)task->_run;
	type = baton__type(task);
	return type->function ? *(const uintptr_t *)baton__member(task, type->function)
	                      : (uintptr_t)type->run;
}

#endif
