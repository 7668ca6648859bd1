/* SPDX-License-Identifier: MIT */
/*
 * Holds: a thread has a resource's baton between two calls, without a function of its own.
 *
 * An idle resource is captured, as by a bracket (core/bracket.h) that is cut in two. In a busy
 * resource the hold submits a task, the grant (hold_grant.c). The grant shelves the resource
 * (shelf.c), and its future wakes the thread. From then on the resource is the thread's, and the
 * release unshelves it. So lanes, bounds, cancels, deadlines and the wait graph treat a hold as a
 * call.
 *
 * The hold has a frame in the caller's memory, whose `future` is BATON__HOLDING: so the thread
 * counts as holding the resource, and what asks for the running function passes the frame over. On
 * the idle path the outermost hold has no frame, but BATON_INLINE_HOLD in `top` (baton/inline.h).
 *
 * A shared hold (hold_shared.c) goes the same way. The argument `readers` says whose readers its
 * thread joins (reader.c); NULL: this is no shared hold.
 *
 * Invariants:
 * hold.used: A hold is in use while `_resource` is set. A hold that is not in use has `_how` 0: the
 *    short path sets `_resource` alone.
 * hold.granted: After the grant only the thread of the hold unshelves, once, in the release. Of
 *    the runner that leaves and the release, the second one goes on (turn.h). The runner may have
 *    been stopped before it left: the thread touches neither _list nor the statistics.
 * hold.deferred: From the submit of a grant to the push of its frame the thread runs none of its
 *    deferred jobs: the resource may be the thread's by then, and a job that called it would wait
 *    for ever. The jobs run after the release, or after the wait that has failed.
 *
 * Linearisation points: of an idle hold, the capture; else the claim of the grant's future. Of the
 * release, the CAS of the word, or of unshelve.
 */
#include "module/hold.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "base/futex.h"
#include "base/refused.h"
#include "core/backlog.h"
#include "core/bracket.h"
#include "core/contention.h"
#include "core/context.h"
#include "wait/linger.h"
#include "module/reader.h"
#include "module/shelf.h"

#include <errno.h>

/* `_how` of a hold. */
#define SPECIAL 1U /* was captured in that mode (word.h) */
#define LENT 2U    /* was captured; submitters have the queue */
#define SHELVED 4U /* was granted, or has joined readers: this thread has not the baton itself */
#define OPEN 8U    /* there are hooks, and batch_begin has succeeded */
#define INSIDE 16U /* between config->enter and leave */

/* ---- The frame ---- */

static void push_frame(struct baton_hold *hold, struct baton_resource *resource, uint32_t how)
{
	struct baton__frame *frame = &hold->_frame;
	const uint32_t depth = baton__depth(baton__self);
	/* No function runs in this frame: it is as deep as the frame below. */
	*frame = (struct baton__frame){
		.below = baton__self->top,
		.resource = resource,
		.future = BATON__HOLDING,
		.depth = depth ? depth : 1,
	};
	baton__top_set(&baton__self->top, (uintptr_t)frame);
	hold->_resource = resource;
	hold->_how = how;
}

/*
 * The word that points to the hold's frame, or means its resource: `top`, or a `below`. NULL: this
 * thread does not hold, or a function that has begun since has not ended.
 */
static uintptr_t *find_frame(const struct baton_hold *hold)
{
	struct baton__thread *self = baton__self;
	uintptr_t *link = &self->top;

	/* Bounded by the number of holds. */
	for (;;) {
		struct baton__frame *frame = baton__frame_of(*link);

		if (!frame)
			return *link == ((uintptr_t)hold->_resource | BATON_INLINE_BARE |
			                 BATON_INLINE_HOLD)
			               ? link
			               : NULL;
		if (frame->future != BATON__HOLDING)
			return NULL;
		if (frame->resource == hold->_resource)
			return frame == &hold->_frame || frame == &self->outer ? link : NULL;
		link = &frame->below;
	}
}

