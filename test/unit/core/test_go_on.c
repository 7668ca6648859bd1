/* SPDX-License-Identifier: MIT */
/* Which thread goes on with a held resource, and with what (src/core/handoff.h). */
#include "stash.h"

#include <baton/window.h>

#include <errno.h>

#include "../parts.h"

/* The cancel of a window's task is a kick: a function of the library that runs under the baton. */
struct scene {
	struct stash stash;
	struct baton_resource_config config;
	struct baton_resource resource;
	struct baton_window window;
	struct windowed windowed;
	struct baton_future windowed_future;
	struct baton_task task;
	struct baton_future future;
	bool complete;
};

static int never_runs(struct baton_task *task)
{
	return 1;
}

/* An idle resource, in whose window a task waits. */
static struct scene *scene_of(uint32_t capture_max)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	MUST(scene);
	stash_init(&scene->stash);
	scene->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	scene->config.capture_max = capture_max;
	scene->config.executor = &scene->stash.executor;
	baton_resource_init(&scene->resource, &scene->config);
	baton_window_init(&scene->window, &scene->resource, 0);
	baton_future_init(&scene->future);
	baton_future_init(&scene->windowed_future);
	windowed_init(&scene->windowed, &scene->window, never_runs, &scene->windowed_future);
	cr_assert_eq(baton_submit(&scene->resource, &scene->windowed.task), 0);
	stash_run(&scene->stash);
	cr_assert(baton_resource_is_idle(&scene->resource));
	return scene;
}

static void scene_end(struct scene *scene)
{
	cr_assert_eq(baton_future_state(&scene->windowed_future), BATON_CANCELLED);
	resource_end(&scene->resource);
	baton_window_deinit(&scene->window);
	free(scene);
}

static void kick(struct scene *scene)
{
	cr_assert_eq(baton_window_cancel_task(&scene->windowed.task), 0);
	scene->complete = baton_future_is_complete(&scene->windowed_future);
}

static int kicks(struct baton_task *task)
{
	kick(baton_container_of(task, struct scene, task));
	return 0;
}

Test(go_on, a_nested_holder_whose_executor_refuses_leaves_all_to_the_end_of_the_stack, .timeout = 5)
{
	struct baton_resource outer = BATON_RESOURCE_INIT(NAMED("outer"));
	struct scene *scene = scene_of(BATON_CAPTURE_NONE);

	atomic_store(&scene->stash.answer, -ESHUTDOWN);
	baton_task_init(&scene->task, kicks, NULL);
	cr_assert_eq(baton_submit(&outer, &scene->task), 0);
	cr_assert_not(scene->complete, "entered above a task");
	resource_end(&outer);
	scene_end(scene);

	/* At the bottom of its stack the thread goes on at once. */
	scene = scene_of(BATON_CAPTURE_NONE);
	atomic_store(&scene->stash.answer, -ESHUTDOWN);
	kick(scene);
	cr_assert(scene->complete);
	scene_end(scene);
}

/* The executor's thread takes the job out of the queue while a helper has the baton. */
static int kicks_and_pops(struct baton_task *task)
{
	struct scene *scene = baton_container_of(task, struct scene, task);

	kick(scene);
	cr_assert(stash_run_one(&scene->stash));
	return 0;
}

Test(go_on, a_helper_that_gives_the_baton_back_enters_no_kick, .timeout = 5)
{
	struct scene *scene = scene_of(10);

	baton_task_init(&scene->task, kicks_and_pops, &scene->future);
	cr_assert_eq(baton_submit_later(&scene->resource, &scene->task), 0);
	cr_assert_eq(baton_future_wait(&scene->future), 0);
	cr_assert_not(baton_future_is_complete(&scene->windowed_future), "its wait is over");
	cr_assert(stash_run_one(&scene->stash), "the executor has what is left");
	scene_end(scene);
}
