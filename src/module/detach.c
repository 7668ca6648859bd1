/* SPDX-License-Identifier: MIT */
/*
 * Detached completion. A detach takes the running task's future out of the runner's frame. One CAS
 * decides which thread completes the token.
 */
#include "module/detach.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "base/refused.h"
#include "core/called.h"
#include "core/visit.h"
#include "core/resource.h"
#include "core/run.h"
#include "module/shelf.h"

#include <errno.h>

BATON_EXPORT void baton_detached_init(struct baton_detached *token)
{
	*token = (struct baton_detached)BATON_DETACHED_INIT;
}

/* May the running task detach? No other thread knows the token before the detach has succeeded. */
static int check(const struct baton__frame *frame, struct baton_detached *token, unsigned flags)
{
	struct baton_resource *resource = frame->resource;

	if (flags & ~(BATON_DETACH_EXCLUSIVE | BATON_DETACH_COUNTED))
		return baton__refused("baton_detach*: flags has an unknown bit");
	/* Relaxed: a hint against misuse. */
	if ((load_relaxed(&token->_state) & (BATON__TOKEN_OUTSTANDING | BATON__TOKEN_DECIDED)) ==
	    BATON__TOKEN_OUTSTANDING)
		return -EBUSY;
	if (flags & BATON_DETACH_EXCLUSIVE && baton__thread_reads(baton__self, resource))
		return -EPERM;
	if (flags & BATON_DETACH_EXCLUSIVE && baton__turn_is_shelving(resource))
		return -EBUSY;
	if (token->_window && !baton__window_detached(token->_window, token, resource))
		return baton__refused("baton_detach*: the token's task does not run in its window: "
		                      "name the part in the type's .window, and call "
		                      "baton_window_part_init after baton_task_init_of");
	return 0;
}

static void bind(struct baton__frame *frame, struct baton_detached *token, unsigned flags)
{
	struct baton_resource *resource = frame->resource;
	struct baton_future *future = frame->future;
	uint32_t state = BATON__TOKEN_OUTSTANDING;

	frame->future = NULL;
	frame->value = BATON__DETACHED;
	/* The future no longer depends on the resource: a waiter does not help the resource, and
	 * may hold it. */
	if (future)
		baton__future_detach(future);
	if (flags & BATON_DETACH_EXCLUSIVE)
		state |= BATON__TOKEN_HOLD;
	if (flags & BATON_DETACH_COUNTED || token->_window) {
		state |= BATON__TOKEN_COUNTED;
		baton__turn_visit(resource);
	}
	token->_future = future;
	token->_resource = resource;
	token->_deadline = NULL;
	/* Relaxed: the completer is told of the token after this. */
	store_relaxed(&token->_state, state);
}

/* Undoes bind: the deadline could not be armed. */
static void unbind(struct baton__frame *frame, struct baton_detached *token)
{
	struct baton_resource *resource = frame->resource;

	if (load_relaxed(&token->_state) & BATON__TOKEN_COUNTED)
		baton__turn_unvisit(resource);
	store_relaxed(&token->_state, 0);
	if (token->_window)
		baton__window_undetached(token->_window, token);
	baton__future_bind(token->_future, resource);
	frame->future = token->_future;
	frame->value = NULL;
}

BATON_EXPORT int baton_detach(struct baton_detached *token, unsigned flags)
{
	struct baton__frame *frame = baton__top_running(baton__self);
	int error;

	BATON_REQUIRE(frame && frame->resource,
	              "this thread runs no task: detach in the task's function");
	error = check(frame, token, flags);
	if (error)
		return BATON__ANSWER(frame->resource, error);
	bind(frame, token, flags);
	if (flags & BATON_DETACH_EXCLUSIVE)
		baton__shelve(frame->resource, BATON__DETACHED_TASK);
	return 0;
}

BATON_EXPORT int baton_detach_within(struct baton_detached *token, unsigned flags,
                                     uint64_t timeout_ns, struct baton_deadline *deadline)
{
	struct baton__frame *frame = baton__top_running(baton__self);
	struct baton_resource *resource;
	int error;

	BATON_REQUIRE(frame && frame->resource,
	              "this thread runs no task: detach in the task's function");
	resource = frame->resource;
	if (!frame->future)
		return BATON__ANSWER(resource,
		                     baton__refused("baton_detach_within: the task has no future"));
	error = check(frame, token, flags);
	if (error)
		return BATON__ANSWER(frame->resource, error);
	bind(frame, token, flags);
	if (flags & BATON_DETACH_EXCLUSIVE)
		baton__shelve(resource, BATON__DETACHED_TASK);
	error = baton__deadline_arm(deadline, token, timeout_ns);
	if (!error)
		return 0;
	unbind(frame, token);
	if (flags & BATON_DETACH_EXCLUSIVE)
		baton__turn_unwant_shelf(resource);
	return error;
}

int baton__token_decide(struct baton_detached *token)
{
	uint32_t state = load_relaxed(&token->_state);

	if (!(state & BATON__TOKEN_OUTSTANDING))
		return baton__refused("baton_detached_*: the token is not outstanding");
	/* Relaxed: this thread was told of the token, which orders the detach before this call.
	 * After the decision no other thread touches the token. Ends: a CAS fails only because
	 * another thread has decided. */
	do {
		if (state & BATON__TOKEN_DECIDED)
			return -EALREADY;
	} while (!cas_relaxed(&token->_state, &state, state | BATON__TOKEN_DECIDED));
	return 0;
}

void baton__token_finish(struct baton_detached *token)
{
	struct baton_resource *resource = token->_resource;
	struct baton_window *window = token->_window;
	struct baton_future *future = token->_future;
	/* Relaxed: after the decision the word is constant. */
	uint32_t state = load_relaxed(&token->_state);
	int status = token->_status;

	if (future) /* also the last touch of the token, which may be gone now */
		baton__future_finish(future, status ? BATON__FUTURE_FAILED : BATON__FUTURE_DONE,
		                     status, token->_value, NULL);
	if (window)
		baton__window_finished(window);
	if (state & BATON__TOKEN_HOLD)
		baton__unshelve(resource, false); /* last touch, unless COUNTED */
	if (state & BATON__TOKEN_COUNTED)
		baton__visit_end(resource); /* last touch */
}

BATON_EXPORT int baton_detached_complete(struct baton_detached *token, int status, void *value)
{
	int error = 0;

	if (BATON_UNLIKELY(!baton__has_record(baton__self)))
		error = baton__thread_attach();
	if (!error)
		error = baton__token_decide(token);
	if (error)
		return BATON__ANSWER_INVALID(NULL, error);
	token->_status = status;
	token->_value = value;
	if (token->_deadline)
		baton__deadline_end(token->_deadline);
	else
		baton__token_finish(token);
	return 0;
}

BATON_EXPORT bool baton_detached_cancel_requested(const struct baton_detached *token)
{
	/* Relaxed: a hint. */
	return token->_future && load_relaxed(&token->_future->_state) & BATON__FUTURE_STOP;
}
