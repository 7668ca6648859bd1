/* SPDX-License-Identifier: MIT */
/*
 * A private list of jobs, oldest first, linked by the jobs' own _next. The queues of the pool hand
 * out such lists. A list belongs to one thread; nothing in here is shared.
 */
#ifndef BATON_SRC_JOBLIST_H
#define BATON_SRC_JOBLIST_H

#include <stddef.h>

#include <baton/executor.h>

/* count == 0: first and last are NULL. The last job's _next is NULL. */
struct baton__joblist {
	struct baton_job *first;
	struct baton_job *last;
	size_t count;
};

#define BATON__JOBLIST_INIT                                                                        \
	{                                                                                          \
		NULL, NULL, 0                                                                      \
	}

/* Puts the job last. */
static inline void baton__joblist_append(struct baton__joblist *list, struct baton_job *job)
{
	job->_next = NULL;
	if (list->last)
		list->last->_next = job;
	else
		list->first = job;
	list->last = job;
	list->count++;
}

/* Puts all of `tail` last; `tail` is empty afterwards. */
static inline void baton__joblist_join(struct baton__joblist *list, struct baton__joblist *tail)
{
	if (!tail->count)
		return;
	if (list->last)
		list->last->_next = tail->first;
	else
		list->first = tail->first;
	list->last = tail->last;
	list->count += tail->count;
	tail->first = tail->last = NULL;
	tail->count = 0;
}

/* Takes the first job, NULL if there is none. */
static inline struct baton_job *baton__joblist_pop(struct baton__joblist *list)
{
	struct baton_job *job = list->first;

	if (!job)
		return NULL;
	list->first = job->_next;
	if (!list->first)
		list->last = NULL;
	list->count--;
	return job;
}

/* Takes the first `count` jobs as a list of their own. The list must hold so many. */
static inline struct baton__joblist baton__joblist_split(struct baton__joblist *list, size_t count)
{
	struct baton__joblist part = BATON__JOBLIST_INIT;
	struct baton_job *last = list->first;

	if (count == 0)
		return part;
	for (size_t i = 1; i < count; i++)
		last = last->_next;
	part = (struct baton__joblist){list->first, last, count};
	list->first = last->_next;
	last->_next = NULL;
	list->count -= count;
	if (!list->count)
		list->last = NULL;
	return part;
}

/* Makes a list of a chain that begins with its newest job. */
static inline struct baton__joblist baton__joblist_reversed(struct baton_job *newest)
{
	struct baton__joblist list = {NULL, newest, 0};

	/* Bounded by the chain, which is private. */
	while (newest) {
		struct baton_job *older = newest->_next;

		newest->_next = list.first;
		list.first = newest;
		list.count++;
		newest = older;
	}
	return list;
}

#endif
