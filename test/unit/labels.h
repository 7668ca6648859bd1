/* SPDX-License-Identifier: MIT */
/* Stamped steps, and a resource with lanes and a bound whose cancelled tasks are journalled. */
#ifndef BATON_TEST_UNIT_LABELS_H
#define BATON_TEST_UNIT_LABELS_H

#include <baton/bound.h>
#include <baton/label.h>

#include "support.h"

#include "../parts.h"

struct mark_step {
	struct stamped stamped;
	struct journal *journal;
	struct journal *cancelled;
	int number;
};

static inline int mark_step_run(struct baton_task *task)
{
	struct mark_step *step = baton_container_of(task, struct mark_step, stamped.task);

	journal_add(step->journal, step->number);
	return 0;
}

/* A config's `cancelled`: all tasks without future are stamped steps. */
static inline void mark_step_cancelled(struct baton_task *task)
{
	struct mark_step *step = baton_container_of(task, struct mark_step, stamped.task);

	journal_add(step->cancelled, step->number);
}

/* A resource with all that this module offers. */
struct scene {
	struct baton_resource resource;
	struct baton_resource_config config;
	struct baton_resource_stats stats;
	struct baton_lane array[BATON_LANES_MAX];
	struct baton_lanes lanes;
	struct baton_lanes_config aging;
	struct baton_bound_config limits;
	struct baton_bound bound;
	struct journal journal;
	struct journal cancelled;
	struct occupant occupant;
};

/* `lanes`: their number, or 0. `bounded`: by scene->limits, which the caller may change before. */
static inline void scene_begin(struct scene *scene, uint32_t lanes, bool bounded)
{
	scene->config.cancelled = mark_step_cancelled;
	baton_resource_init(&scene->resource, &scene->config);
	baton_resource_set_stats(&scene->resource, &scene->stats);
	if (lanes) {
		baton_lanes_init(&scene->lanes, scene->array, lanes, &scene->aging);
		baton_resource_set_lanes(&scene->resource, &scene->lanes);
	}
	if (bounded) {
		baton_bound_init(&scene->bound, &scene->limits);
		baton_resource_set_bound(&scene->resource, &scene->bound);
	}
}

static inline struct scene *scene_create(void)
{
	const struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	const struct baton_bound_config limits = BATON_BOUND_CONFIG_INIT;
	struct scene *scene = calloc(1, sizeof(*scene));

	MUST(scene);
	scene->config = config;
	scene->config.capture_max = 1000;
	scene->limits = limits;
	return scene;
}

/* Ends the scene: all tasks are over, and the counters agree. */
static inline void scene_end(struct scene *scene)
{
	resource_end(&scene->resource);
	cr_assert_eq(resource_counts(&scene->stats).submitted,
	             resource_counts(&scene->stats).executed +
	                     resource_counts(&scene->stats).cancelled);
	cr_assert(!scene->lanes._busy && !scene->lanes._older && !scene->lanes._marks &&
	          !scene->lanes._admitted[0] && !scene->lanes._admitted[1] &&
	          !scene->lanes._unsorted);
	cr_assert_eq(scene->bound._pushed, scene->bound._gone);
	cr_assert_eq(scene->bound._sorted, 0);
	cr_assert_null(scene->bound._at_once);
	free(scene);
}

static inline void mark_step_init(struct mark_step *step, struct scene *scene, int number,
                                  unsigned lane, struct baton_future *future)
{
	if (future)
		baton_future_init(future);
	stamped_init(&step->stamped, mark_step_run, future);
	baton_stamp_set_lane(&step->stamped.stamp, lane);
	step->journal = &scene->journal;
	step->cancelled = &scene->cancelled;
	step->number = number;
}

static inline void mark_step_init_bytes(struct mark_step *step, struct scene *scene, int number,
                                        unsigned lane, uint32_t bytes)
{
	mark_step_init(step, scene, number, lane, NULL);
	baton_stamp_set_bytes(&step->stamped.stamp, bytes);
}

static inline struct baton_bound_stats scene_counts(const struct scene *scene)
{
	struct baton_bound_stats counts;

	baton_bound_stats_read(&scene->bound, &counts);
	return counts;
}

static inline int mark_step_submit(struct mark_step *step, struct scene *scene)
{
	return baton_submit(&scene->resource, &step->stamped.task);
}

static inline bool journal_is(const struct journal *journal, const int *numbers, size_t count)
{
	return journal->count == count &&
	       memcmp(journal->number, numbers, count * sizeof(*numbers)) == 0;
}

#define JOURNAL_IS(journal, ...)                                                                   \
	journal_is((journal), (const int[]){__VA_ARGS__},                                          \
	           sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

#endif
