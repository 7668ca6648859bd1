/* SPDX-License-Identifier: MIT */
/*
 * The runner's part: take the inbox, run its tasks in order, obey marks, release, or hand off.
 */
#include "resource.h"

#include "atomic.h"
#include "futex.h"
#include "hooks.h"
#include "kick.h"
#include "node.h"
#include "shelf.h"

#include <errno.h>
#include <limits.h>

/* `batch`: NULL without hooks. Compiled twice, so that these cost the others nothing (L11). */
BATON_INLINE void run_task(struct baton__frame *frame, struct baton_resource *resource,
                           struct baton_task *task, struct baton__batch *batch)
{
	struct baton_future *future = task->_future;
	int status;

	if (BATON_UNLIKELY(task->_run == baton__windowed_run) && baton__windowed_keeps(task))
		return;
	frame->value = NULL;
	if (BATON_LIKELY(!future) && BATON_LIKELY(!batch)) {
		(void)task->_run(task); /* last touch of the task */
	} else if (!future || baton__future_claim(future, &resource->_job._turn)) {
		if (batch && !baton__batch_enter(batch, task))
			return;
		frame->future = future;
		status = task->_run(task); /* last touch of the task */
		/* NULL: it was detached, and may be complete, and gone. */
		future = frame->future;
		frame->future = NULL;
		if (batch)
			baton__batch_entered(batch, future, status, frame->value);
		else if (BATON_LIKELY(future != NULL))
			baton__future_finish(future,
			                     status ? BATON__FUTURE_FAILED : BATON__FUTURE_DONE,
			                     status, frame->value, NULL);
	} else {
		baton__cancel_task(resource, task);
		return;
	}
	if (resource->_stats)
		baton__count(&resource->_stats->executed, 1);
}

void baton__run_task(struct baton__frame *frame, struct baton_resource *resource,
                     struct baton_task *task)
{
	run_task(frame, resource, task, NULL);
}

void baton__cancel_task(struct baton_resource *resource, struct baton_task *task)
{
	if (resource->_stats)
		baton__count(&resource->_stats->cancelled, 1);
	if (BATON_UNLIKELY(task->_run == baton__windowed_run))
		baton__windowed_drop(task);
	if (task->_future)
		baton__future_finish(task->_future, BATON__FUTURE_CANCELLED, -ECANCELED, NULL,
		                     &resource->_job._turn);
	else if (task->_run == baton__post_run)
		baton__node_free(task);
	else if (task->_run == baton__timer_run)
		baton__timer_cancelled(task);
	else if (task->_run == baton__trigger_run)
		baton__trigger_cancelled(task);
	else if (resource->_config && resource->_config->cancelled)
		resource->_config->cancelled(task);
}

/* Cancels all tasks before the last cancel mark of the list; marks of other kinds stay. */
static struct baton_task *obey_cancel_marks(struct baton_resource *resource,
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

/* The mode after the inbox was taken. */
static uintptr_t mode_after(const struct baton_resource *resource, uintptr_t word)
{
	if ((word & BATON__MODE) != BATON__ATTENTION)
		return word & BATON__MODE;
	return baton__mode(resource);
}

void baton__take(struct baton_resource *resource)
{
	uintptr_t word = load_relaxed(&resource->_word);
	struct baton_task **end = &resource->_list;
	struct baton_task *newest;
	struct baton_task *oldest = NULL;
	uint64_t count = 0;

	/* Ends: each failure is a push or a close: submitters make progress.
	 * [R1] acquire: the tasks; pairs with [R1] in push */
	while (!cas_acquire(&resource->_word, &word, BATON__BUSY | mode_after(resource, word)))
		;
	newest = (struct baton_task *)(word & BATON__TASKS);
	while (newest) {
		struct baton_task *next = newest->_next;

		count += !baton__is_mark(newest);
		newest->_next = oldest;
		oldest = newest;
		newest = next;
	}
	if (resource->_stats) {
		baton__count(&resource->_stats->submitted, count);
		if (count > resource->_stats->backlog_max)
			store_relaxed(&resource->_stats->backlog_max, count);
	}
	/* Not empty only when a mark made the runner look early. */
	while (*end)
		end = &(*end)->_next;
	*end = oldest;
	if (word & BATON__ATTENTION) {
		resource->_list = obey_cancel_marks(resource, resource->_list);
		resource->_list = baton__suspend_marks_first(resource->_list);
	}
}

/* Tells awaiters that everything accepted before them is over; the holder, or after the release. */
static void fire_await(struct baton_task *mark)
{
	struct baton__awaiter *awaiter = baton_container_of(mark, struct baton__awaiter, task);

	baton__future_finish(&awaiter->counted.future, BATON__FUTURE_DONE, 0, NULL, NULL);
}

void baton__after(struct baton_task *after)
{
	struct baton__frame frame;

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
		/* A frame without a resource: what it submits counts as nested (L7). */
		baton__frame_push(&frame, NULL);
		(void)mark->_run(mark); /* last touch of resource and mark */
		baton__frame_pop(&frame);
	}
}

