/* SPDX-License-Identifier: MIT */
/*
 * Looks at the inbox, and unlinks single tasks. The time for each entry does not depend on the
 * number of entries that wait.
 */
#include "core/list.h"

#include "base/atomic.h"
#include "core/backlog.h"
#include "core/marks.h"

/* The address of `nothing` in a future's _value: no entry is before the task (list.back_link). */
static struct baton_task nothing;

struct baton_future *baton__entry_future(struct baton_task *entry)
{
	return baton__kind_is(entry, BATON__KIND_OVERTAKES) ? baton__mark_future(entry)
	                                                    : baton__task_future(entry);
}

void baton__index(struct baton_task *task, struct baton_task *before)
{
	struct baton_future *future = baton__entry_future(task);

	/* Relaxed, as each access to _value before completion: _value is written under the baton,
	 * or before a submit is accepted. */
	if (future)
		store_relaxed(&future->_value, before ? (void *)before : (void *)&nothing);
}

void baton__index_again(struct baton_task *task, struct baton_task *before)
{
	const struct baton_future *future = task ? baton__entry_future(task) : NULL;

	if (future && load_relaxed(&future->_value))
		baton__index(task, before);
}

void baton__list_first(struct baton_resource *resource, struct baton_task *first,
                       struct baton_task *last)
{
	struct baton_task *before = NULL;

	last->_next = NULL;
	for (struct baton_task *task = first; task; before = task, task = task->_next)
		baton__index(task, before);
	baton__index_again(resource->_list, last);
	last->_next = resource->_list;
	resource->_list = first;
}

/* ---- The look ---- */

/*
 * Obeys a cancel mark that was cut off the inbox with all older entries; `newest` is that mark. Of
 * the entries in _list, only marks remain.
 */
static void obey_cancel(struct baton_resource *resource, struct baton_task *newest)
{
	struct baton_task **end = &resource->_list;
	struct baton_task *oldest = NULL;
	struct baton_task *suspends;
	struct baton_task *last;

	/* Ends with the oldest entry. The mark concerns every task that was accepted before the
	 * mark. */
	while (newest) {
		struct baton_task *older = baton__older(newest);

		newest->_next = oldest;
		oldest = newest;
		newest = older;
	}
	suspends = baton__suspend_marks_out(&oldest, &last);
	while (*end)
		end = &(*end)->_next;
	*end = oldest;
	resource->_list = baton__obey_cancel_marks(resource, resource->_list);
	if (suspends)
		baton__list_first(resource, suspends, last);
	baton__backlog_look(resource);
}

struct look {
	struct baton_task *suspends; /* oldest first, mostly */
	struct baton_task *last;     /* of `suspends` */
	struct baton_task *cancel;   /* the newest cancel mark, cut off with all older entries */
};

static void take_suspend(struct look *look, struct baton_task *mark)
{
	mark->_next = look->suspends;
	look->suspends = mark;
	if (!look->last)
		look->last = mark;
}

/* Walks over the new entries below the newest one, which stays. */
static void walk(struct look *look, struct baton_task *newest)
{
	struct baton_task *newer = newest;
	struct baton_task *task = baton__older(newest);

	baton__index(newest, NULL);
	/* Ends at the oldest entry, or at an entry that has been looked at. */
	while (task && !baton__looked(task)) {
		struct baton_task *older = task->_next;

		if (baton__kind_is(task, BATON__KIND_CANCELS)) {
			look->cancel = task;
			task = NULL;
			break;
		}
		if (baton__kind_is(task, BATON__KIND_OVERTAKES)) {
			take_suspend(look, task);
		} else {
			newer->_next = (struct baton_task *)((uintptr_t)task | BATON__LOOKED);
			baton__index(task, newer);
			newer = task;
		}
		task = older;
	}
	if (task)
		baton__index(task, newer);
	newer->_next = (struct baton_task *)((uintptr_t)task | BATON__LOOKED);
}

/*
 * One step at the newest entry. True: call again. A mark that is the newest entry is taken off by a
 * CAS, since submitters push onto it; all older entries are the holder's.
 */
static bool look_at_newest(struct baton_resource *resource, struct look *look)
{
	uintptr_t word = baton__word_inbox(resource);
	struct baton_task *newest = baton__word_newest(word);

	if (!newest || baton__looked(newest))
		return false;
	if (baton__kind_is(newest, BATON__KIND_OVERTAKES)) {
		if (baton__word_cut(resource, word, newest->_next))
			take_suspend(look, newest);
		return true;
	}
	if (baton__kind_is(newest, BATON__KIND_CANCELS)) {
		if (!baton__word_cut(resource, word, NULL))
			return true;
		look->cancel = newest;
		return false;
	}
	walk(look, newest);
	return false;
}

bool baton__look(struct baton_resource *resource)
{
	struct look look = {NULL, NULL, NULL};
	bool answered = baton__word_answer(resource);

	/* Ends: each round takes out a mark, or its CAS has failed because an entry was pushed. */
	while (look_at_newest(resource, &look))
		;
	if (look.cancel)
		obey_cancel(resource, look.cancel);
	if (look.suspends)
		baton__list_first(resource, look.suspends, look.last);
	return answered || look.cancel || look.suspends;
}

/* ---- Unlinking ---- */

void baton__index_list(struct baton_resource *resource)
{
	struct baton_task *before = NULL;

	if (load_relaxed(&resource->_job._kind) & BATON__JOB_INDEXED)
		return;
	for (struct baton_task *task = resource->_list; task; before = task, task = task->_next)
		baton__index(task, before);
	(void)add_relaxed(&resource->_job._kind, BATON__JOB_INDEXED);
}

/* Pops the newest entry of the inbox, which has been looked at. False: an entry has been pushed. */
static bool pop_newest(struct baton_resource *resource, struct baton_task *newest, uintptr_t word)
{
	struct baton_task *older = baton__older(newest);

	/* list.looked holds for `older` as it is. */
	if (!baton__word_cut(resource, word, older))
		return false;
	if (older)
		baton__index_again(older, NULL);
	return true;
}

struct baton_task *baton__list_unlink(struct baton_resource *resource, struct baton_future *future)
{
	struct baton_task *before;
	struct baton_task *task;

	/* Ends: each round in vain means that an entry has been pushed. */
	for (;;) {
		uintptr_t word;

		if (!resource->_list)
			baton__take(resource);
		else
			(void)baton__look(resource);
		task = resource->_list;
		if (!load_relaxed(&future->_value))
			baton__index_list(resource);
		if (!load_relaxed(&future->_value))
			return NULL;
		if (task && baton__entry_future(task) == future) {
			resource->_list = task->_next;
			return task;
		}
		/* Loads the word again, with the entries that were pushed since the look. */
		word = baton__word_inbox(resource);
		task = baton__word_newest(word);
		if (task && baton__entry_future(task) == future) {
			if (!pop_newest(resource, task, word))
				continue;
			return task;
		}
		/* `nothing`: at the look the task was the newest entry. An entry has been pushed
		 * since: look again. */
		before = (struct baton_task *)load_relaxed(&future->_value);
		if (before != &nothing)
			break;
	}
	task = baton__older(before);
	BATON_ASSERT(task && baton__entry_future(task) == future);
	before->_next = (struct baton_task *)((uintptr_t)task->_next |
	                                      ((uintptr_t)before->_next & BATON__LOOKED));
	baton__index_again(baton__older(task), before);
	return task;
}
