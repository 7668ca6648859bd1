/* SPDX-License-Identifier: MIT */
/*
 * What most tests of one resource set up: the resource, its config and counters, the executor
 * behind it, a thread that occupies it, and numbered steps that write a journal. Each test is a
 * process of its own, so one static fixture is enough. `fix.resource` is ready for use, without a
 * config. A test of a resource with a config changes `fix.config` and calls fixture_config(), or
 * one of the functions that add an executor.
 */
#ifndef BATON_TEST_UNIT_FIXTURE_H
#define BATON_TEST_UNIT_FIXTURE_H

#include "stash.h"

#define FIXTURE_STEPS 16

struct fixture {
	struct baton_resource resource;
	struct baton_resource_config config;
	struct baton_resource_stats stats; /* counted if `counted` was set before the beginning */
	bool counted;
	bool begun;
	struct baton_pool *pool;     /* NULL: none */
	struct baton_manual *manual; /* NULL: none */
	struct stash stash;
	struct occupant occupant;
	struct journal journal;
	struct step steps[FIXTURE_STEPS]; /* numbered from 0, without futures */
};

#define FIXTURE_STEP(n)                                                                            \
	{                                                                                          \
		BATON_TASK_INIT(step_run, NULL), &fix.journal, (n)                                 \
	}
#define FIXTURE_STEPS_4(n)                                                                         \
	FIXTURE_STEP(n), FIXTURE_STEP((n) + 1), FIXTURE_STEP((n) + 2), FIXTURE_STEP((n) + 3)

static struct fixture fix = {
	.resource = BATON_RESOURCE_INIT(NULL),
	.config = BATON_RESOURCE_CONFIG_INIT,
	.steps = {FIXTURE_STEPS_4(0), FIXTURE_STEPS_4(4), FIXTURE_STEPS_4(8), FIXTURE_STEPS_4(12)},
};

/* The resource begins (anew, if a test has several rounds) with `fix.config`, as it is. */
static inline void fixture_config(void)
{
	MUST(!fix.begun);
	fix.begun = true;
	fix.journal.count = 0;
	steps_init(fix.steps, FIXTURE_STEPS, &fix.journal, 0);
	baton_resource_init(&fix.resource, &fix.config);
	if (fix.counted)
		baton_resource_set_stats(&fix.resource, &fix.stats);
}

/* The stash is the resource's executor. */
static inline void fixture_stash(void)
{
	stash_init(&fix.stash);
	fix.config.executor = &fix.stash.executor;
	fixture_config();
}

/* A pool of so many workers is the resource's executor. */
static inline void fixture_pool(size_t workers)
{
	fix.pool = pool_of(workers);
	fix.config.executor = baton_pool_executor(fix.pool);
	fixture_config();
}

/* An executor that the test drives by hand. */
static inline void fixture_manual(void)
{
	MUST(baton_manual_create(&fix.manual) == 0);
	fix.config.executor = baton_manual_executor(fix.manual);
	fixture_config();
}

/* Closes the resource, waits until nothing is left of it, and gives its executor back. */
static inline void fixture_end(void)
{
	resource_end(&fix.resource);
	if (fix.pool)
		cr_assert_eq(baton_pool_destroy(fix.pool), 0);
	if (fix.manual)
		baton_manual_destroy(fix.manual);
	fix.pool = NULL;
	fix.manual = NULL;
	fix.begun = false;
}

/* Submits the steps first, first + 1, ... below `end`. */
static inline void steps_submit(int first, int end)
{
	for (int i = first; i < end; i++)
		cr_assert_eq(baton_submit(&fix.resource, &fix.steps[i].task), 0);
}

#endif
