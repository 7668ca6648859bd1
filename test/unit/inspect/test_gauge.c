/* SPDX-License-Identifier: MIT */
/* Histograms: where a time is counted, and what a quantile says of the times. */
#include "support.h"

#include "core/gauge.h"

Test(gauge, each_bucket_begins_where_the_last_one_ends, .timeout = 10)
{
	for (size_t i = 0; i + 1 < BATON__HISTOGRAM_BUCKETS; i++) {
		uint64_t lowest = baton__histogram_lowest(i), end = baton__histogram_lowest(i + 1);

		cr_assert_lt(lowest, end);
		cr_assert_eq(baton__histogram_bucket(lowest), i);
		cr_assert_eq(baton__histogram_bucket(end - 1), i);
		/* The middle is within a sixteenth of all times of the bucket. */
		cr_assert_leq((end - lowest) * 8, lowest < 8 ? 8 : lowest);
	}
	cr_assert_eq(baton__histogram_lowest(BATON__HISTOGRAM_BUCKETS), (uint64_t)1 << 38);
	cr_assert_eq(baton__histogram_bucket((uint64_t)1 << 38), BATON__HISTOGRAM_BUCKETS - 1);
	cr_assert_eq(baton__histogram_bucket(UINT64_MAX), BATON__HISTOGRAM_BUCKETS - 1);
}

Test(gauge, quantiles_are_within_a_sixteenth, .timeout = 10)
{
	static struct baton__histogram histogram;
	static const unsigned parts[] = {1, 10, 250, 500, 990, 999, 1000};

	cr_assert_eq(baton__histogram_quantile(&histogram, 500), 0);
	for (uint64_t ns = 1; ns <= 1000000; ns++)
		baton__histogram_record(&histogram, ns);
	cr_assert_eq(histogram.max_ns, 1000000);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		double exact = parts[i] * 1000.0;
		double shown = (double)baton__histogram_quantile(&histogram, parts[i]);

		cr_assert_leq(shown, exact * (1 + 1.0 / 16) + 1);
		cr_assert_geq(shown, exact * (1 - 1.0 / 16) - 1);
	}
}

Test(gauge, no_quantile_is_beyond_the_longest_time, .timeout = 10)
{
	static struct baton__histogram histogram;

	baton__histogram_record(&histogram, 1024);
	cr_assert_eq(baton__histogram_quantile(&histogram, 500), 1024);
	baton__histogram_record(&histogram, UINT64_MAX);
	cr_assert_eq(baton__histogram_quantile(&histogram, 500), 1024 + 64);
	cr_assert_eq(baton__histogram_quantile(&histogram, 1000), UINT64_MAX);
}
