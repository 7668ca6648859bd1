/* SPDX-License-Identifier: MIT */
/*
 * Every kind of entry that a resource's queue can hold, against every way in which a task can be
 * cancelled: each entry either runs all the same, or somebody is told, once. A table of both. (The
 * registry's steps at the end of an object are in test_registry_end.c.)
 */
#include "entries.h"

/* ---- Ways ---- */

static void nothing(struct scene *scene)
{
}

static void cancel_pending(struct scene *scene)
{
	MUST(baton_resource_cancel_pending(&scene->resource) == 0);
}

static void cancel_tag(struct scene *scene)
{
	baton_tag_cancel(&scene->tag);
}

static int fill_run(struct baton_task *task)
{
	return 0;
}

static void fill(struct scene *scene)
{
	baton_task_init(&scene->filler, fill_run, NULL);
	BATON_IGNORE(baton_submit(&scene->resource, &scene->filler)); /* not behind a finaliser */
}

static void close_it(struct scene *scene)
{
	MUST(baton_resource_close(&scene->resource) == 0);
}

static bool begin_fails;

static int begin(struct baton_resource *resource)
{
	return begin_fails ? -EIO : 0;
}

static void fail_batches(struct scene *scene)
{
	begin_fails = true;
}

static const struct way ways[] = {
	{.name = "none", .before = nothing, .after = nothing, .capture_max = 10},
	{.name = "cancel_pending", .before = nothing, .after = cancel_pending, .capture_max = 10},
	/* The stay is over with the first task: the resource's job is cancelled. */
	{.name = "executor", .before = nothing, .after = nothing, .capture_max = 1},
	{.name = "batch_begin", .before = nothing, .after = fail_batches, .capture_max = 10},
	{.name = "tag",
         .before = nothing,
         .after = cancel_tag,
         .capture_max = 10,
         .stamped = true},
	{.name = "drop newest",
         .before = fill,
         .after = nothing,
         .capture_max = 10,
         .bound = NEWEST},
	{.name = "drop oldest",
         .before = nothing,
         .after = fill,
         .capture_max = 10,
         .bound = OLDEST},
	{.name = "closed",
         .before = close_it,
         .after = nothing,
         .capture_max = 10,
         .refuses = true},
};

/* ---- The table ---- */

static int occupy_run(struct baton_task *task)
{
	struct scene *scene = baton_container_of(task, struct scene, occupant);

	scene->way->before(scene);
	scene->error = scene->kind->submit(scene);
	scene->way->after(scene);
	return 0;
}

static void scene_init(struct scene *scene)
{
	const struct way *way = scene->way;

	stash_init(&scene->stash);
	baton_future_init(&scene->future);
	baton_tag_init(&scene->tag);
	scene->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	scene->config.executor = &scene->stash.executor;
	scene->config.capture_max = way->capture_max;
	scene->config.cancelled = count_cancelled;
	if (way->after == fail_batches) {
		scene->config.batch_begin = begin;
		scene->config.batch_max = 1;
	}
	baton_resource_init(&scene->resource, &scene->config);
	baton_resource_set_stats(&scene->resource, &scene->stats);
	if (way->bound == UNBOUNDED)
		return;
	scene->bound_config = (struct baton_bound_config)BATON_BOUND_CONFIG_INIT;
	scene->bound_config.tasks_max = 1;
	scene->bound_config.policy =
		way->bound == NEWEST ? BATON_BOUND_DROP_NEWEST : BATON_BOUND_DROP_OLDEST;
	baton_bound_init(&scene->bound, &scene->bound_config);
	baton_lanes_init(&scene->lanes, &scene->lane, 1, NULL);
	baton_resource_set_lanes(&scene->resource, &scene->lanes);
	baton_resource_set_bound(&scene->resource, &scene->bound);
}

static void try(const struct kind *kind, const struct way *way)
{
	struct scene scene = {.kind = kind, .way = way, .error = -1};
	const bool refused = way->refuses && !kind->keeps && !kind->mark;
	const bool runs = !refused && (kind->mark || way->before == nothing) &&
	                  (kind->mark || way == &ways[0]);
	struct baton_resource_stats counts;

	ran = 0;
	told = 0;
	begin_fails = false;
	scene_init(&scene);
	baton_task_init(&scene.occupant, occupy_run, NULL);
	cr_assert_eq(baton_submit(&scene.resource, &scene.occupant), 0);
	while (scene.stash.next < atomic_load(&scene.stash.count))
		baton_job_cancel(atomic_load(&scene.stash.jobs[scene.stash.next++]));
	if (kind->look)
		kind->look(&scene);
	cr_assert_eq(scene.error < 0, refused, "%s, %s: submit returned %d", kind->name, way->name,
	             scene.error);
	cr_assert_eq(ran, runs, "%s, %s: ran %d times", kind->name, way->name, ran);
	cr_assert_eq(told, !runs && !refused, "%s, %s: told %d times", kind->name, way->name, told);
	resource_end(&scene.resource);
	counts = resource_counts(&scene.stats);
	cr_assert_eq(counts.submitted, counts.executed + counts.cancelled, "%s, %s: %d of %d",
	             kind->name, way->name, (int)(counts.executed + counts.cancelled),
	             (int)counts.submitted);
	cr_assert_eq(baton_tag_held(&scene.tag), 0);
}

Test(dropped, each_kind_of_entry_on_each_way_runs_or_tells_somebody_once, .timeout = 10)
{
	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++)
		for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++)
			if (kinds[kind].stamped || !ways[way].stamped)
				try(&kinds[kind], &ways[way]);
}
