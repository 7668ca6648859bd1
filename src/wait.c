/* SPDX-License-Identifier: MIT */
/*
 * Waiting for futures: look, pause, help, yield, and only then sleep.
 *
 * A wake from another core costs as much as a thousand tasks, so a waiter gives the runner time:
 * about a hundred pauses, then many yields (yield.c says when they do not pay), between which it
 * tries to run the awaited task itself (help). It sleeps on the futures' state words and on its own
 * `nudge` word, which is bumped when there may be something to help with that was not there before,
 * or that was another helper's (thread.h, T2, T3, T5).
 */
#include "resource.h"

#include "atomic.h"
#include "cycle.h"
#include "futex.h"
#include "place.h"
#include "yield.h"

#include <errno.h>

#ifndef BATON_WAIT_PAUSES /* tests make these small */
#define BATON_WAIT_PAUSES 100
#define BATON_WAIT_YIELDS 200
#define BATON_WAIT_YIELDS_PER_HELP 16
#endif

_Static_assert(BATON_WAIT_ANY_MAX + 1 <= BATON__FUTEX_WATCH_MAX, "the futures and the nudge");

struct wait {
	struct baton_future *const *futures;
	size_t count;
	const struct timespec *deadline;
	uint64_t deadline_ns;    /* 0: none */
	bool all;                /* or any of them */
	bool last_look;          /* before the sleep */
	enum baton__abort abort; /* if it closes a cycle */
	uint32_t answered;       /* the nudges until then: helped since, or not for this wait */
	size_t index;            /* any: of a complete one; all: those before it are complete */
};

/* Is it over? */
static bool found(struct wait *wait)
{
	if (wait->all) {
		while (wait->index < wait->count && baton__future_final(wait->futures[wait->index]))
			wait->index++;
		return wait->index == wait->count;
	}
	for (size_t i = 0; i < wait->count; i++) {
		if (baton__future_final(wait->futures[i])) {
			wait->index = i;
			return true;
		}
	}
	return false;
}

static bool passed(const struct wait *wait)
{
	return wait->deadline && baton__now_ns() >= wait->deadline_ns;
}

/* May this thread run the resource's tasks, whose limit is 0? Only as one of its executor's. */
static bool may_help(const struct baton_resource *resource, const struct baton_executor *executor)
{
	const struct baton_executor *member = baton__self->member;

	if (baton__capture_limit(resource))
		return true;
	return member && member == (executor ? executor : baton__executor_default_peek());
}

/*
 * Helps the resource, which we visit; else lets its executor run something, if it is this thread
 * that drives it. Ends the visit.
 */
static int help_visited(struct wait *wait, struct baton_future *future,
                        struct baton_resource *resource, uint32_t generation)
{
	struct baton_executor *executor = resource->_config ? resource->_config->executor : NULL;
	int (*drive)(struct baton_executor *) = executor ? executor->_ops->drive : NULL;
	bool able = may_help(resource, executor);
	bool too_deep = able && baton__self->depth >= BATON_HELPING_MAX;
	int status = 0;
	bool queued;

	if (able && !too_deep)
		status = baton__help(resource, future, wait->deadline_ns, wait->last_look);
	queued = status == 0 && baton__queued(resource);
	/* Without the resource nothing keeps the executor but this; its own thread, which drive()
	 * may lead astray from here, is the one that would destroy it. */
	baton__thread_enter(executor);
	/* Last touch of the resource; of the executor too, if the visit had been counted: as the
	 * last visitor we may have handed off the resource, and are inside no more (T4), or ended
	 * it all, finaliser and executor included. Nor is there anything to drive for: the runner
	 * has come to the task, or it was refused. */
	if (!baton__leave(future, resource, generation) && status == 0 &&
	    !baton__future_final(future)) {
		if (drive)
			status = drive(executor);
		if (status != 1)
			status = queued && wait->last_look && (too_deep || status == -EDEADLK)
			                 ? -EDEADLK
			                 : 0;
	}
	baton__thread_leave();
	return status;
}

/*
 * Tries to bring one future nearer. 1: something was done; 0: nothing to do; -EDEADLK: never. At
 * the last look a resource that is still queued, and that we are too deep to help, counts as never.
 */
