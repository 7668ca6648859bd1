/* SPDX-License-Identifier: MIT */
/*
 * Waits for futures: looks, pauses, helps, yields, and only then sleeps.
 *
 * A wake from another core costs as much as a thousand tasks, so a waiter gives the runner time:
 * about a hundred pauses, then many yields (yield.c says when yields do not pay). Between the
 * yields the waiter tries to run the awaited task (wait_help.c). A waiter sleeps on the state words
 * of the futures and on its own word `nudge`. Other threads increment `nudge` when there may be new
 * work to help with, or when another helper no longer stands in the way (thread.sleep,
 * thread.watch, thread.obstacle in thread.h).
 */
#include "wait/wait.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "base/probe.h"
#include "base/futex.h"
#include "base/refused.h"
#include "thread/trace.h"
#include "future/firing.h"
#include "core/callback.h"
#include "core/place.h"
#include "wait/yield.h"
#include "wait/cycle.h"

#include <errno.h>

#ifndef BATON_WAIT_PAUSES /* tests make these small */
#define BATON_WAIT_PAUSES 100
#define BATON_WAIT_YIELDS 200
#define BATON_WAIT_YIELDS_PER_HELP 16
#endif

_Static_assert(BATON_WAIT_ANY_MAX + 1 <= BATON__FUTEX_WATCH_MAX, "the futures and the nudge");

/* Is the wait over? */
static bool wait_is_over(struct baton__wait *wait)
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

static bool deadline_is_past(const struct baton__wait *wait)
{
	return baton__is_past(wait->deadline_ns);
}

/*
 * Looks for about as long as the kernel takes to put a thread to sleep and wake it. 0: the wait is
 * over; -EAGAIN: not yet; another error: the wait ends with this error.
 */
static int spin(struct baton__wait *wait)
{
	struct baton__yields yields;

	for (int i = 0; i < BATON_WAIT_PAUSES; i++) {
		baton__pause();
		if (wait_is_over(wait))
			return 0;
	}
	for (int i = 0; i < BATON_WAIT_YIELDS; i++) {
		if (i % BATON_WAIT_YIELDS_PER_HELP == 0) {
			int status = deadline_is_past(wait) ? -ETIMEDOUT : baton__wait_help(wait);

			if (wait_is_over(wait))
				return 0;
			if (status < 0)
				return status;
			if (!baton__yields_begin(&yields))
				return -EAGAIN;
		}
		if (wait_is_over(wait))
			return 0;
		if (!baton__yield(&yields))
			return wait_is_over(wait) ? 0 : -EAGAIN;
	}
	return -EAGAIN;
}

