/* SPDX-License-Identifier: MIT */
/* A worker that stays in one job has announced its other jobs: idle workers take them. */
#include "pool_support.h"
#include "stash.h"

/* A finaliser makes a new resource of the old one's memory and stays until that has run. */
struct reborn {
	struct baton_resource_config config;
	struct baton_resource resource;
	struct baton_task first;
	struct baton_task finaliser;
	struct baton_task second;
	sem_t ran;
	sem_t over;
};

static int reborn_first(struct baton_task *task)
{
	struct reborn *scene = baton_container_of(task, struct reborn, first);

	return baton_resource_close_then(&scene->resource, &scene->finaliser);
}

static int reborn_second(struct baton_task *task)
{
	gate_open(&baton_container_of(task, struct reborn, second)->ran);
	return 0;
}

static int reborn_finaliser(struct baton_task *task)
{
	struct reborn *scene = baton_container_of(task, struct reborn, finaliser);

	baton_resource_deinit(&scene->resource);
	baton_resource_init(&scene->resource, &scene->config);
	MUST(baton_submit(&scene->resource, &scene->second) == 0);
	gate_pass(&scene->ran);
	gate_open(&scene->over);
	return 0;
}

Test(announce, a_new_resource_at_the_address_of_the_one_that_runs, .timeout = 10)
{
	struct baton_pool *pool = pool_of(4);
	struct reborn scene;

	scene.config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	scene.config.executor = baton_pool_executor(pool);
	scene.config.capture_max = BATON_CAPTURE_NONE;
	baton_resource_init(&scene.resource, &scene.config);
	baton_task_init(&scene.first, reborn_first, NULL);
	baton_task_init(&scene.finaliser, reborn_finaliser, NULL);
	baton_task_init(&scene.second, reborn_second, NULL);
	gate_init(&scene.ran);
	gate_init(&scene.over);
	until_all_asleep(pool);
	cr_assert_eq(baton_submit(&scene.resource, &scene.first), 0);
	gate_pass(&scene.over);
	resource_end(&scene.resource);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* The end of a quantum, and then the worker goes on with what its tasks have put off. */
struct behind {
	struct baton_resource *put_off;
	struct baton_task first;
	struct baton_task second;
	struct baton_task inline_one;
	struct baton_task late_one;
	sem_t ran;
	sem_t over;
};

static int behind_first(struct baton_task *task)
{
	struct behind *scene = baton_container_of(task, struct behind, first);

	return baton_submit(scene->put_off, &scene->inline_one);
}

static int behind_inline_one(struct baton_task *task)
{
	struct behind *scene = baton_container_of(task, struct behind, inline_one);

	return baton_submit(scene->put_off, &scene->late_one);
}

static int behind_late_one(struct baton_task *task)
{
	struct behind *scene = baton_container_of(task, struct behind, late_one);

	gate_pass(&scene->ran);
	gate_open(&scene->over);
	return 0;
}

static int behind_second(struct baton_task *task)
{
	gate_open(&baton_container_of(task, struct behind, second)->ran);
	return 0;
}

Test(announce, what_waits_behind_work_that_was_put_off, .timeout = 10)
{
	struct baton_pool *pool = pool_of(4);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource_config refusing = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource, put_off;
	struct behind scene = {.put_off = &put_off,
	                       .first = BATON_TASK_INIT(behind_first, NULL),
	                       .second = BATON_TASK_INIT(behind_second, NULL),
	                       .inline_one = BATON_TASK_INIT(behind_inline_one, NULL),
	                       .late_one = BATON_TASK_INIT(behind_late_one, NULL)};
	struct baton_task *batch[2] = {&scene.first, &scene.second};
	struct stash stash;

	gate_init(&scene.ran);
	gate_init(&scene.over);
	stash_init(&stash);
	atomic_store(&stash.answer, -ESHUTDOWN);
	refusing.executor = &stash.executor;
	config.executor = baton_pool_executor(pool);
	config.capture_max = BATON_CAPTURE_NONE;
	config.quantum = 1;
	baton_resource_init(&resource, &config);
	baton_resource_init(&put_off, &refusing);
	until_all_asleep(pool);
	cr_assert_eq(baton_submit_batch(&resource, batch, 2), 0);
	gate_pass(&scene.over);
	resource_end(&put_off);
	resource_end(&resource);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}
