/* SPDX-License-Identifier: MIT */
/* Tags: what was stamped before a cancel never runs, wherever it is queued; the rest does. */
#include "labels.h"
#include "stash.h"

#include <baton/call.h>

/* Queues stamped steps, numbered from `first`, behind whatever holds the resource. */
static void queue(struct scene *scene, struct mark_step *steps, int first, int count,
                  struct baton_tag *tag)
{
	for (int i = 0; i < count; i++) {
		mark_step_init(&steps[i], scene, first + i, 0, NULL);
		baton_stamp_set_tag(&steps[i].stamped.stamp, tag);
		MUST(mark_step_submit(&steps[i], scene) == 0);
	}
}

Test(tag, a_cancel_meets_what_was_stamped_before_in_every_resource, .timeout = 10)
{
	struct scene *scenes[2] = {scene_create(), scene_create()};
	struct baton_tag tag = BATON_TAG_INIT;
	struct baton_tag other = BATON_TAG_INIT;
	struct mark_step steps[2][6];

	for (int i = 0; i < 2; i++) {
		/* With an extension, and without. */
		scene_begin(scenes[i], i ? 2 : 0, false);
		occupy(&scenes[i]->occupant, &scenes[i]->resource);
		queue(scenes[i], steps[i], 0, 2, &tag);
		queue(scenes[i], steps[i] + 2, 2, 2, &other);
	}
	baton_tag_cancel(&tag);
	for (int i = 0; i < 2; i++) {
		queue(scenes[i], steps[i] + 4, 4, 2, &tag);
		release(&scenes[i]->occupant);
		cr_assert(JOURNAL_IS(&scenes[i]->journal, 2, 3, 4, 5));
		cr_assert(JOURNAL_IS(&scenes[i]->cancelled, 0, 1));
		cr_assert_eq(scenes[i]->stats.cancelled, 2);
		scene_end(scenes[i]);
	}
}

Test(tag, a_future_is_cancelled_and_has_never_been_running, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct baton_tag tag = BATON_TAG_INIT;
	struct baton_future future;
	struct mark_step step;

	scene_begin(scene, 0, false);
	occupy(&scene->occupant, &scene->resource);
	mark_step_init(&step, scene, 0, 0, &future);
	baton_stamp_set_tag(&step.stamped.stamp, &tag);
	cr_assert_eq(mark_step_submit(&step, scene), 0);
	baton_tag_cancel(&tag);
	cr_assert_eq(baton_future_state(&future), BATON_PENDING, "it is the runner who completes");
	release(&scene->occupant);
	cr_assert_eq(baton_future_state(&future), BATON_CANCELLED);
	cr_assert_eq(baton_future_status(&future), -ECANCELED);
	cr_assert_eq(scene->journal.count, 0);
	scene_end(scene);
}

/* Submits of all kinds, to a resource without anything special. */
Test(tag, on_the_short_paths_too_an_old_stamp_is_cancelled, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct baton_tag tag = BATON_TAG_INIT;
	struct baton_future future;
	struct mark_step steps[4];
	struct baton_task *tasks[2] = {&steps[2].stamped.task, &steps[3].stamped.task};

	scene->config.cancelled = mark_step_cancelled;
	baton_resource_init(&scene->resource, &scene->config);
	for (int i = 0; i < 4; i++) {
		mark_step_init(&steps[i], scene, i, 0, i == 1 ? &future : NULL);
		if (i != 3)
			baton_stamp_set_tag(&steps[i].stamped.stamp, &tag);
	}
	baton_tag_cancel(&tag);
	cr_assert_eq(mark_step_submit(&steps[0], scene), 0);
	cr_assert_eq(mark_step_submit(&steps[1], scene), 0);
	cr_assert_eq(baton_future_state(&future), BATON_CANCELLED);
	cr_assert_eq(baton_submit_batch(&scene->resource, tasks, 2), 0);
	cr_assert(JOURNAL_IS(&scene->journal, 3));
	cr_assert(JOURNAL_IS(&scene->cancelled, 0, 2));
	/* Stamped anew it runs. */
	baton_stamp_set_tag(&steps[0].stamped.stamp, &tag);
	cr_assert_eq(mark_step_submit(&steps[0], scene), 0);
	baton_tag_cancel(&tag);
	baton_stamp_set_tag(&steps[2].stamped.stamp, NULL);
	cr_assert_eq(mark_step_submit(&steps[2], scene), 0);
	cr_assert(JOURNAL_IS(&scene->journal, 3, 0, 2));
	resource_end(&scene->resource);
	free(scene);
}

