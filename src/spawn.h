/* SPDX-License-Identifier: MIT */
/*
 * Layer 6: the pool's threads.
 */
#ifndef BATON_SRC_SPAWN_H
#define BATON_SRC_SPAWN_H

#include <stddef.h>

struct baton_pool;
struct baton_pool_options;

/* Starts one thread per worker. On an error too, *started is how many there are. */
int baton__spawn(struct baton_pool *pool, const struct baton_pool_options *options,
                 size_t *started);

/* Waits for the first `count` threads. */
void baton__join(struct baton_pool *pool, size_t count);

#endif
