/* SPDX-License-Identifier: MIT */
/* Lanes: the highest first, FIFO within one, aging, batches, and what their runner holds. */
#include "labels.h"
#include "stash.h"

#include "../parts.h"

/* Queues steps in these lanes, numbered from 0, behind an occupant. */
static void queue(struct scene *scene, struct mark_step *steps, const unsigned *lanes, int count)
{
	occupy(&scene->occupant, &scene->resource);
	for (int i = 0; i < count; i++) {
		mark_step_init(&steps[i], scene, i, lanes[i], NULL);
		cr_assert_eq(mark_step_submit(&steps[i], scene), 0);
	}
}

Test(lane, the_highest_runs_first_and_each_in_order, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct mark_step steps[6];

	scene_begin(scene, 3, false);
	queue(scene, steps, (unsigned[]){2, 1, 0, 2, 1, 0}, 6);
	release(&scene->occupant);
	cr_assert(JOURNAL_IS(&scene->journal, 2, 5, 1, 4, 0, 3));
	cr_assert_eq(scene->stats.backlog_max, 6);
	scene_end(scene);
}

Test(lane, without_a_label_is_the_highest_and_too_low_is_the_lowest, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct mark_step steps[3];
	struct step plain;

	scene_begin(scene, 2, false);
	queue(scene, steps, (unsigned[]){31, 1, 7}, 3);
	step_init(&plain, &scene->journal, 9, NULL);
	cr_assert_eq(baton_submit(&scene->resource, &plain.task), 0);
	release(&scene->occupant);
	cr_assert(JOURNAL_IS(&scene->journal, 9, 0, 1, 2));
	scene_end(scene);
}

Test(lane, without_lanes_the_label_is_ignored, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct mark_step steps[3];

	scene_begin(scene, 0, false);
	queue(scene, steps, (unsigned[]){2, 1, 0}, 3);
	release(&scene->occupant);
	cr_assert(JOURNAL_IS(&scene->journal, 0, 1, 2));
	scene_end(scene);
}

/* Submits another one from inside. */
struct urgent {
	struct mark_step step;
	struct mark_step *next;
	struct scene *scene;
};

static int urgent_run(struct baton_task *task)
{
	struct urgent *urgent = baton_container_of(task, struct urgent, step.stamped.task);

	MUST(mark_step_submit(urgent->next, urgent->scene) == 0);
	return mark_step_run(task);
}

Test(lane, what_arrives_meanwhile_is_looked_at_before_the_next, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct mark_step low[3], next;
	struct urgent urgent = {.next = &next, .scene = scene};

	scene_begin(scene, 2, false);
	occupy(&scene->occupant, &scene->resource);
	mark_step_init(&urgent.step, scene, 10, 1, NULL);
	stamped_init(&urgent.step.stamped, urgent_run, NULL);
	baton_stamp_set_lane(&urgent.step.stamped.stamp, 1);
	mark_step_init(&next, scene, 11, 0, NULL);
	cr_assert_eq(mark_step_submit(&urgent.step, scene), 0);
	for (int i = 0; i < 3; i++) {
		mark_step_init(&low[i], scene, i, 1, NULL);
		cr_assert_eq(mark_step_submit(&low[i], scene), 0);
	}
	release(&scene->occupant);
	cr_assert(JOURNAL_IS(&scene->journal, 10, 11, 0, 1, 2));
	scene_end(scene);
}

Test(lane, a_batch_keeps_its_order_per_lane_captured_or_not, .timeout = 10)
{
	for (int busy = 0; busy < 2; busy++) {
		struct scene *scene = scene_create();
		struct baton_task *tasks[4];
		struct mark_step steps[4];

		scene_begin(scene, 2, false);
		if (busy)
			occupy(&scene->occupant, &scene->resource);
		for (int i = 0; i < 4; i++) {
			mark_step_init(&steps[i], scene, i, i % 2 ? 0 : 1, NULL);
			tasks[i] = &steps[i].stamped.task;
		}
		cr_assert_eq(baton_submit_batch(&scene->resource, tasks, 4), 0);
		if (busy)
			release(&scene->occupant);
		cr_assert(JOURNAL_IS(&scene->journal, 1, 3, 0, 2));
		scene_end(scene);
	}
}

