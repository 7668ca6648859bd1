/* SPDX-License-Identifier: MIT */
/*
 * The backlog: the entries that the holder has taken from the inbox, or captured, and has not met
 * yet. _list has what is next. On most resources that is all: a plain list (list.h). A module may
 * keep entries behind _list in an order of its own, and may count what waits: it gives the resource
 * a table of functions. The core calls the functions below, and knows no such module.
 *
 * The last pointer of a resource, _stats, is NULL; or points to the resource's statistics; or to
 * what a module has attached, which begins with the table. Both begin with a struct baton_backlog,
 * so one load tells them apart. A resource where the pointer is NULL is asked nothing else: the
 * word's mode says so (word.h).
 */
#ifndef BATON_SRC_BACKLOG_H
#define BATON_SRC_BACKLOG_H

#include "core/list.h"
#include "core/marks.h"
#include "core/resource.h"
#include "core/stats.h"

/* What the backlog has besides the tasks in _list. */
enum baton__backlog_has {
	BATON__HAS_NOTHING,
	BATON__HAS_MARKS, /* marks alone */
	BATON__HAS_TASKS,
};

/*
 * What a module has to say. A function that is NULL: as for a plain list. A table has all of take,
 * keep, next, put_back, unlink, cancel and has, or none of them.
 */
struct baton__backlog {
	/*
	 * The submitter, before a push. reserve: 0; a negative errno: the chain is refused; 1: its
	 * tasks have been dropped, and completed as cancelled. take_back: the chain is not accepted
	 * after all.
	 */
	int (*reserve)(struct baton_resource *resource, struct baton_task *first, bool may_wait);
	void (*take_back)(struct baton_resource *resource, const struct baton_task *first);
	/* The holder. One task was captured without a reservation, and is to run at once. */
	void (*captured)(struct baton_resource *resource, const struct baton_task *task);
	/* The holder. A task leaves the queue, to be entered or cancelled. */
	void (*left)(struct baton_resource *resource, const struct baton_task *task);
	/* The holder. The inbox was taken: the number of tasks that wait is to be looked at. */
	void (*look)(struct baton_resource *resource);
	/* The holder. Sorts what was taken from the inbox, oldest first; `cancel`: the chain may
	 * have cancel marks, which are to be obeyed. */
	void (*take)(struct baton_resource *resource, struct baton_task *oldest, bool cancel);
	/* The holder. Keeps a chain that was accepted with the capture; NULL: gives it back. */
	void (*keep)(struct baton_resource *resource, struct baton_task *oldest);
	/* The holder. Puts what is next into the empty _list. False: nothing is. */
	bool (*next)(struct baton_resource *resource);
	/* The holder. A task that `next` has put into _list may not run in this stay after all. */
	void (*put_back)(struct baton_resource *resource);
	/* The holder, which has taken the inbox. Unlinks the task of the future; NULL: not here. */
	struct baton_task *(*unlink)(struct baton_resource *resource, struct baton_future *future);
	/* The holder. Cancels all tasks but those in _list; marks stay. */
	void (*cancel)(struct baton_resource *resource);
	enum baton__backlog_has (*has)(const struct baton_resource *resource);
};

/* The table of the resource; NULL: the backlog is a plain list, and nothing is counted. */
BATON_INLINE const struct baton__backlog *baton__backlog(const struct baton_resource *resource)
{
	return resource->_stats ? baton__attached(resource)->_table : NULL;
}

/*
 * The submitter counts a chain before the push. 0; a negative errno: refused; 1: the tasks have
 * been dropped. take_back: the chain is not accepted after all.
 */
int baton__backlog_reserve(struct baton_resource *resource, struct baton_task *first,
                           uint32_t count, bool may_wait);
void baton__backlog_take_back(struct baton_resource *resource, const struct baton_task *first,
                              uint32_t count);

/*
 * The holder has captured the resource for a submit: without a reservation for one `task`, which is
 * to run at once; NULL: the chain was reserved.
 */
void baton__backlog_captured(struct baton_resource *resource, const struct baton_task *task);

/* A task leaves the queue, to be entered or cancelled. The holder. */
void baton__backlog_left(struct baton_resource *resource, const struct baton_task *task);

/* The inbox was taken, or looked at. The holder, with its frame. */
void baton__backlog_look(struct baton_resource *resource);

/* Does the backlog take the inbox whenever there is reason to look, although _list has tasks? */
BATON_INLINE bool baton__backlog_sorts(const struct baton_resource *resource)
{
	const struct baton__backlog *table = baton__backlog(resource);

	return table && table->take;
}

/*
 * Keeps a chain that was accepted with the capture. give_back: it was not accepted after all;
 * nobody has seen it.
 */
void baton__backlog_keep(struct baton_resource *resource, struct baton_task *oldest);
void baton__backlog_give_back(struct baton_resource *resource);

/* Puts what is next into the empty _list, the inbox having been looked at. False: nothing is. */
BATON_INLINE bool baton__backlog_next(struct baton_resource *resource)
{
	const struct baton__backlog *table = baton__backlog(resource);

	return table && table->next && table->next(resource);
}

/* The stay ends: a task in _list whose turn has not come goes back to its place. */
BATON_INLINE void baton__backlog_put_back(struct baton_resource *resource)
{
	const struct baton__backlog *table = baton__backlog(resource);

	if (table && table->put_back)
		table->put_back(resource);
}

/* Unlinks the task of `future`, which is CANCELLING. NULL: the task does not wait here. */
struct baton_task *baton__backlog_unlink(struct baton_resource *resource,
                                         struct baton_future *future);

/* Cancels all tasks; marks stay. The inbox has been taken. */
void baton__backlog_cancel(struct baton_resource *resource);

/* What is there besides the tasks in _list? */
BATON_INLINE enum baton__backlog_has baton__backlog_has(const struct baton_resource *resource)
{
	const struct baton__backlog *table = baton__backlog(resource);

	return table && table->has ? table->has(resource) : BATON__HAS_NOTHING;
}

/* Are there no tasks of the user's, in _list or behind it? */
BATON_INLINE bool baton__backlog_only_marks(const struct baton_resource *resource)
{
	return baton__only_marks(resource) && baton__backlog_has(resource) != BATON__HAS_TASKS;
}

#endif
