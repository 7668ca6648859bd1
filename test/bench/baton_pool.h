/* SPDX-License-Identifier: MIT */
/*
 * baton's pools, as the benchmark makes them.
 */
#ifndef BATON_BENCH_BATON_POOL_H
#define BATON_BENCH_BATON_POOL_H

#include <stdbool.h>

#include <baton.h>

/* `pinned`: worker i to the i-th usable CPU, round robin, as teams are. */
struct baton_pool *bench_pool_create(unsigned workers, bool pinned);

/* Pinned, with a policy; NULL: the default. */
struct baton_pool *bench_pool_create_with(unsigned workers, const struct baton_pool_policy *policy);

#endif
