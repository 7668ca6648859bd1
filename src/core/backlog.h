/* SPDX-License-Identifier: MIT */
/*
 * The backlog: the entries that the holder has taken from the inbox, or got with its capture, and
 * has not reached yet. `_list` has the next entries. On most resources `_list`, a plain list
 * (list.h), is the whole backlog. A module may keep entries behind `_list` in an order of its own,
 * and may count the tasks that wait: the module gives the resource a table of functions. The core
 * calls the functions below, and names no module.
 *
 * A resource that has a table has an extension, which begins with a struct baton__extension_head
 * (extras.h). Every other resource pays for one test: whether it has extras.
 */
#ifndef BATON_SRC_BACKLOG_H
#define BATON_SRC_BACKLOG_H

#include "core/resource.h"
#include "core/stats.h"

/* What the backlog has besides the entries in _list. */
enum baton__backlog_has {
	BATON__HAS_NOTHING,
	BATON__HAS_MARKS, /* marks alone */
	BATON__HAS_TASKS,
};

/*
 * A module's table. Where a function is NULL the backlog behaves like a plain list. A table has all
 * of take, keep, next, put_back, admit, unlink, cancel, has and rests, or none of them. The
 * submitter calls reserve and unreserve; the holder calls all other functions.
 */
struct baton__backlog {
	/*
	 * reserve: called before the submitter's CAS. 0; a negative errno: the chain is refused;
	 * 1: the submit is over: the tasks have been accepted, or dropped and completed as
	 * cancelled. `how`: flags of submit.h. unreserve: the reserved chain is not accepted after
	 * all.
	 */
	int (*reserve)(struct baton_resource *resource, struct baton_task *first, uint32_t count,
	               unsigned how);
	void (*unreserve)(struct baton_resource *resource, const struct baton_task *first);
	/* The resource was captured for one task, which has no reservation and runs at once. */
	void (*captured)(struct baton_resource *resource, const struct baton_task *task);
	/* A task leaves the queue, to be entered or cancelled. */
	void (*left)(struct baton_resource *resource, const struct baton_task *task);
	/* `aside`: a task that was taken from the queue waits elsewhere (`keep` in kind.h). False:
	 * the task waits there no longer, and is admitted or cancelled. */
	void (*set_aside)(struct baton_resource *resource, const struct baton_task *task,
	                  bool aside);
	/* The inbox was taken: looks at the number of tasks that wait. */
	void (*look)(struct baton_resource *resource);
	/*
	 * lend: the holder, which enters a task or leaves the baton on the shelf, does not need the
	 * queue until it calls regain. False: the queue is not lent. regain: true: the holder has
	 * the queue. False: a submitter has it; with `leave`, the holder has left the resource to
	 * that submitter.
	 */
	bool (*lend)(struct baton_resource *resource);
	bool (*regain)(struct baton_resource *resource, bool leave);
	/* Sorts a chain that was taken from the inbox, linked oldest first. `cancel`: the chain may
	 * have cancel marks, and take obeys them. */
	void (*take)(struct baton_resource *resource, struct baton_task *oldest, bool cancel);
	/* Keeps the chain of a submit that has captured the resource. NULL: forgets that chain. */
	void (*keep)(struct baton_resource *resource, struct baton_task *oldest);
	/* Puts the next entries into the empty _list. False: there are none. */
	bool (*next)(struct baton_resource *resource);
	/* The stay ends: a task that `next` has put into _list goes back to its place. */
	void (*put_back)(struct baton_resource *resource);
	/* Takes a chain, linked oldest first. Its tasks go before all tasks that `next` has not put
	 * into _list yet, and behind those that were admitted before. */
	void (*admit)(struct baton_resource *resource, struct baton_task *first,
	              struct baton_task *last);
	/* Unlinks the task of `future`; the inbox has been taken. NULL: the task is not here. */
	struct baton_task *(*unlink)(struct baton_resource *resource, struct baton_future *future);
	/* Cancels all tasks except those in _list. Marks stay. */
	void (*cancel)(struct baton_resource *resource);
	enum baton__backlog_has (*has)(const struct baton_resource *resource);
	/* Must the resource stay busy although `next` has no entry? It then rests until an entry is
	 * pushed. */
	bool (*rests)(const struct baton_resource *resource);
};

/* The table of the resource. NULL: the backlog is a plain list, and no module counts tasks. */
BATON_INLINE const struct baton__backlog *baton__backlog(const struct baton_resource *resource)
{
	const struct baton__extension_head *head = baton__extension_head(resource);

	return head ? head->_table : NULL;
}

/*
 * Called by the submitter. reserve: counts a chain before the submitter's CAS. 0; a negative errno:
 * the chain is refused; 1: the submit is over: the tasks have been accepted or dropped. unreserve:
 * the reserved chain is not accepted after all.
 */
