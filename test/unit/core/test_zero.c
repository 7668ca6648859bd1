/* SPDX-License-Identifier: MIT */
/* In configs and options 0 is the default, and all-zero memory is an idle resource. */
#include "module/bound.h"
#include "labels.h"
#include "pool/pool.h"
#include "stash.h"

#include <baton/hooks.h>
#include <baton/manual.h>

#include "../parts.h"

static int hook(struct baton_resource *resource)
{
	return 0;
}

/* How many of 200 tasks one stay of an executor's thread runs. */
static size_t stay(struct baton_resource_config *config)
{
	static struct journal journal;
	static struct step steps[200];
	struct baton_manual *manual = NULL;
	struct baton_resource resource;
	size_t count;

	journal.count = 0;
	MUST(baton_manual_create(&manual) == 0);
	config->executor = baton_manual_executor(manual);
	baton_resource_init(&resource, config);
	steps_init(steps, 200, &journal, 0);
	for (size_t i = 0; i < 200; i++)
		MUST(baton_submit_later(&resource, &steps[i].task) == 0);
	cr_assert(baton_manual_run(manual, 1));
	count = journal.count;
	/* Bounded: as many turns as a quantum of 1 needs. */
	for (int i = 0; i < 200 && baton_manual_run(manual, 1); i++)
		continue;
	cr_assert(journal_counts_up(&journal, 0, 200));
	resource_end(&resource);
	baton_manual_destroy(manual);
	return count;
}

Test(zero, is_the_default_quantum, .timeout = 10)
{
	struct baton_resource_config configs[] = {
		{.capture_max = 10},
		{.quantum = 0},
		{.batch_begin = hook, .batch_end = hook},
		{.quantum = BATON_QUANTUM},
	};

	for (size_t i = 0; i < sizeof(configs) / sizeof(*configs); i++)
		cr_assert_eq(stay(&configs[i]), BATON_QUANTUM, "config %zu", i);
}

struct wave {
	struct baton_task task;
	struct baton_resource *resource;
	struct step *steps;
	size_t count;
};

static int wave_run(struct baton_task *task)
{
	struct wave *wave = baton_container_of(task, struct wave, task);

	for (size_t i = 0; i < wave->count; i++)
		MUST(baton_submit(wave->resource, &wave->steps[i].task) == 0);
	return 0;
}

/* How many of 20 tasks that a task submits to its own resource run before the submit returns. */
static size_t captured(struct baton_resource_config config)
{
	static struct journal journal;
	static struct step steps[20];
	struct baton_resource resource;
	struct wave wave = {BATON_TASK_INIT(wave_run, NULL), &resource, steps, 20};
	struct stash stash;
	size_t count;

	stash_init(&stash);
	journal.count = 0;
	config.executor = &stash.executor;
	baton_resource_init(&resource, &config);
	steps_init(steps, 20, &journal, 0);
	MUST(baton_submit(&resource, &wave.task) == 0);
	count = journal.count;
	/* Bounded: as many turns as a quantum of 1 needs. */
	for (int i = 0; i < 21; i++)
		stash_run(&stash);
	cr_assert(journal_counts_up(&journal, 0, 20));
	resource_end(&resource);
	return count;
}

Test(zero, captures_up_to_the_default_and_never_has_a_name, .timeout = 5)
{
	struct baton_resource_config named = BATON_RESOURCE_CONFIG_NAMED("named");
	struct baton_resource_config macro = BATON_RESOURCE_CONFIG_INIT;

	/* The task that submits counts. */
	cr_assert_eq(captured((struct baton_resource_config){0}), BATON_CAPTURE_MAX - 1);
	cr_assert_eq(captured((struct baton_resource_config){.name = "x"}), BATON_CAPTURE_MAX - 1);
	cr_assert_eq(captured(named), BATON_CAPTURE_MAX - 1);
	cr_assert_eq(captured(macro), BATON_CAPTURE_MAX - 1);
	cr_assert_eq(captured((struct baton_resource_config){.capture_max = 3}), 2);
	cr_assert_eq(captured((struct baton_resource_config){.capture_max = UINT32_MAX}), 20);
	macro.capture_max = BATON_CAPTURE_NONE;
	cr_assert_eq(captured(macro), 0);
}

