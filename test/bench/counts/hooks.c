/* SPDX-License-Identifier: MIT */
/*
 * What drain hooks cost: nothing where the config has none (law L11), and with them no more atomics
 * than the same tasks pay without.
 */
#include "counters.h"

#include <baton.h>

#define TASKS 900 /* fits the caches of nodes */

static int hook(struct baton_resource *resource)
{
	return 0;
}

static const struct baton_resource_config without = {
	.capture_max = 4 * TASKS,
	.quantum = BATON_QUANTUM,
};

static const struct baton_resource_config with = {
	.capture_max = 4 * TASKS,
	.quantum = BATON_QUANTUM,
	.batch_begin = hook,
	.batch_end = hook,
	.delay_completions = true,
};

static struct baton_resource plain = BATON_RESOURCE_INIT(&without);
static struct baton_resource hooked = BATON_RESOURCE_INIT(&with);
static struct baton_task tasks[TASKS];
static struct baton_future futures[TASKS];

static int nothing_task(struct baton_task *task)
{
	return 0;
}

static void *nothing(void *arg)
{
	return arg;
}

static void submit(struct baton_resource *resource, bool with_future)
{
	for (int i = 0; i < TASKS; i++) {
		baton_future_init(&futures[i]);
		baton_task_init(&tasks[i], nothing_task, with_future ? &futures[i] : NULL);
		BATON_IGNORE(baton_submit(resource, &tasks[i]));
	}
}

static void submit_plain(struct baton_resource *resource)
{
	submit(resource, false);
}

static void submit_future(struct baton_resource *resource)
{
	submit(resource, true);
}

static void call(struct baton_resource *resource)
{
	for (int i = 0; i < TASKS; i++)
		BATON_IGNORE(baton_call(resource, nothing, NULL, NULL));
}

/* All of them behind one task, in one batch; their pushes count, too: one each. */
static void *submit_inside(void *resource)
{
	submit_future(resource);
	return NULL;
}

static void submit_behind(struct baton_resource *resource)
{
	BATON_IGNORE(baton_call(resource, submit_inside, resource, NULL));
}

static void row(const char *path, struct counts limit, void (*round)(struct baton_resource *),
                struct baton_resource *resource)
{
	struct bench_counts before;

	round(resource);
	before = counts_now();
	round(resource);
	counts_row(path, limit, counts_since(&before, TASKS));
}

void counts_hooks(void)
{
	row("config without hooks: submit, idle resource", (struct counts){2, 0, 0}, submit_plain,
	    &plain);
	row("config without hooks: call, idle resource", (struct counts){2, 0, 0}, call, &plain);
	row("drain hooks: submit, idle resource", (struct counts){2, 0, 0}, submit_plain, &hooked);
	row("drain hooks: submit with a future, idle resource", (struct counts){4, 0, 0},
	    submit_future, &hooked);
	row("drain hooks: call, idle resource", (struct counts){4, 0, 0}, call, &hooked);
	row("drain hooks: one of many in a batch, held back, its push too",
	    (struct counts){3.02, 0, 0}, submit_behind, &hooked);
}
