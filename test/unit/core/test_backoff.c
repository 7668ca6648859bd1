/* SPDX-License-Identifier: MIT */
/* The wait after a push that has failed: how long it is, and where it is long. */
#include "fixture.h"

#include "core/contention.h"

static void fail_often(struct baton_resource *resource)
{
	for (unsigned i = 0; i < BATON__STREAK_LONG; i++) {
		uint32_t turns = 0;

		baton__back_off(resource, &turns);
		cr_assert_eq(turns, 2 * BATON_BACKOFF_MIN);
	}
}

Test(backoff, it_doubles_up_to_a_bound, .timeout = 5)
{
	uint32_t turns = 0;

	cr_assert_eq(baton__thread_attach(), 0);
	for (uint32_t next = 2 * BATON_BACKOFF_MIN; next <= BATON_BACKOFF_MAX; next *= 2) {
		baton__back_off(&fix.resource, &turns);
		cr_assert_eq(turns, next);
	}
	/* After the longest the shortest again. */
	baton__self->learnt.failed.at = NULL;
	baton__back_off(&fix.resource, &turns);
	cr_assert_eq(turns, 0);
}

Test(backoff, it_is_long_where_the_last_eight_failures_were_at_this_resource, .timeout = 5)
{
	struct baton_resource other;
	uint32_t turns = 0;

	cr_assert_eq(baton__thread_attach(), 0);
	baton_resource_init(&other, NULL);
	fail_often(&fix.resource);
	baton__back_off(&fix.resource, &turns);
	cr_assert_eq(turns, BATON_BACKOFF_HOT_MAX);
	baton__back_off(&fix.resource, &turns);
	cr_assert_eq(turns, BATON_BACKOFF_HOT_MAX);
	/* One failure elsewhere, and it is short again, here and there. */
	fail_often(&other);
	fail_often(&fix.resource);
	turns = 0;
	baton__back_off(&fix.resource, &turns);
	cr_assert_eq(turns, BATON_BACKOFF_HOT_MAX);
	resource_end(&other);
}
