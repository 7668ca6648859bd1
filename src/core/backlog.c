/* SPDX-License-Identifier: MIT */
/*
 * The backlog of a resource that has statistics or an extension: counts tasks, and calls the
 * functions of the module's table.
 */
#include "core/backlog.h"

#include "base/probe.h"
#include "core/drop.h"
#include "core/list.h"
#include "core/stats.h"

int baton__backlog_reserve(struct baton_resource *resource, struct baton_task *first,
                           uint32_t count, unsigned how)
{
	const struct baton__backlog *table = baton__backlog(resource);
	int error = table && table->reserve ? table->reserve(resource, first, count, how) : 0;

	BATON_PROBE(submit, resource, first);
	if (error < 0)
		BATON_PROBE(refused, resource, error);
	if (!error)
		baton__stats_pushed(resource, first, count);
	return error;
}

void baton__backlog_unreserve(struct baton_resource *resource, const struct baton_task *first,
                              uint32_t count)
{
	const struct baton__backlog *table = baton__backlog(resource);

	if (table && table->unreserve)
		table->unreserve(resource, first);
	baton__stats_unpushed(resource, first, count);
}

void baton__backlog_captured(struct baton_resource *resource, const struct baton_task *task)
{
	const struct baton__backlog *table = baton__backlog(resource);

	BATON_PROBE(capture, resource, task);
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

void baton__backlog_unkeep(struct baton_resource *resource)
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
