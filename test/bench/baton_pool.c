/* SPDX-License-Identifier: MIT */
/* The pools of baton's contenders: options, pinning, one place to create them. */
#include "baton_pool.h"

#include "team.h"

#include <stdlib.h>

#define CPUS_MAX 64

static struct baton_pool *create(unsigned workers, bool pinned,
                                 const struct baton_pool_policy *policy)
{
	struct baton_pool_options options = {.workers = workers, .policy = policy};
	struct baton_pool *pool;
	int cpus[CPUS_MAX];

	if (pinned) {
		options.cpu_count = team_cpus() < CPUS_MAX ? team_cpus() : CPUS_MAX;
		for (unsigned i = 0; i < options.cpu_count; i++)
			cpus[i] = team_cpu(i);
		options.cpus = cpus;
	}
	if (baton_pool_create(&options, &pool))
		abort();
	return pool;
}

struct baton_pool *bench_pool_create(unsigned workers, bool pinned)
{
	return create(workers, pinned, NULL);
}

struct baton_pool *bench_pool_create_with(unsigned workers, const struct baton_pool_policy *policy)
{
	return create(workers, true, policy);
}
