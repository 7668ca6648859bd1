/* SPDX-License-Identifier: MIT */
/*
 * A log that is flushed after writes. However many writers ask for a flush, at most one flush is
 * pending, and no writer waits.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include <baton/resource.h>
#include <baton/trigger.h>

#define WRITERS 4
#define WRITES 500

static struct baton_resource journal = BATON_RESOURCE_INIT(NULL);
static uint64_t flushes, writes; /* touched by the journal's tasks */

static int flush(struct baton_trigger *trigger, uint64_t fires)
{
	const struct timespec disk = {0, 100000};

	(void)trigger;
	(void)nanosleep(&disk, NULL);
	flushes++;
	writes += fires;
	return 0;
}

static struct baton_trigger dirty = BATON_TRIGGER_INIT(&journal, flush);

static void *write_often(void *arg)
{
	for (int i = 0; i < WRITES; i++)
		if (baton_trigger_fire(&dirty))
			return NULL;
	return arg;
}

int main(void)
{
	pthread_t threads[WRITERS];

	for (int i = 0; i < WRITERS; i++)
		if (pthread_create(&threads[i], NULL, write_often, NULL) != 0)
			return 1;
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	baton_resource_close(&journal);
	if (baton_resource_await(&journal) != 0)
		return 1;
	printf("trigger: %llu writes answered by %llu flushes\n", (unsigned long long)writes,
	       (unsigned long long)flushes);
	return writes != (uint64_t)WRITERS * WRITES || flushes > writes;
}