Test(lane, passed_over_n_times_it_gets_one_turn, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct mark_step steps[8];

	scene_begin(scene, 2, false);
	scene->aging.aging_turns = 3;
	queue(scene, steps, (unsigned[]){1, 1, 0, 0, 0, 0, 0, 0}, 8);
	release(&scene->occupant);
	cr_assert(JOURNAL_IS(&scene->journal, 2, 3, 4, 0, 5, 6, 7, 1));
	scene_end(scene);
}

Test(lane, aging_leaves_every_other_turn_to_the_highest, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct mark_step steps[9];

	scene_begin(scene, 3, false);
	scene->aging.aging_turns = 1;
	queue(scene, steps, (unsigned[]){1, 1, 1, 2, 2, 2, 0, 0, 0}, 9);
	release(&scene->occupant);
	for (int i = 0; i < 5; i += 2)
		cr_assert_eq(scene->journal.number[i], 6 + i / 2);
	cr_assert_eq(scene->journal.count, 9);
	scene_end(scene);
}

static int slow_step_run(struct baton_task *task)
{
	work_for_ns(2000000);
	return mark_step_run(task);
}

Test(lane, without_a_turn_for_some_time_it_gets_one, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct mark_step steps[4];

	scene_begin(scene, 2, false);
	scene->aging.aging_ns = 1000000;
	occupy(&scene->occupant, &scene->resource);
	for (int i = 0; i < 4; i++) {
		mark_step_init(&steps[i], scene, i, 0, NULL);
		stamped_init(&steps[i].stamped, slow_step_run, NULL);
		baton_stamp_set_lane(&steps[i].stamped.stamp, i == 0);
		cr_assert_eq(mark_step_submit(&steps[i], scene), 0);
	}
	release(&scene->occupant);
	/* The first turn is the highest's, unless sorting took that long. */
	cr_assert(scene->journal.number[0] == 0 || scene->journal.number[1] == 0);
	cr_assert_eq(scene->journal.count, 4);
	scene_end(scene);
}

Test(lane, at_a_hand_off_nothing_is_ahead_of_its_lane, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct mark_step steps[4];
	struct stash stash;

	stash_init(&stash);
	scene->config.executor = &stash.executor;
	scene->config.quantum = 1;
	scene->config.capture_max = 1;
	scene_begin(scene, 2, false);
	queue(scene, steps, (unsigned[]){1, 1, 1}, 3);
	release(&scene->occupant);
	cr_assert_eq(scene->journal.count, 0);
	cr_assert(stash_run_one(&stash));
	cr_assert_eq(baton_lanes_waiting(&scene->lanes, 1), 2);
	mark_step_init(&steps[3], scene, 3, 0, NULL);
	cr_assert_eq(mark_step_submit(&steps[3], scene), 0);
	stash_run(&stash);
	cr_assert(JOURNAL_IS(&scene->journal, 0, 3, 1, 2));
	cr_assert_eq(baton_lanes_waiting(&scene->lanes, 1), 0);
	cr_assert_eq(baton_lanes_waiting(&scene->lanes, 2), 0);
	scene_end(scene);
}