/* More than the capture limit, so that it is handed off, to the default pool. */
Test(zero, memory_is_an_idle_resource, .timeout = 10)
{
	static struct journal journal;
	static struct step steps[100];
	struct baton_resource *resource = calloc(1, sizeof(*resource));
	struct wave wave = {BATON_TASK_INIT(wave_run, NULL), resource, steps, 100};

	MUST(resource != NULL);
	steps_init(steps, 100, &journal, 0);
	cr_assert_eq(baton_submit(resource, &wave.task), 0);
	cr_assert_eq(baton_resource_await(resource), 0);
	cr_assert(journal_counts_up(&journal, 0, 100));
	cr_assert_null(baton_resource_name(resource));
	resource_end(resource);
	free(resource);
}

Test(zero, is_each_default_of_a_pools_options, .timeout = 10)
{
	static const struct {
		struct baton_pool_options options;
		uint32_t spares;
		uint64_t keep_ns;
	} rows[] = {
		{{.workers = 2}, BATON_POOL_SPARES, UINT64_C(10000000000)},
		{{.workers = 2, .spares_max = BATON_POOL_NO_SPARES}, 0, UINT64_C(10000000000)},
		{{.workers = 2, .spares_max = 7, .spare_keep_ns = 8}, 7, 8},
	};
	struct baton_pool *pool;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		cr_assert_eq(baton_pool_create(&rows[i].options, &pool), 0);
		cr_assert_eq(baton_pool_workers(pool), 2);
		cr_assert_eq(pool->threads_max, 2 + rows[i].spares);
		cr_assert_eq(pool->spare_keep_ns, rows[i].keep_ns);
		cr_assert_eq(baton_pool_destroy(pool), 0);
	}
	cr_assert_eq(baton_pool_create(NULL, &pool), 0);
	cr_assert_geq(baton_pool_workers(pool), 1);
	cr_assert_eq(pool->threads_max, baton_pool_workers(pool) + BATON_POOL_SPARES);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(zero, is_the_greatest_number_of_a_bound, .timeout = 10)
{
	/* Bytes of so many tasks of the greatest size fit. */
	enum { FIT = BATON_BOUND_BYTES_MAX >> 32 };
	static const struct {
		enum baton_bound_policy policy;
		uint64_t bytes_max;
		int fit;
	} rows[] = {
		{BATON_BOUND_REFUSE, 0, FIT},
		{BATON_BOUND_REFUSE, BATON_BOUND_BYTES_MAX, FIT},
		{BATON_BOUND_REFUSE, UINT64_C(3) << 32, 3},
		{BATON_BOUND_DROP_OLDEST, 0, FIT},
		{BATON_BOUND_DROP_OLDEST, UINT64_C(3) << 32, 3},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct scene *scene = scene_create();
		struct mark_step steps[FIT + 1];

		scene->limits.policy = rows[i].policy;
		scene->limits.bytes_max = rows[i].bytes_max;
		scene_begin(scene, 1, true);
		occupy(&scene->occupant, &scene->resource);
		for (int step = 0; step <= rows[i].fit; step++) {
			mark_step_init_bytes(&steps[step], scene, step, 0, UINT32_MAX);
			cr_assert_eq(mark_step_submit(&steps[step], scene),
			             step < rows[i].fit || rows[i].policy ? 0 : -EAGAIN,
			             "row %zu: %d", i, step);
		}
		cr_assert_eq(scene->cancelled.count, rows[i].policy ? 1 : 0, "row %zu", i);
		release(&scene->occupant);
		scene_end(scene);
	}
}

/* As if so many waited already. */
Test(zero, is_the_greatest_number_of_a_bounds_tasks, .timeout = 10)
{
	for (unsigned full = 0; full < 2; full++) {
		const uint64_t others = (BATON_BOUND_TASKS_MAX - 1 + full) * BATON__BOUND_TASK;
		struct scene *scene = scene_create();
		struct mark_step step;

		scene_begin(scene, 0, true);
		occupy(&scene->occupant, &scene->resource);
		mark_step_init(&step, scene, 0, 0, NULL);
		scene->bound._pushed += others;
		cr_assert_eq(mark_step_submit(&step, scene), full ? -EAGAIN : 0);
		scene->bound._pushed -= others;
		release(&scene->occupant);
		scene_end(scene);
	}
}

Test(zero, is_all_that_a_new_label_says, .timeout = 5)
{
	struct stamped stamped;

	memset(&stamped, 0xff, sizeof(stamped));
	stamped_init(&stamped, mark_step_run, NULL);
	cr_assert_eq(stamped.stamp._lane, 0);
	cr_assert_eq(stamped.stamp._bytes, 0);
	cr_assert_null(stamped.stamp._tag);
	cr_assert_not(stamped.stamp._holds);
	cr_assert_null(stamped.future);
}
