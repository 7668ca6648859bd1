/* SPDX-License-Identifier: MIT */
/*
 * Suspending. A mark overtakes everything queued; the runner that meets it puts the baton on the
 * shelf (shelf.c). The library allocates the mark, with a counted future: so a suspension that is
 * withdrawn before the runner meets the mark is the caller's again at once. An idle resource needs
 * no mark.
 *
 * Invariants:
 * suspend.used: A suspension is in use while `_resource` is set. A suspension of a resource that
 *    was idle has no future. Otherwise its future is PENDING (the runner has not met the mark),
 *    RUNNING or DONE. resume cancels a PENDING future; in the other cases it unshelves the
 *    resource, once.
 *
 * Linearisation points: suspend: the push of the mark, or the capture. The suspension is effective:
 * the completion of the future. Resume: the cancel of the future, or the CAS in unshelve.
 */
#include <baton/suspend.h>

#include "base/atomic.h"
#include "base/futex.h"
#include "thread/node.h"
#include "core/close.h"
#include "core/deferred.h"
#include "core/help.h"
#include "core/marks.h"
#include "core/shelf.h"
#include "core/wait.h"

#include <errno.h>

/* Pushes a mark into a busy resource: 1. Returns 0 if the resource is idle, or -ENOMEM. */
static int push(struct baton_resource *resource, struct baton_suspension *suspension)
{
	struct baton__awaiter *mark = baton__node_alloc(sizeof(*mark));

	if (!mark)
		return -ENOMEM;
	*mark = (struct baton__awaiter){
		.counted = {.future = BATON_FUTURE_INIT, .references = 1},
	};
	baton__kind_set(&mark->task, &baton__suspend_kind);
	/* unshared: not pushed yet */
	mark->counted.future._state = BATON__FUTURE_COUNTED;
	mark->counted.future._resource = resource;
	if (!baton__push_attention(resource, &mark->task)) {
		baton__node_free(mark);
		return 0;
	}
	suspension->_future = &mark->counted.future;
	return 1;
}

BATON_EXPORT int baton_resource_suspend(struct baton_resource *resource,
                                        struct baton_suspension *suspension)
{
	int status = baton__thread_attach();

	if (status)
		return status;
	if (suspension->_resource)
		return -EALREADY;
	suspension->_future = NULL;
	/* Ends: each round in vain means that another thread has captured, released or closed. */
	while (status == 0) {
		uintptr_t word = baton__word(resource);

		if (baton__word_is_closed(word))
			return -EPIPE;
		if (baton__word_is_busy(word))
			status = push(resource, suspension);
		else
			status = baton__shelve_idle(resource, word);
	}
	if (status < 0)
		return status;
	suspension->_resource = resource;
	return 0;
}

BATON_EXPORT bool baton_suspension_is_effective(const struct baton_suspension *suspension)
{
	return suspension->_resource &&
	       (!suspension->_future || baton__future_final(suspension->_future));
}

BATON_EXPORT int baton_suspension_wait(struct baton_suspension *suspension,
                                       const struct timespec *deadline)
{
	if (!suspension->_resource || !baton__deadline_valid(deadline))
		return -EINVAL;
	if (!suspension->_future)
		return 0;
	return baton__wait_for_mark(suspension->_future, deadline);
}

static int resume(struct baton_suspension *suspension, bool later)
{
	struct baton_resource *resource = suspension->_resource;
	struct baton_future *future = suspension->_future;
	int error = baton__thread_attach();

	if (error)
		return error;
	if (!resource)
		return -EINVAL;
	*suspension = (struct baton_suspension)BATON_SUSPENSION_INIT;
	if (future) {
		/* 0: the mark is without effect. The runner that meets it unlinks it. */
		error = baton_future_cancel(future);
		baton_future_unref(future);
		if (!error)
			return 0;
	}
	baton__unshelve(resource, later);
	return 0;
}

BATON_EXPORT int baton_resource_resume(struct baton_suspension *suspension)
{
	return resume(suspension, false);
}

BATON_EXPORT int baton_resource_resume_later(struct baton_suspension *suspension)
{
	int error = resume(suspension, true);

	if (!error)
		baton__deferred_check(baton__self);
	return error;
}
