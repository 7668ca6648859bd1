/* SPDX-License-Identifier: MIT */
/* Bounds: what is too much, by each policy, in tasks and bytes; and that the counts balance. */
#include "module/bound.h"

#include "labels.h"
#include "stash.h"

#include <baton/call.h>

Test(bound, has_limits_and_marks_that_fit_each_other, .timeout = 5)
{
	static const struct {
		struct baton_bound_config config;
		bool valid;
	} rows[] = {
		{{.tasks_max = 0}, true},
		{{.tasks_max = 2, .tasks_hard = 2}, true},
		{{.tasks_max = 3, .tasks_hard = 2}, false},
		{{.tasks_hard = 2}, false},
		{{.tasks_max = BATON_BOUND_TASKS_MAX}, true},
		{{.tasks_max = BATON_BOUND_TASKS_MAX + 1}, false},
		{{.tasks_max = 1, .tasks_hard = BATON_BOUND_TASKS_MAX}, true},
		{{.tasks_max = 1, .tasks_hard = BATON_BOUND_TASKS_MAX + 1}, false},
		{{.tasks_hard = BATON_BOUND_TASKS_MAX + 1}, false},
		{{.bytes_max = 2, .bytes_hard = 2}, true},
		{{.bytes_max = 3, .bytes_hard = 2}, false},
		{{.bytes_hard = 2}, false},
		{{.bytes_max = BATON_BOUND_BYTES_MAX}, true},
		{{.bytes_max = BATON_BOUND_BYTES_MAX + 1}, false},
		{{.bytes_max = 1, .bytes_hard = BATON_BOUND_BYTES_MAX}, true},
		{{.bytes_max = 1, .bytes_hard = BATON_BOUND_BYTES_MAX + 1}, false},
		{{.bytes_hard = BATON_BOUND_BYTES_MAX + 1}, false},
		{{.tasks_low = 2}, true},
		{{.tasks_low = 2, .tasks_high = 3}, true},
		{{.tasks_low = 2, .tasks_high = 2}, false},
		{{.bytes_low = 2}, true},
		{{.bytes_low = 2, .bytes_high = 3}, true},
		{{.bytes_low = 2, .bytes_high = 2}, false},
		{{.policy = BATON_BOUND_WAIT}, true},
		{{.policy = BATON_BOUND_WAIT + 1}, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_expect_eq(baton__bound_valid(&rows[i].config), rows[i].valid, "row %zu", i);
}

Test(bound, refuses_what_is_too_much_and_leaves_it_untouched, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct baton_future futures[4];
	struct mark_step steps[4];

	scene->limits.tasks_max = 2;
	scene_begin(scene, 0, true);
	occupy(&scene->occupant, &scene->resource);
	for (int i = 0; i < 4; i++) {
		mark_step_init(&steps[i], scene, i, 0, &futures[i]);
		cr_assert_eq(mark_step_submit(&steps[i], scene), i < 2 ? 0 : -EAGAIN);
	}
	cr_assert_eq(scene_counts(scene).tasks, 2);
	cr_assert_eq(scene_counts(scene).refused, 2);
	cr_assert_eq(baton_future_state(&futures[2]), BATON_PENDING);
	cr_assert_eq(baton_future_cancel(&futures[2]), -EINVAL, "bound to nothing");
	release(&scene->occupant);
	cr_assert_eq(scene_counts(scene).tasks, 0);
	cr_assert_eq(mark_step_submit(&steps[2], scene), 0);
	cr_assert(JOURNAL_IS(&scene->journal, 0, 1, 2));
	cr_assert_eq(resource_counts(&scene->stats).submitted, 4);
	scene_end(scene);
}

static void *add_one(void *arg)
{
	++*(int *)arg;
	return arg;
}

Test(bound, counts_tasks_of_every_kind_and_none_that_runs_at_once, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct baton_future *future = NULL;
	struct step plain;
	int ran = 0;

	scene->limits.tasks_max = 2;
	scene_begin(scene, 0, true);
	for (int i = 0; i < 10; i++) {
		cr_assert_eq(baton_call(&scene->resource, add_one, &ran, NULL), 0);
		cr_assert_eq(baton_post(&scene->resource, add_one, &ran), 0);
	}
	cr_assert_eq(scene_counts(scene).tasks, 0);
	occupy(&scene->occupant, &scene->resource);
	cr_assert_eq(baton_post(&scene->resource, add_one, &ran), 0);
	cr_assert_eq(baton_async(&scene->resource, add_one, &ran, &future), 0);
	step_init(&plain, &scene->journal, 0, NULL);
	cr_assert_eq(baton_submit(&scene->resource, &plain.task), -EAGAIN);
	cr_assert_eq(baton_submit_later(&scene->resource, &plain.task), -EAGAIN);
	cr_assert_eq(baton_post(&scene->resource, add_one, &ran), -EAGAIN);
	cr_assert_eq(baton_call(&scene->resource, add_one, &ran, NULL), -EAGAIN);
	release(&scene->occupant);
	baton_future_unref(future);
	cr_assert_eq(ran, 22);
	scene_end(scene);
}

Test(bound, a_batch_is_accepted_or_refused_as_a_whole, .timeout = 10)
{
	for (int busy = 0; busy < 2; busy++) {
		struct scene *scene = scene_create();
		struct baton_task *tasks[4];
		struct mark_step steps[4];

		scene->limits.tasks_max = 3;
		scene_begin(scene, 0, true);
		for (int i = 0; i < 4; i++) {
			mark_step_init(&steps[i], scene, i, 0, NULL);
			tasks[i] = &steps[i].stamped.task;
		}
		if (busy)
			occupy(&scene->occupant, &scene->resource);
		cr_assert_eq(baton_submit_batch(&scene->resource, tasks, 4), -EAGAIN);
		cr_assert_eq(scene_counts(scene).tasks, 0);
		cr_assert_eq(baton_submit_batch(&scene->resource, tasks, 3), 0);
		cr_assert_eq(scene_counts(scene).tasks, busy ? 3 : 0);
		if (busy) {
			cr_assert_eq(mark_step_submit(&steps[3], scene), -EAGAIN);
			release(&scene->occupant);
		}
		cr_assert(journal_counts_up(&scene->journal, 0, 3));
		scene_end(scene);
	}
}

Test(bound, bytes_count_beside_tasks, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct mark_step steps[5];
	const uint32_t bytes[] = {UINT32_MAX, 50, 51, 0, UINT32_MAX};
	const int status[] = {0, 0, -EAGAIN, 0, -EAGAIN};

	scene->limits.bytes_max = (uint64_t)UINT32_MAX + 100;
	scene_begin(scene, 0, true);
	occupy(&scene->occupant, &scene->resource);
	for (int i = 0; i < 5; i++) {
		mark_step_init_bytes(&steps[i], scene, i, 0, bytes[i]);
		cr_assert_eq(mark_step_submit(&steps[i], scene), status[i]);
	}
	cr_assert_eq(scene_counts(scene).bytes, (uint64_t)UINT32_MAX + 50);
	cr_assert_eq(scene_counts(scene).tasks, 3);
	release(&scene->occupant);
	cr_assert(JOURNAL_IS(&scene->journal, 0, 1, 3));
	scene_end(scene);
}

Test(bound, the_newest_is_complete_before_its_submit_returns, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct baton_tag tag = BATON_TAG_INIT;
	struct baton_future futures[2];
	struct mark_step steps[4];
	int ran = 0;

	scene->limits.policy = BATON_BOUND_DROP_NEWEST;
	scene->limits.tasks_max = 1;
	scene_begin(scene, 0, true);
	occupy(&scene->occupant, &scene->resource);
	for (int i = 0; i < 4; i++) {
		mark_step_init(&steps[i], scene, i, 0, i < 2 ? &futures[i] : NULL);
		baton_stamp_hold_tag(&steps[i].stamped.stamp, &tag);
		cr_assert_eq(mark_step_submit(&steps[i], scene), 0);
	}
	cr_assert_eq(baton_future_state(&futures[0]), BATON_PENDING);
	cr_assert_eq(baton_future_state(&futures[1]), BATON_CANCELLED);
	cr_assert(JOURNAL_IS(&scene->cancelled, 2, 3));
	cr_assert_eq(baton_tag_held(&tag), 1);
	cr_assert_eq(baton_post(&scene->resource, add_one, &ran), 0);
	cr_assert_eq(baton_call(&scene->resource, add_one, &ran, NULL), -ECANCELED);
	cr_assert_eq(scene_counts(scene).dropped, 5);
	release(&scene->occupant);
	cr_assert_eq(ran, 0);
	cr_assert(JOURNAL_IS(&scene->journal, 0));
	cr_assert_eq(resource_counts(&scene->stats).submitted, 7);
	cr_assert_eq(resource_counts(&scene->stats).executed, 2);
	cr_assert_eq(resource_counts(&scene->stats).cancelled, 5);
	cr_assert_eq(resource_counts(&scene->stats).outstanding, 0);
	scene_end(scene);
}

Test(bound, the_oldest_of_its_lane_goes_for_a_newer_one, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct mark_step steps[7];
	const unsigned lanes[] = {1, 2, 1, 1, 2, 0, 1};

	scene->limits.policy = BATON_BOUND_DROP_OLDEST;
	scene->limits.tasks_max = 3;
	scene_begin(scene, 3, true);
	occupy(&scene->occupant, &scene->resource);
	for (int i = 0; i < 7; i++) {
		mark_step_init(&steps[i], scene, i, lanes[i], NULL);
		cr_assert_eq(mark_step_submit(&steps[i], scene), 0);
	}
	/* 5 is alone in its lane: nobody goes for it but itself. */
	cr_assert(JOURNAL_IS(&scene->cancelled, 0, 1, 5, 2));
	release(&scene->occupant);
	cr_assert(JOURNAL_IS(&scene->journal, 3, 6, 4));
	cr_assert_eq(scene_counts(scene).dropped, 4);
	scene_end(scene);
}

Test(bound, the_lowest_lane_gives_way_and_exempt_ones_do_not, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct mark_step steps[8];
	const unsigned lanes[] = {2, 2, 3, 3, 1, 0, 0, 1};

	scene->limits.policy = BATON_BOUND_DROP_LOWEST;
	scene->limits.tasks_max = 2;
	scene->limits.exempt = 1U << 3;
	scene_begin(scene, 4, true);
	occupy(&scene->occupant, &scene->resource);
	for (int i = 0; i < 8; i++) {
		mark_step_init(&steps[i], scene, i, lanes[i], NULL);
		cr_assert_eq(mark_step_submit(&steps[i], scene), 0);
	}
	cr_assert_eq(scene_counts(scene).tasks, 2);
	release(&scene->occupant);
	cr_assert(JOURNAL_IS(&scene->cancelled, 0, 1, 4, 7));
	cr_assert(JOURNAL_IS(&scene->journal, 5, 6, 2, 3));
	scene_end(scene);
}

Test(bound, exempt_lanes_are_not_refused, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct mark_step steps[4];

	scene->limits.tasks_max = 1;
	scene->limits.exempt = 1U << 0;
	scene_begin(scene, 0, true);
	occupy(&scene->occupant, &scene->resource);
	for (int i = 0; i < 4; i++) {
		mark_step_init(&steps[i], scene, i, (unsigned)i % 2, NULL);
		cr_assert_eq(mark_step_submit(&steps[i], scene), i < 3 ? 0 : -EAGAIN);
	}
	cr_assert_eq(scene_counts(scene).tasks, 1);
	release(&scene->occupant);
	scene_end(scene);
}

Test(bound, room_comes_back_by_every_way_out, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct baton_future futures[3];
	struct mark_step steps[3];
	struct stash stash;

	stash_init(&stash);
	scene->config.executor = &stash.executor;
	scene->config.capture_max = BATON_CAPTURE_NONE;
	scene->limits.tasks_max = 3;
	scene_begin(scene, 2, true);
	for (int way = 0; way < 4; way++) {
		for (int i = 0; i < 3; i++) {
			mark_step_init(&steps[i], scene, i, (unsigned)i % 2, &futures[i]);
			cr_assert_eq(mark_step_submit(&steps[i], scene), 0);
		}
		cr_assert_eq(baton_post(&scene->resource, add_one, NULL), -EAGAIN);
		if (way == 0) {
			cr_assert_eq(baton_future_cancel(&futures[1]), 0);
			cr_assert_eq(scene_counts(scene).tasks, 2);
		}
		if (way == 1)
			cr_assert_eq(baton_resource_cancel_pending(&scene->resource), 0);
		if (way == 2)
			baton_job_cancel(atomic_load(&stash.jobs[stash.next++]));
		stash_run(&stash);
		cr_assert_eq(scene_counts(scene).tasks, 0);
	}
	atomic_store(&stash.answer, -ESHUTDOWN);
	mark_step_init(&steps[0], scene, 0, 0, NULL);
	cr_assert_eq(mark_step_submit(&steps[0], scene), -ESHUTDOWN);
	cr_assert_eq(scene_counts(scene).tasks, 0);
	scene_end(scene);
}

Test(bound, the_bytes_of_a_stamped_post_count, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct baton_label label = {.bytes = 60};
	int ran = 0;

	scene->limits.bytes_max = 100;
	scene_begin(scene, 0, true);
	occupy(&scene->occupant, &scene->resource);
	cr_assert_eq(baton_post_with(&scene->resource,
	                             &(struct baton_call_options){
					     .fn = add_one, .arg = &ran, .label = &label}),
	             0);
	cr_assert_eq(scene_counts(scene).bytes, 60);
	cr_assert_eq(baton_post_with(&scene->resource,
	                             &(struct baton_call_options){
					     .fn = add_one, .arg = &ran, .label = &label}),
	             -EAGAIN);
	label.bytes = 40;
	cr_assert_eq(baton_post_with(&scene->resource,
	                             &(struct baton_call_options){
					     .fn = add_one, .arg = &ran, .label = &label}),
	             0);
	cr_assert_eq(scene_counts(scene).bytes, 100);
	label.bytes = 1;
	cr_assert_eq(baton_post_with(&scene->resource,
	                             &(struct baton_call_options){
					     .fn = add_one, .arg = &ran, .label = &label}),
	             -EAGAIN);
	release(&scene->occupant);
	cr_assert_eq(ran, 2);
	cr_assert_eq(scene_counts(scene).bytes, 0);
	scene_end(scene);
}

struct pusher {
	struct scene *scene;
	int accepted;
	int ran;
};

static void *pusher_main(void *arg)
{
	struct pusher *pusher = arg;
	int *ran = &pusher->ran;

	for (int i = 0; i < 2000; i++) {
		int status = baton_post(&pusher->scene->resource, add_one, ran);

		MUST(status == 0 || status == -EAGAIN);
		pusher->accepted += status == 0;
	}
	return NULL;
}

Test(bound, under_load_what_is_accepted_runs_and_all_the_room_comes_back, .timeout = 30)
{
	struct baton_pool *pool = pool_of(2);
	struct scene *scene = scene_create();
	struct pusher pushers[3];
	struct baton_task *tasks[5];
	struct mark_step steps[5];
	pthread_t threads[3];

	scene->config.executor = baton_pool_executor(pool);
	scene->config.capture_max = 1;
	scene->limits.tasks_max = 5;
	scene_begin(scene, 0, true);
	for (int i = 0; i < 3; i++) {
		pushers[i] = (struct pusher){scene, 0, 0};
		threads[i] = thread_start(pusher_main, &pushers[i]);
	}
	for (int i = 0; i < 3; i++)
		thread_join(threads[i]);
	cr_assert_eq(baton_resource_await(&scene->resource), 0);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(pushers[i].accepted, pushers[i].ran);
	for (int i = 0; i < 5; i++) {
		mark_step_init(&steps[i], scene, i, 0, NULL);
		tasks[i] = &steps[i].stamped.task;
	}
	cr_assert_eq(baton_submit_batch(&scene->resource, tasks, 5), 0, "no room is lost");
	cr_assert_eq(baton_resource_await(&scene->resource), 0);
	scene_end(scene);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}
