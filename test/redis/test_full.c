/* SPDX-License-Identifier: MIT */
/* A server whose memory is full, and one that evicts keys. */
#include "server.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct server server;

static void set_up(void)
{
	server_start(&server, NULL);
}

static void tear_down(void)
{
	server_stop(&server);
}

TestSuite(full, .init = set_up, .fini = tear_down, .timeout = 120);

#define TASKS 12

/* Scheduler and backend come when the server is full already. */
Test(full, a_server_without_memory_takes_no_new_task_and_drains)
{
	struct baton_redis *redis[3];
	struct baton_redis_scheduler *scheduler;
	struct baton_redis_backend *backend;
	struct baton_redis_task tasks[TASKS];
	struct baton_redis_task more = task_named("more", 0);
	char ids[TASKS][8];

	for (int i = 0; i < 3; i++)
		redis[i] = server_connect(&server);
	for (int i = 0; i < TASKS; i++) {
		snprintf(ids[i], sizeof(ids[i]), "t%d", i);
		tasks[i] = task_named(ids[i], 0);
		cr_assert_eq(baton_redis_submit(redis[0], &tasks[i]), 0);
	}
	server_text(&server, "CONFIG SET maxmemory 1");
	cr_assert_eq(baton_redis_submit(redis[0], &more), -ENOMEM);
	cr_assert(strstr(baton_redis_error(redis[0]), "memory is full"), "%s",
	          baton_redis_error(redis[0]));
	cr_assert_eq(server_number(&server, "EXISTS {test}:task:more"), 0);
	scheduler = scheduler_on(redis[1]);
	backend = backend_on(redis[2], "one");
	cr_assert_eq(baton_redis_keep(redis[0], &tasks[TASKS - 1]), 0);
	cr_assert_eq(baton_redis_withdraw(redis[0], &tasks[TASKS - 1]), 0);
	for (int i = 0; i < TASKS - 1; i++) {
		struct baton_redis_result result = {.effect = "x", .effect_size = 1};
		struct baton_redis_order order;

		await_order(backend, &order, BATON_REDIS_RUN, scheduler);
		cr_assert_str_eq(order.id, ids[i]);
		if (i % 2)
			cr_assert_eq(baton_redis_backend_effect(backend, "x", 1), 0);
		cr_assert_eq(baton_redis_backend_conclude(backend, &result), 0);
	}
	cr_assert_eq(server_number(&server, "XLEN {test}:effects"), TASKS - 1);
	for (int i = 0; i < TASKS; i++) {
		struct baton_redis_note note = {0};

		await_note(redis[0], &tasks[i], &note,
		           i < TASKS - 1 ? BATON_REDIS_DONE : BATON_REDIS_WITHDRAWN);
		cr_assert_eq(baton_redis_forget(redis[0], &tasks[i]), 0);
	}
	cr_assert_eq(baton_redis_submit(redis[0], &more), -ENOMEM);
	server_text(&server, "CONFIG SET maxmemory 0");
	cr_assert_eq(baton_redis_submit(redis[0], &more), 0);
	baton_redis_backend_destroy(backend);
	baton_redis_scheduler_destroy(scheduler);
	for (int i = 0; i < 3; i++)
		baton_redis_destroy(redis[i]);
}

static struct baton_redis_scheduler *bounded_on(struct baton_redis *redis, uint64_t tasks,
                                                uint64_t bytes)
{
	struct baton_redis_scheduler_options options = {
		.rules = {.limit = {1, 1, 1}}, .queue_max = tasks, .queue_bytes_max = bytes};
	struct baton_redis_scheduler *scheduler;

	cr_assert_eq(baton_redis_scheduler_create(redis, &options, &scheduler), 0);
	settle(scheduler);
	return scheduler;
}

/* One runs, two wait. */
Test(full, a_queue_with_as_many_tasks_as_may_wait_refuses)
{
	struct baton_redis *redis = server_connect(&server);
	struct baton_redis_scheduler *scheduler = bounded_on(redis, 2, 0);
	struct baton_redis_task runs = task_named("runs", 0);
	struct baton_redis_task waits[2] = {task_named("a", 0), task_named("b", 0)};
	struct baton_redis_task more = task_named("more", 0);

	cr_assert_eq(baton_redis_submit(redis, &runs), 0);
	settle(scheduler);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(baton_redis_submit(redis, &waits[i]), 0);
	cr_assert_eq(baton_redis_submit(redis, &waits[1]), 0, "it waits already");
	cr_assert_eq(baton_redis_submit(redis, &more), -EAGAIN);
	cr_assert(strstr(baton_redis_error(redis), "2 tasks wait"), "%s", baton_redis_error(redis));
	more.room_timeout_ns = 30 * MS;
	cr_assert_eq(baton_redis_submit(redis, &more), -EAGAIN);
	cr_assert_eq(server_number(&server, "EXISTS {test}:task:more"), 0);
	cr_assert_eq(baton_redis_withdraw(redis, &waits[0]), 0);
	cr_assert_eq(baton_redis_submit(redis, &more), 0);
	baton_redis_scheduler_destroy(scheduler);
	baton_redis_destroy(redis);
}