/* A mark has come to its turn: it waits for the release. */
static void postpone(struct baton__frame *frame, struct baton_resource *resource,
                     struct baton_task *mark)
{
	struct baton_task **end = &frame->after;

	if (mark->_future == BATON__MARK_AWAIT) {
		struct baton__awaiter *awaiter =
			baton_container_of(mark, struct baton__awaiter, task);

		/* From here on nobody becomes its visitor; who is one has been counted. */
		(void)baton__future_claim(&awaiter->counted.future, &resource->_job._turn);
	}
	mark->_next = NULL;
	while (*end)
		end = &(*end)->_next;
	*end = mark;
}

/* On a closed resource: what comes after the release for good, though a kick has brought work. */
static bool stays_postponed(const struct baton_task *mark)
{
	return mark->_future != BATON__MARK_AWAIT ||
	       baton_container_of(mark, struct baton__awaiter, task)->closed;
}

/* More work follows: awaiters among the postponed need not wait for it. */
static BATON_NOINLINE void fire_awaits(struct baton__frame *frame, struct baton_resource *resource)
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

/*
 * True: the visitors on their way out will go on in our place. Else, with a _list: a kick has come,
 * or the last of them has gone.
 */
static bool left_to_visitors(struct baton__frame *frame, struct baton_resource *resource)
{
	/* [R3] acquire: visitors that are gone touch it no more; pairs with [R3] in leave */
	uint32_t turn = load_acquire(&resource->_job._turn);

	if (!(turn & BATON__VISITS))
		return false;
	resource->_list = frame->after;
	/* We become a visitor, so that we may look at the word afterwards. Ends: each failure is a
	 * visitor that leaves. [R4] release: _list and all else; pairs with [R4] in visit_end_only,
	 * visit_look. [V1] seq_cst: before we look for a kick; pairs with [V1] in visit_look */
	while (!cas_seq_cst(&resource->_job._turn, &turn,
	                    (turn + BATON__VISIT) | BATON__LEAVING)) {
		/* [R3] acquire: as above; pairs with [R3] in leave */
		turn = load_acquire(&resource->_job._turn);
		if (!(turn & BATON__VISITS)) {
			resource->_list = NULL;
			return false;
		}
	}
	frame->after = NULL;
	/* A kick that has not seen LEAVING is seen here. */
	if (load_seq_cst(&resource->_word) & BATON__TASKS && baton__leaving_undone(resource)) {
		/* Relaxed: the holder's. */
		(void)sub_relaxed(&resource->_job._turn, BATON__VISIT);
		return false;
	}
	return !baton__visit_end_only(resource); /* last touch */
}

/* Nothing is left: let go, unless something comes. */
static bool release(struct baton__frame *frame, struct baton_resource *resource, uintptr_t word)
{
	if ((word & BATON__MODE) == BATON__CLOSED && frame->after) {
		if (left_to_visitors(frame, resource))
			return true;
		if (resource->_list)
			return false;
	}
	/* [R2] release: all that the tasks did; pairs with [R2] in capture. Last touch (L10). */
	return cas_release(&resource->_word, &word, word & BATON__MODE);
}

