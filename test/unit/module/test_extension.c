/* SPDX-License-Identifier: MIT */
/* Statistics, lanes and a bound: what a resource is given between its initialiser and its first
 * submit. */
#include "labels.h"

#include <baton/bound.h>
#include <baton/lane.h>

enum part { STATS, LANES, BOUND };

static void give(struct scene *scene, enum part part)
{
	if (part == STATS)
		baton_resource_set_stats(&scene->resource, &scene->stats);
	else if (part == LANES)
		baton_resource_set_lanes(&scene->resource, &scene->lanes);
	else
		baton_resource_set_bound(&scene->resource, &scene->bound);
}

Test(extension, its_parts_come_in_any_order, .timeout = 10)
{
	static const enum part orders[][3] = {
		{STATS, LANES, BOUND}, {STATS, BOUND, LANES}, {LANES, STATS, BOUND},
		{LANES, BOUND, STATS}, {BOUND, STATS, LANES}, {BOUND, LANES, STATS},
	};

	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
		struct scene *scene = scene_create();
		struct mark_step steps[4];

		/* A bound that drops needs lanes, whichever comes first. */
		scene->limits.tasks_max = 2;
		scene->limits.policy = BATON_BOUND_DROP_LOWEST;
		scene->config.cancelled = mark_step_cancelled;
		baton_resource_init(&scene->resource, &scene->config);
		baton_lanes_init(&scene->lanes, scene->array, 2, NULL);
		baton_bound_init(&scene->bound, &scene->limits);
		for (int part = 0; part < 3; part++)
			give(scene, orders[i][part]);
		occupy(&scene->occupant, &scene->resource);
		for (int step = 0; step < 4; step++) {
			mark_step_init(&steps[step], scene, step, step < 2, NULL);
			cr_assert_eq(mark_step_submit(&steps[step], scene), 0, "order %zu", i);
		}
		release(&scene->occupant);
		cr_expect(JOURNAL_IS(&scene->journal, 2, 3), "order %zu", i);
		cr_expect(JOURNAL_IS(&scene->cancelled, 0, 1), "order %zu", i);
		cr_expect_eq(resource_counts(&scene->stats).submitted, 5, "order %zu", i);
		cr_expect_eq(resource_counts(&scene->stats).cancelled, 2, "order %zu", i);
		scene_end(scene);
	}
}
