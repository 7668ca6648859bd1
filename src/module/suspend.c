/* SPDX-License-Identifier: MIT */
/*
 * Suspending. A mark overtakes everything queued; the runner that meets it puts the baton on the
 * shelf (shelf.c). The library allocates the mark, with a counted future: so a suspension that is
 * withdrawn before the runner meets the mark is the caller's again at once. An idle resource needs
 * no mark.
 *
 * A suspension of the lower lanes does not shelve the baton: the holder that meets the mark pauses
 * these lanes, and the resource then rests where it would become idle (word.h). The node of the
 * mark also has the kick that unpauses the lanes, so that a resume needs no memory.
 *
 * Invariants:
 * suspend.used: A suspension is in use while `_resource` is set. A suspension of a whole resource
 *    that was idle has no future. Otherwise its future is PENDING (the runner has not met the
 *    mark), RUNNING or DONE. resume cancels a PENDING future; in the other cases it unshelves the
 *    resource, once. A suspension of the lower lanes always has a future, which is DONE at once if
 *    the resource was idle; in place of the unshelving, resume sends the kick.
 * suspend.who: `who` of a mark of the lower lanes is constant until the claim of the future. After
 *    the claim, resume cannot cancel the future, and makes the kick in the same memory.
 * suspend.closed: A task of a closed resource may suspend it, so its tasks that are still queued
 *    wait as those of an open one. The task's thread (or a caller for which it runs, called.h)
 *    holds the baton until the task ends, so the resource is BUSY, and the push finds it BUSY.
 *    The mark is in the inbox before the holder's next release, whose CAS then fails: the holder
 *    meets the mark first, also if the task was the last, or a kick's after the finaliser was
 *    postponed. Shelving puts the postponed marks of awaits and the finaliser back
 *    (baton__shelf_leave), as it does where the close comes after the suspension. The finaliser
 *    itself holds nothing, and is refused.
 *
 * Linearisation points: suspend: the push of the mark, or the capture. The suspension is effective:
 * the completion of the future, or the capture. Resume: the cancel of the future, the CAS in
 * unshelve, or, for the lower lanes, the kick.
 */
#include <baton/suspend.h>

#include "base/atomic.h"
#include "base/checked.h"
#include "base/futex.h"
#include "base/refused.h"
#include "thread/node.h"
#include "core/called.h"
#include "core/close.h"
#include "core/deferred.h"
#include "core/handoff.h"
#include "core/marks.h"
#include "wait/wait.h"
#include "module/shelf.h"
#include "module/kick.h"
#include "module/lane.h"
#include "module/who.h"

#include <errno.h>

/* The mark of a suspension of the lower lanes. References: the suspension's, and the kick's. */
struct lower {
	struct baton__awaiter awaiter;
	union {
		struct baton__who who;  /* until the mark is claimed */
		struct baton_task kick; /* from the resume on */
	};
};

_Static_assert(sizeof(struct baton__suspend_mark) <= BATON__NODE_BODY_SIZE, "fits a node");
_Static_assert(sizeof(struct lower) <= BATON__NODE_BODY_SIZE, "fits a node");
_Static_assert(sizeof(struct baton_suspension) == 24, "part of the ABI");

/*
 * Does the resource refuse a suspension (suspend.closed)? A thread outside may find a closed
 * resource given back at any time.
 */
static bool refuses(const struct baton_resource *resource, uintptr_t word)
{
	return baton__word_is_closed(word) && !baton__thread_runs_in(baton__self, resource);
}

/* Pushes a mark into a busy resource. Returns 1; 0: the resource is idle now; or -ENOMEM. */
static int push_suspension(struct baton_resource *resource, struct baton_suspension *suspension)
{
	struct baton__suspend_mark *mark = baton__node_alloc(sizeof(*mark));

	if (!mark)
		return -ENOMEM;
	baton__awaiter_init(&mark->awaiter, resource, &baton__suspend_kind);
	mark->who = baton__who_now();
	if (!baton__push_mark(resource, &mark->awaiter.task, BATON__ASK_LOOK)) {
		baton__node_free(mark);
		return 0;
	}
	suspension->_future = &mark->awaiter.counted.future;
	return 1;
}

/* The runner has reached the mark. */
static enum baton__met pause_here(struct baton__stay *stay, struct baton_task *mark)
{
	struct baton_resource *resource = stay->frame.resource;
	struct baton_future *future = baton__mark_future(mark);
	/* Before the claim (suspend.who). */
	const struct baton__who who = baton_container_of(mark, struct lower, awaiter.task)->who;

	if (!baton__future_claim(future, baton__turn_visits(resource))) {
		baton__mark_cancelled(resource, mark);
		return BATON__MET;
	}
	baton__lanes_pause(resource);
	baton__who_paused(resource, &who);
	/* The suspension has taken effect. Last touch of the mark. */
	baton__future_finish(future, BATON__FUTURE_DONE, 0, NULL, NULL);
	return BATON__MET;
}

static const struct baton__kind pause_kind = {
	.type._flags = BATON__KIND_MARK | BATON__KIND_OVERTAKES | BATON__KIND_PROMPT,
	.meet = pause_here,
};

/* The kick of a resume. Under the baton. */
static int unpause(struct baton_task *kick)
{
	struct lower *lower = baton_container_of(kick, struct lower, kick);
	struct baton_resource *resource = baton__top(baton__self)->resource;

	baton__lanes_unpause(resource);
	/* The gauge may show this suspension, while another one is still in effect. */
	baton__who_paused(resource, NULL);
	baton_future_unref(&lower->awaiter.counted.future); /* last touch */
	return 0;
}

