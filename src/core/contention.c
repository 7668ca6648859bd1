/* SPDX-License-Identifier: MIT */
/*
 * Contention: see contention.h.
 *
 * Standing back. Before a push a submitter stands back for a moment, and looks whether the
 * resource becomes idle.
 *
 * A pushed task moves to the runner's core and back: its node, its payload and the inbox are some
 * cache lines each way, at 50 to 250 ns each. Many tasks are shorter. A submitter that finds the
 * resource held therefore stays away from the resource for some microseconds, and mostly finds it
 * idle then. The submitter has not submitted anything yet, so no order changes. Standing back is no
 * wait: after its looks the submitter pushes.
 *
 * When does the submitter look? At once, and then after pauses that double. Each look takes the
 * cache line from the runner. A thread that uses many resources meets a runner that is about to
 * leave: its first pause is some 10 ns. If the thread has stood back eight times in a row from this
 * resource alone, the runner is about to run hundreds of short tasks of its own out of its cache:
 * then the first pause is 2.5 us. Mostly the submitter then captures, and runs as many tasks
 * itself. The farther apart the CPUs are, the more tasks it takes to make up for a change of the
 * runner.
 *
 * Where standing back does not help (long tasks, a runner on the same CPU) it must cost little. So
 * each failure doubles the number of tasks that the thread pushes to busy resources without a look.
 * A batch counts by its tasks: a thread that submits batches looks again after as many tasks as a
 * thread that submits one by one. If the runner hands the resource off meanwhile, that is no sign
 * of long tasks: the thread then pushes as few tasks as after a first failure. A resource that
 * waits in a queue at the first look has cost no pause, and teaches nothing.
 *
 * A call waits in any case, so a caller stands back longer: some 12 microseconds in all. With more
 * than two CPUs this decides which of two states a hot resource is in. Either the callers push, and
 * the runner, whose inbox is never empty, fetches the task of each from another CPU and never
 * releases; or the callers stand back, and one after the other captures the resource and makes some
 * calls out of its own cache. The second state is several times as fast, and one thread that pushes
 * often is enough to end it. So a failure alone teaches a caller nothing. But if the caller has
 * slept in the end, or has yielded the CPU to another thread, tasks are long or CPUs are few: each
 * such call doubles the number of further calls that do not stand back.
 *
 * Source: back-off between looks at a lock: T. Anderson, "The Performance of Spin Lock Alternatives
 * for Shared-Memory Multiprocessors", 1990; spinning before queueing: L. Boguslavsky et al.,
 * "Optimal Strategies for Spinning and Blocking", 1994.
 */
#include "core/contention.h"

#include "base/atomic.h"

#include <ck_backoff.h> /* the empty loop that the compiler leaves in place */

bool baton__streak(struct baton__streak *streak, const struct baton_resource *resource)
{
	if (BATON__LACKS(BATON__HOT))
		return false;
	if (streak->at != resource)
		*streak = (struct baton__streak){resource, 0};
	if (streak->times == BATON__STREAK_LONG)
		return true;
	streak->times++;
	return false;
}

void baton__back_off(const struct baton_resource *resource, uint32_t *rounds)
{
	const bool hot = baton__streak(&baton__self->learnt.failed, resource);
	const uint32_t least = hot ? BATON_BACKOFF_HOT_MIN : BATON_BACKOFF_MIN;

	if (BATON__LACKS(BATON__BACK_OFF))
		return;
	if (*rounds < least)
		*rounds = least;
	ck_backoff_eb(rounds); /* doubles them */
	if (hot && *rounds > BATON_BACKOFF_HOT_MAX)
		*rounds = BATON_BACKOFF_HOT_MAX;
	else if (!hot && *rounds > BATON_BACKOFF_MAX)
		*rounds = 0;
}

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
	/* A resource in a queue will not be idle so soon; a push rouses a resting resource at
	 * once. */
	return baton__turn_seems_held(resource) && !baton__word_is_resting(word) ? SEEN_BUSY
	                                                                         : SEEN_NO_USE;
}

static enum seen look_after(const struct baton_resource *resource, ck_backoff_t *pause)
{
	ck_backoff_eb(pause);
	return look(resource);
}

