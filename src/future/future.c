/* SPDX-License-Identifier: MIT */
/*
 * Futures. Completion is one CAS, so that a waiter may give the memory back at once. Waiting
 * (wait.c) and cancelling a task (cancel.c) need the resource, and so belong to the core.
 */
#include "future/future.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "base/futex.h"
#include "base/probe.h"
#include "base/refused.h"
#include "thread/node.h"
#include "thread/thread.h"
#include "future/firing.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

BATON_EXPORT void baton_future_init(struct baton_future *future)
{
	BATON__NEED(future, "the future is NULL");
	*future = (struct baton_future)BATON_FUTURE_INIT;
}

BATON_EXPORT void baton_promise_init(struct baton_future *future)
{
	BATON__NEED(future, "the promise is NULL");
	*future = (struct baton_future)BATON_PROMISE_INIT;
	/* unshared: for baton__promise_maker */
	future->_status = (int32_t)(baton__self->tid ? baton__self->tid : (uint32_t)gettid());
}

uint32_t baton__promise_maker(const struct baton_future *future)
{
	if (!(load_relaxed(&future->_state) & BATON__FUTURE_PROMISE))
		return 0;
	/* Relaxed: for messages. Of a promise that has just been completed, it is the status. */
	return (uint32_t)load_relaxed(&future->_status);
}

BATON_EXPORT enum baton_future_state baton_future_state(const struct baton_future *future)
{
	/* [future.final] acquire: what the task did; pairs with [future.final] in publish */
	uint32_t state = load_acquire(&future->_state);

	switch (state & BATON__FUTURE_STATE) {
	case BATON__FUTURE_RUNNING:
		/* A promise is claimed only during its completion. */
		return state & BATON__FUTURE_PROMISE ? BATON_PENDING : BATON_RUNNING;
	case BATON__FUTURE_DONE:
		return BATON_DONE;
	case BATON__FUTURE_FAILED:
		return BATON_FAILED;
	case BATON__FUTURE_CANCELLED:
		return BATON_CANCELLED;
	case BATON__FUTURE_PENDING:
		/* Relaxed: a hint; the caller reads nothing because of this load. */
		return baton__binding_entered(load_relaxed(&future->_resource)) ? BATON_RUNNING
		                                                                : BATON_PENDING;
	default:
		return BATON_PENDING;
	}
}

BATON_EXPORT int baton_future_status(const struct baton_future *future)
{
	return baton__future_final(future) ? future->_status : -EAGAIN;
}

BATON_EXPORT void *baton_future_value(const struct baton_future *future)
{
	return baton__future_final(future) ? future->_value : NULL;
}

/* Called before the CAS that clears VISITOR: counts the visitor; or, if the visitor has left after
 * it was counted, takes the count back. */
static void count_visitor(uint32_t state, uint32_t *visits, bool *counted)
{
	bool visitor = state & BATON__FUTURE_VISITOR;

	if (visitor == *counted)
		return;
	BATON_ASSERT(visits);
	*counted = visitor;
	/* Relaxed: the visitor subtracts after it has seen its bit cleared by our CAS
	 * ([future.counted]). The release for good is made by this thread, or by a thread that gets
	 * the baton from it. */
	if (visitor)
		(void)add_relaxed(visits, BATON__VISIT);
	else
		(void)sub_relaxed(visits, BATON__VISIT);
}

/* Is the future in this state, and the runner's alone (future.forgotten)? */
BATON_INLINE bool is_forgotten(const struct baton_future *future, uint32_t found, uint32_t state)
{
	if (BATON_LIKELY((found & (BATON__FUTURE_GENERATION - 1) & ~BATON__FUTURE_STOP) !=
	                 (state | BATON__FUTURE_COUNTED | BATON__FUTURE_DROPPED)))
		return false;
	/* [future.reference] acquire: all use from outside; pairs with [future.reference] in
	 * unref */
	(void)load_acquire(&future->_state);
	return true;
}

bool baton__future_claim(struct baton_future *future, uint32_t *visits)
{
	uint32_t state = load_relaxed(&future->_state);
	uint32_t next;
	bool counted = false;

	if (is_forgotten(future, state, BATON__FUTURE_PENDING)) {
		/* Relaxed: no other thread looks. */
		store_relaxed(&future->_state, state | BATON__FUTURE_RUNNING);
		return true;
	}
	/* Ends: each failure is a flag, set once per call by a waiter, a canceller or then(), or a
	 * visitor that comes or leaves. */
	do {
		uint32_t base = state & BATON__FUTURE_STATE;

		count_visitor(state, visits, &counted);
		next = state & ~BATON__FUTURE_VISITOR;
		if (base == BATON__FUTURE_PENDING)
			next = (next & ~BATON__FUTURE_STATE) | BATON__FUTURE_RUNNING;
		else if (!counted)
			return false;
		/* [future.counted] release: the visit is counted; pairs with [future.counted] in
		 * leave.
		 * [future.visitor] acquire: what an uncounted visitor did; pairs with
		 * [future.visitor] in leave. Release is enough: finish acquires the same.
		 * Relaxed is seldom noticed: as in leave. */
	} while (!cas_acq_rel(&future->_state, &state, next));
	return (next & BATON__FUTURE_STATE) == BATON__FUTURE_RUNNING;
}