static BATON_NOINLINE bool out_of_time(struct baton__budget *budget)
{
	uint64_t now = baton__now_ns();

	if (budget->until_ns == 0) {
		budget->until_ns = now + budget->limit_ns;
		return false;
	}
	return now >= budget->until_ns;
}

BATON_INLINE bool spent(struct baton__budget *budget)
{
	if (budget->tasks == 0)
		return true;
	if (BATON_UNLIKELY(budget->limit_ns) && budget->ran && out_of_time(budget))
		return true;
	budget->ran = true;
	budget->tasks--;
	return false;
}

/* As run_task: compiled twice. */
BATON_INLINE bool drain(struct baton__frame *frame, struct baton_resource *resource,
                        struct baton__budget *budget, struct baton__batch *batch)
{
	/* Ends: the budget counts tasks; marks end with the inbox, each of them a caller's. */
	for (;;) {
		struct baton_task *task = resource->_list;
		uintptr_t word = load_relaxed(&resource->_word);

		if (BATON_UNLIKELY(word & BATON__ATTENTION)) {
			if (batch && baton__shelving(resource) && baton__batch_end(batch))
				continue;
			if (baton__shelf_leave(frame, resource))
				return true;
			if (word & BATON__TASKS || (word & BATON__MODE) == BATON__ATTENTION) {
				baton__take(resource);
				continue;
			}
			task = resource->_list; /* leaving or not, it puts marks back */
		}
		if (!task) {
			if (word & BATON__TASKS)
				baton__take(resource);
			else if (budget->borrowed)
				break;
			else if (batch && baton__batch_end(batch))
				continue; /* meanwhile something may have come */
			else if (release(frame, resource, word))
				return true;
			continue;
		}
		if (BATON_UNLIKELY(baton__is_mark(task))) {
			if (task->_future == BATON__MARK_SUSPEND) {
				/* Who has suspended it finds nothing under way. */
				if (batch && baton__batch_end(batch))
					continue;
				resource->_list = task->_next;
				if (baton__suspend_here(frame, resource, task))
					return true;
				continue;
			}
			/* A helper cannot release: on a closed resource the last marks stay. */
			if (budget->borrowed && (word & BATON__MODE) == BATON__CLOSED &&
			    baton__only_marks(resource))
				break;
			resource->_list = task->_next;
			/* Cancel marks have gone when the inbox was taken. */
			BATON_ASSERT(task->_future != BATON__MARK_CANCEL);
			if (task->_future == BATON__MARK_KICK)
				(void)task->_run(task); /* last touch of the mark */
			else
				postpone(frame, resource, task);
			continue;
		}
		if (BATON_UNLIKELY(frame->after != NULL) && batch && baton__batch_end(batch))
			continue; /* meanwhile a cancel mark may have come */
		if (BATON_UNLIKELY(frame->after != NULL))
			fire_awaits(frame, resource);
		if (spent(budget))
			break;
		resource->_list = task->_next;
		run_task(frame, resource, task, batch);
		if (batch && baton__batch_stays(batch, budget))
			continue;
		if (BATON_UNLIKELY(budget->until && baton__future_final(budget->until)))
			break;
	}
	/* Every way out with the baton held: B1. */
	if (batch)
		baton__batch_leave(frame);
	/* A helper's end on an open resource: all that was accepted before the awaits is over. */
	if (frame->after)
		fire_awaits(frame, resource);
	return baton__shelf_leave(frame, resource);
}

static BATON_NOINLINE bool drain_in_batches(struct baton__frame *frame,
                                            struct baton_resource *resource,
                                            struct baton__budget *budget)
{
	struct baton__batch batch;

	return drain(frame, resource, budget, baton__batch_init(&batch, frame, resource, budget));
}

bool baton__drain(struct baton__frame *frame, struct baton_resource *resource,
                  struct baton__budget *budget)
{
	if (BATON_UNLIKELY(baton__hooked(resource)))
		return drain_in_batches(frame, resource, budget);
	return drain(frame, resource, budget, NULL);
}