static void *add_one(void *arg)
{
	++*(int *)arg;
	return NULL;
}

Test(tag, posts_are_cancelled_and_their_nodes_go_home, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct baton_tag tag = BATON_TAG_INIT;
	struct baton_label label = {.tag = &tag, .lane = 1, .hold = true};
	int ran = 0;

	scene_begin(scene, 2, false);
	cr_assert_eq(baton_post_with(&scene->resource,
	                             &(struct baton_call_options){
					     .fn = add_one, .arg = &ran, .label = &label}),
	             0);
	cr_assert_eq(ran, 1);
	cr_assert_eq(baton_tag_held(&tag), 0);
	occupy(&scene->occupant, &scene->resource);
	for (int i = 0; i < 10; i++)
		cr_assert_eq(baton_post_with(&scene->resource,
		                             &(struct baton_call_options){
						     .fn = add_one, .arg = &ran, .label = &label}),
		             0);
	cr_assert_eq(baton_tag_held(&tag), 10);
	baton_tag_cancel(&tag);
	cr_assert_eq(baton_post_with(&scene->resource,
	                             &(struct baton_call_options){
					     .fn = add_one, .arg = &ran, .label = &label}),
	             0);
	label.lane = BATON_LANES_MAX;
	cr_assert_eq(baton_post_with(&scene->resource,
	                             &(struct baton_call_options){
					     .fn = add_one, .arg = &ran, .label = &label}),
	             -EINVAL);
	release(&scene->occupant);
	cr_assert_eq(ran, 2);
	cr_assert_eq(baton_tag_held(&tag), 0);
	cr_assert_eq(scene->stats.cancelled, 10);
	cr_assert_eq(baton_resource_close(&scene->resource), 0);
	label.lane = 0;
	cr_assert_eq(baton_post_with(&scene->resource,
	                             &(struct baton_call_options){
					     .fn = add_one, .arg = &ran, .label = &label}),
	             -EPIPE);
	cr_assert_eq(baton_tag_held(&tag), 0);
	scene_end(scene);
}

Test(tag, a_post_that_does_not_hold_its_tag_is_cancelled_too, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct baton_tag tag = BATON_TAG_INIT;
	struct baton_label label = {.tag = &tag};
	struct mark_step step;
	int ran = 0;

	scene_begin(scene, 2, false);
	mark_step_init(&step, scene, 0, 0, NULL);
	baton_stamp_hold_tag(&step.stamped.stamp, NULL);
	occupy(&scene->occupant, &scene->resource);
	cr_assert_eq(mark_step_submit(&step, scene), 0);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_post_with(&scene->resource,
		                             &(struct baton_call_options){
						     .fn = add_one, .arg = &ran, .label = &label}),
		             0);
	cr_assert_eq(baton_tag_held(&tag), 0);
	baton_tag_cancel(&tag);
	release(&scene->occupant);
	cr_assert_eq(ran, 0);
	cr_assert_eq(scene->stats.cancelled, 3);
	cr_assert(JOURNAL_IS(&scene->journal, 0));
	scene_end(scene);
}