bool baton__future_unclaim(struct baton_future *future)
{
	uint32_t state = load_relaxed(&future->_state);

	/* thread.asleep (thread.c) seq_cst: before the caller queues the resource. A waiter that
	 * has found the future claimed, and sleeps, is nudged after that. Ends: as in claim. */
	do {
		if (state & BATON__FUTURE_DROPPED)
			return false;
	} while ((state & BATON__FUTURE_STATE) == BATON__FUTURE_RUNNING &&
	         !cas_seq_cst(&future->_state, &state, state - BATON__FUTURE_RUNNING));
	return true;
}

/* Appends the continuations linked since the last look to a list, in order of registration. */
static void take_continuations(struct baton_future *future, struct baton_continuation **last)
{
	struct baton_continuation *newest;
	struct baton_continuation *oldest = NULL;

	/* [future.continuation] acquire: the nodes; pairs with [future.continuation] in then */
	newest = swap_acquire(&future->_continuations, NULL);
	while (newest) {
		struct baton_continuation *next = newest->_next;

		newest->_next = oldest;
		oldest = newest;
		newest = next;
	}
	while (*last)
		last = &(*last)->_next;
	*last = oldest;
}

/* Makes the future final, and returns the state before. Appends its continuations to a list. */
BATON_INLINE uint32_t publish(struct baton_future *future, uint32_t state, int status, void *value,
                              uint32_t *visits, struct baton_continuation **continuations)
{
	uint32_t found = load_relaxed(&future->_state);
	bool counted = false;

	BATON_ASSERT(!(found & BATON__FUTURE_FINAL));
	if (is_forgotten(future, found, BATON__FUTURE_RUNNING))
		return found;
	/* Relaxed: [future.final] publishes the value. Atomic: while a refused submitter completes
	 * the future, a canceller may read the value to find its task (list.back_link,
	 * core/list.h). The status is atomic for baton__promise_maker. */
	store_relaxed(&future->_value, value);
	store_relaxed(&future->_status, status);
	/* Ends: as in claim. */
	for (;;) {
		uint32_t next;

		count_visitor(found, visits, &counted);
		if (found & BATON__FUTURE_CHAINED) {
			next = found & ~BATON__FUTURE_CHAINED;
			/* [future.chained] acquire: the list's head; pairs with [future.chained] in
			 * then. Relaxed goes unnoticed: the explorer keeps modification order. */
			if (cas_acquire(&future->_state, &found, next)) {
				take_continuations(future, continuations);
				found = next;
			}
			continue;
		}
		next = state | (found & (BATON__FUTURE_PROMISE | BATON__FUTURE_COUNTED));
		/* [future.final] release: value, status, and all that the task did; pairs with
		 * [future.final] in baton__future_final.
		 * [future.counted] release: the visit is counted; pairs with [future.counted] in
		 * leave.
		 * [future.reference] acquire: other threads' use, where this one frees the future;
		 * pairs with [future.reference] in unref.
		 * [future.visitor] acquire: what an uncounted visitor did; pairs with
		 * [future.visitor] in leave.
		 * Linearisation point, and the last touch unless DROPPED. */
		if (cas_acq_rel(&future->_state, &found, next))
			return found;
	}
}

void baton__future_finish(struct baton_future *future, uint32_t state, int status, void *value,
                          uint32_t *visits)
{
	struct baton_continuation *continuations = NULL;
	uint32_t found;

	BATON_PROBE(future__complete, future, status);
	found = publish(future, state, status, value, visits, &continuations);
	if (found & BATON__FUTURE_SLEEPERS)
		baton__futex_wake(&future->_state, INT_MAX);
	if (continuations) /* mostly none */
		baton__future_fire(continuations);
	if (found & BATON__FUTURE_DROPPED)
		baton__node_free(future);
}

bool baton__future_publish(struct baton_future *future, uint32_t state, int status, void *value,
                           struct baton_continuation **continuations)
{
	uint32_t found = publish(future, state, status, value, NULL, continuations);

	if (found & BATON__FUTURE_DROPPED)
		baton__node_free(future);
	return found & BATON__FUTURE_SLEEPERS;
}

