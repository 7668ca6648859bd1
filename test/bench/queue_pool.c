/* SPDX-License-Identifier: MIT */
/*
 * The thread pool that everybody has written once.
 */
#include "queue_pool.h"

#include "team.h"

#include <pthread.h>
#include <stdlib.h>

struct queue_pool {
	pthread_mutex_t mutex;
	pthread_cond_t ready;
	struct queue_job *first;
	struct queue_job **end;
	unsigned sleeping;
	bool ending;
	bool pinned;
	unsigned started;
	unsigned workers;
	pthread_t ids[QUEUE_POOL_MAX];
};

static struct queue_job *take(struct queue_pool *pool)
{
	struct queue_job *job;

	(void)pthread_mutex_lock(&pool->mutex);
	while (!pool->first && !pool->ending) {
		pool->sleeping++;
		(void)pthread_cond_wait(&pool->ready, &pool->mutex);
		pool->sleeping--;
	}
	job = pool->first;
	if (job) {
		pool->first = job->next;
		if (!pool->first)
			pool->end = &pool->first;
	}
	(void)pthread_mutex_unlock(&pool->mutex);
	return job;
}

static void *worker_main(void *argument)
{
	struct queue_pool *pool = argument;
	struct queue_job *job;

	if (pool->pinned)
		team_pin(__atomic_fetch_add(&pool->started, 1, __ATOMIC_RELAXED));
	while ((job = take(pool)))
		job->run(job);
	return NULL;
}

struct queue_pool *queue_pool_create(unsigned workers, bool pinned)
{
	struct queue_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		abort();
	(void)pthread_mutex_init(&pool->mutex, NULL);
	(void)pthread_cond_init(&pool->ready, NULL);
	pool->end = &pool->first;
	pool->pinned = pinned;
	pool->workers = workers < QUEUE_POOL_MAX ? workers : QUEUE_POOL_MAX;
	for (unsigned i = 0; i < pool->workers; i++)
		if (pthread_create(&pool->ids[i], NULL, worker_main, pool))
			abort();
	return pool;
}

void queue_pool_submit(struct queue_pool *pool, struct queue_job *job)
{
	bool wake;

	job->next = NULL;
	(void)pthread_mutex_lock(&pool->mutex);
	*pool->end = job;
	pool->end = &job->next;
	wake = pool->sleeping > 0;
	(void)pthread_mutex_unlock(&pool->mutex);
	if (wake)
		(void)pthread_cond_signal(&pool->ready);
}

void queue_pool_destroy(struct queue_pool *pool)
{
	(void)pthread_mutex_lock(&pool->mutex);
	pool->ending = true;
	(void)pthread_mutex_unlock(&pool->mutex);
	(void)pthread_cond_broadcast(&pool->ready);
	for (unsigned i = 0; i < pool->workers; i++)
		(void)pthread_join(pool->ids[i], NULL);
	(void)pthread_cond_destroy(&pool->ready);
	(void)pthread_mutex_destroy(&pool->mutex);
	free(pool);
}
