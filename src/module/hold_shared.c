/* SPDX-License-Identifier: MIT */
/*
 * Shared holds: a thread is a reader of a resource (reader.c) between two calls. The thread comes
 * to a group in one of three ways: it captures the idle resource and leads, it joins readers at
 * work, or the leader that comes to its grant (hold_grant.c) counts it. Where readers run one after
 * the other, the thread has the baton alone.
 *
 * Invariants:
 * shared.counted: From hold to release either the readers' word counts this thread, or it counts no
 *    thread and this one has the baton alone. So the release sees in the word which of the two it
 *    is.
 * shared.reading: From hold to release the chain `reading` of the thread has the hold's link: the
 *    thread runs in the resource, and does not exclude other readers (called.h). The links of holds
 *    leave the chain in any order.
 *
 * Linearisation points: those of a hold (hold.c) and of a join (reader.c).
 */
#include "module/hold.h"

#include "base/checked.h"
#include "base/refused.h"
#include "core/called.h"

#include <errno.h>

static int hold_shared(struct baton_readers *readers, struct baton_shared_hold *hold,
                       uint64_t deadline_ns)
{
	struct baton_resource *resource = readers->_resource;
	struct baton__thread *self;
	int error = baton__hold_take(resource, &hold->_hold, deadline_ns, readers);

	if (error)
		return error;
	/* shared.reading */
	self = baton__self;
	hold->_reading = (struct baton__reading){self->reading, resource};
	self->reading = &hold->_reading;
	hold->_readers = readers;
	hold->_hold._frame.value = readers; /* for baton__guard_kept */
	return 0;
}

BATON_EXPORT int baton_hold_shared(struct baton_readers *readers, struct baton_shared_hold *hold)
{
	BATON__CHECKED(hold_shared(readers, hold, __func__));
	BATON__CHECKED(may_wait(__func__));
	return BATON__ANSWER(readers->_resource, hold_shared(readers, hold, BATON_FOREVER));
}

BATON_EXPORT int baton_hold_shared_until(struct baton_readers *readers,
                                         struct baton_shared_hold *hold, uint64_t deadline_ns)
{
	BATON__CHECKED(hold_shared(readers, hold, __func__));
	BATON__CHECKED(may_wait(__func__));
	return BATON__ANSWER(readers->_resource, hold_shared(readers, hold, deadline_ns));
}

/* Takes the hold's link out of the chain. Bounded by the number of readers that this thread is. */
static void forget_reading(const struct baton_shared_hold *hold)
{
	const struct baton__reading **link = &baton__self->reading;

	while (*link && *link != &hold->_reading)
		link = (const struct baton__reading **)(uintptr_t)&(*link)->below;
	if (*link)
		*link = hold->_reading.below;
}

BATON_EXPORT int baton_release_shared(struct baton_shared_hold *hold)
{
	BATON__CHECKED(release_shared(hold, __func__));
	if (!hold->_hold._resource)
		return baton__refused("baton_release_shared: the hold is not in use");
	forget_reading(hold);
	return baton__hold_release(&hold->_hold, hold->_readers);
}
