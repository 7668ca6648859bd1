/* SPDX-License-Identifier: MIT */
/*
 * The thread pool that everybody has written once: a list of jobs, a mutex, a condition variable.
 */
#ifndef BATON_BENCH_QUEUE_POOL_H
#define BATON_BENCH_QUEUE_POOL_H

#include <stdbool.h>

#define QUEUE_POOL_MAX 64

struct queue_job {
	struct queue_job *next;
	void (*run)(struct queue_job *job);
};

struct queue_pool;

/* `pinned`: worker i to the i-th usable CPU. */
struct queue_pool *queue_pool_create(unsigned workers, bool pinned);
void queue_pool_submit(struct queue_pool *pool, struct queue_job *job);
/* Runs what is left, ends the threads, frees. */
void queue_pool_destroy(struct queue_pool *pool);

#endif
