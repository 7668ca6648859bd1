/* SPDX-License-Identifier: MIT */
/* The wait after a push whose CAS has failed. See backoff.h. */
#include "core/backoff.h"

#include "thread/thread.h"

#include <ck_backoff.h> /* the empty loop that the compiler leaves in place */

/* Counts a failure. Were the last ones all at this resource? */
static bool is_hot(struct baton__thread *self, const struct baton_resource *resource)
{
	if (self->contended != resource) {
		self->contended = resource; /* only compared */
		self->contended_times = 0;
	}
	if (self->contended_times == BATON_BACKOFF_HOT)
		return true;
	self->contended_times++;
	return false;
}

void baton__back_off(const struct baton_resource *resource, uint32_t *turns)
{
	const bool hot = is_hot(baton__self, resource);
	const uint32_t least = hot ? BATON_BACKOFF_HOT_MIN : BATON_BACKOFF_MIN;

	if (*turns < least)
		*turns = least;
	ck_backoff_eb(turns); /* doubles them */
	if (hot && *turns > BATON_BACKOFF_HOT_MAX)
		*turns = BATON_BACKOFF_HOT_MAX;
	else if (!hot && *turns > BATON_BACKOFF_MAX)
		*turns = 0;
}
