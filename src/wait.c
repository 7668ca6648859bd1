/* SPDX-License-Identifier: MIT */
/*
 * Waiting for futures: look, pause, help, yield, and only then sleep.
 *
 * A wake from another core costs as much as a thousand tasks, so a waiter gives the runner time:
 * about a hundred pauses, then many sched_yields, between which it tries to run the awaited task
 * itself (help). It sleeps on the futures' state words and on its own `nudge` word, which is bumped
 * when there may be something to help with that was not there before (thread.h, T2, T3).
 */
#include "resource.h"

#include "atomic.h"
#include "futex.h"

#include <errno.h>
#include <sched.h>

#define PAUSES 100
#define YIELDS 200
#define YIELDS_PER_HELP 16
#define NS_PER_S 1000000000U

_Static_assert(BATON_WAIT_ANY_MAX + 1 <= BATON__FUTEX_WATCH_MAX, "the futures and the nudge");

struct wait {
	struct baton_future *const *futures;
	size_t count;
	const struct timespec *deadline;
	size_t index;         /* of the complete one, once there is one */
	const void *resource; /* of the only future, as far as known; only compared */
	bool last_look;       /* before the sleep */
};

static bool found(struct wait *wait)
{
	for (size_t i = 0; i < wait->count; i++) {
		if (baton__future_final(wait->futures[i])) {
			wait->index = i;
			return true;
		}
	}
	return false;
}

/*
 * Lets the executor of the resource run something, if it is this thread that drives it. 1: it did.
 * `needed`: nobody else can run the task.
 */
