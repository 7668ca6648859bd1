/* SPDX-License-Identifier: MIT */
/*
 * The pool's policy: its defaults and ranges, and the numbers that a worker computes from it. Pure
 * functions; they know no worker and no clock.
 *
 * A mean is what one job takes, in 256ths of a nanosecond.
 */
#ifndef BATON_SRC_POLICY_H
#define BATON_SRC_POLICY_H

#include <baton/pool.h>

#include <stdint.h>

#define BATON__POLICY_JOBS_MIN 2 /* of two jobs one is the worker's own */

/* Copies `asked`, or nothing if it is NULL, and fills in the defaults. -EINVAL: a member is out of
 * its range; then *policy has no meaning. */
int baton__policy_fill(struct baton_pool_policy *policy, const struct baton_pool_policy *asked);

/* 0, or -EINVAL: a member of the options, without the policy's, is not valid. */
int baton__pool_options_refused(const struct baton_pool_options *options);

/* The mean of one round: `jobs` jobs took `took_ns`. */
uint64_t baton__policy_per_job(uint64_t took_ns, uint32_t jobs);

/* The mean after a round with the mean `last`: a greater `last` replaces the old mean; a smaller
 * `last` lowers the old mean, with the weight `smoothing`. */
uint64_t baton__policy_mean(const struct baton_pool_policy *policy, uint64_t mean, uint64_t last);

/* How many jobs a worker runs between two looks at the injection queue if each takes `mean`: at
 * least 2. */
uint32_t baton__policy_interval(const struct baton_pool_policy *policy, uint64_t mean);

#endif
