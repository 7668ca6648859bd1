/* SPDX-License-Identifier: MIT */
/*
 * The smallest program: several threads count on one resource. The counter is a plain integer, and
 * needs no other protection: the tasks of its resource never overlap. Half of the increments are
 * calls (the thread goes on when the increment is done), half are posts (the thread goes on at
 * once).
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include <baton/error.h>
#include <baton/resource.h>
#include <baton/stats.h>

#define THREADS 4
#define ROUNDS 250000

struct counter {
	struct baton_resource resource;
	struct baton_resource_stats stats;
	uint64_t value;
};

static struct counter counter = {
	.resource = BATON_RESOURCE_INIT(NULL),
};

static void *increment(void *arg)
{
	struct counter *self = arg;

	self->value++;
	return NULL;
}

static void *count(void *arg)
{
	int status = 0;

	for (int i = 0; i < ROUNDS && status == 0; i++) {
		status = baton_call(&counter.resource, increment, arg, NULL);
		if (status == 0)
			status = baton_post(&counter.resource, increment, arg);
	}
	if (status != 0)
		fprintf(stderr, "counter: %s\n", baton_error_text(status));
	return NULL;
}

int main(void)
{
	const uint64_t expected = (uint64_t)THREADS * ROUNDS * 2;
	struct baton_resource_stats counts;
	pthread_t threads[THREADS];

	baton_resource_set_stats(&counter.resource, &counter.stats);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, count, &counter) != 0)
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	baton_resource_close(&counter.resource);
	if (baton_resource_await(&counter.resource) != 0)
		return 1;
	baton_resource_stats_read(&counter.stats, &counts);
	printf("counter: %llu of %llu, %llu captures, %llu hand-offs, %llu helped\n",
	       (unsigned long long)counter.value, (unsigned long long)expected,
	       (unsigned long long)counts.captures, (unsigned long long)counts.handoffs,
	       (unsigned long long)counts.helped);
	baton_resource_deinit(&counter.resource);
	return counter.value == expected ? 0 : 1;
}