/* Returns SEEN_BUSY if the resource was busy at each look. */
static enum seen looks(const struct baton_resource *resource, bool hot)
{
	ck_backoff_t backoff = hot ? BATON_STAND_BACK_HOT_FIRST : BATON_STAND_BACK_FIRST;
	enum seen seen = SEEN_BUSY;

	for (int left = hot ? BATON_STAND_BACK_HOT_LOOKS : BATON_STAND_BACK_LOOKS;
	     seen == SEEN_BUSY && left > 0; left--)
		seen = look_after(resource, &backoff);
	return seen;
}

static void stand_back_learn(struct baton__thread *self, enum seen seen)
{
	uint32_t next = self->learnt.stand_back_next ? 2U * self->learnt.stand_back_next
	                                             : BATON__STAND_BACK_SKIP_MIN;

	switch (seen) {
	case SEEN_IDLE:
		self->learnt.stand_back_next = 0;
		self->learnt.stand_back_skip = 0;
		break;
	case SEEN_NO_USE:
		self->learnt.stand_back_skip = BATON__STAND_BACK_SKIP_MIN;
		break;
	case SEEN_BUSY:
		self->learnt.stand_back_next =
			(uint16_t)(next < BATON__STAND_BACK_SKIP_MAX ? next
		                                                     : BATON__STAND_BACK_SKIP_MAX);
		self->learnt.stand_back_skip = self->learnt.stand_back_next;
		break;
	}
}

bool baton__stand_back(const struct baton_resource *resource)
{
	struct baton__thread *self = baton__self;
	enum seen seen = look(resource);

	if (seen == SEEN_NO_USE)
		return false;
	if (seen == SEEN_BUSY)
		seen = looks(resource, baton__streak(&self->learnt.met, resource));
	stand_back_learn(self, seen);
	return seen == SEEN_IDLE;
}

bool baton__stand_back_call_begin(const struct baton_resource *resource,
                                  struct baton__stand_back_call *looks)
{
	struct baton__thread *self = baton__self;

	/* As in stand_back_due and stand_back_if_due. Besides, with hooks no call runs at once. */
	if (BATON__LACKS(BATON__STAND_BACK_CALL) || look(resource) != SEEN_BUSY ||
	    baton__depth(self) > 0 || !baton__capture_max(resource) || baton__hooked(resource))
		return false;
	if (self->learnt.call_skip > 0) {
		self->learnt.call_skip--;
		return false;
	}
	*looks = (struct baton__stand_back_call){BATON_STAND_BACK_CALL_LOOKS,
	                                         BATON_STAND_BACK_FIRST};
	if (baton__streak(&self->learnt.met, resource))
		*looks = (struct baton__stand_back_call){BATON_STAND_BACK_CALL_HOT_LOOKS,
		                                         BATON_STAND_BACK_HOT_FIRST};
	return true;
}

bool baton__stand_back_call_look(const struct baton_resource *resource,
                                 struct baton__stand_back_call *looks)
{
	enum seen seen = SEEN_BUSY;

	/* Ends with the looks. */
	while (seen == SEEN_BUSY && looks->left > 0) {
		looks->left--;
		seen = look_after(resource, &looks->pause); /* doubles the pause */
		looks->pause *= 2;
		if (looks->pause > BATON_STAND_BACK_CALL_LAST)
			looks->pause = BATON_STAND_BACK_CALL_LAST;
	}
	return seen == SEEN_IDLE;
}

void baton__loan_learn(struct baton__thread *self, bool left, bool recalled)
{
	uint32_t next = 2U * self->learnt.loan_next;

	if (left)
		self->learnt.loan_eager = BATON_LOAN_EAGER;
	if (left || recalled) {
		next = 0;
	} else if (self->learnt.loan_eager > 0) {
		next = 0;
		self->learnt.loan_eager--;
	} else if (next < BATON_LOAN_SKIP_MIN) {
		next = BATON_LOAN_SKIP_MIN;
	} else if (next > BATON_LOAN_SKIP_MAX) {
		next = BATON_LOAN_SKIP_MAX;
	}
	self->learnt.loan_next = (uint16_t)next;
	self->learnt.loan_skip = (uint16_t)next;
}
