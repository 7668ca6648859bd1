/* SPDX-License-Identifier: MIT */
/*
 * At the depth where nothing may be captured any more, and with an executor that refuses: what is
 * submitted, closed and awaited there is put off until the stack is unwound, or done on request.
 */
#include "stash.h"

/* Captures within captures; the innermost does `work`. */
struct deep {
	struct baton_task task;
	struct baton_resource resource;
	struct deep *inner;
	void (*work)(void *scene);
	void *scene;
	int result;
};

static int deep_run(struct baton_task *task)
{
	struct deep *deep = baton_container_of(task, struct deep, task);

	if (deep->inner)
		deep->result = baton_submit(&deep->inner->resource, &deep->inner->task);
	else
		deep->work(deep->scene);
	return 0;
}

/* `config`: of the outermost resource. */
static void deep_begin(struct deep deep[BATON_NESTING_MAX],
                       const struct baton_resource_config *config, void (*work)(void *scene),
                       void *scene)
{
	for (size_t i = 0; i < BATON_NESTING_MAX; i++) {
		deep[i] = (struct deep){.work = work, .scene = scene};
		deep[i].inner = i + 1 < BATON_NESTING_MAX ? &deep[i + 1] : NULL;
		baton_task_init(&deep[i].task, deep_run, NULL);
		baton_resource_init(&deep[i].resource, i ? NULL : config);
	}
	cr_assert_eq(baton_submit(&deep[0].resource, &deep[0].task), 0);
}

static void deep_end(struct deep deep[BATON_NESTING_MAX])
{
	for (size_t i = 0; i < BATON_NESTING_MAX; i++) {
		cr_assert_eq(deep[i].result, 0);
		resource_end(&deep[i].resource);
	}
}

static void deep_down(void (*work)(void *scene), void *scene)
{
	struct deep deep[BATON_NESTING_MAX];

	deep_begin(deep, NULL, work, scene);
	deep_end(deep);
}

struct scene {
	struct stash stash;
	struct baton_resource_config config;
	struct baton_resource resources[3];
	struct journal journal;
	struct step steps[2];
	struct step finalisers[3];
	struct baton_continuation continuations[3];
	int results[3];
	size_t ran; /* when `work` was over */
};

static void scene_init(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	stash_init(&scene->stash);
	atomic_store(&scene->stash.answer, -ESHUTDOWN);
	scene->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	scene->config.executor = &scene->stash.executor;
	for (int i = 0; i < 3; i++)
		baton_resource_init(&scene->resources[i], &scene->config);
	steps_init(scene->steps, 2, &scene->journal, 0);
	steps_init(scene->finalisers, 3, &scene->journal, 2);
}

static void submits_two(void *arg)
{
	struct scene *scene = arg;

	for (int i = 0; i < 2; i++)
		scene->results[i] = baton_submit(&scene->resources[i], &scene->steps[i].task);
	scene->ran = scene->journal.count;
}

Test(depth, two_resources_that_were_put_off_run_in_their_order, .timeout = 10)
{
	struct scene scene;

	scene_init(&scene);
	deep_down(submits_two, &scene);
	cr_assert_eq(scene.results[0], 0);
	cr_assert_eq(scene.results[1], 0);
	cr_assert_eq(scene.ran, 0);
	cr_assert(journal_counts_up(&scene.journal, 0, 2));
	resource_end(&scene.resources[0]);
	resource_end(&scene.resources[1]);
}

static struct deep handed_off[BATON_NESTING_MAX];
static struct step rest;

static void submits_to_the_outermost_too(void *arg)
{
	submits_two(arg);
	cr_assert_eq(baton_submit(&handed_off[0].resource, &rest.task), 0);
}

/* The stay on the outermost resource ends with a hand-off. */
Test(depth, what_was_put_off_runs_when_the_outermost_resource_is_handed_off, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct stash stash;
	struct scene scene;

	scene_init(&scene);
	stash_init(&stash);
	config.executor = &stash.executor;
	config.capture_max = 1;
	steps_init(&rest, 1, &scene.journal, 2);
	deep_begin(handed_off, &config, submits_to_the_outermost_too, &scene);
	cr_assert_eq(atomic_load(&stash.count), 1);
	cr_assert(journal_counts_up(&scene.journal, 0, 2));
	stash_run(&stash);
	cr_assert(journal_counts_up(&scene.journal, 0, 3));
	deep_end(handed_off);
	resource_end(&scene.resources[0]);
	resource_end(&scene.resources[1]);
}