/* Announces a sleeper, which the completer then wakes. False: the future is complete. */
static bool announce(struct baton_future *future, struct baton__futex_watch *watch)
{
	uint32_t *word = &future->_state;
	uint32_t state;

	/* Ends: each failure is a flag set once, a visitor, the runner's progress, or a refusal.
	 * If the CAS of the completer, or of settle, comes first, this load sees it. If it comes
	 * later, it finds SLEEPERS, changes the watched word, and wakes the sleepers.
	 * future.unbound (future.c) acquire: after settle, doze must see that the future is
	 * unbound */
	do {
		/* Relaxed is seldom noticed: found in 290,000 executions (rebound_1). */
		state = load_acquire(word);
		if (state & BATON__FUTURE_FINAL)
			return false;
		/* Relaxed is enough: this succeeds on the value that the load has acquired. */
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

/* What this thread is to be nudged for: the value of `awaiting` (thread.h). */
static const void *awaiting(const struct baton__wait *wait)
{
	struct baton_future *future = wait->futures[0];
	const void *resource;

	if (baton__wait_has_deadline(wait))
		return baton__self;
	/* `elsewhere`: this thread may be unable to help; another one then needs the nudge, too. */
	if (wait->count > 1 || wait->elsewhere)
		return NULL;
	resource = baton__future_resource(future);
	/* A task that is not submitted yet has no resource. A member of an executor then returns
	 * NULL, to be nudged for any resource: perhaps only threads of that executor may run the
	 * task, and all of them wait (L9). A promise is never submitted. Relaxed: PROMISE is
	 * constant after init. */
	if (resource ||
	    (baton__self->member && !(load_relaxed(&future->_state) & BATON__FUTURE_PROMISE)))
		return resource;
	return baton__self;
}

/* Not inlined: the array would lie between the stack frames of nested help. */
static BATON_NOINLINE int doze(struct baton__wait *wait, uint32_t nudge)
{
	struct baton__futex_watch watches[BATON_WAIT_ANY_MAX + 1];
	/* A wait for all sleeps for one future after the other. */
	size_t first = wait->all ? wait->index : 0;
	size_t count = wait->all ? 1 : wait->count;

	for (size_t i = 0; i < count; i++)
		if (!announce(wait->futures[first + i], &watches[i]))
			return 0;
	/* The future was bound or unbound after this thread had stored `awaiting`: look again. A
	 * bind or unbind that comes later wakes this thread. */
	if (awaiting(wait) != load_relaxed(&baton__self->awaiting))
		return 0;
	watches[count] = (struct baton__futex_watch){&baton__self->nudge, nudge};
	return baton__futex_wait(watches, count + 1, wait->deadline_ns);
}

/* doze for a thread that holds batons, or quiesces, in a wait without a deadline: looks for a cycle
 * first. */
static BATON_NOINLINE int doze_in_task(struct baton__wait *wait, uint32_t nudge)
{
	size_t first = wait->all ? wait->index : 0;
	struct baton__edge edge = {
		.futures = wait->futures + first,
		.count = wait->count - first,
		.all = wait->all,
		.abort = wait->abort,
		.still = wait->still,
	};
	int status = baton__cycle_enter(&edge);

	if (status)
		return status;
	status = doze(wait, nudge);
	return baton__cycle_leave(&edge) ? -EDEADLK : status;
}

/* Fires one continuation, as deep as a function that is told of an end (callback.told): what the
 * continuation submits goes to the executors, since a task that ran here might wait for this
 * thread. A function is put off. */
static bool fire_one(void)
{
	struct baton__frame frame;
	bool any;

	baton__callback_begin(&frame);
	frame.depth += BATON__DEPTH_TOLD;
	any = baton__future_fire_one();
	baton__callback_end(&frame);
	return any;
}

int baton__wait_put_off(uint64_t deadline_ns)
{
	struct baton__thread *self = baton__self;
	uint32_t calling_max;
	bool any;

	if (BATON_LIKELY(!self->late_queued && !baton__future_has_unfired()))
		return 0;
	if (baton__too_deep_to_call(self))
		return deadline_ns == BATON_FOREVER ? baton__cycle_of_one(NULL) : 0;
	calling_max = baton__weigh(self, BATON__HELP_LEVELS - 1);
	any = baton__late_run() || fire_one();
	self->calling_max = calling_max;
	return any;
}

/* Sleeps once, or helps once instead. 0: look again. */
static int sleep_once(struct baton__wait *wait)
{
	uint32_t nudge = baton__thread_sleeps(awaiting(wait));
	int status = deadline_is_past(wait) ? -ETIMEDOUT : baton__wait_help(wait);

	/* The wait may be for a function that this thread has put off. */
	if (status == 0) {
		baton__wait_for_others(wait, true);
		status = baton__wait_put_off(wait->deadline_ns);
		baton__wait_for_others(wait, false);
	}

	/* A function that ran here meanwhile may have waited itself, and cleared `asleep`: then
	 * look again. */
	if (status == 0 && load_relaxed(&baton__self->asleep))
		status = (baton__top(baton__self) || wait->still) && !baton__wait_has_deadline(wait)
		                 ? doze_in_task(wait, nudge)
		                 : doze(wait, nudge);
	if (status == 1)
		wait->answered = nudge;
	if (status >= 0)
		status = deadline_is_past(wait) ? -ETIMEDOUT : 0;
	/* This thread has been nudged, has not helped since, and leaves its wait: another thread
	 * may have to do the work that the nudge was for. */
	if (baton__thread_wakes(wait->answered) && (status < 0 || wait_is_over(wait)))
		baton__thread_nudge_all();
	return status;
}

static void note_wait(const struct baton__thread_wait *wait)
{
	struct baton__thread_wait *noted = &baton__self->wait;

	/* Relaxed: for messages only. */
	store_relaxed(&noted->future, wait->future);
	store_relaxed(&noted->resource, wait->resource);
	store_relaxed(&noted->promise, wait->promise);
	store_relaxed(&noted->maker, wait->maker);
	store_relaxed(&noted->since_ns, wait->since_ns);
}

static void trace_wait(void)
{
	const struct baton__thread_wait *noted = &baton__self->wait;
	const uint64_t ns = baton__now_ns() - noted->since_ns;

	baton__trace(&(struct baton__event){noted->since_ns, (uintptr_t)noted->future,
	                                    (uintptr_t)noted->resource,
	                                    baton__event_word(BATON__EVENT_WAITED, ns)});
}

static int wait_long(struct baton__wait *wait)
{
	const struct baton__thread_wait outer = baton__self->wait;
	/* not empty: a wait for all of no futures is over by now */
	struct baton_future *first = wait->futures[0];
	struct baton_executor *member;
	int status = spin(wait);

	if (status != -EAGAIN)
		return status;
	/* Once per wait, not per sleep: `blocked` may nudge. If each nudge led to another nudge,
	 * they would never end. */
	member = baton__self->member;
	tell_executor(member, true);
	note_wait(&(struct baton__thread_wait){
		.since_ns = baton__now_ns(),
		.future = first,
		.resource = baton__future_resource(first),
		.promise = load_relaxed(&first->_state) & BATON__FUTURE_PROMISE,
		.maker = baton__promise_maker(first),
	});
	BATON_PROBE(wait__begin, first, wait->count);
	wait->last_look = true;
	baton__self->learnt.cpu_given++;
	/* Relaxed: a nudge before the first sleep was for another wait. */
	wait->answered = load_relaxed(&baton__self->nudge);
	/* Ended by the completers of the futures, or the deadline. */
	do {
		status = sleep_once(wait);
		if (wait_is_over(wait))
			status = 1;
	} while (status == 0);
	BATON_PROBE(wait__end, first, status);
	if (baton__trace_is_on())
		trace_wait();
	note_wait(&outer);
	tell_executor(member, false);
	return status == 1 ? 0 : status;
}

static int wait_some(struct baton__wait *wait)
{
	int status;

	if (wait_is_over(wait))
		return 0;
	status = baton__thread_attach();
	if (status)
		return status;
	if (deadline_is_past(wait))
		return -ETIMEDOUT;
	if (baton__must_not_wait())
		return -EDEADLK;
	/* What this thread runs in its wait runs for others than its callers. */
	wait->called = baton__self->called;
	baton__self->called = NULL;
	wait->asking = (struct baton__asking){baton__self->asking, baton__self->asks};
	baton__self->asks = NULL;
	status = wait_long(wait);
	baton__self->asks = wait->asking.resource;
	baton__self->called = wait->called;
	return status;
}

int baton__wait_for_call(struct baton_future *future, uint64_t deadline_ns, enum baton__abort abort,
                         bool elsewhere)
{
	struct baton__wait wait = {.futures = &future,
	                           .count = 1,
	                           .deadline_ns = deadline_ns,
	                           .abort = abort,
	                           .elsewhere = elsewhere};

	return wait_some(&wait);
}

int baton__wait_for_mark(struct baton_future *future, uint64_t deadline_ns, bool marks_alone)
{
	struct baton__wait wait = {
		.futures = &future,
		.count = 1,
		.deadline_ns = deadline_ns,
		.mark = true,
		.marks_alone = marks_alone,
	};

	return wait_some(&wait);
}

int baton__wait_for_quiet(struct baton_future *future, uint64_t deadline_ns,
                          const struct baton__still *still)
{
	struct baton__wait wait = {
		.futures = &future,
		.count = 1,
		.deadline_ns = deadline_ns,
		.mark = true,
		.marks_alone = true,
		.still = still,
	};

	return wait_some(&wait);
}

BATON_EXPORT int baton_future_wait_any_until(struct baton_future *const *futures, size_t count,
                                             uint64_t deadline_ns, size_t *index)
{
	struct baton__wait wait = {.futures = futures, .count = count, .deadline_ns = deadline_ns};
	int status;

	if (count == 0 || count > BATON_WAIT_ANY_MAX)
		return BATON__ANSWER(NULL,
		                     baton__refused("baton_future_wait_any*: count is 0, or above "
		                                    "BATON_WAIT_ANY_MAX"));
	status = wait_some(&wait);
	if (!status && index)
		*index = wait.index;
	return status;
}

BATON_EXPORT int baton_future_wait_any(struct baton_future *const *futures, size_t count,
                                       size_t *index)
{
	return baton_future_wait_any_until(futures, count, BATON_FOREVER, index);
}

BATON_EXPORT int baton_future_wait_all_until(struct baton_future *const *futures, size_t count,
                                             uint64_t deadline_ns)
{
	struct baton__wait wait = {
		.futures = futures, .count = count, .deadline_ns = deadline_ns, .all = true};

	return wait_some(&wait);
}

BATON_EXPORT int baton_future_wait_all(struct baton_future *const *futures, size_t count)
{
	return baton_future_wait_all_until(futures, count, BATON_FOREVER);
}

BATON_EXPORT int baton_future_wait_all_or_cancel_until(struct baton_future *const *futures,
                                                       size_t count, uint64_t deadline_ns)
{
	int error = baton_future_wait_all_until(futures, count, deadline_ns);

	/* The results do not matter: a running task has been asked to stop, and a complete future
	 * needs no cancel. This thread has a record, so no cancel fails for want of a record. */
	if (error == -ETIMEDOUT)
		for (size_t i = 0; i < count; i++)
			(void)baton_future_cancel(futures[i]);
	return error;
}

BATON_EXPORT int baton_future_wait_all_or_cancel(struct baton_future *const *futures, size_t count)
{
	return baton_future_wait_all_or_cancel_until(futures, count, BATON_FOREVER);
}

/* A function of its own: in baton_future_wait the address of `future` would cost a store. */
static BATON_NOINLINE int wait_for_one(struct baton_future *future, uint64_t deadline_ns)
{
	return baton_future_wait_any_until(&future, 1, deadline_ns, NULL);
}

BATON_EXPORT int baton_future_wait(struct baton_future *future)
{
	BATON__CHECKED(wait(future, true, __func__));
	if (BATON_LIKELY(baton__future_final(future)))
		return 0;
	return wait_for_one(future, BATON_FOREVER);
}

BATON_EXPORT int baton_future_wait_until(struct baton_future *future, uint64_t deadline_ns)
{
	BATON__CHECKED(wait(future, deadline_ns == BATON_FOREVER, __func__));
	return wait_for_one(future, deadline_ns);
}
