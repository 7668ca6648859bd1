/* SPDX-License-Identifier: MIT */
/* The entries before the tasks that wait. See list.h. */
#include "core/list.h"

#include "base/atomic.h"
#include "core/awaiter.h"

struct baton_task baton__nothing;

struct baton_future *baton__entry_future(struct baton_task *entry)
{
	return baton__kind_is(entry, BATON__KIND_OVERTAKES) ? baton__mark_future(entry)
	                                                    : baton__task_future(entry);
}

void baton__older_set(struct baton_task *task, struct baton_task *older, uintptr_t looked)
{
	BATON_ASSERT(!((uintptr_t)older & BATON__LOOKED));
	task->_next = (struct baton_task *)((uintptr_t)older | looked);
}

struct baton_task *baton__before(const struct baton_future *future)
{
	/* Relaxed: as in baton__index. */
	void *value = load_relaxed(&future->_value);

	/* An odd value would be the index of a lane (lane_list.c). */
	BATON_ASSERT(!((uintptr_t)value & 1));
	return (struct baton_task *)value;
}

void baton__index(struct baton_task *task, struct baton_task *before)
{
	struct baton_future *future = baton__entry_future(task);

	/* Relaxed, as each access to _value before completion: _value is written under the baton,
	 * or before a submit is accepted. */
	if (future)
		store_relaxed(&future->_value, before ? (void *)before : (void *)&baton__nothing);
}

void baton__index_again(struct baton_task *task, struct baton_task *before)
{
	const struct baton_future *future = task ? baton__entry_future(task) : NULL;

	/* Not baton__before: the index may be that of the lane from which the task has come. */
	if (future && load_relaxed(&future->_value))
		baton__index(task, before);
}

void baton__list_first(struct baton_resource *resource, struct baton_task *first,
                       struct baton_task *last)
{
	const bool suspends = baton__suspends(resource);
	struct baton_task *before = suspends ? resource->_list : NULL;
	struct baton_task **link = suspends ? &resource->_list->_next : &resource->_list;

	last->_next = NULL;
	for (struct baton_task *task = first; task; before = task, task = task->_next)
		baton__index(task, before);
	baton__index_again(*link, last);
	last->_next = *link;
	*link = first;
}

void baton__index_list(struct baton_resource *resource)
{
	struct baton_task *before = NULL;

	if (load_relaxed(&resource->_job._kind) & BATON__JOB_INDEXED)
		return;
	for (struct baton_task *task = resource->_list; task; before = task, task = task->_next)
		baton__index(task, before);
	(void)add_relaxed(&resource->_job._kind, BATON__JOB_INDEXED);
}
