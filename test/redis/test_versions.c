/* SPDX-License-Identifier: MIT */
/* Programs with different texts of the server's functions, on one queue. */
#include "server.h"

#include "companion/redis/redis.h"

#include <baton/remote.h>

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct server server;
static char *other_text; /* of the connections that are created now; NULL: this build's */

const char *__real_baton__redis_functions_text(void);
const char *__wrap_baton__redis_functions_text(void);

const char *__wrap_baton__redis_functions_text(void)
{
	return other_text ? other_text : __real_baton__redis_functions_text();
}

static void start(void)
{
	server_start(&server, NULL);
}

static void stop(void)
{
	server_stop(&server);
	free(other_text);
	other_text = NULL;
}

TestSuite(versions, .timeout = 60, .init = start, .fini = stop);

/* From now on programs have a text in which `is` stands in the place of `was`. */
static void change_text(const char *was, const char *is)
{
	const char *text = __real_baton__redis_functions_text();
	const char *at = strstr(text, was);

	cr_assert_not_null(at);
	free(other_text);
	cr_assert_gt(asprintf(&other_text, "%.*s%s%s", (int)(at - text), text, is,
	                      at + strlen(was)),
	             0);
}

static void this_text(void)
{
	free(other_text);
	other_text = NULL;
}

#define SCHEMA_LINE "local SCHEMA, REMOTE_SCHEMA = 1, 1"

static void conclude(struct baton_redis_backend *backend, const char *data)
{
	struct baton_redis_result result = {.effect = data, .effect_size = strlen(data)};

	cr_assert_eq(baton_redis_backend_conclude(backend, &result), 0);
}

/* A task from submitter to backend and back: bit 0 of `of` says whether the submitter's program is
 * the later one, bit 1 the scheduler's, bit 2 the backend's. */
static void run_task(struct baton_redis *of[2][3], unsigned which)
{
	struct baton_redis *client = of[which & 1][0];
	struct baton_redis_scheduler *scheduler = scheduler_on(of[which >> 1 & 1][1]);
	struct baton_redis_backend *backend = backend_on(of[which >> 2 & 1][2], "one");
	char id[2] = {(char)('a' + which)};
	struct baton_redis_task task = task_named(id, 0);
	struct baton_redis_order order;
	struct baton_redis_note note = {0};

	cr_assert_eq(baton_redis_submit(client, &task), 0, "%s", baton_redis_error(client));
	await_order(backend, &order, BATON_REDIS_RUN, scheduler);
	cr_assert_str_eq(order.id, id);
	conclude(backend, "effect");
	await_note(client, &task, &note, BATON_REDIS_DONE);
	cr_assert_eq(baton_redis_forget(client, &task), 0);
	baton_redis_backend_destroy(backend);
	baton_redis_scheduler_destroy(scheduler);
}

Test(versions, programs_of_two_versions_serve_one_queue)
{
	struct baton_redis *of[2][3];
	struct redisReply *libraries;

	for (int i = 0; i < 2; i++) {
		for (int j = 0; j < 3; j++)
			of[i][j] = server_connect(&server);
		change_text("local PAGE = 500", "local PAGE = 400");
	}
	/* Each upgrade begins and ends so, and in between each side is of either version. */
	for (unsigned which = 0; which < 8; which++)
		run_task(of, which);
	cr_assert_eq(server_number(&server, "XLEN {test}:effects"), 8);
	cr_assert_eq(server_number(&server, "HGET {test}:numbers schema"), 1);
	libraries = server_ask(&server, "FUNCTION LIST LIBRARYNAME baton_*");
	cr_assert_eq(libraries->elements, 2);
	freeReplyObject(libraries);
	for (int i = 0; i < 6; i++)
		baton_redis_destroy(of[i / 3][i % 3]);
}

static void refused(struct baton_redis *redis, int error, const char *text)
{
	cr_assert_eq(error, -EPROTO, "%d: %s", error, baton_redis_error(redis));
	cr_assert(strstr(baton_redis_error(redis), text), "%s", baton_redis_error(redis));
}

/* The queue is of schema 1: a program of schema 2 is refused on each side. */
static void refused_on_each_side(struct baton_redis *redis)
{
	static const char text[] = "the keys of {test} are of schema 1, this program's of schema "
				   "2: the older programs must drain the queue first";
	const struct baton_redis_backend_options working = {.name = "two"};
	struct baton_redis_task task = task_named("second", 0);
	struct baton_redis_scheduler *leads = scheduler_on(redis);
	struct baton_redis_backend *works;

	refused(redis, baton_redis_submit(redis, &task), text);
	refused(redis, baton_redis_scheduler_run(leads, 0), text);
	refused(redis, baton_redis_backend_create(redis, &working, &works), text);
	baton_redis_scheduler_destroy(leads);
}