void baton__future_detach(struct baton_future *future)
{
	/* A canceller that finds the future unbound must see that its task runs
	 * ([future.bind]). Relaxed: the bind publishes it. */
	if (baton__binding_entered(load_relaxed(&future->_resource)))
		(void)add_relaxed(&future->_state, BATON__FUTURE_RUNNING);
	baton__future_bind(future, NULL);
}

struct baton_resource *baton__future_visit(struct baton_future *future, uint32_t *generation)
{
	/* Ends: each failure is a flag set once, a visitor that comes or leaves, or progress of the
	 * runner. */
	for (;;) {
		/* [future.unbound] acquire: before the look at the resource; pairs with
		 * [future.unbound] in settle. thread.asleep (thread.c) seq_cst: after this thread's
		 * store of `asleep`, see unclaim. */
		uint32_t state = load_seq_cst(&future->_state);
		uint32_t base = state & BATON__FUTURE_STATE;
		struct baton_resource *resource = baton__future_binding(future);

		if (base != BATON__FUTURE_PENDING && base != BATON__FUTURE_CANCELLING)
			return NULL;
		if (!resource || baton__binding_entered(resource))
			return NULL;
		if (state & BATON__FUTURE_VISITOR) {
			if (!load_relaxed(&baton__self->asleep))
				return NULL;
			baton__thread_obstructed(future);
			/* [future.wanted] release: our `asleep` and `obstacle`; pairs with
			 * [future.wanted] in leave. An RMW even where WANTED is set: only an RMW
			 * that succeeds is known to come before leave's RMW. If the RMW fails, the
			 * visitor may have left. Relaxed is seldom noticed: rare. */
			if (cas_release(&future->_state, &state, state | BATON__FUTURE_WANTED))
				return NULL;
			continue;
		}
		/* Succeeds only if no submit was refused since the look: the future is still bound
		 * to `resource`. Relaxed: the bit orders nothing. */
		if (cas_relaxed(&future->_state, &state, state | BATON__FUTURE_VISITOR)) {
			*generation = baton__future_generation(state);
			return resource;
		}
	}
}

bool baton__future_leave(struct baton_future *future, uint32_t generation)
{
	uint32_t state = load_relaxed(&future->_state);

	/* Ends: as in visit. A bit of another generation is not ours (future.generation). */
	while (state & BATON__FUTURE_VISITOR && baton__future_generation(state) == generation) {
		/* [future.visitor] release: our touches of the resource; pairs with
		 * [future.visitor] in claim, publish, settle.
		 * [future.wanted] acquire: `obstacle` of the threads that want us to leave; pairs
		 * with [future.wanted] in visit. Release is seldom noticed: as in visit. */
		if (cas_acq_rel(&future->_state, &state,
		                state & ~(BATON__FUTURE_VISITOR | BATON__FUTURE_WANTED))) {
			/* The CAS was the last touch: the address is only compared. */
			if (state & BATON__FUTURE_WANTED)
				baton__thread_nudge_obstructed(future);
			return false;
		}
	}
	/* [future.counted] acquire: the visit was counted before; pairs with [future.counted] in
	 * claim, publish, settle. Relaxed goes unnoticed: the explorer keeps modification order. */
	(void)load_acquire(&future->_state);
	return true;
}

uint32_t baton__future_settle(struct baton_future *future, uint32_t *visits, bool *spare)
{
	uint32_t state = load_relaxed(&future->_state);
	uint32_t next;
	bool counted = false;

	/* Ends: as in visit. The count is not taken back here, unlike in count_visitor: this thread
	 * does not hold the baton, and the runner may have left because of the count. WANTED is
	 * cleared, too: the visitor will nudge no thread.
	 * [future.unbound] release: the resource is unbound; pairs with [future.unbound] in visit,
	 * and with the loads of decide (cancel.c) and announce (wait.c).
	 * [future.counted] release: the visit is counted; pairs with [future.counted] in leave.
	 * [future.visitor] acquire: what an uncounted visitor did; pairs with [future.visitor] in
	 * leave */
	do {
		if (state & BATON__FUTURE_VISITOR && !counted) {
			(void)add_relaxed(visits, BATON__VISIT);
			counted = true;
		}
		next = state & ~(BATON__FUTURE_VISITOR | BATON__FUTURE_WANTED);
	} while (!cas_acq_rel(&future->_state, &state, next + BATON__FUTURE_GENERATION));
	/* A waiter that sleeps for this resource would not be nudged for the next one. */
	if (state & BATON__FUTURE_SLEEPERS)
		baton__futex_wake(&future->_state, INT_MAX);
	*spare = counted && !(state & BATON__FUTURE_VISITOR);
	return state & BATON__FUTURE_STATE;
}

