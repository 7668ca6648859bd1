/* SPDX-License-Identifier: MIT */
/* The wait after a push that has failed: how a thread learns its length. */
#include "fixture.h"

#include "core/backoff.h"
#include "thread/thread.h"

Test(backoff, a_wait_doubles_with_each_further_failure_and_halves_with_a_success, .timeout = 5)
{
	struct baton__thread *self;

	cr_assert_eq(baton__thread_attach(), 0);
	self = baton__self;
	cr_assert_eq(self->backoff, 0);
	baton__back_off(false);
	cr_assert_eq(self->backoff, BATON_BACKOFF_MIN);
	baton__back_off(false);
	cr_assert_eq(self->backoff, BATON_BACKOFF_MIN);
	for (uint32_t expected = 2 * BATON_BACKOFF_MIN; expected <= BATON_BACKOFF_MAX;
	     expected *= 2) {
		baton__back_off(true);
		cr_assert_eq(self->backoff, expected);
	}
	baton__back_off(true);
	cr_assert_eq(self->backoff, BATON_BACKOFF_MAX);
	baton__backed_off();
	cr_assert_eq(self->backoff, BATON_BACKOFF_MAX / 2);
	/* The next push begins with what was learned. */
	baton__back_off(false);
	cr_assert_eq(self->backoff, BATON_BACKOFF_MAX / 2);
	for (int i = 0; i < 8; i++)
		baton__backed_off();
	baton__back_off(false);
	cr_assert_eq(self->backoff, BATON_BACKOFF_MIN);
}
