/* SPDX-License-Identifier: MIT */
/*
 * Cancelling one task: the decision is one CAS on the future's word against the runner's claim; the
 * unlinking is the runner's, or ours if the resource is queued.
 */
#include "resource.h"

#include "atomic.h"

#include <errno.h>

BATON_EXPORT int baton_future_cancel(struct baton_future *future)
{
	struct baton_resource *resource;
	uint32_t state;
	uint32_t next;
	int error = baton__thread_attach();

	if (error)
		return error;
	/* [F1] acquire: as poll; pairs with [F1] in finish */
	state = load_acquire(&future->_state);
	if (state & BATON__FUTURE_PROMISE)
		return baton__promise_cancel(future);
	resource = baton__future_resource(future);
	/* Ends: each failure is a flag set once by a waiter or then(), or the runner's progress. */
	do {
		uint32_t base = state & BATON__FUTURE_STATE;

		if (base & BATON__FUTURE_FINAL || base == BATON__FUTURE_CANCELLING)
			return -EALREADY;
		if (!resource)
			return -EINVAL;
		if (base == BATON__FUTURE_RUNNING)
			next = state | BATON__FUTURE_STOP;
		else
			next = state | BATON__FUTURE_CANCELLING | BATON__FUTURE_VISITOR;
		/* [F2] acquire: an unbound resource; pairs with [F2] in settle. Linearisation
		 * point of the decision. */
	} while (!cas_acquire(&future->_state, &state, next));
	if ((state & BATON__FUTURE_STATE) == BATON__FUTURE_RUNNING)
		return -EINPROGRESS;
	if (state & BATON__FUTURE_VISITOR)
		return 0; /* a helper is there; the task is unlinked when it is reached */
	if (baton__future_resource(future) == resource)
		(void)baton__unlink(resource, future);
	baton__leave(future, resource);
	return 0;
}
