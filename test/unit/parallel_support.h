/* SPDX-License-Identifier: MIT */
/* A parallel loop that marks its indices. */
#ifndef BATON_TEST_UNIT_PARALLEL_SUPPORT_H
#define BATON_TEST_UNIT_PARALLEL_SUPPORT_H

#include "pool_support.h"

#include <baton/parallel.h>

#define INDICES 2000

/* What the chunks of a loop have done. */
struct marks {
	size_t count;
	atomic_int done[INDICES]; /* how often */
	atomic_int chunks;
	atomic_int small;     /* chunks of fewer than `grain` indices */
	atomic_int elsewhere; /* chunks on other threads than `caller` */
	size_t grain;
	size_t fails_at; /* index + 1; 0: none */
	int caller;
	struct baton_pool *pool;
};

static inline int mark(void *arg, size_t begin, size_t end)
{
	struct marks *marks = arg;
	int status = 0;

	atomic_fetch_add(&marks->chunks, 1);
	if (end - begin < marks->grain)
		atomic_fetch_add(&marks->small, 1);
	if (thread_id() != marks->caller)
		atomic_fetch_add(&marks->elsewhere, 1);
	for (size_t i = begin; i < end; i++) {
		atomic_fetch_add(&marks->done[i], 1);
		if (i + 1 == marks->fails_at)
			status = -(int)i - 1;
	}
	return status;
}

static inline struct marks *marks_create(size_t count)
{
	struct marks *marks = calloc(1, sizeof(*marks));

	MUST(marks && count <= INDICES);
	marks->count = count;
	marks->caller = thread_id();
	return marks;
}

static inline void expect_each_once(const struct marks *marks)
{
	for (size_t i = 0; i < INDICES; i++)
		cr_assert_eq(atomic_load(&marks->done[i]), i < marks->count, "index %zu", i);
}

/* Two chunks of which each waits for the other. */
static inline int meet(void *arg, size_t begin, size_t end)
{
	atomic_int *met = arg;

	(void)begin;
	atomic_fetch_add(met, (int)(end - begin));
	until_at_least(met, 2);
	return 0;
}

#endif
