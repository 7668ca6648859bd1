/* SPDX-License-Identifier: MIT */
/*
 * baton's pools.
 */
#include "baton_pool.h"

#include "team.h"

#include <stdlib.h>

#define CPUS_MAX 64

struct baton_pool *bench_pool_create(unsigned workers, bool pinned)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	struct baton_pool *pool;
	int cpus[CPUS_MAX];

	options.workers = workers;
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