static int help_one(struct wait *wait, struct baton_future *future)
{
	struct baton_resource *resource = baton__future_resource(future);
	uint32_t generation;
	int status;

	/* [N6] seq_cst: after our store of `asleep`. The submitter has written it before the
	 * seq_cst operation that queues the task, and looks for sleepers then; but not seq_cst
	 * itself, for that would cost each submit an atomic. A load might miss it; the RMW does not
	 * where a seq_cst operation takes along what came before it: x86, ARMv8, POWER; C11 does
	 * not say so. Pairs with [N6] in baton__ready. Ends: a failure is another submit. */
	while (wait->last_look && !cas_seq_cst(&future->_resource, &resource, resource))
		continue;
	if (!resource || baton__future_final(future))
		return 0;
	if (baton__thread_holds(baton__self, resource))
		return baton__cycle_of_one(resource);
	resource = baton__future_visit(future, &generation);
	if (!resource)
		return 0;
	baton__self->visits++;
	status = help_visited(wait, future, resource, generation);
	baton__self->visits--;
	baton__deferred_check(baton__self);
	if (status == -EDEADLK)
		(void)baton__cycle_of_one(NULL);
	return status;
}

/* The same for all that are left; -EDEADLK if what is waited for can never be. */
static int help(struct wait *wait)
{
	size_t first = wait->all ? wait->index : 0;
	size_t dead = 0;

	for (size_t i = first; i < wait->count; i++) {
		int status = help_one(wait, wait->futures[i]);

		if (status == 1)
			return 1;
		if (status == -EDEADLK && !baton__future_final(wait->futures[i]))
			dead++;
	}
	return dead && (wait->all || dead == wait->count) ? -EDEADLK : 0;
}

/* Looks for about as long as the kernel would take to put us to sleep and wake us. */
static int spin(struct wait *wait)
{
	struct baton__yields yields;

	for (int i = 0; i < BATON_WAIT_PAUSES; i++) {
		baton__pause();
		if (found(wait))
			return 0;
	}
	for (int i = 0; i < BATON_WAIT_YIELDS; i++) {
		if (i % BATON_WAIT_YIELDS_PER_HELP == 0) {
			int status = help(wait);

			if (found(wait))
				return 0;
			if (status < 0)
				return status;
			if (passed(wait))
				return -ETIMEDOUT;
			if (!baton__yields_begin(&yields))
				return -EAGAIN;
		}
		if (found(wait))
			return 0;
		if (!baton__yield(&yields))
			return found(wait) ? 0 : -EAGAIN;
	}
	return -EAGAIN;
}

/* Announces a sleeper: the completer wakes it. False: the future is complete. */
static bool announce(struct baton_future *future, struct baton__futex_watch *watch)
{
	uint32_t *word = &future->_state;
	uint32_t state;

	/* Ends: each failure is a flag set once, a visitor, the runner's progress, or a refusal.
	 * The completer's CAS, or settle's, fails on the bit, or comes first: then the word is no
	 * longer what we watch, or we see it here. [F8] acquire: in the latter case also what
	 * became of the resource, for doze; pairs with [F8] in settle */
	do {
		state = load_acquire(word);
		if (state & BATON__FUTURE_FINAL)
			return false;
	} while (!(state & BATON__FUTURE_SLEEPERS) &&
	         !cas_acquire(word, &state, state | BATON__FUTURE_SLEEPERS));
	*watch = (struct baton__futex_watch){word, state | BATON__FUTURE_SLEEPERS};
	return true;
}

static void tell_executor(struct baton_executor *member, bool blocked)
{
	if (member && member->_ops->blocked)
		member->_ops->blocked(member, blocked);
}

/* What we are to be nudged for, see thread.h. */
static const void *awaiting(const struct wait *wait)
{
	struct baton_future *future = wait->futures[0];
	const void *resource;

	if (wait->count > 1)
		return NULL;
	resource = baton__future_resource(future);
	/* Not submitted yet, and then perhaps to a resource that only our executor's threads may
	 * run, who all wait like us (L9). Not if it never will be. Relaxed: constant after init. */
	if (resource ||
	    (baton__self->member && !(load_relaxed(&future->_state) & BATON__FUTURE_PROMISE)))
		return resource;
	return baton__self;
}

