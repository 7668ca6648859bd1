/* SPDX-License-Identifier: MIT */
/* The suspend marks of a resource. See suspends.h. */
#include "core/suspends.h"

#include "core/awaiter.h"

struct baton_task *baton__suspends_out(struct baton_task **chain, struct baton_task **last)
{
	struct baton_task *marks = NULL;
	struct baton_task **end = &marks;
	struct baton_task **link = chain;

	while (*link) {
		struct baton_task *task = *link;

		if (!baton__kind_is(task, BATON__KIND_OVERTAKES)) {
			link = &task->_next;
			continue;
		}
		*link = task->_next;
		*end = task;
		end = &task->_next;
		*last = task;
	}
	*end = NULL;
	return marks;
}

/* Makes `mark`, which is in no list, the first suspend mark. */
static void put_first(struct baton_resource *resource, struct baton_task *mark)
{
	baton__index(mark, NULL);
	baton__index_again(resource->_list, mark);
	mark->_next = resource->_list;
	resource->_list = mark;
}

void baton__suspends_add(struct baton_resource *resource, struct baton_task *first,
                         struct baton_task *last)
{
	struct baton_task *before = NULL;
	struct baton__awaiter *carrier;

	if (!baton__suspends(resource)) {
		before = first;
		first = first->_next;
		baton__awaiter(before)->others = NULL;
		put_first(resource, before);
	}
	if (!first)
		return;
	carrier = baton__awaiter(resource->_list);
	before = carrier->others ? carrier->others_last : &carrier->task;
	if (carrier->others)
		before->_next = first;
	else
		carrier->others = first;
	carrier->others_last = last;
	/* Each mark is added once. */
	for (struct baton_task *mark = first; mark; before = mark, mark = mark->_next)
		baton__index(mark, before);
}

void baton__suspends_next(struct baton_resource *resource, struct baton_task *mark)
{
	const struct baton__awaiter *gone = baton__awaiter(mark);
	struct baton_task *next = gone->others;

	if (!next)
		return;
	baton__awaiter(next)->others = next->_next;
	baton__awaiter(next)->others_last = gone->others_last;
	put_first(resource, next);
}

struct baton_task *baton__suspends_unlink(struct baton_resource *resource,
                                          struct baton_task *before,
                                          const struct baton_future *future)
{
	struct baton__awaiter *carrier = baton__awaiter(resource->_list);
	struct baton_task **link = before == &carrier->task ? &carrier->others : &before->_next;
	struct baton_task *mark = *link;

	BATON_ASSERT(mark && baton__mark_future(mark) == future);
	*link = mark->_next;
	if (mark->_next)
		baton__index(mark->_next, before);
	else
		carrier->others_last = before;
	return mark;
}
