/* SPDX-License-Identifier: MIT */
/*
 * Context. The log lines of a server have the id of the request that they belong to, although the
 * functions that log are given none: enter and leave of a config keep the id in a thread-local
 * variable. Small requests are served by one pool, large ones by another.
 */
#include <baton.h>

#include "../check.h"

#include <stdatomic.h>
#include <stdio.h>

#define REQUESTS 6
#define STEPS 3

/* A request is a resource: its steps are tasks, which run in order, on whatever thread. */
struct request {
	struct baton_resource resource;
	const struct request *outer; /* what the thread had served before, while it serves this */
	unsigned id;
	const char *pool;
};

static _Thread_local const struct request *served;
static atomic_uint lines;

/* Knows nothing of requests. */
static void log_line(const char *text, unsigned expected)
{
	CHECK(served && served->id == expected);
	printf("[%s, request %u] %s\n", served->pool, served->id, text);
	atomic_fetch_add(&lines, 1);
}

static void enter(struct baton_resource *resource)
{
	struct request *request = baton_container_of(resource, struct request, resource);

	request->outer = served;
	served = request;
}

/* A thread may be in the middle of another request's task: pairs nest. */
static void leave(struct baton_resource *resource)
{
	served = baton_container_of(resource, struct request, resource)->outer;
}

static void *step(void *arg)
{
	const struct request *request = arg;

	log_line("a step", request->id);
	return NULL;
}

/* Begins the request, and in the middle of its own work serves another one at once. */
static void *begin(void *arg)
{
	struct request *requests = arg;

	log_line("begins", requests[0].id);
	CHECK(baton_call(&requests[1].resource, step, &requests[1], NULL) == 0);
	log_line("goes on", requests[0].id);
	return NULL;
}

int main(void)
{
	static struct baton_resource_config configs[2] = {{.enter = enter, .leave = leave},
	                                                  {.enter = enter, .leave = leave}};
	static const char *const names[2] = {"small", "large"};
	static struct request requests[REQUESTS];
	struct baton_pool *pools[2];

	for (int i = 0; i < 2; i++) {
		const struct baton_pool_options options = {.workers = 1, .name = names[i]};

		CHECK(baton_pool_create(&options, &pools[i]) == 0);
		configs[i].executor = baton_pool_executor(pools[i]);
		configs[i].capture_max = BATON_CAPTURE_NONE; /* on the pools' threads alone */
	}
	for (unsigned i = 0; i < REQUESTS; i++) {
		requests[i] = (struct request){.id = 100 + i, .pool = names[i % 2]};
		baton_resource_init(&requests[i].resource, &configs[i % 2]);
	}
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned at = 0; at < REQUESTS; at++)
			CHECK(baton_post(&requests[at].resource, step, &requests[at]) == 0);
	CHECK(baton_call(&requests[0].resource, begin, requests, NULL) == 0);
	for (unsigned i = 0; i < REQUESTS; i++) {
		CHECK(baton_resource_close(&requests[i].resource) == 0);
		CHECK(baton_resource_await(&requests[i].resource) == 0);
		baton_resource_deinit(&requests[i].resource);
	}
	for (int i = 0; i < 2; i++)
		CHECK(baton_pool_destroy(pools[i]) == 0);
	CHECK(!served && lines == REQUESTS * STEPS + 3);
	printf("%u lines, each with its request\n", lines);
	return 0;
}
