/* SPDX-License-Identifier: MIT */
/* Lanes together with suspensions, kicks, hooks, held queues, and executors that end. */
#include "labels.h"
#include "stash.h"
#include "window_support.h"

#include <baton/hooks.h>
#include <baton/suspend.h>

/* Submits steps of lanes 2, 1, 0, numbered by their lane, ten times the number, plus `from`. */
static void submit_low_first(struct scene *scene, struct mark_step *steps, int from)
{
	for (int i = 0; i < 3; i++) {
		int lane = 2 - i;

		mark_step_init(&steps[i], scene, 10 * lane + from, (unsigned)lane, NULL);
		cr_assert_eq(mark_step_submit(&steps[i], scene), 0);
	}
}

struct suspender {
	struct mark_step step;
	struct scene *scene;
	struct baton_suspension suspension;
	int result;
};

static int suspend_run(struct baton_task *task)
{
	struct suspender *suspender = baton_container_of(task, struct suspender, step.stamped.task);

	suspender->result =
		baton_resource_suspend(&suspender->scene->resource, &suspender->suspension);
	return mark_step_run(task);
}

/* It overtakes every lane, and what was picked, put back, or sorted runs in its order. */
Test(combos_lanes, a_suspension_overtakes_all_lanes, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct suspender suspender = {.scene = scene};
	struct mark_step before[3];
	struct mark_step meanwhile[3];
	struct baton_suspension first = BATON_SUSPENSION_INIT;

	scene_begin(scene, 3, false);
	cr_assert_eq(baton_resource_suspend(&scene->resource, &first), 0);
	submit_low_first(scene, before, 1);
	mark_step_init(&suspender.step, scene, 5, 0, NULL);
	suspender.step.stamped.fn = suspend_run;
	cr_assert_eq(mark_step_submit(&suspender.step, scene), 0);
	cr_assert_eq(scene->journal.count, 0);
	cr_assert_eq(baton_resource_resume(&first), 0);
	cr_assert_eq(suspender.result, 0);
	cr_assert(baton_suspension_is_effective(&suspender.suspension));
	cr_assert(JOURNAL_IS(&scene->journal, 1, 5));
	submit_low_first(scene, meanwhile, 2);
	cr_assert(JOURNAL_IS(&scene->journal, 1, 5));
	/* There is nothing in its inbox but these, and work in the lanes. */
	cr_assert_eq(baton_resource_resume(&suspender.suspension), 0);
	cr_assert(JOURNAL_IS(&scene->journal, 1, 5, 2, 11, 12, 21, 22));
	scene_end(scene);
}

/* Resumed when only the lanes have work: it is not released as empty. */
Test(combos_lanes, what_is_sorted_is_not_forgotten_at_the_resume, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct suspender suspender = {.scene = scene};
	struct mark_step steps[3];
	struct baton_suspension first = BATON_SUSPENSION_INIT;

	scene_begin(scene, 3, false);
	cr_assert_eq(baton_resource_suspend(&scene->resource, &first), 0);
	mark_step_init(&suspender.step, scene, 5, 0, NULL);
	suspender.step.stamped.fn = suspend_run;
	cr_assert_eq(mark_step_submit(&suspender.step, scene), 0);
	submit_low_first(scene, steps, 1);
	cr_assert_eq(baton_resource_resume(&first), 0);
	cr_assert(JOURNAL_IS(&scene->journal, 5));
	cr_assert_eq(baton_lanes_waiting(&scene->lanes, 2), 1);
	cr_assert_eq(baton_resource_resume(&suspender.suspension), 0);
	cr_assert(JOURNAL_IS(&scene->journal, 5, 1, 11, 21));
	scene_end(scene);
}

/* A cancel_pending given to a suspended resource: obeyed at the resume, for lanes and window. */
Test(combos_lanes, a_cancel_of_a_suspended_resource_reaches_all_lanes, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct mark_step before[3];
	struct mark_step after[3];
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	scene_begin(scene, 3, true);
	cr_assert_eq(baton_resource_suspend(&scene->resource, &suspension), 0);
	submit_low_first(scene, before, 1);
	cr_assert_eq(baton_resource_cancel_pending(&scene->resource), 0);
	submit_low_first(scene, after, 2);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert_eq(scene->cancelled.count, 3);
	cr_assert(JOURNAL_IS(&scene->journal, 2, 12, 22));
	scene_end(scene);
}

/* ---- shutdown_now: what an executor cancels ---- */