Test(versions, another_schema_is_refused_until_the_queue_is_drained)
{
	static const char text[] = "the keys of {test} are of schema 2, this older program's of "
				   "schema 1";
	struct baton_redis *old = server_connect(&server);
	struct baton_redis *leads = server_connect(&server);
	struct baton_redis_scheduler *scheduler = scheduler_on(leads);
	struct baton_redis *works = server_connect(&server);
	struct baton_redis_backend *backend = backend_on(works, "one");
	struct baton_redis_task task = task_named("task", 0);
	struct baton_redis_note note = {0};
	struct baton_redis_order order;
	struct baton_redis *new;

	cr_assert_eq(baton_redis_submit(old, &task), 0);
	change_text(SCHEMA_LINE, "local SCHEMA, REMOTE_SCHEMA = 2, 1");
	new = server_connect(&server);
	refused_on_each_side(new); /* the task waits */
	await_order(backend, &order, BATON_REDIS_RUN, scheduler);
	refused_on_each_side(new); /* it runs */
	conclude(backend, "effect");
	refused_on_each_side(new); /* its note is there */
	await_note(old, &task, &note, BATON_REDIS_DONE);
	cr_assert_eq(baton_redis_forget(old, &task), 0);
	/* The queue is drained. */
	task.id = "second";
	cr_assert_eq(baton_redis_submit(new, &task), 0, "%s", baton_redis_error(new));
	cr_assert_eq(server_number(&server, "HGET {test}:numbers schema"), 2);
	cr_assert_eq(server_number(&server, "XLEN {test}:effects"), 1, "they stay");
	refused(old, baton_redis_submit(old, &task), text);
	refused(leads, baton_redis_scheduler_run(scheduler, 0), text);
	baton_redis_backend_destroy(backend);
	baton_redis_scheduler_destroy(scheduler);
	scheduler = scheduler_on(new);
	baton_redis_destroy(works);
	works = server_connect(&server);
	backend = backend_on(works, "two");
	await_order(backend, &order, BATON_REDIS_RUN, scheduler);
	cr_assert_str_eq(order.id, "second");
	baton_redis_backend_destroy(backend);
	baton_redis_scheduler_destroy(scheduler);
	baton_redis_destroy(works);
	baton_redis_destroy(leads);
	baton_redis_destroy(new);
	baton_redis_destroy(old);
}

Test(versions, keys_that_do_not_say_their_schema_are_of_the_first)
{
	struct baton_redis *old = server_connect(&server);
	struct baton_redis *new;
	struct baton_redis_task task = task_named("task", 0);

	cr_assert_eq(baton_redis_submit(old, &task), 0);
	cr_assert_eq(server_number(&server, "HDEL {test}:numbers schema"), 1);
	change_text(SCHEMA_LINE, "local SCHEMA, REMOTE_SCHEMA = 2, 1");
	new = server_connect(&server);
	refused(new, baton_redis_keep(new, &task), "are of schema 1");
	cr_assert_eq(baton_redis_keep(old, &task), 0);
	cr_assert_eq(server_number(&server, "HGET {test}:numbers schema"), 1, "now they say it");
	baton_redis_destroy(new);
	baton_redis_destroy(old);
}

static int run_nothing(struct baton_remote_job *job, void *arg)
{
	(void)job;
	(void)arg;
	return 0;
}

Test(versions, a_space_of_another_schema_is_refused_and_a_queue_beside_it_is_not)
{
	struct baton_remote_options options = {
		.redis = {.socket = server.socket, .queue = "test"}, .run = run_nothing};
	struct baton_remote *remote;
	struct baton_redis_task task = task_named("task", 0);
	struct baton_redis *redis;

	cr_assert_eq(baton_remote_create(&options, &remote), 0);
	baton_remote_destroy(remote);
	change_text(SCHEMA_LINE, "local SCHEMA, REMOTE_SCHEMA = 1, 2");
	cr_assert_eq(baton_remote_create(&options, &remote), -EPROTO);
	cr_assert(strstr(baton_remote_error(remote), "the keys of {test}:remote are of schema 1"),
	          "%s", baton_remote_error(remote));
	baton_remote_destroy(remote);
	redis = server_connect(&server);
	cr_assert_eq(baton_redis_submit(redis, &task), 0, "%s", baton_redis_error(redis));
	baton_redis_destroy(redis);
	this_text();
	cr_assert_eq(baton_remote_create(&options, &remote), 0, "%s", baton_remote_error(remote));
	baton_remote_destroy(remote);
}
