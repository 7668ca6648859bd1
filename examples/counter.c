/* SPDX-License-Identifier: MIT */
/*
 * The smallest program: 100 threads make 100,000 additions and subtractions each. The sum is a
 * plain integer, and needs no other protection: only tasks of its resource change it, and these
 * never overlap. Most changes are posts: the thread goes on at once. Every hundredth change is a
 * call: the thread goes on when the change is made. So no thread is ahead of its changes by more
 * than 100.
 */
#include "check.h"

#include <baton.h>
#include <baton/stats.h>

#include <inttypes.h>
#include <pthread.h>

#define THREADS 100
#define CHANGES 100000 /* of each thread */
#define EXPECTED ((int64_t)THREADS * (CHANGES / 2) * (3 - 1))

static struct counter {
	struct baton_resource resource;
	int64_t sum; /* changed by the resource's tasks alone */
	struct baton_resource_stats stats;
} counter = {.resource = BATON_RESOURCE_INIT(NULL)};

static void *add(void *arg)
{
	struct counter *self = arg;

	self->sum += 3;
	return NULL;
}

static void *subtract(void *arg)
{
	struct counter *self = arg;

	self->sum -= 1;
	return NULL;
}

static void *change(void *arg)
{
	for (int i = 0; i < CHANGES; i++) {
		baton_call_fn fn = i % 2 == 0 ? add : subtract;

		if (i % 100 == 99)
			CHECK(baton_call(&counter.resource, fn, &counter, NULL) == 0);
		else
			CHECK(baton_post(&counter.resource, fn, &counter) == 0);
	}
	return arg;
}

int main(void)
{
	struct baton_resource_stats counts;
	pthread_t threads[THREADS];

	baton_resource_set_stats(&counter.resource, &counter.stats);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, change, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK(baton_resource_close(&counter.resource) == 0);
	CHECK(baton_resource_await(&counter.resource) == 0);
	baton_resource_stats_read(&counter.stats, &counts);
	printf("%d threads made %" PRIu64 " additions and subtractions on one number.\n", THREADS,
	       counts.executed);
	printf("The sum is %" PRId64 ", and should be %" PRId64 ".\n", counter.sum, EXPECTED);
	printf("Captures: %" PRIu64 " times a thread found the number idle and changed it.\n",
	       counts.captures);
	printf("Hand-offs: %" PRIu64 " times a thread left the rest of the work to the pool.\n",
	       counts.handoffs);
	printf("Helped: %" PRIu64 " times a thread took back work that the pool had not begun.\n",
	       counts.helped);
	CHECK(counter.sum == EXPECTED && counts.executed == (uint64_t)THREADS * CHANGES);
	return 0;
}
