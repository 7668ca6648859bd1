/* SPDX-License-Identifier: MIT */
/*
 * Closing, cancelling what is pending, awaiting: marks that go through the inbox like tasks, so
 * that "everything accepted before" needs no counting.
 */
#include "core/close.h"

#include "base/atomic.h"
#include "core/cycle.h"
#include "base/futex.h"
#include "thread/node.h"
#include "core/place.h"
#include "core/wait.h"
#include "core/marks.h"

#include <errno.h>

/* The mode that a push of a mark leaves behind; `mode`: what it asks for. */
static uintptr_t stronger(uintptr_t word, uintptr_t mode)
{
	uintptr_t found = word & BATON__MODE;

	return found == BATON__CLOSED || mode == BATON__NORMAL ? found : mode;
}

/* Puts a mark into the inbox. False: it is idle and the mark only concerns others' tasks. */
static bool push_mark(struct baton_resource *resource, struct baton_task *mark, uintptr_t mode)
{
	uintptr_t word = load_relaxed(&resource->_word);

	/* Ends: as submit's loop: each failure is somebody's progress. */
	for (;;) {
		uintptr_t flags = stronger(word, mode) | BATON__BUSY;

		mark->_next = (struct baton_task *)(word & BATON__TASKS);
		if (word & BATON__BUSY) {
			/* [R1] release: the mark; pairs with [R1] in take. Linearisation point of
			 * the close, too. */
			if (cas_release(&resource->_word, &word, (uintptr_t)mark | flags))
				return true;
			continue;
		}
		if (mode == BATON__ATTENTION)
			return false;
		/* [R2] acquire: what the last runner did; pairs with [R2] in release */
		if (cas_acquire(&resource->_word, &word, flags)) {
			/* It was idle, is perhaps closed now: there is nothing before it. */
			resource->_list = mark;
			baton__go_on(resource, 0, false);
			return true;
		}
	}
}

bool baton__push_attention(struct baton_resource *resource, struct baton_task *mark)
{
	return push_mark(resource, mark, BATON__ATTENTION);
}

BATON_EXPORT int baton_resource_close(struct baton_resource *resource)
{
	uintptr_t word = load_relaxed(&resource->_word);

	/* Ends: as submit's loop. */
	do {
		if ((word & BATON__MODE) == BATON__CLOSED)
			return -EALREADY;
		/* Relaxed would do: the word orders tasks, not closers. Linearisation point. */
	} while (!cas_relaxed(&resource->_word, &word, word | BATON__CLOSED));
	return 0;
}

BATON_EXPORT int baton_resource_close_then(struct baton_resource *resource,
                                           struct baton_task *finaliser)
{
	int error = baton__thread_attach();

	if (error)
		return error;
	/* Relaxed would do: only who gets the bit goes on. */
	if (or_acq_rel(&resource->_job._turn, BATON__FINAL) & BATON__FINAL)
		return -EALREADY;
	BATON_REQUIRE_OF(!finaliser->_future, resource->_name,
	                 "was given a finaliser with a future: a finaliser has none");
	baton__kind_set(finaliser, &baton__final_kind);
	(void)push_mark(resource, finaliser, BATON__CLOSED); /* last touch */
	return 0;
}

BATON_EXPORT int baton_resource_cancel_pending(struct baton_resource *resource)
{
	struct baton_task *mark;
	int error = baton__thread_attach();

	if (error)
		return error;
	if (!(load_relaxed(&resource->_word) & BATON__BUSY))
		return 0;
	mark = baton__node_alloc();
	if (!mark)
		return -ENOMEM;
	baton__kind_set(mark, &baton__cancel_kind);
	if (!push_mark(resource, mark, BATON__ATTENTION))
		baton__node_free(mark);
	return 0;
}

/* Nothing to wait for: idle, and nobody who could touch it still. */
static bool idle(struct baton_resource *resource)
{
	/* [R2] acquire: what the last runner did; pairs with [R2] in release.
	 * [R3] acquire: what visitors did; pairs with [R3] in leave */
	return !(load_acquire(&resource->_word) & BATON__BUSY) &&
	       !(load_acquire(&resource->_job._turn) & BATON__VISITS);
}

BATON_EXPORT int baton_resource_await(struct baton_resource *resource,
                                      const struct timespec *deadline)
{
	struct baton__awaiter *awaiter;
	int error = baton__thread_attach();

	if (error)
		return error;
	if (!baton__deadline_valid(deadline))
		return -EINVAL;
	if (deadline ? baton__thread_holds_in_help(baton__self, resource)
	             : baton__thread_holds(baton__self, resource))
		return baton__cycle_of_one(resource);
	if (idle(resource))
		return 0;
	if (deadline && baton__now_ns() >= baton__deadline_ns(deadline))
		return -ETIMEDOUT;
	awaiter = baton__node_alloc();
	if (!awaiter)
		return -ENOMEM;
	*awaiter = (struct baton__awaiter){
		.counted = {.future = BATON_FUTURE_INIT, .references = 1},
	};
	baton__kind_set(&awaiter->task, baton__resource_closed(resource) ? &baton__await_closed_kind
	                                                                 : &baton__await_kind);
	/* unshared: not pushed yet */
	awaiter->counted.future._state = BATON__FUTURE_COUNTED;
	awaiter->counted.future._resource = resource;
	(void)push_mark(resource, &awaiter->task, BATON__NORMAL);
	error = baton__wait_for_mark(&awaiter->counted.future, deadline);
	baton_future_unref(&awaiter->counted.future);
	return error;
}
