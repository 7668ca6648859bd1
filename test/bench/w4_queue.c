/* SPDX-License-Identifier: MIT */
/*
 * W4: a list with a mutex and a condition; jobs as for baton.
 */
#include "w4_pool.h"

#include <stdlib.h>

static struct queue_pool *pool;

static void start(const struct w4_pool *self, unsigned workers)
{
	pool = queue_pool_create(workers, true);
}

static void stop(const struct w4_pool *self)
{
	queue_pool_destroy(pool);
}

#define W4_MEMBER queued
#define W4_TYPE struct queue_job

static inline void entry_submit(W4_TYPE *entry, void (*run)(W4_TYPE *entry))
{
	entry->run = run;
	queue_pool_submit(pool, entry);
}

#include "w4_ways.h"

const struct w4_pool w4_queue = {
	.name = "mutex, condition, list",
	.start = start,
	.stop = stop,
	W4_WAYS,
};
