/* SPDX-License-Identifier: MIT */
/*
 * Marks that the runner meets: a cancel mark when the inbox is taken; awaits and the finaliser at
 * their turn, and then they wait for the release.
 */
#include "core/marks.h"

#include "base/atomic.h"
#include "thread/node.h"
#include "core/place.h"

struct baton_task *baton__obey_cancel_marks(struct baton_resource *resource,
                                            struct baton_task *list)
{
	struct baton_task *mark = NULL;
	struct baton_task *kept = NULL;
	struct baton_task **end = &kept;

	for (struct baton_task *task = list; task; task = task->_next)
		if (task->_future == BATON__MARK_CANCEL)
			mark = task;
	if (!mark)
		return list;
	for (;;) {
		struct baton_task *task = list;

		list = task->_next;
		if (task->_future == BATON__MARK_CANCEL) {
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

/* Tells awaiters that everything accepted before them is over; the holder, or after the release. */
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
		if (mark->_future == BATON__MARK_AWAIT) {
			fire_await(mark);
			continue;
		}
		/* The finaliser goes last, since it frees what others may be about to look at. */
		if (after) {
			struct baton_task *rest = after;

			while (rest->_next)
				rest = rest->_next;
			rest->_next = mark;
			mark->_next = NULL;
			continue;
		}
		baton__finalise(mark); /* last touch of resource and mark */
	}
}

void baton__postpone(struct baton__frame *frame, struct baton_resource *resource,
                     struct baton_task *mark)
{
	if (mark->_future == BATON__MARK_AWAIT) {
		struct baton__awaiter *awaiter =
			baton_container_of(mark, struct baton__awaiter, task);

		/* From here on nobody becomes its visitor; who is one has been counted. */
		(void)baton__future_claim(&awaiter->counted.future, &resource->_job._turn);
	}
	mark->_next = NULL;
	if (frame->after)
		frame->after_last->_next = mark;
	else
		frame->after = mark;
	frame->after_last = mark;
}

/* On a closed resource: what comes after the release for good, though a kick has brought work. */
static bool stays_postponed(const struct baton_task *mark)
{
	return mark->_future != BATON__MARK_AWAIT ||
	       baton_container_of(mark, struct baton__awaiter, task)->closed;
}

BATON_NOINLINE void baton__fire_awaits(struct baton__frame *frame, struct baton_resource *resource)
{
	struct baton_task *after = frame->after;
	struct baton_task **end = &resource->_list;

	frame->after = NULL;
	while (after) {
		struct baton_task *mark = after;

		after = mark->_next;
		if (!stays_postponed(mark)) {
			fire_await(mark);
			continue;
		}
		mark->_next = NULL;
		while (*end)
			end = &(*end)->_next;
		*end = mark;
	}
}
