/* SPDX-License-Identifier: MIT */
/*
 * The pool's policy in numbers, and which options a pool refuses.
 *
 * Source: the self-tuned interval is tokio's. The mean that rises at once is our own: while a mean
 * rises slowly, a job from outside waits for ten rounds of long jobs.
 */
#include "pool/policy.h"

#include "base/refused.h"
#include "core/executor.h"
#include "queue/runqueue.h"

#include <errno.h>

/* At most so many jobs between two looks, as in Go and tokio. */
#ifndef BATON_WORKER_INJECTION_TICK /* tests make it small */
#define BATON_WORKER_INJECTION_TICK 61
#endif
/* Higher CPU numbers are refused. */
#define CPUS_MAX 65536
#define INJECTION_NS 10000
#define TICK_BUDGET 128
#define HOT_FROM 4
#define HOT_SHARE 3
#define JOBS_MIN BATON__POLICY_JOBS_MIN
#define UNIT 256U

static uint32_t or_default(uint32_t asked, uint32_t fallback)
{
	return asked ? asked : fallback;
}

static int jobs_out_of_range(uint32_t jobs)
{
	return jobs < JOBS_MIN || jobs > BATON_POOL_JOBS_MAX;
}

int baton__pool_options_refused(const struct baton_pool_options *options)
{
	if (options->workers > BATON_POOL_WORKERS_MAX)
		return baton__refused("baton_pool_create: workers is above BATON_POOL_WORKERS_MAX");
	if (options->spares_max > BATON_POOL_SPARES_MAX &&
	    options->spares_max != BATON_POOL_NO_SPARES)
		return baton__refused("baton_pool_create: spares_max is out of range");
	if (BATON__UNKNOWN(options))
		return baton__refused("baton_pool_create: a word of _reserved is not zero");
	if (!options->cpus != !options->cpu_count)
		return baton__refused("baton_pool_create: of cpus and cpu_count one is missing");
	for (size_t i = 0; i < options->cpu_count; i++)
		if (options->cpus[i] < 0 || options->cpus[i] >= CPUS_MAX)
			return baton__refused("baton_pool_create: cpus names no CPU");
	return 0;
}

#define OUT_OF_RANGE(member) baton__refused("baton_pool_create: policy." member " is out of range")

/* 0, or -EINVAL: a member is out of its range. */
static int refuse(const struct baton_pool_policy *policy)
{
	if (policy->injection_ns > BATON_POOL_INJECTION_NS_MAX)
		return OUT_OF_RANGE("injection_ns");
	if (jobs_out_of_range(policy->injection_min))
		return OUT_OF_RANGE("injection_min");
	if (jobs_out_of_range(policy->injection_max))
		return OUT_OF_RANGE("injection_max");
	if (policy->injection_min > policy->injection_max)
		return baton__refused("baton_pool_create: policy.injection_min is above "
		                      "injection_max");
	if (policy->smoothing > UNIT)
		return OUT_OF_RANGE("smoothing");
	if (jobs_out_of_range(policy->tick_budget))
		return OUT_OF_RANGE("tick_budget");
	if (policy->steal_max > BATON__WHOLE)
		return OUT_OF_RANGE("steal_max");
	if (policy->order != BATON_POOL_FIFO && policy->order != BATON_POOL_YIELDS)
		return OUT_OF_RANGE("order");
	if (policy->hot_from > BATON__RETURNS_MAX)
		return OUT_OF_RANGE("hot_from");
	if (policy->hot_share > BATON_POOL_JOBS_MAX)
		return OUT_OF_RANGE("hot_share");
	if (BATON__UNKNOWN(policy))
		return baton__refused("baton_pool_create: a word of policy._reserved is not zero");
	return 0;
}

int baton__policy_fill(struct baton_pool_policy *policy, const struct baton_pool_policy *asked)
{
	static const struct baton_pool_policy nothing;

	*policy = asked ? *asked : nothing;
	if (!policy->injection_ns)
		policy->injection_ns = INJECTION_NS;
	policy->injection_min = or_default(policy->injection_min, JOBS_MIN);
	policy->injection_max = or_default(policy->injection_max, BATON_WORKER_INJECTION_TICK);
	policy->smoothing = or_default(policy->smoothing, UNIT);
	policy->tick_budget = or_default(policy->tick_budget, TICK_BUDGET);
	policy->steal_max = or_default(policy->steal_max, BATON__WHOLE / 2);
	policy->hot_from = or_default(policy->hot_from, HOT_FROM);
	policy->hot_share = or_default(policy->hot_share, HOT_SHARE);
	return refuse(policy);
}

uint64_t baton__policy_per_job(uint64_t took_ns, uint32_t jobs)
{
	/* A worker that has slept for two years comes to this. */
	if (took_ns > UINT64_MAX / UNIT)
		took_ns = UINT64_MAX / UNIT;
	return took_ns * UNIT / jobs;
}

uint64_t baton__policy_mean(const struct baton_pool_policy *policy, uint64_t mean, uint64_t last)
{
	uint64_t down = mean - last;

	if (last >= mean)
		return last;
	/* Divided before it is multiplied, since down * smoothing may overflow. The mean is rounded
	 * down, so that it reaches `last` in the end. */
	return mean - (down / UNIT * policy->smoothing +
	               (down % UNIT * policy->smoothing + UNIT - 1) / UNIT);
}

uint32_t baton__policy_interval(const struct baton_pool_policy *policy, uint64_t mean)
{
	uint64_t jobs = mean ? policy->injection_ns * UNIT / mean : UINT64_MAX;

	if (jobs > policy->injection_max)
		jobs = policy->injection_max;
	if (jobs < policy->injection_min)
		jobs = policy->injection_min;
	return (uint32_t)(jobs < policy->tick_budget ? jobs : policy->tick_budget);
}
