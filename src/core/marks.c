/* SPDX-License-Identifier: MIT */
/*
 * The marks of cancel and await. The runner obeys a cancel mark when it takes or looks at the
 * inbox. When the runner reaches an await, it postpones the mark to the release.
 */
#include "core/marks.h"

#include "thread/node.h"
#include "core/backlog.h"
#include "core/list.h"

#include <errno.h>

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

/*
 * Tells an awaiter that every task accepted before its mark is over. Called by the holder, or after
 * the release.
 */
static void fire_await(struct baton_task *mark)
{
	baton__future_finish(baton__mark_future(mark), BATON__FUTURE_DONE, 0, NULL, NULL);
}

/* The same for an await on a closed resource, and for all marks that it carries (marks.many). */
static void fire_closed(struct baton_task *mark)
{
	struct baton_task *other = baton__awaiter(mark)->others;

	fire_await(mark);
	while (other) {
		struct baton_task *next = other->_next;

		fire_await(other);
		other = next;
	}
}

void baton__mark_cancelled(struct baton_resource *resource, struct baton_task *mark)
{
	baton__future_finish(baton__mark_future(mark), BATON__FUTURE_CANCELLED, -ECANCELED, NULL,
	                     baton__turn_visits(resource));
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

/* ---- Postponing: the runner has reached a mark, which waits for the release ---- */

enum baton__met baton__postpone(struct baton__stay *stay, struct baton_task *mark)
{
	mark->_next = NULL;
	if (stay->after)
		stay->after_last->_next = mark;
	else
		stay->after = mark;
	stay->after_last = mark;
	return BATON__MET;
}

/*
 * Claims the mark's future: from here on no thread becomes a visitor through this future. A thread
 * that is a visitor through it already is counted. False: the future was claimed before.
 */
static bool claim_mark(struct baton_resource *resource, struct baton_task *mark)
{
	return baton__future_claim(baton__mark_future(mark), baton__turn_visits(resource));
}

/*
 * Takes back the claims of an await's mark, and of the marks that it carries: the resource may be
 * queued next, and wait for one of these waiters. Fires the carried marks for which no thread waits
 * any more: so the number of waiters bounds the time of this function.
 */
static void unclaim_marks(const struct baton_resource *resource, struct baton_task *mark)
{
	struct baton_task **link = &baton__awaiter(mark)->others;

	(void)baton__future_unclaim(baton__mark_future(mark));
	/* A helper has claimed none of the carried marks. */
	while (*link && baton__turn_seems_held(resource)) {
		struct baton_task *other = *link;

		if (baton__future_unclaim(baton__mark_future(other))) {
			link = &other->_next;
			continue;
		}
		*link = other->_next;
		fire_await(other);
	}
}

void baton__marks_unclaim(const struct baton_resource *resource, struct baton_task *marks)
{
	for (struct baton_task *mark = marks; mark; mark = mark->_next)
		if (!baton__kind_is(mark, BATON__KIND_LAST))
			unclaim_marks(resource, mark);
}

static enum baton__met postpone_await(struct baton__stay *stay, struct baton_task *mark)
{
	(void)claim_mark(stay->frame.resource, mark);
	if (!stay->after || !baton__kind_is(stay->after_last, BATON__KIND_FOR_GOOD))
		return baton__postpone(stay, mark);
	mark->_next = stay->after;
	stay->after = mark;
	return BATON__MET;
}

/* An await on a closed resource: see marks.many. */
static enum baton__met postpone_closed(struct baton__stay *stay, struct baton_task *mark)
{
	struct baton_resource *resource = stay->frame.resource;
	struct baton__awaiter *awaiter = baton__awaiter(mark);
	struct baton__awaiter *carrier;

	/* A helper, which has borrowed the baton, claims nothing (marks.claimed). */
	if (baton__turn_seems_held(resource)) {
		struct baton_task *other = awaiter->others;

		(void)claim_mark(resource, mark);
		while (other && claim_mark(resource, other))
			other = other->_next;
	}
	if (!stay->after || !baton__kind_is(stay->after_last, BATON__KIND_FOR_GOOD) ||
	    baton__kind_is(stay->after_last, BATON__KIND_LAST) || awaiter->others)
		return baton__postpone(stay, mark);
	carrier = baton__awaiter(stay->after_last);
	mark->_next = carrier->others;
	carrier->others = mark;
	return BATON__MET;
}

const struct baton__kind baton__cancel_kind = {
	.type._flags = BATON__KIND_MARK | BATON__KIND_CANCELS,
};

const struct baton__kind baton__await_kind = {
	.type._flags = BATON__KIND_MARK,
	.meet = postpone_await,
	.after = fire_await,
};

const struct baton__kind baton__await_closed_kind = {
	.type._flags = BATON__KIND_MARK | BATON__KIND_FOR_GOOD,
	.meet = postpone_closed,
	.after = fire_closed,
};

BATON_NOINLINE void baton__fire_awaits(struct baton__stay *stay)
{
	while (baton__awaits_are_due(stay)) {
		struct baton_task *mark = stay->after;

		stay->after = mark->_next;
		baton__kind(mark)->after(mark);
	}
}

void baton__marks_put_back(struct baton__stay *stay)
{
	struct baton_task *after = stay->after;

	if (BATON_LIKELY(!after))
		return;
	stay->after = NULL;
	baton__marks_unclaim(stay->frame.resource, after);
	baton__list_first(stay->frame.resource, after, stay->after_last);
}
