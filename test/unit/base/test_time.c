/* SPDX-License-Identifier: MIT */
/* The clock, and deadlines made of spans. */
#include "support.h"

#include <baton/time.h>

Test(time, is_that_of_the_monotonic_clock, .timeout = 5)
{
	const uint64_t before = now_ns(), now = baton_now(), at_once = baton_after(0);

	cr_assert_leq(before, now);
	cr_assert_leq(now, at_once);
	cr_assert_leq(at_once, now_ns());
}

Test(time, a_deadline_is_its_span_ahead, .timeout = 5)
{
	const uint64_t before = baton_now(), deadline = baton_after(5 * BATON_SECOND);

	cr_assert_geq(deadline, before + 5 * BATON_SECOND);
	cr_assert_leq(deadline, baton_now() + 5 * BATON_SECOND);
}

/* The clock goes on between the two looks: the sum is beyond the end of time, or well before it. */
Test(time, a_span_too_long_for_64_bits_ends_with_time, .timeout = 5)
{
	cr_assert_eq(baton_after(BATON_FOREVER), BATON_FOREVER);
	cr_assert_eq(baton_after(BATON_FOREVER - 1), BATON_FOREVER);
	cr_assert_eq(baton_after(BATON_FOREVER - baton_now() + 1), BATON_FOREVER);
	cr_assert_lt(baton_after(BATON_FOREVER - baton_after(3600 * BATON_SECOND)), BATON_FOREVER);
	cr_assert_gt(baton_after(BATON_FOREVER - baton_after(3600 * BATON_SECOND)),
	             BATON_FOREVER - 3600 * BATON_SECOND - 1);
}

Test(time, never_and_for_ever_are_the_end_of_time, .timeout = 5)
{
	cr_assert_eq(BATON_FOREVER, UINT64_MAX);
	cr_assert_eq(BATON_NEVER, BATON_FOREVER);
	cr_assert_eq(BATON_SECOND, 1000 * BATON_MILLISECOND);
	cr_assert_eq(BATON_MILLISECOND, 1000 * BATON_MICROSECOND);
}
