/* SPDX-License-Identifier: MIT */
/*
 * The backlog of a resource that has statistics or an extension: counts tasks, and calls the
 * module's table.
 */
#include "core/backlog.h"

#include "base/probe.h"
#include "core/checked.h"
#include "core/drop.h"
#include "core/stats.h"
#include "core/suspends.h"

int baton__backlog_reserve(struct baton_resource *resource, struct baton_task *first,
                           uint32_t count, bool may_wait)
{
	const struct baton__backlog *table = baton__backlog(resource);
	int error = table && table->reserve ? table->reserve(resource, first, may_wait) : 0;

	BATON_PROBE(submit, resource, first);
	if (!error)
		baton__stats_pushed(resource, first, count);
	return error;
}

void baton__backlog_take_back(struct baton_resource *resource, const struct baton_task *first,
                              uint32_t count)
{
	const struct baton__backlog *table = baton__backlog(resource);

	if (table && table->take_back)
		table->take_back(resource, first);
	baton__stats_take_back(resource, first, count);
}

void baton__backlog_captured(struct baton_resource *resource, const struct baton_task *task)
{
	const struct baton__backlog *table = baton__backlog(resource);

	if (task && table && table->captured)
		table->captured(resource, task);
	baton__stats_captured(resource, task);
}

void baton__backlog_left(struct baton_resource *resource, const struct baton_task *task)
{
	const struct baton__backlog *table = baton__backlog(resource);

	if (table && table->left)
		table->left(resource, task);
	baton__stats_left(resource, task);
}

void baton__backlog_look(struct baton_resource *resource)
{
	const struct baton__backlog *table = baton__backlog(resource);

	if (table && table->look)
		table->look(resource);
}

void baton__backlog_keep(struct baton_resource *resource, struct baton_task *oldest)
{
	const struct baton__backlog *table = baton__backlog(resource);

	if (table && table->keep) {
		table->keep(resource, oldest);
	} else {
		baton__index_forget(resource);
		resource->_list = oldest;
	}
}

void baton__backlog_give_back(struct baton_resource *resource)
{
	baton__backlog_keep(resource, NULL);
}

void baton__backlog_admit(struct baton_resource *resource, struct baton_task *first,
                          struct baton_task *last)
{
	if (baton__backlog_sorts(resource))
		baton__backlog(resource)->admit(resource, first, last);
	else
		baton__list_first(resource, first, last);
}

void baton__cancel_task(struct baton_resource *resource, struct baton_task *task)
{
	baton__backlog_left(resource, task);
	baton__cancel_entered(resource, task);
}

static void count_taken(const struct baton_resource *resource, uint64_t count)
{
	struct baton_resource_stats *stats = baton__stats(resource);

	if (stats && count > stats->backlog_max)
		store_relaxed(&stats->backlog_max, count);
}

void baton__take(struct baton_resource *resource)
{
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

		count += !baton__is_mark(newest);
		looked |= baton__looked(newest);
		newest->_next = oldest;
		oldest = newest;
		newest = next;
	}
	/* The reversal of a list that runs into itself ends at the entry where it began. */
	if (BATON_UNLIKELY(oldest == first) && oldest && oldest->_next)
		BATON_MISUSE_OF("baton_submit", resource->_name,
		                "was given a task that already waited in it: submit a task again "
		                "only when its function has been entered");
	if (resource->_stats)
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
	/* The indexes that a look has written are those of the inbox (list.h). They are written
	 * anew when all marks are in their places. */
	if (BATON_UNLIKELY(looked))
		baton__index_list(resource);
	if (resource->_stats)
		baton__backlog_look(resource);
}

struct baton_task *baton__backlog_unlink(struct baton_resource *resource,
                                         struct baton_future *future)
{
	if (!baton__backlog_sorts(resource))
		return baton__list_unlink(resource, future);
	baton__take(resource);
	return baton__backlog(resource)->unlink(resource, future);
}

void baton__list_cancel(struct baton_resource *resource)
{
	struct baton_task **link = &resource->_list;

	while (*link) {
		struct baton_task *task = *link;

		if (baton__is_mark(task)) {
			link = &task->_next;
		} else {
			*link = task->_next;
			baton__cancel_task(resource, task);
		}
	}
}

void baton__backlog_cancel(struct baton_resource *resource)
{
	const struct baton__backlog *table = baton__backlog(resource);

	baton__list_cancel(resource);
	if (table && table->cancel)
		table->cancel(resource);
}
