/* SPDX-License-Identifier: MIT */
/* Takes the inbox or looks at it, and unlinks single tasks. See inbox.h. */
#include "core/inbox.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "core/contention.h"
#include "core/backlog.h"
#include "core/list.h"
#include "core/marks.h"
#include "core/stats.h"
#include "core/suspends.h"

/* ---- The take ---- */

static void count_taken(const struct baton_resource *resource, uint64_t count)
{
	struct baton_resource_stats *stats = baton__stats(resource);

	if (stats && count > stats->backlog_max)
		store_relaxed(&stats->backlog_max, count);
}

void baton__take(struct baton_resource *resource)
{
	struct baton__ahead ahead = {0, 0};
	uintptr_t word = baton__word_take(resource);
	const bool must_look = baton__word_must_look(word);
	struct baton_task **end = &resource->_list;
	struct baton_task *suspends = NULL;
	struct baton_task *last = NULL;
	struct baton_task *first;
	struct baton_task *newest;
	struct baton_task *oldest = NULL;
	uint64_t count = 0;
	bool looked = false;

	BATON__CHECKED(take(resource));
	first = newest = baton__word_newest(word);
	while (newest) {
		struct baton_task *next = baton__older(newest);

		baton__fetch_ahead(&ahead, newest, next);
		count += !baton__is_mark(newest);
		looked |= baton__looked(newest);
		newest->_next = oldest;
		oldest = newest;
		newest = next;
	}
	/* The reversal of a list that runs into itself ends at the entry where it began. */
	if (BATON_UNLIKELY(oldest == first) && oldest && oldest->_next)
		BATON_MISUSE_OF("baton_submit", baton__name(resource),
		                "was given a task that already waited in it: submit a task again "
		                "only when its function has been entered");
	if (baton__has_extras(resource))
		count_taken(resource, count);
	if (must_look)
		suspends = baton__suspends_out(&oldest, &last);
	if (baton__backlog_sorts(resource)) {
		baton__backlog(resource)->take(resource, oldest, must_look);
	} else {
		baton__index_forget(resource);
		/* _list is empty, unless the job is being cancelled. */
		while (*end)
			end = &(*end)->_next;
		*end = oldest;
		if (must_look)
			resource->_list = baton__obey_cancel_marks(resource, resource->_list);
	}
	if (suspends)
		baton__suspends_add(resource, suspends, last);
	/* A look has written indexes to newer entries (list.h). When all marks are in their places,
	 * indexes to older entries replace them. */
	if (BATON_UNLIKELY(looked))
		baton__index_list(resource);
	if (baton__has_extras(resource))
		baton__backlog_look(resource);
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
	suspends = baton__suspends_out(&oldest, &last);
	while (*end)
		end = &(*end)->_next;
	*end = oldest;
	resource->_list = baton__obey_cancel_marks(resource, resource->_list);
	if (suspends)
		baton__suspends_add(resource, suspends, last);
	baton__backlog_look(resource);
}

struct look {
	struct baton_task *suspends; /* oldest first */
	struct baton_task *last;     /* of `suspends` */
	struct baton_task *cancel;   /* the newest cancel mark, cut off with all older entries */
};

/* Puts the mark before the marks found earlier: a look finds the newest entry first. */
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
			baton__older_set(newer, task, BATON__LOOKED);
			baton__index(task, newer);
			newer = task;
		}
		task = older;
	}
	if (task)
		baton__index(task, newer);
	baton__older_set(newer, task, BATON__LOOKED);
}

/* Skips the suspend marks from `task` on. Returns the next older entry of another kind. */
static struct baton_task *behind_suspends(struct baton_task *task)
{
	while (task && baton__kind_is(task, BATON__KIND_OVERTAKES))
		task = baton__older(task);
	return task;
}

/*
 * Takes the marks out of the inbox as it is now. An entry that is pushed meanwhile waits for the
 * next look, so that the suspend marks keep their order. False: an entry was pushed before this
 * look has taken any mark; call again. The marks at the newest end are taken off by a CAS, since
 * submitters push onto the newest entry; all older entries are the holder's.
 */
