/* SPDX-License-Identifier: MIT */
/* Failing calls in parallel loops: the caller runs what no worker could be asked for. */
#include "job.h"

#include <baton/parallel.h>

#define INDICES 64
#define CHUNK_US 20

struct marks {
	atomic_int done[INDICES];
	atomic_int failing; /* index + 1; 0: none */
};

static int mark(void *arg, size_t begin, size_t end)
{
	struct marks *marks = arg;

	for (size_t i = begin; i < end; i++) {
		(void)atomic_fetch_add(&marks->done[i], 1);
		if ((int)i + 1 == atomic_load(&marks->failing))
			return -EDOM;
	}
	fault_pause_us(CHUNK_US);
	return 0;
}

static bool each_once(const struct marks *marks)
{
	for (size_t i = 0; i < INDICES; i++)
		if (atomic_load(&marks->done[i]) != 1)
			return false;
	return true;
}

SCENARIO(parallel, loop)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	struct baton_pool *pool = NULL;
	struct marks marks = {0};
	struct marks failing = {.failing = INDICES / 2};

	options.workers = 3;
	INSIST(baton_pool_create(&options, &pool), !pool);
	EXPECT(TRY(baton_parallel_for(pool, INDICES, 1, mark, &marks)) == 0);
	EXPECT(each_once(&marks));
	EXPECT(USE(baton_parallel_for(pool, INDICES, 1, mark, &failing)) == -EDOM);
	EXPECT(TRY(baton_pool_destroy(pool)) == 0);
}

/* Where the default pool cannot be created, the loop runs all the same. */
SCENARIO(parallel, default_pool)
{
	struct marks marks = {0};

	EXPECT(TRY(baton_parallel_for(NULL, INDICES, 1, mark, &marks)) == 0);
	EXPECT(each_once(&marks));
	INSIST(baton_pool_default_destroy(), true);
}