Test(tag, held_is_let_go_once_however_a_task_ends, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct baton_tag tag = BATON_TAG_INIT;
	struct baton_future futures[5];
	struct mark_step steps[5];

	scene_begin(scene, 0, false);
	occupy(&scene->occupant, &scene->resource);
	for (int i = 0; i < 5; i++) {
		mark_step_init(&steps[i], scene, i, 0, i == 3 ? NULL : &futures[i]);
		baton_stamp_hold_tag(&steps[i].stamped.stamp, &tag);
		if (i < 4)
			cr_assert_eq(mark_step_submit(&steps[i], scene), 0);
		if (i == 3)
			cr_assert_eq(baton_resource_cancel_pending(&scene->resource), 0);
	}
	/* By itself, by its mark; and run. */
	cr_assert_eq(baton_future_cancel(&futures[0]), 0);
	cr_assert_eq(mark_step_submit(&steps[4], scene), 0);
	cr_assert_eq(baton_tag_held(&tag), 5);
	release(&scene->occupant);
	cr_assert_eq(baton_tag_held(&tag), 0);
	cr_assert(JOURNAL_IS(&scene->journal, 4));
	/* Refused it keeps its stamp, until that is taken away; stamped again it holds once. */
	cr_assert_eq(baton_resource_close(&scene->resource), 0);
	mark_step_init(&steps[0], scene, 5, 0, NULL);
	baton_stamp_hold_tag(&steps[0].stamped.stamp, &tag);
	baton_stamp_hold_tag(&steps[0].stamped.stamp, &tag);
	cr_assert_eq(mark_step_submit(&steps[0], scene), -EPIPE);
	cr_assert_eq(baton_tag_held(&tag), 1);
	baton_stamp_set_tag(&steps[0].stamped.stamp, NULL);
	cr_assert_eq(baton_tag_held(&tag), 0);
	scene_end(scene);
}

Test(tag, a_continuation_that_is_refused_lets_go, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct baton_tag tag = BATON_TAG_INIT;
	struct baton_future promise = BATON_PROMISE_INIT;
	struct baton_continuation continuation;
	struct mark_step step;

	scene_begin(scene, 0, false);
	mark_step_init(&step, scene, 7, 0, NULL);
	baton_stamp_hold_tag(&step.stamped.stamp, &tag);
	baton_continuation_task(&continuation, &scene->resource, &step.stamped.task);
	baton_future_then(&promise, &continuation);
	cr_assert_eq(baton_resource_close(&scene->resource), 0);
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	cr_assert(JOURNAL_IS(&scene->cancelled, 7));
	cr_assert_eq(baton_tag_held(&tag), 0);
	scene_end(scene);
}

static void *storm_main(void *arg)
{
	struct baton_tag *tag = arg;

	for (int i = 0; i < 1000; i++)
		baton_tag_cancel(tag);
	return NULL;
}

Test(tag, cancels_from_several_threads_beside_runners_leave_nothing_behind, .timeout = 30)
{
	struct baton_pool *pool = pool_of(2);
	struct scene *scene = scene_create();
	struct baton_tag tag = BATON_TAG_INIT;
	struct baton_label label = {.tag = &tag, .hold = true};
	pthread_t threads[2];
	int ran = 0;

	scene->config.executor = baton_pool_executor(pool);
	scene->config.capture_max = BATON_CAPTURE_NONE;
	scene_begin(scene, 0, false);
	for (int i = 0; i < 2; i++)
		threads[i] = thread_start(storm_main, &tag);
	for (int i = 0; i < 2000; i++)
		cr_assert_eq(baton_post_with(&scene->resource,
		                             &(struct baton_call_options){
						     .fn = add_one, .arg = &ran, .label = &label}),
		             0);
	for (int i = 0; i < 2; i++)
		thread_join(threads[i]);
	cr_assert_eq(baton_resource_await(&scene->resource), 0);
	cr_assert_eq(baton_tag_held(&tag), 0);
	cr_assert_eq(resource_counts(&scene->stats).executed, (uint64_t)ran);
	cr_assert_eq(scene->stats.cancelled, (uint64_t)(2000 - ran));
	scene_end(scene);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}