/* Claims a promise. The caller finishes it at once. */
static int claim_promise(struct baton_future *future)
{
	uint32_t state = load_relaxed(&future->_state);

	/* Ends: as in claim. */
	do {
		if (!(state & BATON__FUTURE_PROMISE))
			return baton__refused("baton_future_*: the future is a task's, no promise");
		if ((state & BATON__FUTURE_STATE) != BATON__FUTURE_PENDING)
			return -EALREADY;
	} while (!cas_relaxed(&future->_state, &state, state | BATON__FUTURE_RUNNING));
	return 0;
}

BATON_EXPORT int baton_future_complete(struct baton_future *future, int status, void *value)
{
	int error = claim_promise(future);

	if (!error)
		baton__future_finish(future, status ? BATON__FUTURE_FAILED : BATON__FUTURE_DONE,
		                     status, value, NULL);
	return BATON__ANSWER_INVALID(NULL, error);
}

int baton__promise_cancel(struct baton_future *future)
{
	int error = claim_promise(future);

	if (!error)
		baton__future_finish(future, BATON__FUTURE_CANCELLED, -ECANCELED, NULL, NULL);
	return error;
}

BATON_EXPORT void baton_future_then(struct baton_future *future,
                                    struct baton_continuation *continuation)
{
	BATON__CHECKED(then(future, continuation, __func__));

	struct baton_continuation *mine = NULL;
	uint32_t state;

	continuation->_next = load_relaxed(&future->_continuations);
	/* Ends: each failure is another then(), or the completer that takes the list.
	 * [future.continuation] release: the node; pairs with [future.continuation] in
	 * take_continuations */
	while (!cas_release(&future->_continuations, &continuation->_next, continuation))
		baton__pause();
	/* [future.final] acquire: of a complete future, this thread fires the continuation; pairs
	 * with [future.final] in publish */
	state = load_acquire(&future->_state);
	while (!(state & BATON__FUTURE_FINAL)) {
		/* [future.chained] release: the list has a node; pairs with [future.chained] in
		 * publish. A CAS even where the bit is set: only a CAS that succeeds is known to
		 * come before the CAS that clears the bit, after which the completer takes the
		 * list. Relaxed goes unnoticed: as in publish. */
		if (!(state & BATON__FUTURE_CHAINED)) {
			if (cas_release(&future->_state, &state, state | BATON__FUTURE_CHAINED))
				return; /* Relaxed goes unnoticed: as in publish. */
		} else if (cas_release(&future->_state, &state, state)) {
			return;
		}
		if (state & BATON__FUTURE_FINAL)
			/* [future.final] acquire: the failed CAS read relaxed */
			state = load_acquire(&future->_state);
	}
	take_continuations(future, &mine);
	if (mine)
		baton__future_fire(mine);
}

#define NOT_COUNTED                                                                                \
	"the future is your own memory, or was given back: only those that the library made are "  \
	"counted"
#define NO_REFERENCE "there is no reference left: one unref too many"

BATON_EXPORT struct baton_future *baton_future_ref(struct baton_future *future)
{
	struct baton__counted *counted = (struct baton__counted *)(void *)future;

	BATON_REQUIRE(load_relaxed(&future->_state) & BATON__FUTURE_COUNTED, NOT_COUNTED);
	/* Relaxed: the caller has a reference, so no thread frees the future meanwhile. */
	BATON_REQUIRE(add_relaxed(&counted->references, 1) > 0, NO_REFERENCE);
	return future;
}

BATON_EXPORT void baton_future_unref(struct baton_future *future)
{
	struct baton__counted *counted = (struct baton__counted *)(void *)future;
	uint32_t before;

	BATON_REQUIRE(load_relaxed(&future->_state) & BATON__FUTURE_COUNTED, NOT_COUNTED);
	/* [future.reference] acquire: the use by threads that have dropped theirs; pairs with
	 * [future.reference] below */
	if (load_acquire(&counted->references) == 1) {
		/* Relaxed: no other thread has a reference. A further unref, and a ref, find the 0
		 * until the node is used anew. */
		store_relaxed(&counted->references, 0);
	} else {
		/* [future.reference] release: this thread's use; acquire: the use by the threads
		 * before; pairs with [future.reference] above and in publish */
		before = sub_acq_rel(&counted->references, 1);
		BATON_REQUIRE(before > 0, NO_REFERENCE);
		if (before > 1)
			return;
	}
	/* [future.reference] release: all use from outside; pairs with [future.reference] in
	 * publish, is_forgotten.
	 * [future.final] acquire: the completer's touches, of which that CAS was the last; pairs
	 * with [future.final] in publish */
	if (baton__future_final(future) ||
	    or_acq_rel(&future->_state, BATON__FUTURE_DROPPED) & BATON__FUTURE_FINAL)
		baton__node_free(counted);
}
