/* SPDX-License-Identifier: MIT */
/*
 * Futures: completion in one CAS, so that memory can be given back at once; waiting is in wait.c,
 * cancelling a task in cancel.c, since both need the resource.
 */
#include "future/future.h"

#include "base/atomic.h"
#include "base/futex.h"
#include "thread/node.h"
#include "thread/thread.h"

#include <errno.h>
#include <limits.h>

BATON_EXPORT void baton_future_init(struct baton_future *future)
{
	*future = (struct baton_future)BATON_FUTURE_INIT;
}

BATON_EXPORT void baton_promise_init(struct baton_future *future)
{
	*future = (struct baton_future)BATON_PROMISE_INIT;
}

BATON_EXPORT enum baton_future_state baton_future_state(const struct baton_future *future)
{
	/* [F1] acquire: what the task did; pairs with [F1] in finish */
	uint32_t state = load_acquire(&future->_state);

	switch (state & BATON__FUTURE_STATE) {
	case BATON__FUTURE_RUNNING:
		/* A promise is claimed for the few instructions of its completion. */
		return state & BATON__FUTURE_PROMISE ? BATON_PENDING : BATON_RUNNING;
	case BATON__FUTURE_DONE:
		return BATON_DONE;
	case BATON__FUTURE_FAILED:
		return BATON_FAILED;
	case BATON__FUTURE_CANCELLED:
		return BATON_CANCELLED;
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

/* Counts the visitor, if there is one, before the CAS that clears its bit; undoes a miscount. */
static void count_visitor(uint32_t state, uint32_t *visits, bool *counted)
{
	bool visitor = state & BATON__FUTURE_VISITOR;

	if (visitor == *counted)
		return;
	BATON_ASSERT(visits);
	*counted = visitor;
	/* Relaxed: the visitor subtracts after it has seen its bit cleared by our CAS [F2], and the
	 * release for good is ours too, or comes to others with the baton. */
	if (visitor)
		(void)add_relaxed(visits, BATON__VISIT);
	else
		(void)sub_relaxed(visits, BATON__VISIT);
}

bool baton__future_claim(struct baton_future *future, uint32_t *visits)
{
	uint32_t state = load_relaxed(&future->_state);
	uint32_t next;
	bool counted = false;

	/* Ends: each failure is a flag set by a waiter, canceller or then(), each at most once per
	 * call, or a visitor coming or going. */
	do {
		uint32_t base = state & BATON__FUTURE_STATE;

		count_visitor(state, visits, &counted);
		next = state & ~BATON__FUTURE_VISITOR;
		if (base == BATON__FUTURE_PENDING)
			next = (next & ~BATON__FUTURE_STATE) | BATON__FUTURE_RUNNING;
		else if (!counted)
			return false;
		/* [F2] release: the visit is counted; pairs with [F2] in leave.
		 * [F7] acquire: what an uncounted visitor did; pairs with [F7] in leave */
	} while (!cas_acq_rel(&future->_state, &state, next));
	return (next & BATON__FUTURE_STATE) == BATON__FUTURE_RUNNING;
}

/* Appends what then() has linked since the last look, in order of registration. */
static void take_continuations(struct baton_future *future, struct baton_continuation **last)
{
	struct baton_continuation *newest;
	struct baton_continuation *oldest = NULL;

	/* [F3] acquire: the nodes; pairs with [F3] in then */
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

/*
 * A loop that fires continuations. A continuation may complete futures that have continuations, and
 * so on without end (a chain of tasks for closed resources). The running loop fires those, too,
 * before the rest of its own, unless a function of the user's has been called meanwhile. Such a
 * function always has a frame, and may wait for the futures that it completes.
 */
struct firing {
	const struct baton__frame *top; /* the thread's innermost frame when the loop began */
	struct baton_continuation *next;
};

/* Not in the thread's record: a thread that had no memory for a record has none. */
static __thread struct firing *firing __attribute__((tls_model("initial-exec")));

static BATON_NOINLINE void fire(struct baton_continuation *continuation)
{
	struct firing *outer = firing;
	struct firing mine = {baton__self->top, continuation};

	if (outer && outer->top == mine.top) {
		struct baton_continuation **end = &mine.next;

		/* Each is walked over once for the completion that has brought it. */
		while (*end)
			end = &(*end)->_next;
		*end = outer->next;
		outer->next = continuation;
		return;
	}
	firing = &mine;
	while (mine.next) {
		continuation = mine.next;
		mine.next = continuation->_next;
		continuation->_fire(continuation); /* last touch */
	}
	firing = outer;
}

/* Makes it final: the state before that. Its continuations are appended to `*continuations`. */
BATON_INLINE uint32_t publish(struct baton_future *future, uint32_t state, int status, void *value,
                              uint32_t *visits, struct baton_continuation **continuations)
{
	uint32_t found = load_relaxed(&future->_state);
	bool counted = false;

	BATON_ASSERT(!(found & BATON__FUTURE_FINAL));
	/* Relaxed: published by [F1]. A canceller may look for its task by the value (backlog.h),
	 * although it is the submitter, refused, that completes. */
	store_relaxed(&future->_value, value);
	future->_status = status;
	/* Ends: as in claim. */
	for (;;) {
		uint32_t next;

		count_visitor(found, visits, &counted);
		if (found & BATON__FUTURE_CHAINED) {
			next = found & ~BATON__FUTURE_CHAINED;
			/* [F4] acquire: the list's head; pairs with [F4] in then */
			if (cas_acquire(&future->_state, &found, next)) {
				take_continuations(future, continuations);
				found = next;
			}
			continue;
		}
		next = state | (found & (BATON__FUTURE_PROMISE | BATON__FUTURE_COUNTED));
		/* [F1] release: value, status, and all that the task did; pairs with [F1] in
		 * baton__future_final. [F2] release: the visit is counted; pairs with [F2] in
		 * leave. [F6] acquire: the others' use is over; pairs with [F6] in unref.
		 * [F7] acquire: what an uncounted visitor did; pairs with [F7] in leave.
		 * Linearisation point, and the last touch unless DROPPED. */
		if (cas_acq_rel(&future->_state, &found, next))
			return found;
	}
}

void baton__future_finish(struct baton_future *future, uint32_t state, int status, void *value,
                          uint32_t *visits)
{
	struct baton_continuation *continuations = NULL;
	uint32_t found = publish(future, state, status, value, visits, &continuations);

	if (found & BATON__FUTURE_SLEEPERS)
		baton__futex_wake(&future->_state, INT_MAX);
	if (continuations)
		fire(continuations);
	if (found & BATON__FUTURE_DROPPED)
		baton__node_free(future);
}

void baton__future_fire(struct baton_continuation *continuation)
{
	if (continuation)
		fire(continuation);
}

bool baton__future_publish(struct baton_future *future, uint32_t state, int status, void *value,
                           struct baton_continuation **continuations)
{
	uint32_t found = publish(future, state, status, value, NULL, continuations);

	if (found & BATON__FUTURE_DROPPED)
		baton__node_free(future);
	return found & BATON__FUTURE_SLEEPERS;
}

struct baton_resource *baton__future_visit(struct baton_future *future, uint32_t *generation)
{
	/* Ends: each failure is a flag set once, a visitor, or the runner's progress. */
	for (;;) {
		/* [F8] acquire: before the look at the resource; pairs with [F8] in settle */
		uint32_t state = load_acquire(&future->_state);
		uint32_t base = state & BATON__FUTURE_STATE;
		struct baton_resource *resource = baton__future_resource(future);

		if (base != BATON__FUTURE_PENDING && base != BATON__FUTURE_CANCELLING)
			return NULL;
		if (!resource)
			return NULL;
		if (state & BATON__FUTURE_VISITOR) {
			if (!load_relaxed(&baton__self->asleep))
				return NULL;
			baton__thread_obstructed(future);
			/* [N5] release: we sleep, and for whose leaving; pairs with [N5] in leave.
			 * Also when the bit is set: it puts us before the leaving, which a
			 * mere load would not. If it fails the visitor may have left. */
			if (cas_release(&future->_state, &state, state | BATON__FUTURE_WANTED))
				return NULL;
			continue;
		}
		/* Succeeds only if no submit was refused since: it is that resource. Relaxed: the
		 * bit itself orders nothing. */
		if (cas_relaxed(&future->_state, &state, state | BATON__FUTURE_VISITOR)) {
			*generation = baton__future_generation(state);
			return resource;
		}
	}
}

bool baton__future_leave(struct baton_future *future, uint32_t generation)
{
	uint32_t state = load_relaxed(&future->_state);

	/* Ends: as in visit. A bit of another generation is another's: F4. */
	while (state & BATON__FUTURE_VISITOR && baton__future_generation(state) == generation) {
		/* [F7] release: our touches of the resource; pairs with [F7] in claim, finish,
		 * settle. [N5] acquire: who found us in its way; pairs with [N5] in visit */
		if (cas_acq_rel(&future->_state, &state,
		                state & ~(BATON__FUTURE_VISITOR | BATON__FUTURE_WANTED))) {
			/* Last touch: its address is only compared. */
			if (state & BATON__FUTURE_WANTED)
				baton__thread_nudge_obstructed(future);
			return false;
		}
	}
	/* [F2] acquire: the visit was counted before; pairs with [F2] in claim, finish, settle */
	(void)load_acquire(&future->_state);
	return true;
}

uint32_t baton__future_settle(struct baton_future *future, uint32_t *visits, bool *spare)
{
	uint32_t state = load_relaxed(&future->_state);
	uint32_t next;
	bool counted = false;

	/* Ends: as in visit. Once counted it stays so: we do not hold the baton, and the runner may
	 * have left because of this count. WANTED goes too: that visitor will nudge nobody.
	 * [F8] release: the resource is unbound; pairs with [F8] in visit, cancel, announce.
	 * [F2] release: the visit is counted; pairs with [F2] in leave. [F7] acquire: as in claim;
	 * pairs with [F7] in leave */
	do {
		if (state & BATON__FUTURE_VISITOR && !counted) {
			(void)add_relaxed(visits, BATON__VISIT);
			counted = true;
		}
		next = state & ~(BATON__FUTURE_VISITOR | BATON__FUTURE_WANTED);
	} while (!cas_acq_rel(&future->_state, &state, next + BATON__FUTURE_GENERATION));
	/* Who sleeps for this resource would not be nudged for the next one. */
	if (state & BATON__FUTURE_SLEEPERS)
		baton__futex_wake(&future->_state, INT_MAX);
	*spare = counted && !(state & BATON__FUTURE_VISITOR);
	return state & BATON__FUTURE_STATE;
}

/* Claims a promise for the few instructions until it is finished. */
static int claim_promise(struct baton_future *future)
{
	uint32_t state = load_relaxed(&future->_state);

	/* Ends: as in claim. */
	do {
		if (!(state & BATON__FUTURE_PROMISE))
			return -EINVAL;
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
	return error;
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
	struct baton_continuation *mine = NULL;
	uint32_t state;

	continuation->_next = load_relaxed(&future->_continuations);
	/* Ends: each failure is another then(), or the completer taking the list.
	 * [F3] release: the node; pairs with [F3] in take_continuations */
	while (!cas_release(&future->_continuations, &continuation->_next, continuation))
		baton__pause();
	/* [F1] acquire: if it is complete we fire ourselves; pairs with [F1] in finish */
	state = load_acquire(&future->_state);
	while (!(state & BATON__FUTURE_FINAL)) {
		/* [F4] release: the list has a node; pairs with [F4] in finish. A CAS also when the
		 * bit is set already: it puts our node before the clearing of the bit, after which
		 * the completer takes the list; a mere load would not. */
		if (!(state & BATON__FUTURE_CHAINED)) {
			if (cas_release(&future->_state, &state, state | BATON__FUTURE_CHAINED))
				return;
		} else if (cas_release(&future->_state, &state, state)) {
			return;
		}
		if (state & BATON__FUTURE_FINAL)
			/* [F1] acquire, as above: the failed CAS read relaxed */
			state = load_acquire(&future->_state);
	}
	take_continuations(future, &mine);
	if (mine)
		fire(mine);
}

#define NOT_COUNTED "the future is your own memory: only those that the library made are counted"

BATON_EXPORT struct baton_future *baton_future_ref(struct baton_future *future)
{
	struct baton__counted *counted = (struct baton__counted *)(void *)future;

	BATON_REQUIRE(load_relaxed(&future->_state) & BATON__FUTURE_COUNTED, NOT_COUNTED);
	/* Relaxed: the caller has a reference, so nobody frees it meanwhile. */
	(void)add_relaxed(&counted->references, 1);
	return future;
}

BATON_EXPORT void baton_future_unref(struct baton_future *future)
{
	struct baton__counted *counted = (struct baton__counted *)(void *)future;

	BATON_REQUIRE(load_relaxed(&future->_state) & BATON__FUTURE_COUNTED, NOT_COUNTED);
	/* [F6] acquire: the others' use of it is over; pairs with [F6] below, in their unref */
	if (load_acquire(&counted->references) != 1 &&
	    /* [F6] release: so is ours; acquire: as above. Pairs with [F6] above and in finish */
	    sub_acq_rel(&counted->references, 1) != 1)
		return;
	/* [F6] release: our use; pairs with [F6] in finish. [F1] acquire: the completer's last
	 * touch was the store that we see; pairs with [F1] in finish. */
	if (baton__future_final(future) ||
	    or_acq_rel(&future->_state, BATON__FUTURE_DROPPED) & BATON__FUTURE_FINAL)
		baton__node_free(counted);
}
