/* SPDX-License-Identifier: MIT */
/* Watermarks of a bound: when they are told, in tasks and in bytes. */
#include "labels.h"

/* Watermarks write what they see into the journal: 1000 + and 2000 + what waits. */
static void rises(struct baton_resource *resource, void *arg)
{
	struct scene *scene = arg;

	MUST(baton_held(resource));
	journal_add(&scene->cancelled, 1000 + (int)scene_counts(scene).tasks);
}

static void falls(struct baton_resource *resource, void *arg)
{
	struct scene *scene = arg;

	MUST(baton_held(resource));
	journal_add(&scene->cancelled, 2000 + (int)scene_counts(scene).tasks);
}

Test(bound_marks, watermarks_are_told_in_turn_under_the_baton, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct mark_step steps[8];

	scene->limits.tasks_high = 4;
	scene->limits.tasks_low = 1;
	scene->limits.high = rises;
	scene->limits.low = falls;
	scene->limits.arg = scene;
	scene_begin(scene, 2, true);
	for (int round = 0; round < 2; round++) {
		occupy(&scene->occupant, &scene->resource);
		for (int i = 0; i < 6; i++) {
			mark_step_init(&steps[i], scene, i, 0, NULL);
			cr_assert_eq(mark_step_submit(&steps[i], scene), 0);
		}
		release(&scene->occupant);
	}
	cr_assert(JOURNAL_IS(&scene->cancelled, 1006, 2001, 1006, 2001));
	/* Three are not enough. */
	occupy(&scene->occupant, &scene->resource);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(mark_step_submit(&steps[i], scene), 0);
	release(&scene->occupant);
	cr_assert_eq(scene->cancelled.count, 4);
	scene_end(scene);
}

static void in_bytes(uint64_t low, int told_low)
{
	struct scene *scene = scene_create();
	struct mark_step steps[3];

	scene->limits.bytes_high = 100;
	scene->limits.bytes_low = low;
	scene->limits.high = rises;
	scene->limits.low = falls;
	scene->limits.arg = scene;
	scene_begin(scene, 0, true);
	occupy(&scene->occupant, &scene->resource);
	for (int i = 0; i < 3; i++) {
		mark_step_init_bytes(&steps[i], scene, i, 0, i == 1 ? 90 : 10);
		cr_assert_eq(mark_step_submit(&steps[i], scene), 0);
	}
	release(&scene->occupant);
	cr_assert(JOURNAL_IS(&scene->cancelled, 1003, told_low));
	scene_end(scene);
}

Test(bound_marks, watermarks_in_bytes, .timeout = 10)
{
	in_bytes(10, 2001);
	in_bytes(9, 2000);
	in_bytes(0, 2000);
}

/* The mark itself is reached, the one beside it is not. */
Test(bound_marks, a_watermark_is_told_at_exactly_the_mark, .timeout = 10)
{
	static const struct {
		uint32_t tasks_high, tasks_low;
		uint64_t bytes_high, bytes_low;
		int queued; /* of ten bytes each */
		bool rises;
		int falls; /* so many wait when the low mark is told */
	} rows[] = {
		{3, 1, 0, 0, 2, false, 0},   {3, 1, 0, 0, 3, true, 1},
		{3, 0, 0, 0, 3, true, 0},    {3, 2, 0, 0, 4, true, 2},
		{0, 0, 30, 10, 2, false, 0}, {0, 0, 31, 10, 3, false, 0},
		{0, 0, 30, 10, 3, true, 1},  {0, 0, 30, 9, 3, true, 0},
		{4, 3, 30, 10, 3, true, 1},  {3, 1, 90, 89, 3, true, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct scene *scene = scene_create();
		struct mark_step steps[4];

		scene->limits.tasks_high = rows[i].tasks_high;
		scene->limits.tasks_low = rows[i].tasks_low;
		scene->limits.bytes_high = rows[i].bytes_high;
		scene->limits.bytes_low = rows[i].bytes_low;
		scene->limits.high = rises;
		scene->limits.low = falls;
		scene->limits.arg = scene;
		scene_begin(scene, 0, true);
		occupy(&scene->occupant, &scene->resource);
		for (int step = 0; step < rows[i].queued; step++) {
			mark_step_init_bytes(&steps[step], scene, step, 0, 10);
			cr_assert_eq(mark_step_submit(&steps[step], scene), 0);
		}
		release(&scene->occupant);
		if (rows[i].rises)
			cr_assert(JOURNAL_IS(&scene->cancelled, 1000 + rows[i].queued,
			                     2000 + rows[i].falls),
			          "row %zu", i);
		else
			cr_assert_eq(scene->cancelled.count, 0, "row %zu", i);
		scene_end(scene);
	}
}
