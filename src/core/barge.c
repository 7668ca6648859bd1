/* SPDX-License-Identifier: MIT */
/*
 * Before a push a submitter stands back for a moment, and looks whether the resource becomes idle.
 *
 * A pushed task moves to the runner's core and back: its node, its payload and the inbox are some
 * cache lines each way, at 50 to 250 ns each. Many tasks are shorter. A submitter that finds the
 * resource held therefore stays away from the resource for some microseconds, and mostly finds it
 * idle then. The submitter has not submitted anything yet, so no order changes. Standing back is no
 * wait: after its looks the submitter pushes.
 *
 * When does it look? Each look takes the cache line from the runner. A thread that uses many
 * resources meets a runner that is about to leave: its first look comes at once. Where the last
 * eight busy resources were all this one (streak.h), the runner is about to run hundreds of short
 * tasks of its own out of its cache: there the first look comes later. Mostly the submitter then
 * captures, and runs as many tasks in its turn. The farther the CPUs are from each other, the more
 * tasks must go by for one change of the runner.
 *
 * Where standing back does not help (long tasks, a runner on the same CPU) it must cost little:
 * each failure doubles the number of tasks that the thread pushes to busy resources without a
 * look. A batch counts by its tasks, so that it comes back to the looks as soon as they would. A
 * resource that waits in a queue teaches nothing: no look could have helped.
 *
 * A call waits in any case, so a caller stands back longer: some 12 microseconds in all. With more
 * than two CPUs this decides which of two states a hot resource is in. Either the callers push, and
 * the runner, whose inbox is never empty, fetches the task of each from another CPU and never
 * releases; or the callers stand back, and one after the other captures the resource and makes some
 * calls out of its own cache. The second state is several times as fast, and one thread that pushes
 * often is enough to end it. So a failure alone teaches a caller nothing. But where the caller has
 * slept at last, or has yielded the CPU to another thread, tasks are long or CPUs few: each such
 * call doubles the number of calls that push at once.
 *
 * Source: back-off between looks at a lock: T. Anderson, "The Performance of Spin Lock Alternatives
 * for Shared-Memory Multiprocessors", 1990; spinning before queueing: L. Boguslavsky et al.,
 * "Optimal Strategies for Spinning and Blocking", 1994.
 */
#include "core/barge.h"

#include "base/atomic.h"
#include "core/streak.h"

#include <ck_backoff.h> /* the empty loop that the compiler leaves in place */

/* Turns of an empty loop before the first look, some 10 ns. Before each further look a submitter
 * makes twice as many, a caller four times as many, up to CALL_LAST. At a hot resource the
 * first look comes after about 2.5 us. */
#ifndef BATON_BARGE_FIRST /* tests make these small */
#define BATON_BARGE_FIRST 32U
#define BATON_BARGE_LOOKS 8
#define BATON_BARGE_HOT_FIRST 8192U
#define BATON_BARGE_HOT_LOOKS 2
#define BATON_BARGE_CALL_LOOKS 9U
#define BATON_BARGE_CALL_HOT_LOOKS 5U
#define BATON_BARGE_CALL_LAST 8192U
#endif
#define SKIP_MIN 16U
#define SKIP_MAX 4096U

enum seen {
	SEEN_IDLE,
	SEEN_BUSY,
	SEEN_NO_USE, /* closed, in a queue, or waiting for this very submit */
};

/* Word and turn are hints; the caller's CAS decides. */
static enum seen look(const struct baton_resource *resource)
{
	uintptr_t word = baton__word(resource);

	if (baton__word_is_closed(word))
		return SEEN_NO_USE;
	if (!baton__word_is_busy(word))
		return SEEN_IDLE;
	/* A resource that waits in a queue will not be idle so soon; one that rests is roused by
	 * the push. */
	return baton__turn_seems_held(resource) && !baton__word_is_resting(word) ? SEEN_BUSY
	                                                                         : SEEN_NO_USE;
}

static enum seen look_after(const struct baton_resource *resource, ck_backoff_t *pause)
{
	ck_backoff_eb(pause);
	return look(resource);
}

/* SEEN_BUSY: so it was at each look. */
static enum seen looks(const struct baton_resource *resource, bool hot)
{
	ck_backoff_t backoff = hot ? BATON_BARGE_HOT_FIRST : BATON_BARGE_FIRST;
	enum seen seen = SEEN_BUSY;

	for (int left = hot ? BATON_BARGE_HOT_LOOKS : BATON_BARGE_LOOKS;
	     seen == SEEN_BUSY && left > 0; left--)
		seen = look_after(resource, &backoff);
	return seen;
}

bool baton__barge(const struct baton_resource *resource)
{
	struct baton__thread *self = baton__self;
	enum seen seen = look(resource);
	uint32_t next;

	if (seen == SEEN_BUSY)
		seen = looks(resource, baton__streak(&self->met, resource));
	if (seen == SEEN_NO_USE)
		return false;
	if (seen == SEEN_IDLE) {
		self->barge_next = 0;
		return true;
	}
	next = self->barge_next ? 2U * self->barge_next : SKIP_MIN;
	self->barge_next = (uint16_t)(next < SKIP_MAX ? next : SKIP_MAX);
	self->barge_skip = self->barge_next;
	return false;
}

bool baton__barge_call_begin(const struct baton_resource *resource, struct baton__barge_call *barge)
{
	struct baton__thread *self = baton__self;

	/* As in barge_due and stand_back; and with hooks no call runs at once. */
	if (look(resource) != SEEN_BUSY || baton__depth(self) > 0 ||
	    !baton__capture_limit(resource) || baton__hooked(resource))
		return false;
	if (self->call_skip > 0) {
		self->call_skip--;
		return false;
	}
	*barge = (struct baton__barge_call){BATON_BARGE_CALL_LOOKS, BATON_BARGE_FIRST};
	if (baton__streak(&self->met, resource))
		*barge = (struct baton__barge_call){BATON_BARGE_CALL_HOT_LOOKS,
		                                    BATON_BARGE_HOT_FIRST};
	return true;
}

bool baton__barge_call_look(const struct baton_resource *resource, struct baton__barge_call *barge)
{
	enum seen seen = SEEN_BUSY;

	/* Ends with the looks. */
	while (seen == SEEN_BUSY && barge->looks > 0) {
		barge->looks--;
		seen = look_after(resource, &barge->pause); /* doubles the pause */
		barge->pause *= 2;
		if (barge->pause > BATON_BARGE_CALL_LAST)
			barge->pause = BATON_BARGE_CALL_LAST;
	}
	return seen == SEEN_IDLE;
}