static void closes(void *arg)
{
	struct scene *scene = arg;

	for (int i = 0; i < 3; i++)
		scene->results[i] =
			baton_resource_close_then(&scene->resources[i], &scene->finalisers[i].task);
	scene->ran = scene->journal.count;
}

Test(depth, finalisers_are_put_off_too_and_called_in_their_order, .timeout = 10)
{
	struct scene scene;

	scene_init(&scene);
	deep_down(closes, &scene);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(scene.results[i], 0);
	cr_assert_eq(scene.ran, 0);
	cr_assert(journal_counts_up(&scene.journal, 2, 3));
}

static void awaits_the_second(void *arg)
{
	struct scene *scene = arg;

	scene->results[0] = baton_submit(&scene->resources[0], &scene->steps[0].task);
	scene->results[1] =
		baton_resource_close_then(&scene->resources[1], &scene->finalisers[0].task);
	scene->results[2] = baton_resource_await(&scene->resources[1]);
	scene->ran = scene->journal.count;
}

Test(depth, what_was_put_off_and_closed_can_be_awaited_before_what_came_first, .timeout = 10)
{
	struct scene scene;

	scene_init(&scene);
	deep_down(awaits_the_second, &scene);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(scene.results[i], 0);
	cr_assert_eq(scene.ran, 0);
	cr_assert_eq(scene.journal.count, 2);
	cr_assert_eq(scene.journal.number[0], 0);
	cr_assert_eq(scene.journal.number[1], 2, "the finaliser");
	resource_end(&scene.resources[0]);
}

static void cancels(void *arg)
{
	struct scene *scene = arg;

	baton_job_cancel(atomic_load(&scene->stash.jobs[0]));
	scene->ran = scene->journal.count;
}

Test(depth, a_cancelled_job_is_put_off_and_its_resource_is_as_before, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct scene scene;

	scene_init(&scene);
	atomic_store(&scene.stash.answer, 0);
	step_init(&scene.steps[0], &scene.journal, 0, &future);
	cr_assert_eq(baton_submit_later(&scene.resources[0], &scene.steps[0].task), 0);
	deep_down(cancels, &scene);
	cr_assert_eq(baton_future_state(&future), BATON_CANCELLED);
	cr_assert_eq(scene.journal.count, 0);
	for (int round = 0; round < 2; round++) {
		cr_assert_eq(baton_submit_later(&scene.resources[0], &scene.steps[1].task), 0);
		scene.stash.next = (size_t)round + 1;
		stash_run(&scene.stash);
		cr_assert_eq(scene.journal.count, (size_t)round + 1);
	}
	resource_end(&scene.resources[0]);
}

static void note_cancelled(struct baton_task *task)
{
	(void)step_run(task);
}

/* Continuations for a closed resource. */
static void is_refused(void *arg)
{
	struct scene *scene = arg;
	struct baton_continuation *continuations = scene->continuations;
	struct baton_future promise = BATON_PROMISE_INIT;

	MUST(baton_future_complete(&promise, 0, NULL) == 0);
	for (int i = 0; i < 3; i++) {
		baton_continuation_task(&continuations[i], &scene->resources[0],
		                        &scene->finalisers[i].task);
		baton_future_then(&promise, &continuations[i]);
	}
	scene->ran = scene->journal.count;
}

Test(depth, who_is_told_of_refusals_is_told_later_and_in_their_order, .timeout = 10)
{
	struct scene scene;

	scene_init(&scene);
	scene.config.cancelled = note_cancelled;
	cr_assert_eq(baton_resource_close(&scene.resources[0]), 0);
	deep_down(is_refused, &scene);
	cr_assert_eq(scene.ran, 0);
	cr_assert(journal_counts_up(&scene.journal, 2, 3));
	resource_end(&scene.resources[0]);
}
