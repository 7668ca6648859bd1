/* SPDX-License-Identifier: MIT */
/*
 * Cancelling one task. One CAS on the future's word decides between the cancel and the runner's
 * claim. The runner unlinks the task; if the resource is queued, the canceller does.
 */
#include "core/cancel.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "base/refused.h"
#include "core/visit.h"
#include "core/deferred.h"

#include <errno.h>

/* Unlinks the task if the resource is queued. Ends the caller's visit. */
static void unlink_and_leave(struct baton_future *future, struct baton_resource *resource,
                             uint32_t generation)
{
	baton__self->visits++;
	if (!baton__unlink(resource, future, generation))
		(void)baton__visit_leave(future, resource, generation);
	baton__self->visits--;
	baton__deferred_check(baton__self);
}

void baton__cancel_visit(struct baton_future *future)
{
	uint32_t generation;
	struct baton_resource *resource = baton__future_visit(future, &generation);

	if (resource)
		unlink_and_leave(future, resource, generation);
}

int baton__cancel_decide(struct baton_future *future, struct baton_resource **resource,
                         uint32_t *generation)
{
	/* Ends: each failure is a flag that is set once, a visitor, a refused submit, or the
	 * runner's progress. */
	for (;;) {
		/* future.unbound (future.c) acquire: before the look at the resource. future.final
		 * (future.c) acquire: what the task did. */
		uint32_t state = load_acquire(&future->_state);
		uint32_t base = state & BATON__FUTURE_STATE;
		uint32_t next = state | BATON__FUTURE_STOP;

		*resource = baton__future_binding(future);
		if (base == BATON__FUTURE_PENDING && baton__binding_entered(*resource))
			base = BATON__FUTURE_RUNNING;
		if (base & BATON__FUTURE_FINAL || base == BATON__FUTURE_CANCELLING)
			return -EALREADY;
		if (!*resource && base == BATON__FUTURE_PENDING) {
			/* A detach may have unbound the future meanwhile. The task runs then, and
			 * this load finds RUNNING. Relaxed: the load of the resource orders it
			 * (future.bind, future.h). */
			if (load_relaxed(&future->_state) == state)
				return baton__refused("baton_future_cancel: the future's task "
				                      "has not been submitted");
			continue;
		}
		if (base == BATON__FUTURE_PENDING)
			next = state | BATON__FUTURE_CANCELLING | BATON__FUTURE_VISITOR;
		/* Relaxed: nothing is published. Linearisation point. */
		if (!cas_relaxed(&future->_state, &state, next))
			continue;
		if (base == BATON__FUTURE_RUNNING)
			return -EINPROGRESS;
		*generation = baton__future_generation(state);
		/* The future has a visitor already: the runner unlinks the task, when it reaches
		 * the task. */
		if (state & BATON__FUTURE_VISITOR)
			*resource = NULL;
		return 0;
	}
}

void baton__cancel_unlink(struct baton_future *future, struct baton_resource *resource,
                          uint32_t generation)
{
	/* Completing the future here may call functions of the user's. If the stack is too deep for
	 * that, the runner unlinks the task (L14). */
	if (baton__depth(baton__self) < BATON_HELPING_MAX)
		unlink_and_leave(future, resource, generation);
	else
		(void)baton__visit_leave(future, resource, generation);
}

BATON_EXPORT int baton_future_cancel(struct baton_future *future)
{
	struct baton_resource *resource;
	uint32_t generation;
	int error = baton__thread_attach();

	if (error)
		return error;
	/* Relaxed: constant after init. */
	if (load_relaxed(&future->_state) & BATON__FUTURE_PROMISE)
		return baton__promise_cancel(future);
	error = baton__cancel_decide(future, &resource, &generation);
	if (!error && resource)
		baton__cancel_unlink(future, resource, generation);
	return BATON__ANSWER_INVALID(NULL, error);
}
