/* SPDX-License-Identifier: MIT */
/*
 * Before a push a submitter stands back for a moment, and looks whether the resource becomes idle.
 *
 * A pushed task moves to the runner's core and back: its node, its payload and the inbox are some
 * cache lines each way, at 50 to 250 ns each. Many tasks are shorter. A submitter that finds the
 * resource held therefore stays away from the resource for a microsecond or two. Meanwhile the
 * runner runs a hundred short tasks of its own out of its cache. Mostly the submitter then finds
 * the resource idle, captures, and runs as many tasks in its turn. The submitter has not submitted
 * anything yet, so no order changes. Standing back is no wait: after three looks the submitter
 * pushes.
 *
 * Where standing back does not help (long tasks, a runner on the same CPU) it must cost little:
 * each failure doubles the number of busy submits that the thread pushes without a look.
 *
 * Source: back-off between looks at a lock: T. Anderson, "The Performance of Spin Lock Alternatives
 * for Shared-Memory Multiprocessors", 1990; spinning before queueing: L. Boguslavsky et al.,
 * "Optimal Strategies for Spinning and Blocking", 1994.
 */
#include "core/barge.h"

#include "base/atomic.h"

#include <ck_backoff.h> /* the empty loop that the compiler leaves in place */

#ifndef BATON_BARGE_LOOKS /* tests make these small */
#define BATON_BARGE_LOOKS 3
/* Turns of an empty loop before the first look, about 0.3 us; doubled before each further look. */
#define BATON_BARGE_FIRST 1024U
#endif
#define SKIP_MIN 16U
#define SKIP_MAX 4096U

static bool looks(const struct baton_resource *resource)
{
	ck_backoff_t backoff = BATON_BARGE_FIRST;

	for (int look = 0; look < BATON_BARGE_LOOKS; look++) {
		uintptr_t word;

		ck_backoff_eb(&backoff);
		/* Word and turn are hints; the caller's CAS decides. */
		word = baton__word(resource);
		if (!baton__word_is_busy(word))
			return !baton__word_is_closed(word);
		/* A resource that waits in a queue will not be idle so soon. */
		if (!baton__turn_seems_held(resource))
			return false;
	}
	return false;
}

bool baton__barge(const struct baton_resource *resource)
{
	struct baton__thread *self = baton__self;
	uint32_t next;

	if (looks(resource)) {
		self->barge_next = 0;
		return true;
	}
	next = self->barge_next ? 2U * self->barge_next : SKIP_MIN;
	self->barge_next = (uint16_t)(next < SKIP_MAX ? next : SKIP_MAX);
	self->barge_skip = self->barge_next;
	return false;
}
