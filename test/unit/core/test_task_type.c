/* SPDX-License-Identifier: MIT */
/*
 * Task types: each cancelled task reaches the `cancelled` of its own type, and the config's only if
 * the type has none; a typed task runs, fails, and completes its future as a plain task does.
 */
#include "fixture.h"
#include "support.h"

#include <baton/bound.h>
#include <baton/task.h>

enum sort { PUBLISH, ACKNOWLEDGE, UNTYPED, SILENT, SORTS };

struct item {
	struct baton_future *future;
	struct baton_task task;
};

static struct {
	int ran;
	int told[SORTS]; /* by whom */
	struct baton_task *last;
	int failed;
} seen;

static int run(struct baton_task *task)
{
	seen.ran++;
	seen.last = task;
	return 0;
}

static int fail(struct baton_task *task)
{
	(void)run(task);
	return -EIO;
}

static void told_publish(struct baton_task *task)
{
	seen.told[PUBLISH]++;
	seen.last = task;
}

static void told_acknowledge(struct baton_task *task)
{
	seen.told[ACKNOWLEDGE]++;
	seen.last = task;
}

static void told_config(struct baton_task *task)
{
	seen.told[UNTYPED]++;
	seen.last = task;
}

static void failed(struct baton_resource *resource, struct baton_task *task, int status)
{
	seen.failed = status;
}

static const struct baton_task_type types[SORTS] = {
	[PUBLISH] = {.run = run, .cancelled = told_publish},
	[ACKNOWLEDGE] = {.run = run,
                         .cancelled = told_acknowledge,
                         .future = BATON_TASK_PLACE(struct item, task, future)},
	[SILENT] = {.run = fail},
};

static void item_init(struct item *item, enum sort sort, struct baton_future *future)
{
	if (sort == UNTYPED)
		baton_task_init(&item->task, run, NULL);
	else
		baton_task_init_of(&item->task, &types[sort]);
	item->future = future;
}

struct scene {
	struct stash stash;
	struct baton_resource_config config;
	struct baton_resource resource;
};

/* Tasks queue up in the stash. */
static void scene_init(struct scene *scene)
{
	memset(&seen, 0, sizeof(seen));
	stash_init(&scene->stash);
	scene->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	scene->config.executor = &scene->stash.executor;
	scene->config.capture_max = BATON_CAPTURE_NONE;
	scene->config.cancelled = told_config;
	scene->config.failed = failed;
	baton_resource_init(&scene->resource, &scene->config);
}

static void scene_end(struct scene *scene)
{
	stash_run(&scene->stash);
	resource_end(&scene->resource);
}

Test(task_type, each_cancelled_task_reaches_its_own_type, .timeout = 5)
{
	struct scene scene;
	struct item items[SORTS];

	scene_init(&scene);
	for (enum sort sort = 0; sort < SORTS; sort++) {
		item_init(&items[sort], sort, NULL);
		cr_assert_eq(baton_submit(&scene.resource, &items[sort].task), 0);
	}
	cr_assert_eq(baton_resource_cancel_pending(&scene.resource), 0);
	stash_run(&scene.stash);
	cr_expect_eq(seen.ran, 0);
	cr_expect_eq(seen.told[PUBLISH], 1);
	cr_expect_eq(seen.told[ACKNOWLEDGE], 1);
	cr_expect_eq(seen.told[UNTYPED], 2, "the type without `cancelled` leaves it to the config");
	scene_end(&scene);
}

Test(task_type, a_typed_task_runs_in_every_way_of_submitting, .timeout = 5)
{
	struct item items[3];
	struct baton_task *const batch[] = {&items[1].task, &items[2].task};

	memset(&seen, 0, sizeof(seen));
	for (int i = 0; i < 3; i++)
		item_init(&items[i], i ? ACKNOWLEDGE : PUBLISH, NULL);
	cr_expect_eq(baton_submit(&fix.resource, &items[0].task), 0);
	cr_expect_eq(seen.ran, 1);
	cr_expect_eq(seen.last, &items[0].task);
	cr_expect_eq(baton_submit_batch(&fix.resource, batch, 2), 0);
	cr_expect_eq(seen.ran, 3);
	cr_expect_eq(baton_submit(&fix.resource, &items[0].task), 0, "and again, as it is");
	cr_expect_eq(seen.ran, 4);
	fixture_end();
}

