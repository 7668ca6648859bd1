/* SPDX-License-Identifier: MIT */
/* 0 is the default, and all-zero memory an idle resource. */
#include "support.h"

#include <baton/hooks.h>

static int hook(struct baton_resource *resource)
{
	(void)resource;
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
	baton_resource_init(&resource, NULL, "stay", config, NULL);
	steps_init(steps, 200, &journal, 0);
	for (size_t i = 0; i < 200; i++)
		MUST(baton_submit_later(&resource, &steps[i].task) == 0);
	cr_assert(baton_manual_run_one(manual));
	count = journal.count;
	/* Bounded: as many turns as a quantum of 1 needs. */
	for (int i = 0; i < 200 && baton_manual_run_one(manual); i++)
		continue;
	cr_assert(journal_counts_up(&journal, 0, 200));
	resource_end(&resource);
	baton_manual_destroy(manual);
	return count;
}

Test(zero, is_the_default_quantum, .timeout = 10)
{
	struct baton_resource_config configs[] = {
		{.capture_limit = 10},
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
	cr_assert_eq(baton_resource_await(resource, NULL), 0);
	cr_assert(journal_counts_up(&journal, 0, 100));
	cr_assert_null(baton_resource_name(resource));
	cr_assert_null(baton_resource_user(resource));
	resource_end(resource);
	free(resource);
}
