/* SPDX-License-Identifier: MIT */
/* A queue with two backends. See pair.h. */
#include "pair.h"

#include <criterion/criterion.h>

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
