/* SPDX-License-Identifier: MIT */
/*
 * Closing a resource, and cancelling its pending tasks. close_then and cancel_pending put a mark
 * into the inbox; a plain close only sets CLOSED. A mark keeps its place among the tasks, so that
 * "everything accepted before" needs no counting.
 */
#include "core/close.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "thread/node.h"
#include "core/callback.h"
#include "core/handoff.h"
#include "core/marks.h"

#include <errno.h>

bool baton__push_mark(struct baton_resource *resource, struct baton_task *mark, enum baton__ask ask)
{
	uintptr_t word = baton__word(resource);

	/* Ends, as the loop of submit does: each failure is another thread's progress. */
	for (;;) {
		if (baton__word_is_resting(word)) {
			if (!baton__word_rouse(resource, &word, mark, mark, ask))
				continue;
			baton__go_on(resource, baton__place(resource), 0);
			return true;
		}
		if (baton__word_is_busy(word)) {
			if (baton__word_push_mark(resource, &word, mark, ask))
				return true;
			continue;
		}
		if (ask == BATON__ASK_LOOK)
			return false;
		if (baton__word_capture_for(resource, &word, ask)) {
			/* The resource was idle: nothing is before the mark. */
			mark->_next = NULL;
			resource->_list = mark;
			baton__go_on(resource, baton__place(resource), 0);
			return true;
		}
	}
}

BATON_EXPORT int baton_resource_close(struct baton_resource *resource)
{
	BATON__CHECKED(resource(resource, __func__));
	return baton__word_close(resource) ? 0 : -EALREADY;
}

static const struct baton__kind final_kind = {
	.type._flags = BATON__KIND_MARK | BATON__KIND_FOR_GOOD | BATON__KIND_LAST,
	.meet = baton__postpone,
	.after = baton__finalise,
};

BATON_EXPORT int baton_resource_close_then(struct baton_resource *resource,
                                           struct baton_task *finaliser)
{
	BATON__CHECKED(finaliser(resource, finaliser, __func__));

	int error = baton__thread_attach();

	if (error)
		return error;
	if (!baton__turn_set_final(resource))
		return -EALREADY;
	BATON_REQUIRE_OF(!finaliser->_future, baton__name(resource),
	                 "was given a finaliser with a future: a finaliser has none");
	baton__kind_set(finaliser, &final_kind);
	(void)baton__push_mark(resource, finaliser, BATON__ASK_CLOSE); /* last touch */
	return 0;
}

BATON_EXPORT int baton_resource_cancel_pending(struct baton_resource *resource)
{
	BATON__CHECKED(resource(resource, __func__));

	struct baton_task *mark;
	int error = baton__thread_attach();

	if (error)
		return error;
	if (!baton__word_is_busy(baton__word(resource)))
		return 0;
	mark = baton__node_alloc(sizeof(*mark));
	if (!mark)
		return -ENOMEM;
	baton__kind_set(mark, &baton__cancel_kind);
	if (!baton__push_mark(resource, mark, BATON__ASK_LOOK))
		baton__node_free(mark);
	return 0;
}