/* The waiting submitter's connection is its own. */
static void *withdraw_soon(void *arg)
{
	struct baton_redis_options options = {.socket = server.socket, .queue = "test"};
	struct baton_redis *redis;
	int *error = arg;

	*error = baton_redis_create(&options, &redis);
	usleep(100000);
	if (!*error)
		*error = baton_redis_withdraw(
			redis, &(struct baton_redis_task){.id = "a", .token = "secret"});
	baton_redis_destroy(redis);
	return NULL;
}

Test(full, a_submit_may_wait_for_room)
{
	struct baton_redis *redis = server_connect(&server);
	struct baton_redis_scheduler *scheduler = bounded_on(redis, 1, 0);
	struct baton_redis_task a = task_named("a", 0);
	struct baton_redis_task b = task_named("b", 0);
	pthread_t thread;
	int error;

	b.room_timeout_ns = BATON_NEVER;
	cr_assert_eq(baton_redis_submit(redis, &a), 0);
	cr_assert_eq(pthread_create(&thread, NULL, withdraw_soon, &error), 0);
	cr_assert_eq(baton_redis_submit(redis, &b), 0, "%s", baton_redis_error(redis));
	pthread_join(thread, NULL);
	cr_assert_eq(error, 0);
	cr_assert_eq(server_number(&server, "EXISTS {test}:task:a"), 0);
	baton_redis_scheduler_destroy(scheduler);
	baton_redis_destroy(redis);
}

/* Bytes are a task's until it is over, in whatever way. */
Test(full, a_queue_with_as_many_bytes_as_it_may_have_refuses)
{
	const struct baton_redis_file file = {.name = "name", .data = "1234567890", .size = 10};
	struct baton_redis *redis = server_connect(&server);
	struct baton_redis *working = server_connect(&server);
	struct baton_redis_scheduler *scheduler = bounded_on(redis, 0, 40);
	struct baton_redis_backend *backend = backend_on(working, "one");
	struct baton_redis_task tasks[3] = {task_named("a", 0), task_named("b", 0),
	                                    task_named("c", 0)};
	struct baton_redis_order order;

	for (int i = 0; i < 3; i++) {
		tasks[i].files = &file;
		tasks[i].file_count = 1;
		cr_assert_eq(baton_redis_submit(redis, &tasks[i]), i < 2 ? 0 : -EAGAIN);
	}
	cr_assert(strstr(baton_redis_error(redis), "40 bytes"), "%s", baton_redis_error(redis));
	cr_assert_eq(server_number(&server, "HGET {test}:numbers bytes"), 36);
	await_order(backend, &order, BATON_REDIS_RUN, scheduler);
	cr_assert_eq(baton_redis_submit(redis, &tasks[2]), -EAGAIN);
	cr_assert_eq(baton_redis_backend_finish(backend, 0, ""), 0);
	cr_assert_eq(baton_redis_submit(redis, &tasks[2]), 0);
	for (int i = 1; i < 3; i++)
		cr_assert_eq(baton_redis_withdraw(redis, &tasks[i]), 0);
	cr_assert_eq(server_number(&server, "HGET {test}:numbers bytes"), 0);
	cr_assert_eq(server_number(&server, "EXISTS {test}:sizes"), 0);
	baton_redis_backend_destroy(backend);
	baton_redis_scheduler_destroy(scheduler);
	baton_redis_destroy(working);
	baton_redis_destroy(redis);
}

static int try_connect(bool may_evict, char *text, size_t size)
{
	struct baton_redis_options options = {
		.queue = "test", .socket = server.socket, .may_evict = may_evict};
	struct baton_redis *redis;
	int error = baton_redis_create(&options, &redis);

	snprintf(text, size, "%s", baton_redis_error(redis));
	baton_redis_destroy(redis);
	return error;
}

Test(full, a_server_that_evicts_keys_is_used_only_by_who_takes_the_risk)
{
	static const char *const policies[] = {"allkeys-lru", "volatile-ttl", "allkeys-random"};
	char text[256];

	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		server_text(&server, "CONFIG SET maxmemory-policy %s", policies[i]);
		cr_assert_eq(try_connect(false, text, sizeof(text)), -ENOTSUP, "%s", text);
		cr_assert(strstr(text, policies[i]) && strstr(text, "noeviction"), "%s", text);
		cr_assert_eq(try_connect(true, text, sizeof(text)), 0, "%s", text);
	}
	server_text(&server, "CONFIG SET maxmemory-policy noeviction");
	cr_assert_eq(try_connect(false, text, sizeof(text)), 0, "%s", text);
	/* Who may not ask cannot know. */
	server_text(&server, "ACL SETUSER default -info");
	cr_assert_eq(try_connect(false, text, sizeof(text)), -EACCES, "%s", text);
	cr_assert_eq(try_connect(true, text, sizeof(text)), 0, "%s", text);
}
