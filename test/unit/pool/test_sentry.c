/* SPDX-License-Identifier: MIT */
/* The sentry of the pool's alarm: when a deadline is late. */
#include "support.h"

#include "pool/sentry.h"

#define LONG ((uint64_t)BATON__SENTRY_NS)

Test(sentry, a_deadline_is_late_when_the_sentry_has_seen_it_open_for_too_long, .timeout = 5)
{
	/* The deadline that is open, the time of the look; late, the time of the next look. */
	static const uint64_t rows[][4] = {
		{0, 5, false, UINT64_MAX},
		/* It is seen before it passes: late some time after it has passed. */
		{100, 5, false, 100 + LONG},
		{100, 100, false, 100 + LONG},
		{100, 99 + LONG, false, 100 + LONG},
		{100, 100 + LONG, true, 100 + LONG},
		/* A worker has come, and set another. This one has passed already. */
		{200, 300 + LONG, false, 300 + 2 * LONG},
		{200, 299 + 2 * LONG, false, 300 + 2 * LONG},
		{200, 300 + 2 * LONG, true, 300 + 2 * LONG},
		/* A worker claims it, and gives it up: it has been open for no time. */
		{0, 400 + 2 * LONG, false, UINT64_MAX},
		{200, 500 + 2 * LONG, false, 500 + 3 * LONG},
		{200, 499 + 3 * LONG, false, 500 + 3 * LONG},
		{200, 500 + 3 * LONG, true, 500 + 3 * LONG},
		/* An earlier one takes the place of a later one. */
		{UINT64_MAX, 600, false, UINT64_MAX},
		{900, 600, false, 900 + LONG},
		{700, 650, false, 700 + LONG},
		{900, 900 + LONG, false, 900 + 2 * LONG},
	};
	struct baton__sentry_watch watch = {0};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		bool late = baton__sentry_look(&watch, rows[i][0], rows[i][1]);

		cr_assert_eq(late, rows[i][2], "%zu", i);
		cr_assert_eq(watch.until_ns, rows[i][3], "%zu", i);
	}
}
