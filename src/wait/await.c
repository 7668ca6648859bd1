/* SPDX-License-Identifier: MIT */
/*
 * Waiting until a resource has nothing left. The await puts a mark into the inbox. The mark's
 * future completes when all that was accepted before the mark is over.
 */
#include "base/atomic.h"
#include "base/checked.h"
#include "base/futex.h"
#include "thread/node.h"
#include "core/close.h"
#include "core/marks.h"
#include "wait/cycle.h"
#include "wait/wait.h"

#include <errno.h>

/* Is the resource idle, and can no visitor touch it any more? */
static bool idle(struct baton_resource *resource)
{
	return !baton__word_is_busy(baton__word_settled(resource)) &&
	       !baton__turn_is_visited(resource);
}

static int await_resource(struct baton_resource *resource, uint64_t deadline_ns)
{
	struct baton__awaiter *awaiter;
	int error = baton__thread_attach();

	if (error)
		return error;
	error = baton__cycle_if_held(baton__self->called, resource, deadline_ns != BATON_FOREVER);
	if (error)
		return error;
	if (idle(resource))
		return 0;
	if (baton__is_past(deadline_ns))
		return -ETIMEDOUT;
	awaiter = baton__node_alloc(sizeof(*awaiter));
	if (!awaiter)
		return -ENOMEM;
	baton__awaiter_init(awaiter, resource,
	                    baton__resource_closed(resource) ? &baton__await_closed_kind
	                                                     : &baton__await_kind);
	(void)baton__push_mark(resource, &awaiter->task, BATON__ASK_NOTHING);
	error = baton__wait_for_mark(&awaiter->counted.future, deadline_ns, false);
	baton_future_unref(&awaiter->counted.future);
	return error;
}

BATON_EXPORT int baton_resource_await(struct baton_resource *resource)
{
	BATON__CHECKED(resource(resource, __func__));
	return await_resource(resource, BATON_FOREVER);
}

BATON_EXPORT int baton_resource_await_until(struct baton_resource *resource, uint64_t deadline_ns)
{
	BATON__CHECKED(resource(resource, __func__));
	return await_resource(resource, deadline_ns);
}
