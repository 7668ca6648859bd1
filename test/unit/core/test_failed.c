/* SPDX-License-Identifier: MIT */
/*
 * The status of a task without a future reaches config->failed and the statistics, whatever the
 * task is and whichever way it is run: a table of both.
 */
#include "fixture.h"
#include "support.h"

#include <baton/detach.h>
#include <baton/hooks.h>
#include <baton/label.h>
#include <baton/undo.h>
#include <baton/window.h>

#include "../parts.h"

/* ---- What is told ---- */

static struct {
	int count;
	struct baton_resource *resource;
	const struct baton_task *task;
	int status;
	bool held;
} told;

static void failed(struct baton_resource *resource, struct baton_task *task, int status)
{
	told.count++;
	told.resource = resource;
	told.task = task;
	told.status = status;
	told.held = baton_current() == resource && baton_held(resource);
}

/* ---- What fails ---- */

static int fail(struct baton_task *task)
{
	return -EIO;
}

enum kind { PLAIN, LABELLED, WINDOWED, KINDS };

struct item {
	struct baton_window window;
	union {
		struct baton_task plain;
		struct stamped stamped;
		struct windowed windowed;
	};
};

static struct baton_task *item_init(struct item *item, enum kind kind,
                                    struct baton_resource *resource)
{
	switch (kind) {
	case PLAIN:
		baton_task_init(&item->plain, fail, NULL);
		return &item->plain;
	case LABELLED:
		stamped_init(&item->stamped, fail, NULL);
		return &item->stamped.task;
	default:
		baton_window_init(&item->window, resource, 1);
		windowed_init(&item->windowed, &item->window, fail, NULL);
		return &item->windowed.task;
	}
}

/* ---- The ways ---- */

static void submit(struct baton_resource *resource, struct baton_task *task)
{
	cr_assert_eq(baton_submit(resource, task), 0);
}

static void submit_later(struct baton_resource *resource, struct baton_task *task)
{
	cr_assert_eq(baton_submit_later(resource, task), 0);
}

static int nothing(struct baton_task *task)
{
	return 0;
}

static void submit_batch(struct baton_resource *resource, struct baton_task *task)
{
	struct baton_task other = BATON_TASK_INIT(nothing, NULL);
	struct baton_task *const both[] = {&other, task};

	cr_assert_eq(baton_submit_batch(resource, both, 2), 0);
}

static void submit_busy(struct baton_resource *resource, struct baton_task *task)
{
	struct occupant occupant;

	occupy(&occupant, resource);
	cr_assert_eq(baton_submit(resource, task), 0);
	release(&occupant);
}

static void continue_with(struct baton_resource *resource, struct baton_task *task)
{
	struct baton_continuation continuation;
	struct baton_future promise;

	baton_promise_init(&promise);
	baton_continuation_task(&continuation, resource, task);
	baton_future_then(&promise, &continuation);
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
}

static int hook(struct baton_resource *resource)
{
	return 0;
}

struct setting {
	bool callback, stats, hooks, fresh;
};

static void run_one(enum kind kind, void (*way)(struct baton_resource *, struct baton_task *),
                    struct setting setting)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource_stats stats = {0}, copy;
	struct baton_task first = BATON_TASK_INIT(nothing, NULL);
	struct baton_resource resource;
	struct baton_task *task;
	struct item item;
	struct stash stash;

	stash_init(&stash);
	config.executor = &stash.executor;
	config.failed = setting.callback ? failed : NULL;
	config.batch_begin = setting.hooks ? hook : NULL;
	config.name = "failing";
	baton_resource_init(&resource, &config);
	if (setting.fresh) /* as a static initialiser leaves it */
		resource = (struct baton_resource)BATON_RESOURCE_INIT(&config);
	if (setting.stats)
		baton_resource_set_stats(&resource, &stats);
	if (!setting.fresh)
		cr_assert_eq(baton_submit(&resource, &first), 0);
	memset(&told, 0, sizeof(told));
	task = item_init(&item, kind, &resource);
	way(&resource, task);
	stash_run(&stash);
	cr_assert_eq(told.count, setting.callback);
	if (setting.callback) {
		cr_assert_eq(told.resource, &resource);
		cr_assert_eq(told.task, task);
		cr_assert_eq(told.status, -EIO);
		cr_assert(told.held);
	}
	baton_resource_stats_read(&stats, &copy);
	cr_assert_eq(copy.failed, setting.stats);
	resource_end(&resource);
}

Test(failed, each_kind_of_task_on_each_way_is_told_and_counted, .timeout = 10)
{
	static void (*const ways[])(struct baton_resource *, struct baton_task *) = {
		submit, submit_later, submit_batch, submit_busy, continue_with,
	};

	for (enum kind kind = PLAIN; kind < KINDS; kind++)
		for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++)
			for (unsigned bits = 0; bits < 16; bits++)
				run_one(kind, ways[way],
				        (struct setting){bits & 1, bits & 2, bits & 4, bits & 8});
}

Test(failed, the_callback_may_free_a_task_that_its_function_has_kept, .timeout = 5)
{
	struct baton_task *task = malloc(sizeof(*task));

	MUST(task);
	fix.config.failed = failed;
	fixture_config();
	baton_task_init(task, fail, NULL);
	memset(&told, 0, sizeof(told));
	cr_assert_eq(baton_submit(&fix.resource, task), 0);
	cr_assert_eq(told.task, task);
	free(task);
	fixture_end();
}

