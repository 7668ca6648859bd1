/* SPDX-License-Identifier: MIT */
/* The wait after a push whose CAS has failed. See backoff.h. */
#include "core/backoff.h"

#include "thread/thread.h"

#include <ck_backoff.h> /* the empty loop that the compiler leaves in place */

void baton__back_off(bool again)
{
	struct baton__thread *self = baton__self;
	ck_backoff_t turns = self->backoff;

	if (again)
		turns *= 2;
	if (turns < BATON_BACKOFF_MIN)
		turns = BATON_BACKOFF_MIN;
	if (turns > BATON_BACKOFF_MAX)
		turns = BATON_BACKOFF_MAX;
	self->backoff = turns;
	ck_backoff_eb(&turns);
}

void baton__backed_off(void)
{
	baton__self->backoff /= 2;
}
