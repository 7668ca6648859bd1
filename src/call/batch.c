/* SPDX-License-Identifier: MIT */
/*
 * Submitting several tasks at once: one publication, or one capture.
 */
#include "base/atomic.h"
#include "base/checked.h"
#include "base/refused.h"
#include "core/contention.h"
#include "core/bracket.h"
#include "core/binds.h"
#include "core/label.h"
#include "core/list.h"
#include "core/loan.h"
#include "core/resource.h"
#include "core/submit.h"

#include <errno.h>

/* If a task is in the batch twice, the chain is too short: the second link replaces the first. */
BATON_INLINE void require_each_once(const struct baton_resource *resource, size_t length,
                                    size_t count)
{
	if (BATON_UNLIKELY(length != count))
		BATON_MISUSE_OF("baton_submit_batch", baton__name(resource),
		                "was given the same task twice in one batch");
}

static size_t length_of(const struct baton_task *task)
{
	size_t length = 0;

	for (; task; task = task->_next)
		length++;
	return length;
}

/*
 * Captures an idle resource and runs the chain, whose tasks are plain and have no futures. False:
 * the resource is not idle or not NORMAL, or the stack is too deep.
 */
static bool run_at_once(struct baton_resource *resource, struct baton_task *task, size_t count)
{
	const unsigned flags = BATON__BARE | BATON__FRAMED | BATON__TASK;
	struct baton__frame frame;
	struct baton__held held = {.frame = &frame};
	uintptr_t top;
	size_t ran = 0;

	if (baton__word(resource) != BATON__NORMAL ||
	    baton__enter(&held, resource, flags, BATON_NESTING_MAX) != BATON_INLINE_HELD)
		return false;
	top = baton__self->top;
	BATON_GUARD(guard);
	/* Ends with the chain, or when the holder must look. In the second case the word stays as
	 * it is until the holder has looked: so the release fails, and the drain obeys the mark. A
	 * close asks the holder for nothing. */
	while (task && !baton__word_must_look(baton__word(resource))) {
		struct baton_task *next = task->_next;

		BATON__CHECKED(enter(resource, task));
		(void)task->_run(task); /* last touch of the task */
		baton__guard_returned(top);
		ran++;
		task = next;
	}
	guard = false;
	if (BATON_LIKELY(!task)) {
		require_each_once(resource, ran, count);
	} else {
		baton__index_forget(resource);
		resource->_list = task;
	}
	baton__leave(&held, flags, (uint32_t)ran, (uint32_t)count);
	return true;
}

static int submit_batch(struct baton_resource *resource, struct baton_task *const *tasks,
                        size_t count, unsigned how)
{
	size_t ready = 0;
	bool special = false; /* a task has a future, or is of a kind */
	bool waited_for = false;
	int error;

	if (count == 0)
		return 0;
	if (count > UINT32_MAX)
		return baton__refused("baton_submit_batch: count is above UINT32_MAX");
	error = !baton__has_record(baton__self) ? baton__thread_attach() : 0;
	if (error)
		return error;
	if (baton__word_is_closed(baton__word(resource)))
		return -EPIPE;
	for (; ready < count; ready++) {
		struct baton_task *task = tasks[ready];

		if (!baton__ready(resource, task)) {
			error = BATON__NOT_FRESH("baton_submit_batch");
			goto unready;
		}
		special |= task->_future != NULL;
		baton__stamp_carry(task);
		waited_for |= baton__task_future(task) != NULL;
		task->_next = ready + 1 < count ? tasks[ready + 1] : NULL;
	}
	if (!how)
		baton__stand_back_if_due(resource, (uint32_t)count);
	if (!how && !special && run_at_once(resource, tasks[0], count))
		return 0;
	require_each_once(resource, length_of(tasks[0]), count);
	error = baton__submit_chain(resource, tasks[0], (uint32_t)count, how);
	if (!error) {
		if (waited_for)
			baton__binds_pushed();
		return 0;
	}
unready:
	while (ready > 0)
		(void)baton__unready(resource, tasks[--ready], error);
	baton__loan_forget(resource);
	return error;
}

BATON_EXPORT int baton_submit_batch(struct baton_resource *resource,
                                    struct baton_task *const *tasks, size_t count)
{
	BATON__CHECKED_SUBMIT(resource, tasks, count, baton_submit_batch(resource, tasks, count));
	return submit_batch(resource, tasks, count, 0);
}

BATON_EXPORT int baton_submit_batch_later(struct baton_resource *resource,
                                          struct baton_task *const *tasks, size_t count)
{
	BATON__CHECKED_SUBMIT(resource, tasks, count,
	                      baton_submit_batch_later(resource, tasks, count));
	return submit_batch(resource, tasks, count, BATON__SUBMIT_LATER);
}