static int begun;
static int ended;

static int count_begin(struct baton_resource *resource)
{
	begun++;
	return 0;
}

static int count_end(struct baton_resource *resource)
{
	ended++;
	return 0;
}

Test(combos_lanes, a_cancelled_job_leaves_nothing_in_lanes_window_and_bound, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct mark_step steps[3];
	struct message messages[3];
	struct baton_window window;
	struct stash stash;
	struct mark_step late;

	stash_init(&stash);
	scene->config.executor = &stash.executor;
	scene->config.capture_max = 1;
	scene->config.batch_begin = count_begin;
	scene->config.batch_end = count_end;
	scene->config.delay_completions = true;
	scene_begin(scene, 3, true);
	baton_window_init(&window, &scene->resource, 1);
	for (int i = 0; i < 3; i++)
		message_init(&messages[i], &window, &scene->journal, 2 * i + 1);
	/* In flight; waits in the window; the rest in the queue. */
	for (int i = 0; i < 2; i++)
		cr_assert_eq(baton_submit(&scene->resource, &messages[i].windowed.task), 0);
	cr_assert_eq(baton_window_waiting(&window), 1);
	MUST(baton_submit_later(&scene->resource, &messages[2].windowed.task) == 0);
	submit_low_first(scene, steps, 40);
	cr_assert_eq(atomic_load(&stash.count), 1);
	atomic_store(&stash.answer, -ESHUTDOWN);
	baton_job_cancel(atomic_load(&stash.jobs[0]));
	cr_assert_eq(scene->cancelled.count, 3);
	cr_assert_eq(baton_future_state(&messages[2].future), BATON_CANCELLED);
	cr_assert_eq(baton_future_state(&messages[1].future), BATON_PENDING);
	cr_assert_eq(baton_window_in_flight(&window), 1);
	/* The one that waits starts all the same: there is nobody but this thread. */
	cr_assert_eq(baton_detached_complete(&messages[0].windowed.part.token, 0, NULL), 0);
	cr_assert_eq(baton_detached_complete(&messages[1].windowed.part.token, 0, NULL), 0);
	mark_step_init(&late, scene, 9, 2, NULL);
	cr_assert_eq(mark_step_submit(&late, scene), 0);
	cr_assert(JOURNAL_IS(&scene->journal, 1, 3, 9));
	cr_assert_eq(begun, ended);
	cr_assert_eq(begun, 3);
	resource_end(&scene->resource);
	baton_window_deinit(&window);
	cr_assert_eq(scene->bound._pushed, scene->bound._gone);
	cr_assert_eq(resource_counts(&scene->stats).submitted,
	             resource_counts(&scene->stats).executed + scene->stats.cancelled);
	free(scene);
}

/* ---- Held queues ---- */

struct holder {
	struct mark_step step;
	struct baton_detached token;
	sem_t held;
	int result;
};

static int hold_run(struct baton_task *task)
{
	struct holder *holder = baton_container_of(task, struct holder, step.stamped.task);

	(void)mark_step_run(task);
	holder->result = baton_detach(&holder->token, BATON_DETACH_EXCLUSIVE);
	gate_open(&holder->held);
	return 0;
}

static void *await_main(void *arg)
{
	MUST(baton_resource_await(arg) == 0);
	return NULL;
}

/* A helper is in the lanes when the queue is held; the awaiter waits for all that is older. */
Test(combos_lanes, an_await_sees_through_a_held_queue, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct holder holder = {.token = BATON_DETACHED_INIT, .result = 1};
	struct mark_step steps[3];
	struct stash stash;
	pthread_t thread;

	stash_init(&stash);
	gate_init(&holder.held);
	scene->config.executor = &stash.executor;
	scene_begin(scene, 3, true);
	mark_step_init(&holder.step, scene, 5, 0, NULL);
	holder.step.stamped.fn = hold_run;
	MUST(baton_submit_later(&scene->resource, &holder.step.stamped.task) == 0);
	submit_low_first(scene, steps, 1);
	thread = thread_start(await_main, &scene->resource);
	gate_pass(&holder.held);
	cr_assert_eq(holder.result, 0);
	cr_assert_eq(baton_detached_complete(&holder.token, 0, NULL), 0);
	stash_run(&stash);
	thread_join(thread);
	cr_assert(JOURNAL_IS(&scene->journal, 5, 1, 11, 21));
	stash_run(&stash);
	scene_end(scene);
}
