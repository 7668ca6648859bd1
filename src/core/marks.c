/* SPDX-License-Identifier: MIT */
/*
 * The marks of cancel and await. The runner obeys a cancel mark when it takes or looks at the
 * inbox. It meets an await at the mark's turn, and postpones the mark to the release.
 */
#include "core/marks.h"

#include "thread/node.h"
#include "core/backlog.h"

struct baton_task *baton__obey_cancel_marks(struct baton_resource *resource,
                                            struct baton_task *list)
{
	struct baton_task *mark = NULL;
	struct baton_task *kept = NULL;
	struct baton_task **end = &kept;

	for (struct baton_task *task = list; task; task = task->_next)
		if (baton__kind_is(task, BATON__KIND_CANCELS))
			mark = task;
	if (!mark)
		return list;
	for (;;) {
		struct baton_task *task = list;

		list = task->_next;
		if (baton__kind_is(task, BATON__KIND_CANCELS)) {
			baton__node_free(task);
			if (task == mark)
				break;
		} else if (baton__is_mark(task)) {
			*end = task;
			end = &task->_next;
		} else {
			baton__cancel_task(resource, task);
		}
	}
	*end = list;
	return kept;
}

struct baton_task *baton__suspend_marks_first(struct baton_task *list)
{
	struct baton_task *marks = NULL;
	struct baton_task **end = &marks;
	struct baton_task **link = &list;

	while (*link) {
		struct baton_task *task = *link;

		if (!baton__kind_is(task, BATON__KIND_OVERTAKES)) {
			link = &task->_next;
			continue;
		}
		*link = task->_next;
		*end = task;
		end = &task->_next;
	}
	*end = list;
	return marks;
}

/*
 * Tells an awaiter that every task accepted before its mark is over. Called by the holder, or after
 * the release.
 */
static void fire_await(struct baton_task *mark)
{
	struct baton__awaiter *awaiter = baton_container_of(mark, struct baton__awaiter, task);

	baton__future_finish(&awaiter->counted.future, BATON__FUTURE_DONE, 0, NULL, NULL);
}

void baton__after(struct baton_task *after)
{
	while (after) {
		struct baton_task *mark = after;

		after = mark->_next;
		/* The finaliser goes last, since it frees what the other marks' owners may still
		 * look at. */
		if (after && baton__kind_is(mark, BATON__KIND_LAST)) {
			struct baton_task *rest = after;

			while (rest->_next)
				rest = rest->_next;
			rest->_next = mark;
			mark->_next = NULL;
			continue;
		}
		/* last touch of the mark; may give back the resource */
		baton__kind(mark)->after(mark);
	}
}

enum baton__met baton__postpone(struct baton__frame *frame, struct baton_resource *resource,
                                struct baton_task *mark)
{
	(void)resource;
	mark->_next = NULL;
	if (frame->after)
		frame->after_last->_next = mark;
	else
		frame->after = mark;
	frame->after_last = mark;
	return BATON__MET;
}

static enum baton__met postpone_await(struct baton__frame *frame, struct baton_resource *resource,
                                      struct baton_task *mark)
{
	struct baton__awaiter *awaiter = baton_container_of(mark, struct baton__awaiter, task);

	/* From here on no thread becomes a visitor by this future. The claim counts a visitor that
	 * is there. */
	(void)baton__future_claim(&awaiter->counted.future, baton__turn_visits(resource));
	return baton__postpone(frame, resource, mark);
}

const struct baton__kind baton__cancel_kind = {
	.type._flags = BATON__KIND_OWN | BATON__KIND_MARK | BATON__KIND_CANCELS,
};

const struct baton__kind baton__await_kind = {
	.type._flags = BATON__KIND_OWN | BATON__KIND_MARK,
	.meet = postpone_await,
	.after = fire_await,
};

const struct baton__kind baton__await_closed_kind = {
	.type._flags = BATON__KIND_OWN | BATON__KIND_MARK | BATON__KIND_FOR_GOOD,
	.meet = postpone_await,
	.after = fire_await,
};

BATON_NOINLINE void baton__fire_awaits(struct baton__frame *frame, struct baton_resource *resource)
{
	struct baton_task *after = frame->after;
	struct baton_task **end = &resource->_list;

	frame->after = NULL;
	while (after) {
		struct baton_task *mark = after;

		after = mark->_next;
		/* The mark waits for the release for good; a kick has brought work: back into
		 * _list. */
		if (!baton__kind_is(mark, BATON__KIND_FOR_GOOD)) {
			baton__kind(mark)->after(mark);
			continue;
		}
		mark->_next = NULL;
		while (*end)
			end = &(*end)->_next;
		*end = mark;
	}
}