static void unlink_frame(uintptr_t *link)
{
	const struct baton__frame *frame = baton__frame_of(*link);

	baton__top_set(link, frame ? frame->below : 0);
}

/* ---- Capture and release ---- */

/*
 * May this thread touch what the resource's tasks touch? Without captures only a thread of the
 * executor may.
 */
static bool may_hold(const struct baton_resource *resource)
{
	struct baton_executor *executor;

	if (baton__capture_max(resource))
		return true;
	executor = baton__executor_if_any(resource);
	return executor && (baton__self->member == executor ||
	                    (executor->_ops->drive && executor->_ops->alone &&
	                     executor->_ops->alone(executor)));
}

/* Captures an idle resource. */
static bool take_idle(struct baton_resource *resource, struct baton_hold *hold,
                      struct baton_readers *readers)
{
	const uintptr_t word = baton__word(resource);
	uintptr_t mode = BATON__NORMAL;

	if (word == BATON__SPECIAL) {
		mode = baton__mode(resource);
		if (!baton__word_capture(resource, word, mode))
			return false;
	} else if (word != BATON__NORMAL ||
	           !baton__word_capture_plain(&baton__self->head, resource)) {
		return false;
	}
	push_frame(hold, resource, mode == BATON__SPECIAL ? SPECIAL : 0);
	if (mode == BATON__SPECIAL) {
		baton__stats_entered(baton__stats(resource), readers ? (uintptr_t)baton_hold_shared
		                                                     : (uintptr_t)baton_hold);
		if (baton__backlog_lend(resource))
			hold->_how |= LENT;
	}
	if (readers)
		baton__readers_begin(readers);
	return true;
}

/* Captures an idle resource, or joins its readers. */
static bool take_now(struct baton_resource *resource, struct baton_hold *hold,
                     struct baton_readers *readers)
{
	if (take_idle(resource, hold, readers))
		return true;
	if (!readers || !baton__readers_join_held(readers))
		return false;
	push_frame(hold, resource, SHELVED);
	return true;
}

/* Holds an idle NORMAL resource: baton_inline_hold(), or the same in another hold or a task. */
BATON_INLINE bool take_plain(struct baton_resource *resource, struct baton_hold *hold)
{
	struct baton__thread *self = baton__self;

	if (!self->top)
		return baton__word_hold(&self->head, resource, hold);
	if (BATON_UNLIKELY(hold->_resource != NULL) || BATON_UNLIKELY(!baton__has_record(self)) ||
	    baton_inline_seen_other(&self->head, resource, false) ||
	    !baton__word_capture_plain(&self->head, resource))
		return false;
	push_frame(hold, resource, 0);
	return true;
}

/* The baton goes on; the frame is gone. */
static void pass_on(struct baton_resource *resource, uint32_t how)
{
	const uintptr_t mode = how & SPECIAL ? BATON__SPECIAL : BATON__NORMAL;

	if (how & SHELVED)
		baton__unshelve_held(resource); /* last touch */
	else if (baton__self->deferred || how & LENT || !baton_inline_release(resource, mode))
		baton__go_on_captured(resource, 1, 1);
}

/* ---- Hooks and context ---- */

/* The thread has the baton. A status: batch_begin has failed. */
static int begin_hold(struct baton_resource *resource, struct baton_hold *hold)
{
	if (baton__hooked(resource)) {
		int status = baton__context_hook(resource, baton__config(resource)->batch_begin);

		if (status)
			return status;
		hold->_how |= OPEN;
	}
	if (baton__has_context(resource)) {
		baton__context_enter(resource);
		hold->_how |= INSIDE;
	}
	return 0;
}

