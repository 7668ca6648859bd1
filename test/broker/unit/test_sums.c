/* SPDX-License-Identifier: MIT */
/* The sums of the broker's counters. */
#include "support.h"

#include <stdint.h>

#include <baton/resource.h>
#include <baton/stats.h>

#include "common/stats.h"

static void *nothing(void *arg)
{
	return arg;
}

Test(sums, a_resource_that_has_ended_counts_with_all_its_tasks, .timeout = 5)
{
	static struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	static struct baton_resource_stats counts;
	static struct stats sums;

	baton_resource_set_stats(&resource, &counts);
	for (int i = 0; i < 100; i++)
		cr_assert_eq(baton_post(&resource, nothing, NULL), 0);
	cr_assert_eq(baton_resource_close(&resource), 0);
	cr_assert_eq(baton_resource_await(&resource), 0);
	stats_add(&sums, STATS_TOPIC, &counts);
	cr_assert_eq(sums.resources[STATS_TOPIC], 1);
	cr_assert_eq(sums.kinds[STATS_TOPIC].submitted, 100);
	cr_assert_eq(sums.kinds[STATS_TOPIC].executed, 100);
	cr_assert_eq(sums.kinds[STATS_TOPIC].captures, 100);
}