int baton__backlog_reserve(struct baton_resource *resource, struct baton_task *first,
                           uint32_t count, unsigned how);
void baton__backlog_unreserve(struct baton_resource *resource, const struct baton_task *first,
                              uint32_t count);

/*
 * Puts a chain of tasks that have waited elsewhere, linked oldest first, before all tasks that
 * wait. Called by the holder.
 */
void baton__backlog_admit(struct baton_resource *resource, struct baton_task *first,
                          struct baton_task *last);

/*
 * The holder has captured the resource for a submit. `task`: the only task, which was not reserved
 * and is to run at once. NULL: the chain was reserved.
 */
void baton__backlog_captured(struct baton_resource *resource, const struct baton_task *task);

/* A task leaves the queue, to be entered or cancelled. Called by the holder. */
void baton__backlog_left(struct baton_resource *resource, const struct baton_task *task);

/* `aside`: a task now waits where its kind keeps it. False: no longer. Called by the holder. */
BATON_INLINE void baton__backlog_set_aside(struct baton_resource *resource,
                                           const struct baton_task *task, bool aside)
{
	const struct baton__backlog *table = baton__backlog(resource);

	if (table && table->set_aside)
		table->set_aside(resource, task, aside);
}

/* The inbox was taken, or looked at. Called by the holder, with its frame on the stack. */
void baton__backlog_look(struct baton_resource *resource);

/* The holder does not need the queue until it calls baton__backlog_regain, or drains. False: the
 * queue is not lent. */
BATON_INLINE bool baton__backlog_lend(struct baton_resource *resource)
{
	const struct baton__backlog *table = baton__backlog(resource);

	return BATON_UNLIKELY(table && table->lend) && table->lend(resource);
}

/* Has the holder the queue again? False: a submitter has it; with `leave`, the holder has left the
 * resource to that submitter, and touches it no more. */
BATON_INLINE bool baton__backlog_regain(struct baton_resource *resource, bool leave)
{
	const struct baton__backlog *table = baton__backlog(resource);

	return BATON_LIKELY(!table || !table->regain) || table->regain(resource, leave);
}

/* Has the backlog an order of its own? Then each look takes the inbox, although _list has tasks. */
BATON_INLINE bool baton__backlog_sorts(const struct baton_resource *resource)
{
	const struct baton__backlog *table = baton__backlog(resource);

	return table && table->take;
}

/* A task leaves the queue, and will not be entered: completes it as cancelled. Called by the
 * holder. */
void baton__cancel_task(struct baton_resource *resource, struct baton_task *task);

/*
 * keep: keeps the chain of a submit that has captured the resource. unkeep: forgets that chain,
 * since the submit fails; no other thread has seen the chain.
 */
void baton__backlog_keep(struct baton_resource *resource, struct baton_task *oldest);
void baton__backlog_unkeep(struct baton_resource *resource);

/* Puts the next entries into the empty _list, after a look at the inbox. False: there are none. */
BATON_INLINE bool baton__backlog_next(struct baton_resource *resource)
{
	const struct baton__backlog *table = baton__backlog(resource);

	return table && table->next && table->next(resource);
}

/* The stay ends: a task that `next` has put into _list goes back to its place. */
BATON_INLINE void baton__backlog_put_back(struct baton_resource *resource)
{
	const struct baton__backlog *table = baton__backlog(resource);

	if (table && table->put_back)
		table->put_back(resource);
}

/* list_cancel: cancels the tasks in _list. backlog_cancel: cancels all tasks; the inbox has been
 * taken. Both leave marks alone. */
void baton__list_cancel(struct baton_resource *resource);
void baton__backlog_cancel(struct baton_resource *resource);

/* Which entries does the module keep, besides those in _list? */
BATON_INLINE enum baton__backlog_has baton__backlog_has(const struct baton_resource *resource)
{
	const struct baton__backlog *table = baton__backlog(resource);

	return table && table->has ? table->has(resource) : BATON__HAS_NOTHING;
}

/* Does any entry wait, as far as can be seen? Called by the holder. */
BATON_INLINE bool baton__any_waits(const struct baton_resource *resource)
{
	/* Relaxed: a hint. */
	return resource->_list || baton__word_newest(baton__word(resource)) ||
	       baton__backlog_has(resource) == BATON__HAS_TASKS;
}

/* Does the resource rest where it would otherwise be released? Called by the holder. */
BATON_INLINE bool baton__backlog_rests(const struct baton_resource *resource)
{
	const struct baton__backlog *table = baton__backlog(resource);

	return table && table->rests && table->rests(resource);
}

#endif