/* Gives the baton of a hold back, whose frame is at `link`. Returns batch_end's status. */
static int end_hold(struct baton_hold *hold, uintptr_t *link, struct baton_readers *readers)
{
	struct baton_resource *resource = hold->_resource;
	const uint32_t how = hold->_how;
	const bool beside = readers && baton_readers_at_work(readers); /* this one is counted */
	int status = 0;

	if (how & INSIDE)
		baton__context_leave(resource);
	if (how & OPEN)
		status = baton__context_hook(resource, baton__config(resource)->batch_end);
	if (how & SPECIAL)
		baton__stats_executed(baton__stats(resource));
	hold->_resource = NULL;
	hold->_how = 0;
	if (beside && !(how & SHELVED))
		baton__readers_end_lead(readers, 1);
	unlink_frame(link);
	if (beside && how & SHELVED)
		baton__readers_leave(readers, 1);
	else
		pass_on(resource, how);
	return status;
}

/* Begins a hold whose frame is the innermost; undoes it if batch_begin has failed. */
static int begin_hold_or_undo(struct baton_resource *resource, struct baton_hold *hold,
                              struct baton_readers *readers)
{
	const int status = begin_hold(resource, hold);

	if (status)
		(void)end_hold(hold, &baton__self->top, readers);
	return status;
}

/* The thread stands back from a busy resource, as a caller does (call.c), then lingers. */
static bool take_when_idle(struct baton_resource *resource, struct baton_hold *hold,
                           uint64_t deadline_ns, struct baton_readers *readers)
{
	struct baton__stand_back_call looks;
	struct baton__linger linger;

	if (take_now(resource, hold, readers))
		return true;
	if (baton__is_past(deadline_ns) || baton__thread_holds(baton__self, resource))
		return false;
	if (baton__stand_back_call_begin(resource, &looks))
		while (baton__stand_back_call_look(resource, &looks))
			if (take_now(resource, hold, readers))
				return true;
	baton__linger_begin(&linger, deadline_ns);
	linger.often = readers;
	while (baton__linger_look(resource, &linger))
		if (take_now(resource, hold, readers))
			return true;
	return false;
}

BATON_NOINLINE int baton__hold_take(struct baton_resource *resource, struct baton_hold *hold,
                                    uint64_t deadline_ns, struct baton_readers *readers)
{
	int error = baton__has_record(baton__self) ? 0 : baton__thread_attach();

	if (error)
		return error;
	if (hold->_resource)
		return -EALREADY;
	if (!may_hold(resource))
		return -EPERM;
	if (!take_when_idle(resource, hold, deadline_ns, readers)) {
		/* hold.deferred */
		baton__self->visits++;
		error = baton__hold_await(resource, deadline_ns, readers);
		if (!error)
			push_frame(hold, resource, SHELVED);
		baton__self->visits--;
		if (error) {
			baton__deferred_check(baton__self);
			return error;
		}
	}
	return begin_hold_or_undo(resource, hold, readers);
}

BATON_EXPORT int baton_hold(struct baton_resource *resource, struct baton_hold *hold)
{
	BATON__CHECKED(hold(resource, hold, __func__));
	BATON__CHECKED(may_wait(__func__));
	if (BATON_LIKELY(take_plain(resource, hold)))
		return 0;
	return BATON__ANSWER(resource, baton__hold_take(resource, hold, BATON_FOREVER, NULL));
}

BATON_EXPORT int baton_hold_until(struct baton_resource *resource, struct baton_hold *hold,
                                  uint64_t deadline_ns)
{
	BATON__CHECKED(hold(resource, hold, __func__));
	BATON__CHECKED(may_wait(__func__));
	return BATON__ANSWER(resource, baton__hold_take(resource, hold, deadline_ns, NULL));
}

