/* SPDX-License-Identifier: MIT */
/*
 * Memory for the library's own tasks and futures: one size, a cache per thread. A node may
 * be freed by any thread; it goes home, in batches, to the cache of the thread that allocated it,
 * so that a producer and its runner do not wander through ever new memory. Caches are bounded: what
 * exceeds them goes back to malloc.
 */
#ifndef BATON_SRC_NODE_H
#define BATON_SRC_NODE_H

#include <stddef.h>

struct baton__thread;

#define BATON__NODE_BODY_SIZE 112

/*
 * A node's body, aligned to 16 bytes. NULL: no memory.
 * The calling thread must be attached (thread.h) for both.
 */
void *baton__node_alloc(void);
void baton__node_free(void *body);

/* Sends home what `thread` has collected. The record's own thread only. */
void baton__node_flush(struct baton__thread *thread);

#endif