Test(failed, a_task_with_a_future_is_counted_and_its_future_is_told, .timeout = 5)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource_stats stats = {0}, copy;
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task task = BATON_TASK_INIT(fail, &future);
	struct baton_resource resource;

	config.failed = failed;
	baton_resource_init(&resource, &config);
	baton_resource_set_stats(&resource, &stats);
	memset(&told, 0, sizeof(told));
	cr_assert_eq(baton_submit(&resource, &task), 0);
	cr_assert_eq(baton_future_wait(&future), 0);
	cr_assert_eq(baton_future_status(&future), -EIO);
	cr_assert_eq(told.count, 0);
	baton_resource_stats_read(&stats, &copy);
	cr_assert_eq(copy.failed, 1);
	cr_assert_eq(copy.executed, 1);
	resource_end(&resource);
}

/* ---- Detached: what the function returns is ignored ---- */

static struct baton_detached token;

static int detach_and_fail(struct baton_task *task)
{
	MUST(baton_detach(&token, 0) == 0);
	baton_set_result(&token);
	return -EIO;
}

Test(failed, what_a_detached_function_returns_is_ignored, .timeout = 5)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource_stats stats[2] = {{0}}, copy;

	config.failed = failed;
	for (int with_future = 0; with_future < 2; with_future++) {
		struct baton_future future = BATON_FUTURE_INIT;
		struct baton_task task =
			BATON_TASK_INIT(detach_and_fail, with_future ? &future : NULL);
		struct baton_resource resource;

		baton_resource_init(&resource, &config);
		baton_resource_set_stats(&resource, &stats[with_future]);
		baton_detached_init(&token);
		memset(&told, 0, sizeof(told));
		cr_assert_eq(baton_submit(&resource, &task), 0);
		cr_assert_eq(baton_detached_complete(&token, 0, NULL), 0);
		cr_assert_eq(told.count, 0);
		if (with_future)
			cr_assert_eq(baton_future_wait(&future), 0);
		resource_end(&resource);
		baton_resource_stats_read(&stats[with_future], &copy);
		cr_assert_eq(copy.failed, 0);
		cr_assert_eq(copy.executed, 1);
	}
}

struct nested {
	struct baton_task task;
	struct baton_resource *inner;
};

/* The second task's frame may lie where the first task's frame has lain. */
static int submit_inside(struct baton_task *task)
{
	const struct nested *nested = baton_container_of(task, struct nested, task);
	struct baton_task first = BATON_TASK_INIT(detach_and_fail, NULL);
	struct baton_task second = BATON_TASK_INIT(fail, NULL);

	MUST(baton_submit(nested->inner, &first) == 0);
	MUST(baton_detached_complete(&token, 0, NULL) == 0);
	MUST(told.count == 0);
	MUST(baton_submit(nested->inner, &second) == 0);
	return 0;
}

Test(failed, a_detached_task_does_not_hide_the_next_failure_inside_a_task, .timeout = 5)
{
	struct baton_resource outer = BATON_RESOURCE_INIT(NULL);

	for (int limited = 0; limited < 2; limited++) {
		struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
		struct baton_resource_stats stats = {0}, copy;
		struct baton_resource inner;
		struct nested nested = {BATON_TASK_INIT(submit_inside, NULL), &inner};

		config.failed = failed;
		config.capture_ns = limited ? BATON_NEVER : 0;
		baton_resource_init(&inner, &config);
		baton_resource_set_stats(&inner, &stats);
		baton_detached_init(&token);
		memset(&told, 0, sizeof(told));
		cr_assert_eq(baton_submit(&outer, &nested.task), 0);
		cr_assert_eq(told.count, 1);
		baton_resource_stats_read(&stats, &copy);
		cr_assert_eq(copy.failed, 1);
		resource_end(&inner);
	}
	resource_end(&outer);
}

/* ---- Batches ---- */

static int end_fails(struct baton_resource *resource)
{
	return -ENOSPC;
}

static int flush_run(struct baton_task *task)
{
	MUST(baton_batch_flush() == -ENOSPC);
	return 0;
}

Test(failed, a_batch_that_fails_counts_its_tasks_once_each, .timeout = 5)
{
	static const struct {
		bool hold;
		baton_task_fn second;
		uint64_t failed;
	} rows[] = {
		{true, nothing, 3},    /* all with the batch */
		{true, fail, 3},       /* the second by itself, and not again */
		{true, flush_run, 3},  /* the second's flush fails, and then the end */
		{false, nothing, 0},   /* only the hook knows */
		{false, fail, 1},      /* the second by itself */
		{false, flush_run, 1}, /* the second by its flush */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
		struct baton_resource_stats stats = {0}, copy;
		struct baton_resource resource;
		struct baton_task tasks[3];
		struct baton_task *const chain[] = {&tasks[0], &tasks[1], &tasks[2]};

		config.failed = failed;
		config.batch_end = end_fails;
		config.delay_completions = rows[i].hold;
		baton_resource_init(&resource, &config);
		baton_resource_set_stats(&resource, &stats);
		baton_task_init(&tasks[0], nothing, NULL);
		baton_task_init(&tasks[1], rows[i].second, NULL);
		baton_task_init(&tasks[2], nothing, NULL);
		memset(&told, 0, sizeof(told));
		cr_assert_eq(baton_submit_batch(&resource, chain, 3), 0);
		baton_resource_stats_read(&stats, &copy);
		cr_assert_eq(copy.failed, rows[i].failed, "row %zu: %llu", i,
		             (unsigned long long)copy.failed);
		cr_assert_eq(copy.executed, 3);
		cr_assert_eq(told.count, rows[i].second == fail);
		resource_end(&resource);
	}
}
