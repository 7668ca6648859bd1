/* SPDX-License-Identifier: MIT */
/* The carried value beside tasks: the chunks of a parallel loop, and what finds none. */
#include "support.h"
#include "pool_support.h"

#include <baton/all.h>

#include "../parts.h"

static int values[4];
static void *const submitters = &values[0];
static void *const other = &values[1];

static void *found[10];
static size_t runs;

static void note(void)
{
	MUST(runs < sizeof(found) / sizeof(*found));
	found[runs++] = baton_carried();
}

static int run(struct baton_task *task)
{
	note();
	return 0;
}

/* A chunk that waits for the other one, on another thread. */
static int meet_and_note(void *arg, size_t begin, size_t end)
{
	atomic_int *met = arg;

	cr_assert_eq(end - begin, 1);
	(void)atomic_fetch_add(met, 1);
	until_at_least(met, 2);
	found[begin] = baton_carried();
	return 0;
}

Test(carried_beside, goes_with_the_chunks_of_a_loop, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);

	for (int round = 0; round < 2; round++) {
		atomic_int met = 0;

		found[0] = found[1] = other;
		cr_assert_eq(baton_set_carried(round ? NULL : submitters), 0);
		cr_assert_eq(baton_parallel_for(pool, 2, 1, meet_and_note, &met), 0);
		cr_expect_eq(found[0], round ? NULL : submitters);
		cr_expect_eq(found[1], round ? NULL : submitters);
	}
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

static void note_resource(struct baton_resource *resource)
{
	note();
}

static int note_batch(struct baton_resource *resource)
{
	note();
	return 0;
}

static void note_failure(struct baton_resource *resource, struct baton_task *task, int status)
{
	note();
}

static int fail(struct baton_task *task)
{
	cr_assert_eq(baton_carried(), submitters);
	return -EIO;
}

Test(carried_beside, is_not_found_by_what_is_called_around_a_task, .timeout = 10)
{
	static const struct baton_resource_config config = {
		.enter = note_resource,
		.leave = note_resource,
		.failed = note_failure,
		.batch_begin = note_batch,
		.batch_end = note_batch,
	};
	struct baton_resource hooked = BATON_RESOURCE_INIT(&config);
	struct baton_task finaliser;
	struct stamped stamped;

	cr_assert_eq(baton_set_carried(submitters), 0);
	stamped_init(&stamped, fail, NULL);
	cr_assert_eq(baton_submit(&hooked, &stamped.task), 0);
	baton_task_init(&finaliser, run, NULL);
	cr_assert_eq(baton_resource_close_then(&hooked, &finaliser), 0);
	cr_expect_eq(runs, 10);
	for (size_t i = 0; i < runs; i++)
		cr_expect_null(found[i], "call %zu", i);
	cr_assert_eq(baton_set_carried(NULL), 0);
}
