/* SPDX-License-Identifier: MIT */
/*
 * The carried value. A request goes through two resources on two pools: the session, and the topic
 * that the session publishes to. No function is given the request; each log line has its id.
 */
#include <baton.h>
#include <baton/carried.h>

#include "../check.h"

#include <stdatomic.h>
#include <stdio.h>

#define REQUESTS 4

struct request {
	unsigned id;
	atomic_uint lines;
};

static struct baton_resource_config configs[2];
static struct baton_resource session, topic;

static void log_line(const char *text)
{
	struct request *request = baton_carried();

	CHECK(request != NULL);
	printf("[request %u] %s\n", request->id, text);
	atomic_fetch_add(&request->lines, 1);
}

static void *store(void *none)
{
	log_line("is stored by the topic");
	return none;
}

/* A post of the session: what it posts belongs to the same request. */
static void *publish(void *none)
{
	log_line("is published by the session");
	CHECK(baton_post(&topic, store, NULL) == 0);
	return none;
}

int main(void)
{
	static struct request requests[REQUESTS];
	struct baton_resource *const resources[2] = {&session, &topic};
	struct baton_pool *pools[2];

	for (int i = 0; i < 2; i++) {
		const struct baton_pool_options options = {.workers = 1};

		CHECK(baton_pool_create(&options, &pools[i]) == 0);
		configs[i].executor = baton_pool_executor(pools[i]);
		configs[i].capture_max = BATON_CAPTURE_NONE; /* on the pools' threads alone */
		baton_resource_init(resources[i], &configs[i]);
	}
	for (unsigned i = 0; i < REQUESTS; i++) {
		requests[i].id = 100 + i;
		CHECK(baton_set_carried(&requests[i]) == 0);
		CHECK(baton_post(&session, publish, NULL) == 0);
	}
	CHECK(baton_set_carried(NULL) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(baton_resource_close(resources[i]) == 0 &&
		      baton_resource_await(resources[i]) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(baton_pool_destroy(pools[i]) == 0);
	for (unsigned i = 0; i < REQUESTS; i++)
		CHECK(requests[i].lines == 2);
	puts("each line has its request's id");
	return 0;
}