/* Captures an idle resource and pauses its lower lanes. False: the word has changed. */
static bool pause_idle(struct baton_resource *resource, uintptr_t idle, struct lower *lower)
{
	const uintptr_t mode = baton__mode(resource);

	if (!baton__word_capture(resource, idle, mode))
		return false;
	/* unshared: only the suspension knows it */
	lower->awaiter.counted.future._state = BATON__FUTURE_COUNTED | BATON__FUTURE_DONE;
	baton__lanes_pause(resource);
	baton__who_paused(resource, &lower->who);
	baton__go_on(resource, baton__place(resource), 0);
	return true;
}

BATON_EXPORT int baton_resource_suspend_lower(struct baton_resource *resource,
                                              struct baton_suspension *suspension)
{
	BATON__CHECKED(resource(resource, __func__));
	BATON__NEED(suspension, "the suspension is NULL");

	struct lower *lower;
	int error = baton__thread_attach();

	if (error)
		return error;
	if (suspension->_resource)
		return -EALREADY;
	BATON_REQUIRE_OF(baton__backlog_sorts(resource), baton__name(resource),
	                 "has no lanes: baton_resource_set_lanes before");
	lower = baton__node_alloc(sizeof(*lower));
	if (!lower)
		return -ENOMEM;
	*lower = (struct lower){
		.awaiter.counted = {.future = BATON_FUTURE_INIT, .references = 2},
		.who = baton__who_now(),
	};
	baton__kind_set(&lower->awaiter.task, &pause_kind);
	/* unshared: not pushed yet */
	lower->awaiter.counted.future._state = BATON__FUTURE_COUNTED;
	lower->awaiter.counted.future._resource = resource;
	/* Ends: each round in vain means that another thread has captured, released or closed. */
	for (;;) {
		uintptr_t word = baton__word(resource);

		if (refuses(resource, word)) {
			baton__node_free(lower);
			return -EPIPE;
		}
		if (baton__word_is_busy(word)
		            ? baton__push_mark(resource, &lower->awaiter.task, BATON__ASK_LOOK)
		            : pause_idle(resource, word, lower))
			break;
	}
	*suspension =
		(struct baton_suspension){resource, &lower->awaiter.counted.future, &lower->kick};
	BATON__CHECKED(suspended(resource, true));
	return 0;
}

BATON_EXPORT int baton_resource_suspend(struct baton_resource *resource,
                                        struct baton_suspension *suspension)
{
	BATON__CHECKED(resource(resource, __func__));
	BATON__NEED(suspension, "the suspension is NULL");

	int status = baton__thread_attach();

	if (status)
		return status;
	if (suspension->_resource)
		return -EALREADY;
	*suspension = (struct baton_suspension)BATON_SUSPENSION_INIT;
	/* Ends: each round in vain means that another thread has captured, released or closed. */
	while (status == 0) {
		uintptr_t word = baton__word(resource);

		if (refuses(resource, word))
			return -EPIPE;
		if (baton__word_is_busy(word))
			status = push_suspension(resource, suspension);
		else
			status = baton__shelve_idle(resource, word);
	}
	if (status < 0)
		return status;
	suspension->_resource = resource;
	BATON__CHECKED(suspended(resource, true));
	return 0;
}

BATON_EXPORT bool baton_suspension_is_effective(const struct baton_suspension *suspension)
{
	return suspension->_resource &&
	       (!suspension->_future || baton__future_final(suspension->_future));
}

BATON_EXPORT int baton_suspension_wait_until(struct baton_suspension *suspension,
                                             uint64_t deadline_ns)
{
	if (!suspension->_resource)
		return BATON__ANSWER(NULL, baton__refused("baton_suspension_wait*: the suspension "
		                                          "suspends no resource"));
	if (!suspension->_future)
		return 0;
	return baton__wait_for_mark(suspension->_future, deadline_ns, true);
}

BATON_EXPORT int baton_suspension_wait(struct baton_suspension *suspension)
{
	return baton_suspension_wait_until(suspension, BATON_FOREVER);
}

static int resume(struct baton_suspension *suspension, bool later)
{
	struct baton_resource *resource = suspension->_resource;
	struct baton_future *future = suspension->_future;
	struct baton_task *kick = suspension->_kick;
	int error = baton__thread_attach();

	if (error)
		return error;
	if (!resource)
		return baton__refused(
			"baton_resource_resume*: the suspension does not suspend a resource");
	BATON__CHECKED(suspended(resource, false));
	*suspension = (struct baton_suspension)BATON_SUSPENSION_INIT;
	if (future) {
		/* 0: the mark is without effect. The runner that meets it unlinks it. */
		error = baton_future_cancel(future);
		if (!error && kick)
			baton_future_unref(future); /* the kick's reference */
		baton_future_unref(future);
		if (!error)
			return 0;
	}
	if (!kick) {
		baton__unshelve(resource, later);
		return 0;
	}
	*kick = (struct baton_task){._run = unpause};
	if (later)
		baton__kick_later(resource, kick);
	else
		baton__kick_open(resource, kick);
	return 0;
}

BATON_EXPORT int baton_resource_resume(struct baton_suspension *suspension)
{
	BATON__NEED(suspension, "the suspension is NULL");
	return BATON__ANSWER_INVALID(NULL, resume(suspension, false));
}

BATON_EXPORT int baton_resource_resume_later(struct baton_suspension *suspension)
{
	BATON__NEED(suspension, "the suspension is NULL");

	const bool outer = baton__self->resumes_later;
	int error = baton__thread_attach();

	if (error)
		return error;
	baton__self->resumes_later = true;
	error = resume(suspension, true);
	baton__self->resumes_later = outer;
	if (!error)
		baton__deferred_check(baton__self);
	return BATON__ANSWER_INVALID(NULL, error);
}