static int drive(struct baton_executor *executor, bool needed)
{
	int status;

	if (!executor || !executor->_ops->drive)
		return 0;
	status = executor->_ops->drive(executor);
	if (status == 1 || (status == -EDEADLK && needed))
		return status;
	return 0;
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
 * Tries to bring one future nearer. 1: something was done; 0: nothing to do; -EDEADLK: never. At
 * the last look a resource that is still queued, and that we are too deep to help, counts as never.
 */
static int help_one(struct baton_future *future, bool last_look)
{
	struct baton_resource *resource = baton__future_resource(future);
	struct baton_executor *executor;
	bool able;
	bool helped = false;
	bool too_deep;
	bool dead;
	int status;

	if (!resource || baton__future_final(future))
		return 0;
	if (baton__thread_holds(baton__self, resource))
		return -EDEADLK;
	if (!baton__future_visit(future))
		return 0;
	if (baton__future_resource(future) != resource) {
		/* A refused submit has unbound it, and has counted us if it saw us. */
		baton__leave(future, resource);
		return 0;
	}
	executor = resource->_config ? resource->_config->executor : NULL;
	able = may_help(resource, executor);
	too_deep = able && baton__self->depth >= BATON_HELPING_MAX;
	if (able && !too_deep)
		helped = baton__help(resource, future);
	dead = too_deep && last_look && baton__queued(resource);
	/* Without the resource nothing keeps the executor but this; its own thread, which drive()
	 * may lead astray from here, is the one that would destroy it. */
	baton__thread_enter(executor);
	baton__leave(future, resource); /* last touch of the resource */
	if (helped)
		status = 1;
	else
		/* Not if leaving has ended it all, finaliser and executor included. */
		status = baton__future_final(future) ? 0 : drive(executor, !able || too_deep);
	baton__thread_leave();
	return status == 0 && dead ? -EDEADLK : status;
}

/* The same for all; -EDEADLK only if none of them can ever be complete. */
static int help(struct wait *wait)
{
	size_t dead = 0;

	for (size_t i = 0; i < wait->count; i++) {
		int status = help_one(wait->futures[i], wait->last_look);

		if (status == 1)
			return 1;
		if (status == -EDEADLK && !baton__future_final(wait->futures[i]))
			dead++;
	}
	return dead == wait->count ? -EDEADLK : 0;
}

static bool passed(const struct timespec *deadline)
{
	uint64_t now = baton__now_ns();

	return deadline && now / NS_PER_S >= (uint64_t)deadline->tv_sec &&
	       (now / NS_PER_S > (uint64_t)deadline->tv_sec ||
	        now % NS_PER_S >= (uint64_t)deadline->tv_nsec);
}

/* Looks for about as long as the kernel would take to put us to sleep and wake us. */
static int spin(struct wait *wait)
{
	for (int i = 0; i < PAUSES; i++) {
		baton__pause();
		if (found(wait))
			return 0;
	}
	for (int i = 0; i < YIELDS; i++) {
		if (i % YIELDS_PER_HELP == 0) {
			int status = help(wait);

			if (status < 0)
				return status;
			if (!found(wait) && wait->deadline && passed(wait->deadline))
				return -ETIMEDOUT;
		}
		if (found(wait))
			return 0;
		(void)sched_yield();
	}
	return -EAGAIN;
}

/* Announces a sleeper in each future: the completer wakes it. False: one is complete. */
static bool announce(struct wait *wait, struct baton__futex_watch *watches)
{
	for (size_t i = 0; i < wait->count; i++) {
		uint32_t *word = &wait->futures[i]->_state;
		uint32_t state = load_relaxed(word);

		/* Ends: each failure is a flag set once, a visitor, or the runner's progress.
		 * Relaxed: the completer's CAS fails on the bit or comes first, in which case the
		 * word is no longer what we watch. */
		while (!(state & BATON__FUTURE_SLEEPERS)) {
			if (state & BATON__FUTURE_FINAL)
				return false;
			if (cas_relaxed(word, &state, state | BATON__FUTURE_SLEEPERS))
				state |= BATON__FUTURE_SLEEPERS;
		}
		if (state & BATON__FUTURE_FINAL)
			return false;
		watches[i] = (struct baton__futex_watch){word, state};
	}
	return true;
}

static void tell_executor(struct baton_executor *member, bool blocked)
{
	if (member && member->_ops->blocked)
		member->_ops->blocked(member, blocked);
}

/* Somebody else who sleeps for the same may have to do what we were nudged for. */
static void pass_on(struct wait *wait)
{
	const void *resource = wait->count == 1 ? wait->resource : NULL;

	if (resource)
		baton__thread_nudge_for(resource, NULL);
	else
		baton__thread_nudge_all();
}

/* Apart, since these arrays would stand between the frames of nested help. */
static BATON_NOINLINE int doze(struct wait *wait, uint32_t nudge)
{
	struct baton__futex_watch watches[BATON_WAIT_ANY_MAX + 1];

	if (!announce(wait, watches))
		return 0;
	watches[wait->count] = (struct baton__futex_watch){&baton__self->nudge, nudge};
	return baton__futex_wait(watches, wait->count + 1, wait->deadline);
}

/* One sleep, or one piece of help instead. */
static int sleep_once(struct wait *wait)
{
	uint32_t nudge;
	int status;

	if (wait->count == 1)
		wait->resource = baton__future_resource(wait->futures[0]);
	wait->last_look = true;
	nudge = baton__thread_sleeps(wait->resource);
	status = help(wait);
	if (status == 0)
		status = doze(wait, nudge);
	/* Nudged, and leaving all the same. */
	if (baton__thread_wakes(nudge) && (status < 0 || found(wait)))
		pass_on(wait);
	return status == 1 ? 0 : status;
}

static int wait_some(struct wait *wait)
{
	struct baton_executor *member;
	int status;

	if (found(wait))
		return 0;
	status = baton__thread_attach();
	if (!status)
		status = spin(wait);
	if (status != -EAGAIN)
		return status;
	/* Once per wait, not per sleep: a nudge answered by another nudge would never end. */
	member = baton__self->member;
	tell_executor(member, true);
	/* Ended by the completer of one of the futures, or the deadline. */
	do {
		status = sleep_once(wait);
		if (found(wait))
			status = 1;
	} while (status == 0);
	tell_executor(member, false);
	return status == 1 ? 0 : status;
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

BATON_EXPORT int baton_future_wait_until(struct baton_future *future,
                                         const struct timespec *deadline)
{
	return baton_future_wait_any(&future, 1, deadline, NULL);
}

BATON_EXPORT int baton_future_wait(struct baton_future *future)
{
	return baton_future_wait_any(&future, 1, NULL, NULL);
}

BATON_EXPORT int baton_future_wait_all(struct baton_future *const *futures, size_t count,
                                       const struct timespec *deadline)
{
	if (!baton__deadline_valid(deadline))
		return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		int status = baton_future_wait_any(&futures[i], 1, deadline, NULL);

		if (status)
			return status;
	}
	return 0;
}