Test(task_type, its_failure_is_told, .timeout = 5)
{
	struct scene scene;
	struct item item;

	scene_init(&scene);
	item_init(&item, SILENT, NULL);
	cr_assert_eq(baton_submit(&scene.resource, &item.task), 0);
	stash_run(&scene.stash);
	cr_expect_eq(seen.ran, 1);
	cr_expect_eq(seen.failed, -EIO);
	scene_end(&scene);
}

Test(task_type, its_future_completes_and_cancels_it, .timeout = 5)
{
	struct scene scene;
	struct baton_future futures[2] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT};
	struct item items[2];

	scene_init(&scene);
	for (int i = 0; i < 2; i++) {
		item_init(&items[i], ACKNOWLEDGE, &futures[i]);
		cr_assert_eq(baton_submit(&scene.resource, &items[i].task), 0);
	}
	cr_expect_eq(baton_submit(&scene.resource, &items[0].task), -EINVAL, "it is not fresh");
	cr_expect_eq(baton_future_cancel(&futures[1]), 0);
	stash_run(&scene.stash);
	cr_expect_eq(baton_future_state(&futures[0]), BATON_DONE);
	cr_expect_eq(baton_future_state(&futures[1]), BATON_CANCELLED);
	cr_expect_eq(seen.ran, 1);
	cr_expect_eq(seen.told[ACKNOWLEDGE], 0, "who has the future knows");
	scene_end(&scene);
}

Test(task_type, dropped_by_a_bound_it_reaches_its_own_type, .timeout = 5)
{
	const struct baton_bound_config config = {.tasks_max = 1,
	                                          .policy = BATON_BOUND_DROP_NEWEST};
	struct baton_bound bound = BATON_BOUND_INIT(&config);
	struct scene scene;
	struct item items[2];

	scene_init(&scene);
	baton_resource_set_bound(&scene.resource, &bound);
	for (int i = 0; i < 2; i++) {
		item_init(&items[i], PUBLISH, NULL);
		cr_assert_eq(baton_submit(&scene.resource, &items[i].task), 0);
	}
	cr_expect_eq(seen.told[PUBLISH], 1);
	cr_expect_eq(seen.last, &items[1].task);
	scene_end(&scene);
	cr_expect_eq(seen.ran, 1);
}

/* ---- Refused where the stack is too deep to tell at once ---- */

struct deep {
	struct baton_resource resources[BATON_NESTING_MAX];
	struct baton_resource closed;
	struct baton_future promise;
	struct baton_continuation continuation;
	struct item item;
	int level;
	int told_inside;
};

static void *descend(void *arg)
{
	struct deep *deep = arg;

	if (deep->level < BATON_NESTING_MAX) {
		BATON_IGNORE(baton_call(&deep->resources[deep->level++], descend, deep, NULL));
		return NULL;
	}
	baton_future_then(&deep->promise, &deep->continuation);
	deep->told_inside = seen.told[PUBLISH];
	return NULL;
}

Test(task_type, refused_too_deep_it_is_told_later_and_can_be_submitted_again, .timeout = 5)
{
	struct deep deep = {.promise = BATON_PROMISE_INIT};

	memset(&seen, 0, sizeof(seen));
	for (int i = 0; i < BATON_NESTING_MAX; i++)
		baton_resource_init(&deep.resources[i], NULL);
	baton_resource_init(&deep.closed, NULL);
	cr_assert_eq(baton_resource_close(&deep.closed), 0);
	cr_assert_eq(baton_future_complete(&deep.promise, 0, NULL), 0);
	item_init(&deep.item, PUBLISH, NULL);
	baton_continuation_task(&deep.continuation, &deep.closed, &deep.item.task);
	(void)descend(&deep);
	cr_expect_eq(deep.told_inside, 0);
	cr_expect_eq(seen.told[PUBLISH], 1);
	cr_expect_eq(seen.last, &deep.item.task);
	cr_expect_eq(baton_submit(&deep.resources[0], &deep.item.task), 0);
	cr_expect_eq(seen.ran, 1);
	for (int i = 0; i < BATON_NESTING_MAX; i++)
		resource_end(&deep.resources[i]);
	cr_assert_eq(baton_resource_await(&deep.closed), 0);
}
