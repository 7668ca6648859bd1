/* SPDX-License-Identifier: MIT */
/*
 * A batch that is refused leaves everything as it was, whichever of its tasks is to blame:
 * counters, room in the bound, lanes, futures. Then the same batch is accepted.
 */
#include "labels.h"

#include <baton/lane.h>

#define BATCH 4

enum why { STALE, SPENT, TOO_MANY, WAYS };

struct refused {
	struct scene *scene;
	struct mark_step steps[BATCH + 1];
	struct baton_future futures[BATCH + 1];
	struct baton_task *tasks[BATCH + 1];
};

static bool same_counts(const struct baton_resource_stats *a, const struct baton_resource_stats *b)
{
	return a->submitted == b->submitted && a->executed == b->executed &&
	       a->cancelled == b->cancelled && a->failed == b->failed &&
	       a->outstanding == b->outstanding;
}

/* Makes the batch impossible by its task `at`; returns the error that is due. */
static int spoil(struct refused *refused, enum why why, int at)
{
	switch (why) {
	case STALE:
		baton_promise_init(&refused->futures[at]);
		MUST(baton_future_complete(&refused->futures[at], 0, NULL) == 0);
		return -EINVAL;
	case SPENT: /* the same future as the task before it, or the last one */
		mark_step_init(&refused->steps[at], refused->scene, at, (unsigned)at % 2,
		               &refused->futures[(at + BATCH - 1) % BATCH]);
		return -EINVAL;
	default:
		return -EAGAIN;
	}
}

static void refuse(bool lanes, bool bounded, bool busy, enum why why, int at)
{
	struct refused refused = {.scene = scene_create()};
	struct scene *scene = refused.scene;
	struct baton_resource_stats before, after;
	int due;

	scene->limits.tasks_max = BATCH;
	scene_begin(scene, lanes ? 2 : 0, bounded);
	for (int i = 0; i <= BATCH; i++) {
		mark_step_init(&refused.steps[i], scene, i, (unsigned)i % 2, &refused.futures[i]);
		refused.tasks[i] = &refused.steps[i].stamped.task;
	}
	if (busy)
		occupy(&scene->occupant, &scene->resource);
	before = resource_counts(&scene->stats);
	due = spoil(&refused, why, at);
	cr_assert_eq(baton_submit_batch(&scene->resource, refused.tasks,
	                                why == TOO_MANY ? BATCH + 1 : BATCH),
	             due);
	after = resource_counts(&scene->stats);
	cr_assert(same_counts(&before, &after), "why %d, task %d", why, at);
	cr_assert_eq(scene->journal.count, 0);
	if (bounded)
		cr_assert_eq(scene_counts(scene).tasks, 0);
	for (int i = 0; i < BATCH; i++) {
		cr_assert_eq(lanes ? baton_lanes_waiting(&scene->lanes, (unsigned)i % 2) : 0, 0);
		if (why == STALE && i == at)
			continue;
		cr_assert_eq(baton_future_state(&refused.futures[i]), BATON_PENDING);
		cr_assert_eq(baton_future_cancel(&refused.futures[i]), -EINVAL, "not submitted");
	}
	/* Mended, the batch has its place. */
	mark_step_init(&refused.steps[at], scene, at, (unsigned)at % 2, &refused.futures[at]);
	cr_assert_eq(baton_submit_batch(&scene->resource, refused.tasks, BATCH), 0);
	if (busy && bounded)
		cr_assert_eq(baton_submit(&scene->resource, refused.tasks[BATCH]), -EAGAIN);
	if (busy)
		release(&scene->occupant);
	cr_assert(lanes ? JOURNAL_IS(&scene->journal, 0, 2, 1, 3)
	                : JOURNAL_IS(&scene->journal, 0, 1, 2, 3),
	          "why %d, task %d", why, at);
	for (int i = 0; i < BATCH; i++)
		cr_assert_eq(baton_future_state(&refused.futures[i]), BATON_DONE);
	cr_assert_eq(baton_future_cancel(&refused.futures[BATCH]), -EINVAL, "not submitted");
	scene_end(scene);
}

Test(refused_batch, leaves_everything_as_it_was_and_fits_when_it_is_mended, .timeout = 20)
{
	for (int sort = 0; sort < 8; sort++)
		for (enum why why = STALE; why < WAYS; why++)
			for (int at = 0; at < BATCH; at++) {
				const bool bounded = sort & 2, busy = sort & 4;

				/* A batch that runs at once has any room. */
				if (why != TOO_MANY || (bounded && busy))
					refuse(sort & 1, bounded, busy, why, at);
			}
}
