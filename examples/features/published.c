/* SPDX-License-Identifier: MIT */
/*
 * A routing table that every message is looked up in, and that seldom changes. A look-up is no
 * task: it reads the table that is published. A change is a task: it publishes another table. The
 * old table is freed when no look-up can read it any more.
 */
#include "../check.h"

#include <baton.h>
#include <baton/published.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUTES 16
#define CHANGES 1000

struct table {
	struct baton_retired retired;
	int version;
	int next_hop[ROUTES];
};

static struct baton_resource router = BATON_RESOURCE_INIT(NULL);
static struct baton_published published;
static atomic_bool over;

static void free_table(struct baton_retired *retired)
{
	free(baton_container_of(retired, struct table, retired));
}

/* Any thread: no lock, no task, no wait. */
static int look_up(int route)
{
	const struct table *table;
	int hop;

	CHECK(baton_epoch_enter() == 0);
	table = baton_container_of(baton_published_read(&published), struct table, retired);
	hop = table->next_hop[route];
	CHECK(hop == table->version);
	baton_epoch_leave();
	return hop;
}

static void *look_ups(void *arg)
{
	int newest = 0;

	(void)arg;
	while (!atomic_load(&over)) {
		const int hop = look_up(newest % ROUTES);

		CHECK(hop >= newest);
		newest = hop;
	}
	return NULL;
}

/* In a task of the router: one change at a time. */
static void *change(void *arg)
{
	struct table *next = malloc(sizeof(*next));

	CHECK(next != NULL);
	next->version = *(int *)arg;
	for (int i = 0; i < ROUTES; i++)
		next->next_hop[i] = next->version;
	baton_published_replace(&published, &next->retired);
	return NULL;
}

int main(void)
{
	struct table *first = calloc(1, sizeof(*first));
	pthread_t reader;

	CHECK(first != NULL);
	CHECK(baton_published_init(&published, &first->retired, free_table) == 0);
	CHECK(pthread_create(&reader, NULL, look_ups, NULL) == 0);
	for (int version = 1; version <= CHANGES; version++)
		CHECK(baton_call(&router, change, &version, NULL) == 0);
	atomic_store(&over, true);
	CHECK(pthread_join(reader, NULL) == 0);
	printf("%d tables were published; look-ups found each whole\n", look_up(0) + 1);
	CHECK(baton_resource_close(&router) == 0);
	CHECK(baton_resource_await(&router) == 0);
	baton_published_deinit(&published);
	return 0;
}
