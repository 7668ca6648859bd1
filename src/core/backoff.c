/* SPDX-License-Identifier: MIT */
/* The wait after a push whose CAS has failed. See backoff.h. */
#include "core/backoff.h"

#include "core/streak.h"

#include <ck_backoff.h> /* the empty loop that the compiler leaves in place */

void baton__back_off(const struct baton_resource *resource, uint32_t *turns)
{
	const bool hot = baton__streak(&baton__self->failed, resource);
	const uint32_t least = hot ? BATON_BACKOFF_HOT_MIN : BATON_BACKOFF_MIN;

	if (*turns < least)
		*turns = least;
	ck_backoff_eb(turns); /* doubles them */
	if (hot && *turns > BATON_BACKOFF_HOT_MAX)
		*turns = BATON_BACKOFF_HOT_MAX;
	else if (!hot && *turns > BATON_BACKOFF_MAX)
		*turns = 0;
}
