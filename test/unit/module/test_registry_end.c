/* SPDX-License-Identifier: MIT */
/*
 * The registry's steps at the end of an object meet every way in which tasks are cancelled: the end
 * goes on. A table of the two steps and of the ways to cancel.
 */
#include "registered.h"
#include "stash.h"

/* The next batch_begin of the registry's resource fails. */
static bool begin_fails;

static int begin(struct baton_resource *resource)
{
	int status = begin_fails ? -EIO : 0;

	begin_fails = false;
	return status;
}

struct scene {
	struct shop shop;
	struct stash registrys, objects; /* executors */
	struct baton_resource_config config, object_config;
	struct baton_registry *registry;
	struct item *item;
	struct baton_task task; /* occupies the registry's resource */
	void (*step)(struct scene *scene);
	void (*way)(struct scene *scene);
};

/* ---- The steps that are met: each is queued in the registry's resource ---- */

static void last_release(struct scene *scene)
{
	put(scene->item);
}

static void finaliser(struct scene *scene)
{
	stash_run(&scene->objects);
}

/* ---- The ways ---- */

static void cancel_pending(struct scene *scene)
{
	MUST(baton_resource_cancel_pending(baton_registry_resource(scene->registry)) == 0);
}

static void failing_batch(struct scene *scene)
{
	begin_fails = true;
}

/* The stay is over with this task: what follows is cancelled with the resource's job. */
static void executor_shut_down(struct scene *scene)
{
}

static int occupy_run(struct baton_task *task)
{
	struct scene *scene = baton_container_of(task, struct scene, task);

	scene->step(scene);
	scene->way(scene);
	return 0;
}

static int nothing(struct baton_task *task)
{
	return 0;
}

static void scene_run(void (*step)(struct scene *), void (*way)(struct scene *))
{
	struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct item), item_init, item_deinit, NULL);
	struct baton_task late = BATON_TASK_INIT(nothing, NULL);
	struct scene scene = {.step = step, .way = way};

	begin_fails = false;
	stash_init(&scene.registrys);
	stash_init(&scene.objects);
	scene.config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	scene.config.executor = &scene.registrys.executor;
	scene.config.capture_max = way == executor_shut_down ? 1 : 10;
	scene.config.batch_begin = begin;
	scene.config.batch_max = 1;
	scene.object_config = scene.config;
	scene.object_config.batch_begin = NULL;
	scene.object_config.executor = &scene.objects.executor;
	options.arg = &scene.shop;
	options.config = &scene.config;
	options.object_config = &scene.object_config;
	MUST(baton_registry_create(&options, &scene.registry) == 0);
	scene.item = get(scene.registry, "a", 1);
	if (step == finaliser) {
		/* The object waits for its executor, and its end with it. */
		MUST(baton_submit_later(&scene.item->entry.resource, &late) == 0);
		put(scene.item);
		stash_run(&scene.registrys);
		cr_assert_eq(atomic_load(&scene.shop.ended), 0);
	}
	baton_task_init(&scene.task, occupy_run, NULL);
	cr_assert_eq(baton_submit(baton_registry_resource(scene.registry), &scene.task), 0);
	while (scene.registrys.next < atomic_load(&scene.registrys.count))
		baton_job_cancel(atomic_load(&scene.registrys.jobs[scene.registrys.next++]));
	cr_assert_eq(atomic_load(&scene.shop.ended), 1);
	cr_assert_eq(baton_registry_count(scene.registry), 0);
	begin_fails = false; /* the steps are in no batch */
	shop_close(&scene.shop, scene.registry);
}

Test(registry_end, no_way_to_cancel_keeps_an_object_from_its_end, .timeout = 5)
{
	static void (*const steps[])(struct scene *) = {last_release, finaliser};
	static void (*const ways[])(struct scene *) = {cancel_pending, failing_batch,
	                                               executor_shut_down};

	for (size_t step = 0; step < 2; step++)
		for (size_t way = 0; way < 3; way++)
			scene_run(steps[step], ways[way]);
}

struct link {
	struct item item;
	struct link *next;
};

static void release_next(struct baton_registry_entry *entry, void *arg)
{
	struct link *link = (struct link *)(void *)entry;

	if (link->next)
		put(&link->next->item);
	item_deinit(entry, arg);
}

/* Each object of the chain ends when the one before it has ended. */
Test(registry_end, a_registry_that_is_destroyed_waits_for_what_its_objects_hold, .timeout = 5)
{
	enum { OBJECTS = 10000 }; /* the pool still ends them when the registry is destroyed */
	struct shop shop = {0};
	struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct link), item_init, release_next, &shop);
	struct baton_registry *registry = NULL;
	struct link *link = NULL;

	cr_assert_eq(baton_registry_create(&options, &registry), 0);
	for (int i = 0; i < OBJECTS; i++) {
		struct link *before = link;

		link = (struct link *)(void *)get(registry, &i, sizeof(i));
		link->next = before;
	}
	put(&link->item);
	shop_close(&shop, registry);
}

static int end_fails;

static int failing_end(struct baton_resource *resource)
{
	return end_fails;
}

/* The object has been made, or found, when the batch of the call fails. */
Test(registry_end, an_acquire_whose_batch_fails_keeps_no_reference, .timeout = 5)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct shop shop = {0};
	struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct item), item_init, item_deinit, &shop);
	struct baton_registry_entry *entry = NULL;
	struct baton_registry *registry = NULL;

	config.batch_end = failing_end;
	config.delay_completions = true;
	options.config = &config;
	cr_assert_eq(baton_registry_create(&options, &registry), 0);
	end_fails = -EIO;
	cr_assert_eq(baton_registry_acquire(registry, "a", 1, &entry), -EIO);
	cr_assert_null(entry);
	cr_assert_eq(atomic_load(&shop.made), 1);
	cr_assert_eq(atomic_load(&shop.ended), 1);
	/* Nor is what the call has begun told of as if it had not been. */
	shop_close(&shop, registry);
}

static void *release_entry(void *arg)
{
	put(arg);
	return NULL;
}

Test(registry_end, the_ends_of_others_objects_count_for_the_capture_limit, .timeout = 5)
{
	enum { OBJECTS = 100 };
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct item), item_init, item_deinit, NULL);
	struct item *items[OBJECTS];
	struct occupant occupant;
	struct shop shop = {0};
	struct stash stash;
	struct baton_registry *registry = NULL;

	stash_init(&stash);
	config.executor = &stash.executor;
	options.arg = &shop;
	options.config = &config;
	MUST(baton_registry_create(&options, &registry) == 0);
	for (int i = 0; i < OBJECTS; i++)
		items[i] = get(registry, &i, sizeof(i));
	occupy(&occupant, baton_registry_resource(registry));
	for (int i = 0; i < OBJECTS; i++)
		thread_join(thread_start(release_entry, items[i]));
	release(&occupant);
	/* Its own task, and nine of the ends; each of them adds a step of its own behind them. */
	cr_assert_eq(atomic_load(&shop.ended), 9);
	stash_run(&stash);
	cr_assert_eq(atomic_load(&shop.ended), OBJECTS);
	shop_close(&shop, registry);
}
