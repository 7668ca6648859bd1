/* SPDX-License-Identifier: MIT */
/*
 * Starting and joining the pool's threads.
 */
#ifndef BATON_SRC_SPAWN_H
#define BATON_SRC_SPAWN_H

struct baton_pool;
struct baton__mate;
struct baton__worker;

/* Starts one thread for each worker. On an error some of these threads may run. */
int baton__spawn(struct baton_pool *pool);

/* Starts a spare thread, which the caller has counted as COMING (crew.c). Any thread. On an error
 * the caller takes that back: baton__crew_missing. */
int baton__spawn_spare(struct baton_pool *pool);

/*
 * Pins the calling thread, which becomes this worker, to the worker's CPU, if the pool has CPUs.
 * -EINVAL: this process may not use that CPU. -ENOMEM.
 */
int baton__pin(const struct baton__worker *worker);

/* join_mate: waits for a thread that ends, and frees its mate. join: the same for all mates that
 * have a thread; all of these have ended. */
void baton__join_mate(struct baton__mate *mate);
void baton__join(struct baton_pool *pool);

#endif