int baton__hold_release(struct baton_hold *hold, struct baton_readers *readers)
{
	struct baton_resource *resource = hold->_resource;
	uintptr_t *link = find_frame(hold);

	if (BATON_UNLIKELY(baton__forked())) {
		if (link)
			unlink_frame(link);
		*hold = (struct baton_hold)BATON_HOLD_INIT;
		return 0;
	}
	if (BATON_UNLIKELY(!link))
		BATON_MISUSE_OF(readers ? "baton_release_shared" : "baton_release",
		                baton__name(resource),
		                "is not held by this hold here: release a hold on the thread, and "
		                "in the function, that has taken it");
	return end_hold(hold, link, readers);
}

BATON_EXPORT int baton_release(struct baton_hold *hold)
{
	BATON__CHECKED(release(hold, __func__));

	struct baton_resource *resource = hold->_resource;
	struct baton__thread *self = baton__self;

	if (BATON_LIKELY(self->top ==
	                 ((uintptr_t)resource | BATON_INLINE_BARE | BATON_INLINE_HOLD))) {
		hold->_resource = NULL;
		if (!baton_inline_pop_release(&self->head, resource))
			baton__go_on_captured(resource, 1, 1);
		return 0;
	}
	/* The same inside another hold or a task. A fork's child has no such frame: its frames are
	 * at BATON__DEPTH_NONE and deeper. */
	if (self->top == (uintptr_t)&hold->_frame && !hold->_how &&
	    BATON_LIKELY(hold->_frame.depth < BATON__DEPTH_NONE)) {
		hold->_resource = NULL;
		baton__top_set(&self->top, hold->_frame.below);
		pass_on(resource, 0);
		return 0;
	}
	if (!resource)
		return baton__refused("baton_release: the hold is not in use");
	return baton__hold_release(hold, NULL);
}

/* ---- Several resources ---- */

/* Sorts the numbers of the resources by their addresses. -EINVAL: a resource is named twice. */
static int sort(struct baton_resource *const *resources, size_t count, uint8_t *order)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = i;

		for (; at > 0 && (uintptr_t)resources[order[at - 1]] > (uintptr_t)resources[i];
		     at--)
			order[at] = order[at - 1];
		if (at > 0 && resources[order[at - 1]] == resources[i])
			return baton__refused("baton_hold_many*: a resource is named twice");
		order[at] = (uint8_t)i;
	}
	return 0;
}

static int hold_many(struct baton_resource *const *resources, size_t count,
                     struct baton_hold *holds, uint64_t deadline_ns)
{
	uint8_t order[BATON_HOLD_MANY_MAX];
	size_t held = 0;
	int error;

	if (count == 0 || count > BATON_HOLD_MANY_MAX)
		return baton__refused("baton_hold_many*: count is 0, or above BATON_HOLD_MANY_MAX");
	error = sort(resources, count, order);
	for (size_t i = 0; !error && i < count; i++)
		if (holds[i]._resource)
			error = -EALREADY;
	if (error)
		return error;
	while (!error && held < count) {
		struct baton_hold *hold = &holds[order[held]];

		if (!take_plain(resources[order[held]], hold))
			error = baton__hold_take(resources[order[held]], hold, deadline_ns, NULL);
		held += !error;
	}
	/* The status of batch_end says nothing: nothing was done in the batch. */
	while (error && held > 0) {
		const struct baton_hold *hold = &holds[order[--held]];

		(void)end_hold(&holds[order[held]], find_frame(hold), NULL);
	}
	return error;
}

BATON_EXPORT int baton_hold_many(struct baton_resource *const *resources, size_t count,
                                 struct baton_hold *holds)
{
	BATON__CHECKED(hold_many(resources, count, holds, __func__));
	BATON__CHECKED(may_wait(__func__));
	return hold_many(resources, count, holds, BATON_FOREVER);
}

BATON_EXPORT int baton_hold_many_until(struct baton_resource *const *resources, size_t count,
                                       struct baton_hold *holds, uint64_t deadline_ns)
{
	BATON__CHECKED(hold_many(resources, count, holds, __func__));
	BATON__CHECKED(may_wait(__func__));
	return hold_many(resources, count, holds, deadline_ns);
}