static bool look_at(struct baton_resource *resource, struct look *look)
{
	uintptr_t word = baton__word_inbox(resource);
	struct baton_task *newest = baton__word_newest(word);
	struct baton_task *rest = behind_suspends(newest);
	bool cancels = rest && baton__kind_is(rest, BATON__KIND_CANCELS);

	if (rest != newest || cancels)
		if (!baton__word_cut(resource, word, cancels ? NULL : rest))
			return false;
	while (newest != rest) {
		struct baton_task *older = newest->_next;

		take_suspend(look, newest);
		newest = older;
	}
	if (cancels)
		look->cancel = rest;
	else if (rest && !baton__looked(rest))
		walk(look, rest);
	return true;
}

bool baton__look(struct baton_resource *resource)
{
	struct look look = {NULL, NULL, NULL};
	bool attention = baton__word_clear_attention(resource);

	/* Ends: each failure is another thread's push or close. */
	while (!look_at(resource, &look))
		;
	if (look.cancel)
		obey_cancel(resource, look.cancel);
	if (look.suspends)
		baton__suspends_add(resource, look.suspends, look.last);
	return attention || look.cancel || look.suspends;
}

/* ---- Unlinking ---- */

struct baton_task *baton__list_pop(struct baton_resource *resource)
{
	struct baton_task *entry = resource->_list;

	resource->_list = entry->_next;
	if (baton__kind_is(entry, BATON__KIND_OVERTAKES))
		baton__suspends_next(resource, entry);
	return entry;
}

struct baton_task *baton__unlink_behind(struct baton_resource *resource, struct baton_task *before,
                                        const struct baton_future *future)
{
	struct baton_task *entry = baton__older(before);

	/* A suspend mark has the next suspend mark behind it; the first one also the rest of
	 * _list. */
	if (baton__kind_is(before, BATON__KIND_OVERTAKES) &&
	    !(before == resource->_list && entry && baton__entry_future(entry) == future))
		return baton__suspends_unlink(resource, before, future);
	BATON_ASSERT(entry && baton__entry_future(entry) == future);
	baton__older_set(before, baton__older(entry),
	                 baton__looked(entry) || baton__looked(before) ? BATON__LOOKED : 0);
	baton__index_again(baton__older(entry), before);
	return entry;
}

/* Pops the newest entry of the inbox, which has been looked at. False: an entry has been pushed. */
static bool pop_newest(struct baton_resource *resource, struct baton_task *newest, uintptr_t word)
{
	struct baton_task *older = baton__older(newest);

	/* The cut leaves the LOOKED of `older` as it is, and list.looked holds. */
	if (!baton__word_cut(resource, word, older))
		return false;
	if (older)
		baton__index_again(older, NULL);
	return true;
}

/*
 * Unlinks the task or suspend mark of `future` where _list and the inbox are the whole backlog.
 * NULL: the entry does not wait here.
 */
static struct baton_task *unlink_from_list(struct baton_resource *resource,
                                           struct baton_future *future)
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
		if (!baton__before(future))
			baton__index_list(resource);
		if (!baton__before(future))
			return NULL;
		if (task && baton__entry_future(task) == future)
			return baton__list_pop(resource);
		/* Loads the word again, with the entries that were pushed since the look. */
		word = baton__word_inbox(resource);
		task = baton__word_newest(word);
		if (task && baton__entry_future(task) == future) {
			if (!pop_newest(resource, task, word))
				continue;
			return task;
		}
		/* baton__nothing: at the look the task was the newest entry. An entry has been
		 * pushed since: look again. */
		before = baton__before(future);
		if (before != &baton__nothing)
			break;
	}
	return baton__unlink_behind(resource, before, future);
}

struct baton_task *baton__backlog_unlink(struct baton_resource *resource,
                                         struct baton_future *future)
{
	if (!baton__backlog_sorts(resource))
		return unlink_from_list(resource, future);
	baton__take(resource);
	return baton__backlog(resource)->unlink(resource, future);
}