/* Apart, since these arrays would stand between the frames of nested help. */
static BATON_NOINLINE int doze(struct wait *wait, uint32_t nudge)
{
	struct baton__futex_watch watches[BATON_WAIT_ANY_MAX + 1];
	/* All: one after the other. */
	size_t first = wait->all ? wait->index : 0;
	size_t count = wait->all ? 1 : wait->count;

	for (size_t i = 0; i < count; i++)
		if (!announce(wait->futures[first + i], &watches[i]))
			return 0;
	/* Bound anew since we have said so: we look again. Later that wakes us. */
	if (awaiting(wait) != load_relaxed(&baton__self->awaiting))
		return 0;
	watches[count] = (struct baton__futex_watch){&baton__self->nudge, nudge};
	return baton__futex_wait(watches, count + 1, wait->deadline);
}

/* The same for a thread that others may wait for; without a deadline, with which it would end. */
static BATON_NOINLINE int doze_in_task(struct wait *wait, uint32_t nudge)
{
	size_t first = wait->all ? wait->index : 0;
	struct baton__edge edge = {
		.futures = wait->futures + first,
		.count = wait->count - first,
		.all = wait->all,
		.abort = wait->abort,
	};
	int status = baton__cycle_enter(&edge);

	if (status)
		return status;
	status = doze(wait, nudge);
	return baton__cycle_leave(&edge) ? -EDEADLK : status;
}

/* One sleep, or one piece of help instead. 0: go on. */
static int sleep_once(struct wait *wait)
{
	uint32_t nudge = baton__thread_sleeps(awaiting(wait));
	int status = help(wait);

	/* What this thread has put off may be what it waits for (PL2). */
	if (status == 0 && BATON_UNLIKELY(baton__self->late_queued) &&
	    baton__self->depth < BATON_HELPING_MAX && baton__late_run())
		status = 1;

	/* A callback of somebody's may have waited meanwhile, and woken us in our place. */
	if (status == 0 && load_relaxed(&baton__self->asleep))
		status = baton__self->top && !wait->deadline ? doze_in_task(wait, nudge)
		                                             : doze(wait, nudge);
	if (status == 1)
		wait->answered = nudge;
	if (status >= 0)
		status = passed(wait) ? -ETIMEDOUT : 0;
	/* Nudged, in this round or before, and leaving without having helped since: somebody else
	 * may have to do what we were to. */
	if (baton__thread_wakes(wait->answered) && (status < 0 || found(wait)))
		baton__thread_nudge_all();
	return status;
}

static int wait_some(struct wait *wait)
{
	struct baton_executor *member;
	int status;

	if (found(wait))
		return 0;
	status = baton__thread_attach();
	if (status)
		return status;
	if (wait->deadline)
		wait->deadline_ns = baton__deadline_ns(wait->deadline) | 1; /* not 0: none */
	status = spin(wait);
	if (status != -EAGAIN)
		return status;
	/* Once per wait, not per sleep: a nudge answered by another nudge would never end. */
	member = baton__self->member;
	tell_executor(member, true);
	wait->last_look = true;
	/* Relaxed: a nudge that comes before our first sleep was for another wait. */
	wait->answered = load_relaxed(&baton__self->nudge);
	/* Ended by the completers of the futures, or the deadline. */
	do {
		status = sleep_once(wait);
		if (found(wait))
			status = 1;
	} while (status == 0);
	tell_executor(member, false);
	return status == 1 ? 0 : status;
}

int baton__wait_for_call(struct baton_future *future, enum baton__abort abort)
{
	struct wait wait = {.futures = &future, .count = 1, .abort = abort};

	return wait_some(&wait);
}

BATON_EXPORT int baton_future_wait_any(struct baton_future *const *futures, size_t count,
                                       const struct timespec *deadline, size_t *index)
{
	struct wait wait = {.futures = futures, .count = count, .deadline = deadline};
	int status;

	if (count == 0 || count > BATON_WAIT_ANY_MAX || !baton__deadline_valid(deadline))
		return -EINVAL;
	status = wait_some(&wait);
	if (!status && index)
		*index = wait.index;
	return status;
}

BATON_EXPORT int baton_future_wait_all(struct baton_future *const *futures, size_t count,
                                       const struct timespec *deadline)
{
	struct wait wait = {.futures = futures, .count = count, .deadline = deadline, .all = true};

	return baton__deadline_valid(deadline) ? wait_some(&wait) : -EINVAL;
}

BATON_EXPORT int baton_future_wait_until(struct baton_future *future,
                                         const struct timespec *deadline)
{
	return baton_future_wait_any(&future, 1, deadline, NULL);
}

BATON_EXPORT int baton_future_wait(struct baton_future *future)
{
	return baton_future_wait_any(&future, 1, NULL, NULL);
}