Test(lane, cancel_finds_a_task_in_its_lane, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct baton_future futures[5];
	struct mark_step steps[5];
	struct stash stash;

	stash_init(&stash);
	scene->config.executor = &stash.executor;
	scene->config.capture_max = BATON_CAPTURE_NONE;
	scene->config.quantum = 1;
	scene_begin(scene, 3, false);
	for (int i = 0; i < 5; i++) {
		mark_step_init(&steps[i], scene, i, i == 0 ? 0 : 2, &futures[i]);
		cr_assert_eq(mark_step_submit(&steps[i], scene), 0);
	}
	cr_assert(stash_run_one(&stash));
	cr_assert_eq(baton_lanes_waiting(&scene->lanes, 2), 4);
	/* First, last, in the middle: unlinked, and complete, at once. */
	cr_assert_eq(baton_future_cancel(&futures[4]), 0);
	cr_assert_eq(baton_future_state(&futures[4]), BATON_CANCELLED);
	cr_assert_eq(baton_future_cancel(&futures[1]), 0);
	cr_assert_eq(baton_future_state(&futures[1]), BATON_CANCELLED);
	cr_assert_eq(baton_lanes_waiting(&scene->lanes, 2), 2);
	mark_step_init(&steps[4], scene, 5, 2, &futures[4]);
	cr_assert_eq(mark_step_submit(&steps[4], scene), 0);
	stash_run(&stash);
	cr_assert(JOURNAL_IS(&scene->journal, 0, 2, 3, 5));
	cr_assert_eq(scene->stats.cancelled, 2);
	/* The stash has no withdraw: the entry is gone already. */
	scene_end(scene);
}

Test(lane, what_the_executor_will_not_take_goes_back, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct mark_step step;
	struct stash stash;

	stash_init(&stash);
	atomic_store(&stash.answer, -ESHUTDOWN);
	scene->config.executor = &stash.executor;
	scene->config.capture_max = BATON_CAPTURE_NONE;
	scene_begin(scene, 2, false);
	mark_step_init(&step, scene, 0, 1, NULL);
	cr_assert_eq(mark_step_submit(&step, scene), -ESHUTDOWN);
	cr_assert_eq(scene->journal.count + scene->cancelled.count, 0);
	cr_assert_eq(resource_counts(&scene->stats).submitted, 0);
	scene_end(scene);
}

Test(lane, shutdown_cancels_every_lane, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct mark_step steps[4];
	struct stash stash;

	stash_init(&stash);
	scene->config.executor = &stash.executor;
	scene->config.capture_max = BATON_CAPTURE_NONE;
	scene->config.quantum = 1;
	scene_begin(scene, 3, false);
	for (int i = 0; i < 4; i++) {
		mark_step_init(&steps[i], scene, i, (unsigned)i % 3, NULL);
		cr_assert_eq(mark_step_submit(&steps[i], scene), 0);
	}
	cr_assert(stash_run_one(&stash));
	baton_job_cancel(atomic_load(&stash.jobs[stash.next++]));
	cr_assert(JOURNAL_IS(&scene->journal, 0));
	cr_assert(JOURNAL_IS(&scene->cancelled, 3, 1, 2));
	scene_end(scene);
}

Test(lane, without_aging_the_highest_alone_has_turns, .timeout = 10)
{
	enum { COUNT = 500 };
	struct scene *scene = scene_create();
	static struct mark_step steps[COUNT];
	static unsigned lanes[COUNT];

	for (int i = 0; i < COUNT; i++)
		lanes[i] = i == 0;
	scene_begin(scene, 2, false);
	queue(scene, steps, lanes, COUNT);
	release(&scene->occupant);
	cr_assert_eq(scene->journal.number[COUNT - 1], 0);
	scene_end(scene);
}

Test(lane, what_the_runner_has_sorted_is_counted_in_its_lane, .timeout = 10)
{
	static const size_t waiting[] = {0, 2, 1, 0, 0};
	struct scene *scene = scene_create();
	struct mark_step steps[4];
	struct stash stash;

	stash_init(&stash);
	scene->config.executor = &stash.executor;
	scene->config.capture_max = 1;
	scene_begin(scene, 3, false);
	queue(scene, steps, (unsigned[]){0, 1, 1, 2}, 4);
	cr_assert_eq(baton_lanes_waiting(&scene->lanes, 1), 0, "it is not sorted yet");
	release(&scene->occupant);
	scene->config.quantum = 1;
	cr_assert(stash_run_one(&stash));
	cr_assert(JOURNAL_IS(&scene->journal, 0));
	for (unsigned lane = 0; lane < 5; lane++)
		cr_assert_eq(baton_lanes_waiting(&scene->lanes, lane), waiting[lane], "%u", lane);
	cr_assert_eq(baton_lanes_waiting(&scene->lanes, UINT32_MAX), 0);
	stash_run(&stash);
	scene_end(scene);
}
