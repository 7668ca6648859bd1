/* SPDX-License-Identifier: MIT */
/* A queue with two backends. See pair.h. */
#include "pair.h"

#include <criterion/criterion.h>

#include <stdio.h>

struct server server;
struct baton_redis *client;
struct baton_redis *leading;
struct baton_redis_scheduler *scheduler;
struct baton_redis *working[2];
struct baton_redis_backend *backend[2];

void pair_start(void)
{
	server_start(&server, NULL);
	client = server_connect(&server);
	leading = server_connect(&server);
	scheduler = scheduler_on(leading);
	for (int i = 0; i < 2; i++) {
		working[i] = server_connect(&server);
		backend[i] = backend_on(working[i], i == 0 ? "one" : "two");
	}
}

void pair_stop(void)
{
	for (int i = 0; i < 2; i++) {
		baton_redis_backend_destroy(backend[i]);
		baton_redis_destroy(working[i]);
	}
	baton_redis_scheduler_destroy(scheduler);
	baton_redis_destroy(leading);
	baton_redis_destroy(client);
	server_stop(&server);
}

void submit(const struct baton_redis_task *task)
{
	int error = baton_redis_submit(client, task);

	cr_assert_eq(error, 0, "%d: %s", error, baton_redis_error(client));
}

void submit_kind(const char *id, uint32_t kind)
{
	struct baton_redis_task task = task_named(id, kind);

	submit(&task);
}

void make_queue(void)
{
	char id[16];

	for (uint32_t kind = 0; kind < 3; kind++) {
		snprintf(id, sizeof(id), "runs%u", 2 - kind);
		submit_kind(id, 2 - kind);
		settle(scheduler);
	}
	for (uint32_t kind = 0; kind < BATON_REDIS_KINDS; kind++)
		for (uint32_t i = 0; i <= kind; i++) {
			if (kind > 2 && kind < BATON_RULES_DEFAULT)
				continue;
			snprintf(id, sizeof(id), "t%u-%u", kind, i);
			submit_kind(id, kind);
		}
}
